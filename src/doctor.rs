//! What this machine offers a fit, and whether it works.

use std::fmt;
use std::time::Instant;

use crate::cuda;
use crate::device::Device;
use crate::display::{Card, bytes};
use crate::error::Result;
use crate::memory::free_memory;
use crate::model::TopicModel;
use crate::synthetic::Synthetic;

/// What [`doctor`] found.
#[derive(Debug, Clone)]
pub struct Doctor {
    rows: Vec<(String, String)>,
    well: bool,
}

/// Looks for processor, memory, NVIDIA driver, run-time compiler (NVRTC) and cards, and fits a small model on each
/// device: about a second on the CPU; on a card the first fit compiles its kernels, which takes longer.
///
/// ```
/// let doctor = topicbook::doctor();
/// println!("{doctor}");
/// assert!(doctor.is_well());
/// ```
pub fn doctor() -> Doctor {
    let mut rows = vec![
        (
            "processor".into(),
            format!("{} threads, {}", rayon::current_num_threads(), vectors()),
        ),
        ("free memory".into(), bytes(free_memory())),
    ];
    let (line, mut well, loss) = self_test(Device::Cpu, None);
    rows.push(("fit on the CPU".into(), line));
    match cuda::find() {
        Err(missing) => rows.push(("CUDA".into(), format!("the CPU is used: {missing}"))),
        Ok(cuda) => {
            rows.push((
                "CUDA".into(),
                format!("driver for CUDA {}, NVRTC {}", cuda.driver, cuda.nvrtc),
            ));
            for (number, card) in cuda.cards.iter().enumerate() {
                rows.push((
                    format!("card {number}"),
                    format!(
                        "{}, {}, compute capability {}",
                        card.name,
                        bytes(card.memory),
                        card.capability
                    ),
                ));
                if let Some(why) = &card.refused {
                    rows.push((format!("fit on card {number}"), why.clone()));
                    continue;
                }
                let (line, good, _) = self_test(Device::Cuda(number), loss);
                well &= good;
                rows.push((format!("fit on card {number}"), line));
            }
        }
    }
    Doctor { rows, well }
}

/// The widest vector registers that fits use.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if std::is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
    }
    "no AVX"
}

/// A small fit: what it came to, whether that is right, and its loss.
fn self_test(device: Device, expected: Option<f64>) -> (String, bool, Option<f64>) {
    let began = Instant::now();
    let loss = || -> Result<f64> {
        let corpus = Synthetic::new(300, 400, 4)
            .avg_doc_length(500)
            .seed(1)
            .generate()?;
        let model = TopicModel::new(4).epochs(20).seed(1).device(device).quiet();
        Ok(model.fit(corpus.counts())?.loss())
    };
    match loss() {
        Err(error) => (error.to_string(), false, None),
        Ok(loss) => {
            let seconds = began.elapsed().as_secs_f64();
            // The same law with another order of additions.
            let right = loss.is_finite()
                && expected.is_none_or(|expected| (loss / expected - 1.0).abs() < 1e-3);
            let verdict = match (right, expected) {
                (true, _) => format!("works ({seconds:.2} s)"),
                (false, Some(expected)) => {
                    format!("ends at a loss of {loss}, the CPU at {expected}")
                }
                (false, None) => format!("ends at a loss of {loss}"),
            };
            (verdict, right, Some(loss))
        }
    }
}

impl Doctor {
    /// Whether every device that is there fits the small model as it should.
    pub fn is_well(&self) -> bool {
        self.well
    }

    /// Shows what was found below a cell.
    pub fn evcxr_display(&self) {
        let card = Card::new("This machine");
        self.rows
            .iter()
            .fold(card, |card, (label, value)| card.row(label, value))
            .show();
    }
}

impl fmt::Display for Doctor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(label, _)| label.len()).max();
        for (label, value) in &self.rows {
            writeln!(f, "{label:<width$}  {value}", width = width.unwrap_or(0))?;
        }
        Ok(())
    }
}
