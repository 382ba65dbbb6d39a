//! Activations that are computed again in the backward pass instead of being kept.
//!
//! Plainly, a training step is
//!
//! ```text
//! x1 = block1(x0); x2 = block2(x1); loss = head(x2)     # keeps what each block needs for its gradient
//! loss.backward()
//! ```
//!
//! Checkpointed, a block runs on values without a graph, and its output becomes a leaf. What is kept of it is its input:
//!
//! ```text
//! x1 = leaf(block1(x0)); x2 = leaf(block2(x1)); loss = head(x2)
//! g2 = loss.backward()[x2]
//! g1 = (block2(x1) * g2).sum().backward()[x1]           # block2 once more, now with a graph, which is freed after it
//! g0 = (block1(x0) * g1).sum().backward()[x0]
//! ```
//!
//! The parameters of a block are leaves, too, so each of these passes adds to their gradients. Dropout draws the same numbers
//! both times: each block seeds the backend by a number of its own.

use std::cell::RefCell;
use std::sync::Arc;

use burn::backend::Flex;
use burn::module::Module;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::ops::FloatTensorOps;
use burn::tensor::{Tensor, TensorMetadata, TensorPrimitive};

use crate::error::{Error, ErrorKind, Result};
use crate::parameters::leaf;
use crate::system::{memory::allocated, mix};
use crate::{Cpu, Plain, Tracked};

/// Which calls of [`checkpointed`] keep their activations in a training step.
///
/// | | Kept for n equal blocks | Computed twice |
/// |---|---|---|
/// | `None` | the activations of all n | nothing |
/// | `All` | n inputs, and the activations of one block at a time | all blocks |
/// | `Every(s)` | n / s inputs, and the activations of s blocks at a time; least at s = √n | all blocks |
/// | `Only(names)` | the inputs of these, and the activations of the others | these |
///
/// ```
/// use topicbook::Checkpointing;
/// let mode = Checkpointing::only(["block 1", "block 2"]);
/// assert_eq!(mode, Checkpointing::Only(vec!["block 1".into(), "block 2".into()]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Checkpointing {
    /// All activations are kept; the default.
    #[default]
    None,
    /// None is kept.
    All,
    /// This number of calls that follow on one another are one block.
    Every(usize),
    /// The calls of these names.
    Only(Vec<String>),
}

impl Checkpointing {
    /// The calls of these names.
    ///
    /// ```
    /// use topicbook::Checkpointing;
    /// assert!(matches!(Checkpointing::only(["block 1"]), Checkpointing::Only(_)));
    /// ```
    pub fn only<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::Only(names.into_iter().map(Into::into).collect())
    }
}

/// Memory of a call of [`checkpointed`] in a training step.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleMemory {
    /// The name that the call gave.
    pub name: String,
    /// Bytes that it kept for the backward pass.
    pub kept: u64,
    /// Whether it is computed again.
    pub again: bool,
}

/// Runs a module on a value and returns its output.
type Forward = Box<dyn Fn(Tracked) -> Tracked>;

/// Blocks that are computed again together.
struct Segment {
    name: String,
    input: Tracked,
    /// The blocks, each with the seed of its random numbers.
    blocks: Vec<(u64, Forward)>,
    output: Tracked,
    /// The gradient of the output, as far as it is known.
    gradient: Option<Plain>,
}

/// The calls of [`checkpointed`] in a training step.
pub struct Tape {
    mode: Checkpointing,
    seed: u64,
    calls: u64,
    segments: Vec<Segment>,
    memory: Vec<ModuleMemory>,
}

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// The seed of the random numbers of a call.
fn seed_of(seed: u64, call: u64) -> u64 {
    mix(seed ^ call.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Seeds the random numbers of Burn on the CPU, as dropout draws them.
pub(crate) fn seed_backend(seed: u64) {
    Flex::seed(&Default::default(), seed);
}

/// Runs a module of a network as a block whose activations a `Trainer` need not keep: its `checkpointing` says for which names they
/// are computed again in the backward pass. Outside of a training step it is `run(module, input)`.
///
/// The name also stands in the table of `Trained::memory_by_module`. `run` may use the module, the input, and values without
/// gradients. The gradients and the random numbers of dropout are the same bits with and without checkpointing. A running
/// mean, as that of `BatchNorm`, moves twice where a block is computed twice.
///
/// ```
/// use topicbook::burn::nn::{Linear, LinearConfig};
/// use topicbook::burn::tensor::Tensor;
/// use topicbook::{Cpu, checkpointed};
/// let device = Default::default();
/// let layer: Linear<Cpu> = LinearConfig::new(4, 3).init(&device);
/// let x = Tensor::<Cpu, 2>::ones([2, 4], &device);
/// let y = checkpointed("layer", &layer, x, |layer, x| layer.forward(x));
/// assert_eq!(y.dims(), [2, 3]);
/// ```
#[doc(alias("checkpoint", "checkpoint_sequential"))]
pub fn checkpointed<M, F, const D: usize, const E: usize>(
    name: &str,
    module: &M,
    input: Tensor<Cpu, D>,
    run: F,
) -> Tensor<Cpu, E>
where
    M: Module<Cpu> + 'static,
    F: Fn(&M, Tensor<Cpu, D>) -> Tensor<Cpu, E> + 'static,
{
    let forward = move |module: &M, input: Tracked| {
        run(
            module,
            Tensor::from_primitive(TensorPrimitive::Float(input)),
        )
        .into_primitive()
        .tensor()
    };
    let input = input.into_primitive().tensor();
    let output = match begin(name) {
        None => forward(module, input),
        Some(Call { again: false, .. }) => {
            let before = allocated();
            let output = forward(module, input);
            kept(name, allocated().saturating_sub(before));
            output
        }
        Some(Call { seed, .. }) => {
            let plain = module.clone().no_grad();
            let output = forward(&plain, Cpu::from_inner(Cpu::inner(input.clone())));
            let module = module.clone();
            let again: Forward = Box::new(move |input| forward(&module, input));
            record(name, input, (seed, again), Cpu::inner(output))
        }
    };
    Tensor::from_primitive(TensorPrimitive::Float(output))
}

/// A call in a training step.
struct Call {
    seed: u64,
    /// Whether its activations are computed again.
    again: bool,
}

/// Seeds the random numbers of a call. `None` outside of a training step.
fn begin(name: &str) -> Option<Call> {
    TAPE.with_borrow_mut(|tape| {
        let tape = tape.as_mut()?;
        let seed = seed_of(tape.seed, tape.calls);
        tape.calls += 1;
        seed_backend(seed);
        let again = match &tape.mode {
            Checkpointing::None => false,
            Checkpointing::All | Checkpointing::Every(_) => true,
            Checkpointing::Only(names) => names.iter().any(|known| known == name),
        };
        Some(Call { seed, again })
    })
}

fn kept(name: &str, bytes: u64) {
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.memory.push(ModuleMemory {
                name: name.into(),
                kept: bytes,
                again: false,
            });
        }
    });
}

