//! Checks of the devices of this machine, with a small fit on each.

use std::fmt;
use std::time::Instant;

use crate::config::Device;
#[cfg(not(feature = "cuda"))]
use crate::config::WITHOUT_CUDA;
use crate::error::Result;
use crate::model::TopicModel;
use crate::synthetic::Synthetic;
use crate::system::Instructions;
use crate::system::memory::free_memory;
#[cfg(feature = "cuda")]
use crate::system::{SelfCheck, cuda_driver};
use crate::text::bytes;
#[cfg(feature = "cuda")]
use crate::text::shown_path;
#[cfg(feature = "cuda")]
use topicbook_gpu::self_check::self_check;

/// Result of [`doctor`]: processor, memory and GPUs of this machine, and whether fits work on them. `Display` writes
/// one line for each check.
///
/// ```
/// let doctor = topicbook::doctor();
/// assert!(doctor.to_string().contains("fit on the CPU"));
/// ```
#[derive(Debug, Clone)]
pub struct Doctor {
    rows: Vec<(String, String)>,
    well: bool,
}

/// Checks processor, memory, NVIDIA driver, run-time compiler (NVRTC) and GPUs, and fits a small model on each device. For
/// each GPU it shows the result of the [self-check](Device#self-check), which it runs if none is kept, and the file that keeps
/// it.
///
/// ```
/// let doctor = topicbook::doctor();
/// println!("{doctor}");
/// assert!(doctor.is_well());
/// ```
///
/// # Cost
/// The fit on the CPU needs about a second. The first fit on a GPU compiles its kernels, which takes longer.
#[doc(alias = "diagnose")]
pub fn doctor() -> Doctor {
    let mut rows = vec![
        (
            "processor".into(),
            format!(
                "{} threads, {}",
                rayon::current_num_threads(),
                Instructions::used().name()
            ),
        ),
        ("free memory".into(), bytes(free_memory())),
    ];
    let (verdict, mut well, loss) = test_fit(Device::Cpu, None);
    rows.push(("fit on the CPU".into(), verdict));
    well &= look_for_gpus(&mut rows, loss);
    Doctor { rows, well }
}

/// Adds what CUDA finds, and a fit on each GPU compared with one on the CPU. Returns whether all usable GPUs work.
#[cfg(feature = "cuda")]
fn look_for_gpus(rows: &mut Vec<(String, String)>, loss: Option<f64>) -> bool {
    let mut well = true;
    match cuda_driver::find() {
        Err(missing) => rows.push(("CUDA".into(), format!("the CPU is used: {missing}"))),
        Ok(cuda) => {
            rows.push((
                "CUDA".into(),
                format!("driver for CUDA {}, NVRTC {}", cuda.driver, cuda.nvrtc),
            ));
            for (number, gpu) in cuda.gpus.iter().enumerate() {
                rows.push((
                    format!("GPU {number}"),
                    format!(
                        "{}, {}, compute capability {}",
                        gpu.name,
                        bytes(gpu.memory),
                        gpu.capability
                    ),
                ));
                if let Some(reason) = &gpu.unusable_because {
                    rows.push((format!("fit on GPU {number}"), reason.clone()));
                    continue;
                }
                let (verdict, passed) = self_check_of(number);
                rows.push((format!("self-check of GPU {number}"), verdict));
                let (verdict, right) = match passed {
                    true => {
                        let (verdict, right, _) = test_fit(Device::Cuda(number), loss);
                        (verdict, right)
                    }
                    false => ("refused: the GPU must pass its self-check".into(), false),
                };
                well &= right;
                rows.push((format!("fit on GPU {number}"), verdict));
            }
        }
    }
    well
}

/// The result of a GPU's self-check in words, and whether it has passed.
#[cfg(feature = "cuda")]
fn self_check_of(gpu: usize) -> (String, bool) {
    match self_check(gpu) {
        Err(error) => (format!("could not run: {}", error.headline()), false),
        Ok(SelfCheck { difference, file }) => {
            let kept = match file {
                Some(file) => format!(" (kept in {})", shown_path(&file)),
                None => String::new(),
            };
            match difference {
                None => (format!("passed{kept}"), true),
                Some(difference) => (format!("failed: {difference}{kept}"), false),
            }
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn look_for_gpus(rows: &mut Vec<(String, String)>, _loss: Option<f64>) -> bool {
    rows.push(("CUDA".into(), format!("the CPU is used: {WITHOUT_CUDA}")));
    true
}

/// Runs a small fit; gives a verdict in words, whether the loss is right, and the loss.
///
/// `expected` is the loss of the same fit on the CPU.
fn test_fit(device: Device, expected: Option<f64>) -> (String, bool, Option<f64>) {
    let began = Instant::now();
    let loss = || -> Result<Option<f64>> {
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
            let loss = loss.unwrap_or(f64::NAN);
            let seconds = began.elapsed().as_secs_f64();
            // Devices add up in different orders, so losses agree up to rounding.
            let right = loss.is_finite()
                && expected.is_none_or(|expected| (loss / expected - 1.0).abs() < 1e-3);
            let verdict = match (right, expected) {
                (true, _) => format!("works ({seconds:.2} s)"),
                (false, Some(expected)) => {
                    format!("wrong loss: {loss}, on the CPU {expected}")
                }
                (false, None) => format!("wrong loss: {loss}"),
            };
            (verdict, right, Some(loss))
        }
    }
}

impl Doctor {
    /// Labels and values, in the order of display.
    pub(crate) fn rows(&self) -> &[(String, String)] {
        &self.rows
    }

    /// Whether the small fit works on every usable device: it ends, and its loss agrees with the CPU's within 0.1%. A GPU must
    /// also pass its self-check.
    ///
    /// ```
    /// assert!(topicbook::doctor().is_well());
    /// ```
    pub fn is_well(&self) -> bool {
        self.well
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
