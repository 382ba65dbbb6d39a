//! The self-check of a GPU: a small fit there and on the CPU, compared, before the first fit of a process on the GPU.
//!
//! The fit takes a few AdamW steps from the same logits over the same batches, which are cut into micro-batches. Its counts
//! are dense and sparse, resident on the GPU and uploaded. Neither the numbers of topics and terms nor the sizes of the
//! batches are multiples of the kernels' tiles, so that their edges are computed too.

use rand::RngExt;

use crate::backend::cube::sources_checksum;
use crate::config::{MiniBatch, Resolved, Settings, Solver};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::{ErrorKind, Result};
use crate::step::{State, Step, WarmRestarts, initial_tables, source, with_step};
use crate::system::cuda_driver;
use crate::system::{Purpose, SelfCheck, Subject, cache_folder, driver_version, stream};

const DOCUMENTS: usize = 20;
const TERMS: usize = 301;
const TOPICS: usize = 7;
/// Documents in a batch: two batches of an epoch are whole, the last one has four documents.
const BATCH: usize = 8;
const MICRO_BATCH: usize = 5;
const EPOCHS: usize = 2;
const SEED: u64 = 1;

/// The starting logits of a fit are below 0.1: its first gradients are small differences of large sums, and AdamW's first
/// step takes only their signs. Logits that are this much larger give every gradient a sign beyond rounding.
const SPREAD: f32 = 20.0;

/// Largest relative difference of two losses.
const LOSS_TOLERANCE: f64 = 1e-5;
/// Largest difference of two values of L or F, relative to the value or to [`SMALL`], whichever is larger. The tests of the
/// steps have the same tolerances.
const TOLERANCE: f64 = 1e-3;
const SMALL: f64 = 0.01;

/// A GPU's result: known in this process, kept by an earlier one, or found now by a small fit there and on the CPU.
///
/// # Errors
/// When a fit could not run, for example for lack of VRAM. Nothing is known then, and the next fit tries again.
pub fn self_check(gpu: usize) -> Result<SelfCheck> {
    if let Some(known) = SelfCheck::known(gpu) {
        return Ok(known);
    }
    let place = subject(gpu).zip(cache_folder());
    let kept = place
        .as_ref()
        .and_then(|(subject, cache)| SelfCheck::read(subject, cache));
    let result = match kept {
        Some(kept) => kept,
        None => {
            // No lock is held, so that two first fits at the same time both check the GPU. A lock could never be released: a
            // thread of a rayon pool that waits inside its check may take up another fit, which would wait for the lock.
            let difference = difference(|case| case.run_on(Resolved::Cuda(gpu)))?;
            let file = place.and_then(|(subject, cache)| {
                // The next process checks again what could not be kept.
                SelfCheck::write(difference.clone(), &subject, &cache).ok()
            });
            SelfCheck { difference, file }
        }
    };
    result.clone().remember(gpu);
    Ok(result)
}

/// What the result holds for; `None` if the GPU is not found.
fn subject(gpu: usize) -> Option<Subject> {
    let cuda = cuda_driver::find().ok()?;
    let found = cuda.gpus.get(gpu)?;
    Some(Subject {
        driver: format!(
            "{}, CUDA {}, NVRTC {}",
            driver_version().unwrap_or_default(),
            cuda.driver,
            cuda.nvrtc
        ),
        gpu: format!(
            "{}, {}",
            found.name,
            found.uuid.as_deref().unwrap_or_default()
        ),
        build: format!(
            "{}, kernels {:08x}",
            env!("CARGO_PKG_VERSION"),
            sources_checksum()
        ),
    })
}

/// A fit of the check.
struct Case {
    /// The layout of the counts, and where they are during the steps.
    name: &'static str,
    counts: Counts,
    resident: bool,
    settings: Settings,
}

/// What a fit has learned.
struct Outcome {
    /// The loss of each epoch.
    losses: Vec<f64>,
    /// Documents x topics.
    l: Matrix,
    /// Topics x terms.
    f: Matrix,
}

/// The first result of `on_gpu` that differs from the CPU's by more than rounding, in a clause; `None` if there is none.
///
/// # Errors
/// When a fit could not run. A fit that diverges is a difference: on the CPU it does not.
fn difference(on_gpu: impl Fn(&Case) -> Result<Outcome>) -> Result<Option<String>> {
    for case in cases()? {
        let cpu = case.run_on(Resolved::Cpu)?;
        let found = match on_gpu(&case) {
            Ok(gpu) => first_difference(&gpu, &cpu),
            Err(error) if matches!(error.kind(), ErrorKind::Setting | ErrorKind::Value) => {
                Some(error.headline().to_string())
            }
            Err(error) => return Err(error),
        };
        if let Some(found) = found {
            return Ok(Some(format!("in a small fit to {}, {found}", case.name)));
        }
    }
    Ok(None)
}