/// Records a block and returns its output as a leaf.
fn record(name: &str, input: Tracked, block: (u64, Forward), output: Plain) -> Tracked {
    let output = leaf(output);
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.record(name, input, block, &output);
        }
    });
    output
}

/// The holders of a value that is the output of a segment and the input of the next call alone: both, and Burn's graph.
const HOLDERS: usize = 3;

impl Tape {
    /// Begins a training step on this thread: random numbers start from `seed`.
    pub(crate) fn start(mode: &Checkpointing, seed: u64) {
        seed_backend(seed_of(seed, u64::MAX));
        let tape = Self {
            mode: mode.clone(),
            seed,
            calls: 0,
            segments: Vec::new(),
            memory: Vec::new(),
        };
        TAPE.set(Some(tape));
    }

    /// Ends the forward pass of the step that was started.
    pub(crate) fn end() -> Option<Self> {
        TAPE.take()
    }

    /// What the calls kept, in their order.
    pub(crate) fn memory(&mut self) -> Vec<ModuleMemory> {
        std::mem::take(&mut self.memory)
    }

    fn record(&mut self, name: &str, input: Tracked, block: (u64, Forward), output: &Tracked) {
        let blocks_at_once = match self.mode {
            Checkpointing::Every(blocks) => blocks.max(1),
            _ => 1,
        };
        let follows = self.segments.last_mut().filter(|last| {
            last.blocks.len() < blocks_at_once
                && last.output.node.id == input.node.id
                && Arc::strong_count(&input.rc) <= HOLDERS
        });
        let kept = match follows {
            Some(last) => {
                last.blocks.push(block);
                last.name = format!("{}, {name}", last.name);
                last.output = output.clone();
                0
            }
            None => {
                let bytes = input.shape().num_elements() * input.dtype().size();
                self.segments.push(Segment {
                    name: name.into(),
                    input,
                    blocks: vec![block],
                    output: output.clone(),
                    gradient: None,
                });
                bytes as u64
            }
        };
        self.memory.push(ModuleMemory {
            name: name.into(),
            kept,
            again: true,
        });
    }

    /// Completes a backward pass: computes the blocks again, the last one first, and gives the gradients of each pass to `add`.
    /// `watch` is called when a block's activations are there.
    ///
    /// # Errors
    /// When a gradient would be lost, because the input of a call has another use.
    pub(crate) fn backward(
        mut self,
        mut gradients: Gradients,
        mut add: impl FnMut(&mut Gradients),
        mut watch: impl FnMut(),
    ) -> Result<()> {
        loop {
            add(&mut gradients);
            for segment in &mut self.segments {
                if let Some(more) = Cpu::grad_remove(&segment.output, &mut gradients) {
                    segment.gradient = Some(match segment.gradient.take() {
                        Some(sum) => Flex::float_add(sum, more),
                        None => more,
                    });
                }
            }
            drop(gradients);
            gradients = loop {
                let Some(segment) = self.segments.pop() else {
                    return Ok(());
                };
                if let Some(next) = segment.backward(&mut watch)? {
                    break next;
                }
            };
        }
    }
}

/// The gradients of one backward pass.
type Gradients = <Cpu as AutodiffBackend>::Gradients;

impl Segment {
    /// The gradients of what goes into the segment; `None` if nothing depends on its output.
    fn backward(self, watch: &mut impl FnMut()) -> Result<Option<Gradients>> {
        let Some(gradient) = self.gradient else {
            return Ok(None);
        };
        let mut value = self.input.clone();
        for (seed, forward) in &self.blocks {
            seed_backend(*seed);
            value = forward(value);
        }
        if !value.is_tracked() {
            return Ok(None);
        }
        watch();
        let loss = Cpu::float_sum(Cpu::float_mul(value, Cpu::from_inner(gradient)));
        let mut gradients = Cpu::backward(loss);
        // A leaf takes gradients from many passes. Of any other value, the pass that comes first uses up the graph.
        let is_leaf = self.input.node.order == 0;
        if !is_leaf && Cpu::grad_remove(&self.input, &mut gradients).is_some() {
            let name = self.name;
            let what = format!(
                "the input of checkpointed({name:?}, ..) has another use, so its gradient would be incomplete"
            );
            return Err(Error::new(ErrorKind::Value, what)
                .fix("move that use, such as a residual connection, into the function that is checkpointed, or make the input the \
                     output of a call of its own: x = checkpointed(\"input\", &net.first, x, |_, x| x)"));
        }
        Ok(Some(gradients))
    }
}
