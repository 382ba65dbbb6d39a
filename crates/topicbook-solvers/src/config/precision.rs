//! The precision of tables, where they are stored and where GPU kernels read them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The precision of tables in gradient steps, for two settings that are independent of each other.
///
/// - [`MiniBatch::table_precision`](crate::config::MiniBatch::table_precision): how L's logits and their optimizer state are stored,
///   in RAM or in a file. It saves memory: `Bf16` halves these tables.
/// - [`MiniBatch::gpu_precision`](crate::config::MiniBatch::gpu_precision): how GPU kernels read weights and topics for a batch's loss and
///   gradients. It saves time, not memory: sums, gradients, optimizer state and the tables themselves are `f32` in
///   either case. With dense counts `Bf16` keeps packed copies of L's rows and of F besides. On the CPU it changes nothing.
///
/// ```
/// use topicbook::{Device, Precision, Solver, TopicModel};
/// # let (counts, _) = topicbook::example_fit()?;
/// let model = TopicModel::new(3).epochs(2).device(Device::Cpu).quiet();
/// let bf16 = model.solver(Solver::mini_batch().gpu_precision(Precision::Bf16)).fit(&counts)?;
/// assert_eq!(bf16.l(), model.fit(&counts)?.l()); // on the CPU everything is f32
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[doc(alias("mixed_precision", "half"))]
pub enum Precision {
    /// 32 bits; the default.
    #[default]
    F32,
    /// `bf16`: 16 bits, of which 8 are significant, so that each weight and each entry of F is off by up to a part in
    /// 256 where it is read, and half as many bytes are read. Errors of many terms cancel in the loss: on 2,483 NIPS papers
    /// (k = 10, batch 64, 100 epochs) three seeds end at scores 5,100, 4,700 and 1,800 above those of `F32`, which lie
    /// 41,000 apart (`benches/records/precision.json`, on a Vulkan driver that runs on the processor).
    Bf16,
}

impl Precision {
    /// Bytes of a value.
    #[doc(hidden)]
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        })
    }
}