/// The first result that differs by more than rounding.
fn first_difference(gpu: &Outcome, cpu: &Outcome) -> Option<String> {
    for (epoch, (there, here)) in gpu.losses.iter().zip(&cpu.losses).enumerate() {
        if !is_close(*there, *here, LOSS_TOLERANCE * here.abs()) {
            let what = format!("the loss of epoch {}", epoch + 1);
            return Some(format!("{what} is {there}, and {here} on the CPU"));
        }
    }
    let tables = [
        (&gpu.l, &cpu.l, ["L", "document", "topic"]),
        (&gpu.f, &cpu.f, ["F", "topic", "term"]),
    ];
    for (there, here, [table, row, column]) in tables {
        let columns = here.columns();
        for (at, (there, here)) in there.values().iter().zip(here.values()).enumerate() {
            let size = f64::from(*here).max(SMALL);
            if !is_close(f64::from(*there), f64::from(*here), TOLERANCE * size) {
                let (row_number, column_number) = (at / columns, at % columns);
                let what = format!("{table} of {row} {row_number}, {column} {column_number}");
                return Some(format!("{what} is {there}, and {here} on the CPU"));
            }
        }
    }
    None
}

/// Whether two numbers differ by less than a tolerance. NaN is close to nothing.
fn is_close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() < tolerance
}

/// The same counts in both layouts, resident and uploaded.
fn cases() -> Result<[Case; 4]> {
    let settings = Settings {
        epochs: EPOCHS,
        seed: SEED,
        solver: Solver::MiniBatch(MiniBatch {
            batch_size: BATCH,
            ..MiniBatch::default()
        }),
        ..Settings::new(TOPICS)
    };
    let (dense, sparse) = drawn_counts()?;
    Ok([
        ("dense counts, resident", &dense, true),
        ("dense counts, uploaded", &dense, false),
        ("sparse counts, resident", &sparse, true),
        ("sparse counts, uploaded", &sparse, false),
    ]
    .map(|(name, counts, resident)| Case {
        name,
        counts: counts.clone(),
        resident,
        settings: settings.clone(),
    }))
}

/// Drawn counts from 0 to 9, of which three in ten are not zero, as dense `u8` and as CSR.
fn drawn_counts() -> Result<(Counts, Counts)> {
    let mut random = stream(SEED, Purpose::Counts, 0);
    let values: Vec<u8> = (0..DOCUMENTS * TERMS)
        .map(|_| {
            let draw: u8 = random.random_range(0..30);
            draw.saturating_sub(20)
        })
        .collect();
    let (mut starts, mut columns, mut nonzeros) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(TERMS) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value > 0) {
            columns.push(column as u32);
            nonzeros.push(f32::from(*value));
        }
        starts.push(columns.len() as u64);
    }
    Ok((
        Counts::dense(DOCUMENTS, TERMS, values)?,
        Counts::csr(DOCUMENTS, TERMS, starts, columns, nonzeros)?,
    ))
}

/// Takes the steps of a fit; the loss of each epoch.
pub(crate) fn take_steps(
    settings: &Settings,
    counts: &Counts,
    step: &mut dyn Step,
) -> Result<Vec<f64>> {
    let mut source = source(settings, counts)?;
    let schedule = WarmRestarts::new(&settings.mini_batch());
    let batches = counts.documents().div_ceil(settings.batch_size());
    let of_epoch = |epoch| {
        for batch in 0..batches {
            let learning_rate = schedule.of_step((epoch, batch), batches);
            step.step(&source.batch(epoch, batch)?, learning_rate)?;
        }
        Ok(step.take_losses()?.iter().sum::<f64>() / batches as f64)
    };
    (0..settings.epochs).map(of_epoch).collect()
}

impl Case {
    fn placement(&self) -> Placement {
        Placement {
            micro_batch: MICRO_BATCH,
            resident: self.resident,
            l_on_host: false,
        }
    }

    /// The state before the first step.
    fn start(&self) -> Result<State> {
        let (l, f) = initial_tables(&self.settings, DOCUMENTS, TERMS)?;
        let [l, f] = [l, f].map(|table| {
            let (rows, columns) = table.shape();
            let values = table.values().iter().map(|value| SPREAD * value);
            Matrix::from_parts(rows, columns, values.collect())
        });
        State::new(l, f, &self.settings.solver)
    }

    /// Runs the fit by a step that was made from [`start`](Self::start).
    fn run(&self, step: &mut dyn Step) -> Result<Outcome> {
        let losses = take_steps(&self.settings, &self.counts, step)?;
        let (l, f) = step.topics()?;
        Ok(Outcome { losses, l, f })
    }

    /// Runs the fit as a plan for this device would.
    fn run_on(&self, device: Resolved) -> Result<Outcome> {
        let (on, state) = ((device, self.placement()), self.start()?);
        let run = |step: &mut dyn Step| self.run(step);
        with_step(&self.settings, &self.counts, on, state, run)
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::flex::FlexDevice;
    use burn::backend::{Autodiff, Flex};

    use super::*;
    use crate::backend::Gradients;
    use crate::backend::cube::on_both;
    use crate::error::Error;
    use crate::step::{Fused, TensorStep};

    /// Runs the fit by the step of a GPU.
    fn run<B: Gradients>(case: &Case, device: &B::Device) -> Result<Outcome> {
        let (settings, placement) = (&case.settings, case.placement());
        let (start, device) = (case.start()?, device.clone());
        let mut step = TensorStep::<_, Fused<Autodiff<B>>>::new(settings, placement, start, device);
        if placement.resident {
            step.make_resident(&case.counts)?;
        }
        case.run(&mut step)
    }

    fn pass<B: Gradients>(device: &B::Device) {
        let found = difference(|case| run::<B>(case, device));
        assert_eq!(found.unwrap(), None);
    }

    #[test]
    fn the_cpu_passes_by_both_of_its_steps() {
        let fused = difference(|case| case.run_on(Resolved::Cpu));
        assert_eq!(fused.unwrap(), None);
        pass::<Flex>(&FlexDevice);
    }

    on_both!(kernels_pass_on_lavapipe, kernels_pass_on_a_gpu: pass);

    /// The table with another value at one place.
    fn altered(table: &Matrix, row: usize, column: usize, factor: f32) -> Matrix {
        let (rows, columns) = table.shape();
        let mut values = table.values().to_vec();
        values[row * columns + column] *= factor;
        Matrix::from_parts(rows, columns, values)
    }

    #[test]
    fn altered_results_are_named() {
        type Alter = fn(&mut Outcome);
        let cases: [(Alter, &str); 6] = [
            (|outcome| outcome.losses[1] *= 1.0001, "loss of epoch 2 "),
            (
                |outcome| outcome.losses[0] = f64::NAN,
                "loss of epoch 1 is NaN, and ",
            ),
            (
                |outcome| outcome.l = altered(&outcome.l, 3, 2, 1.1),
                "L of document 3, topic 2 is ",
            ),
            (
                |outcome| outcome.l = altered(&outcome.l, 19, 6, f32::NAN),
                "L of document 19, topic 6 is NaN, and ",
            ),
            (
                |outcome| outcome.f = altered(&outcome.f, 1, 41, 1.5),
                "F of topic 1, term 41 is ",
            ),
            (
                |outcome| outcome.f = altered(&outcome.f, 6, 300, 0.5),
                "F of topic 6, term 300 is ",
            ),
        ];
        for (alter, expected) in cases {
            let found = difference(|case| {
                let mut outcome = case.run_on(Resolved::Cpu)?;
                alter(&mut outcome);
                Ok(outcome)
            });
            let found = found.unwrap().unwrap();
            assert!(found.contains(expected), "{found}");
            assert!(
                found.starts_with("in a small fit to dense counts, resident, "),
                "{found}"
            );
            assert!(found.ends_with(" on the CPU"), "{found}");
        }
    }

    #[test]
    fn a_later_case_is_compared_too() {
        let found = difference(|case| {
            let mut outcome = case.run_on(Resolved::Cpu)?;
            if case.name == "sparse counts, uploaded" {
                outcome.losses[0] = 0.0;
            }
            Ok(outcome)
        });
        let found = found.unwrap().unwrap();
        assert!(found.contains("sparse counts, uploaded"), "{found}");
    }

    #[test]
    fn a_fit_that_diverges_differs_and_one_that_fails_is_an_error() {
        let diverges = |_: &Case| Err(Error::setting("the fit has diverged"));
        let found = difference(diverges).unwrap().unwrap();
        assert!(found.ends_with("the fit has diverged"), "{found}");
        let fails = |_: &Case| Err(Error::device("out of memory"));
        let error = difference(fails).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
    }
}
