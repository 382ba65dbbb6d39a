//! Gradient step with F on a device and L offloaded to host memory or a mapped file, for L too large for VRAM.
//!
//! The rows of a batch are uploaded, their gradients are downloaded, and the CPU updates the rows, by the same update
//! rules and with the same lazily updated rows as the fused step. The download is waited for only after the next batch
//! has been submitted: the documents of that batch are different ones, except across the end of an epoch.

use burn::optim::{AdamW, AdamWState, SimpleOptimizer};
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::backend::errors::earlier_step_failed;
use crate::backend::{Losses, Transfer, tensor};
use crate::batches::Batch;
use crate::config::{Precision, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::step::update::{LazyRows, StepCounter, UpdateRule};
use crate::system::Team;

use super::tensor::{adamw, adamw_moments, adamw_state};
use super::{State, Step, team};

pub struct OffloadedStep<B: Transfer> {
    device: B::Device,
    micro_batch: usize,
    counter: StepCounter,
    l: LazyRows,
    /// The threads that bring all rows of L up to date.
    team: Team,
    /// The logits of F; `None` only during a step of the optimizer, which consumes them, and after a step that failed.
    f: Option<Tensor<B, 2>>,
    f_optimizer: AdamW,
    /// AdamW's moments of F's logits; `None` before the first step.
    f_state: Option<AdamWState<B, 2>>,
    resident: Option<B::Resident>,
    precision: Precision,
    in_flight: Option<InFlight<B>>,
    losses: Losses<B>,
}

/// A batch whose gradients are being downloaded, and whose rows of L have not been updated.
struct InFlight<B: Transfer> {
    documents: Vec<usize>,
    /// The same documents, for binary search.
    sorted: Vec<usize>,
    /// One table for each micro-batch.
    gradients: Vec<B::PendingDownload>,
    rule: UpdateRule,
}

impl<B: Transfer> InFlight<B> {
    fn contains_any(&self, documents: &[usize]) -> bool {
        let contains = |document: &usize| self.sorted.binary_search(document).is_ok();
        documents.iter().any(contains)
    }
}

impl<B: Transfer> OffloadedStep<B> {
    /// Continues from a state.
    pub fn new(
        settings: &Settings,
        placement: Placement,
        state: State,
        device: B::Device,
    ) -> Result<Self> {
        let f_state = adamw_state(&state.f_state, state.steps, &device);
        Ok(Self {
            micro_batch: placement.micro_batch.max(1),
            counter: StepCounter::new(&settings.mini_batch(), state.l.rows(), state.steps),
            l: LazyRows::new(
                (&state.l, &state.l_state),
                state.steps,
                &settings.mini_batch(),
            )?,
            team: team()?,
            f: Some(state.f.to_tensor(&device)),
            f_optimizer: adamw(settings).build(),
            f_state,
            resident: None,
            precision: settings.mini_batch().gpu_precision,
            in_flight: None,
            losses: Losses::new(),
            device,
        })
    }

    /// Uploads all counts once, so that batches need not be uploaded.
    pub fn make_resident(&mut self, counts: &Counts) -> Result<()> {
        self.resident = Some(B::make_resident(counts, &self.device)?);
        Ok(())
    }

    fn f(&self) -> Result<&Tensor<B, 2>> {
        self.f.as_ref().ok_or_else(earlier_step_failed)
    }

    /// Submits a micro-batch: its loss, the download of the gradient of L's rows, and the gradient of F.
    fn gradients(
        &self,
        batch: &Batch<'_>,
    ) -> Result<(Tensor<B, 1>, B::PendingDownload, Tensor<B, 2>)> {
        let f = self.f()?;
        let shape = (batch.documents.len(), f.dims()[0]);
        let rows = &self.l;
        let fill = |row: usize, out: &mut [f32]| {
            rows.copy_logits(batch.documents[row], out);
        };
        let l = B::upload_rows(shape, fill, &self.device)?;
        let f = f.clone().into_primitive().tensor();
        let gradients = B::gradients(l, f, batch, self.resident.as_ref(), self.precision)?;
        Ok((
            tensor(gradients.loss),
            B::download(gradients.l),
            tensor(gradients.f),
        ))
    }

    /// Waits for the gradients in flight and updates their rows.
    fn apply_pending(&mut self) -> Result<()> {
        let Some(in_flight) = self.in_flight.take() else {
            return Ok(());
        };
        let topics = self.f()?.dims()[0];
        let mut first = 0;
        for download in in_flight.gradients {
            first += B::wait(download, |gradients| {
                let rows = gradients.len() / topics;
                let documents = &in_flight.documents[first..first + rows];
                self.l.update_rows(documents, gradients, in_flight.rule);
                rows
            })?;
        }
        Ok(())
    }

    /// Waits for the gradients in flight and applies all pending row updates.
    fn flush(&mut self) -> Result<()> {
        self.apply_pending()?;
        self.counter.mark_flushed();
        self.l.flush(&mut self.team);
        Ok(())
    }
}

impl<B: Transfer> Step for OffloadedStep<B> {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let previous = self.in_flight.as_ref();
        if previous.is_some_and(|previous| previous.contains_any(batch.documents)) {
            self.apply_pending()?;
        }
        self.l.prefetch(batch.documents);
        for &document in batch.documents {
            self.l.bring_up_to_date(document);
        }
        let mut gradients = Vec::new();
        let mut sums: Option<(Tensor<B, 1>, Tensor<B, 2>)> = None;
        for part in batch.parts(self.micro_batch) {
            let (loss, l_gradient, f_gradient) = self.gradients(&part)?;
            gradients.push(l_gradient);
            sums = Some(match sums {
                None => (loss, f_gradient),
                Some((loss_sum, f_sum)) => (loss_sum + loss, f_sum + f_gradient),
            });
        }
        let Some((loss, f_gradient)) = sums else {
            return Ok(());
        };
        self.losses.push(loss);
        let rules = self.counter.step(learning_rate);
        let f = self.f.take().ok_or_else(earlier_step_failed)?;
        let state = self.f_state.take();
        let (f, state) = self.f_optimizer.step(learning_rate, f, f_gradient, state);
        (self.f, self.f_state) = (Some(f), state);
        // The previous batch's rows, while the device computes this one.
        self.apply_pending()?;
        self.l.mark_updated(batch.documents, rules.step_sizes);
        let mut sorted = batch.documents.to_vec();
        sorted.sort_unstable();
        self.in_flight = Some(InFlight {
            documents: batch.documents.to_vec(),
            sorted,
            gradients,
            rule: rules.l_rule,
        });
        if self.counter.flush_due() {
            self.flush()?;
        }
        Ok(())
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.flush()?;
        self.losses.take()
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let f = softmax(self.f()?.clone(), 1);
        Ok((self.l.probabilities()?, Matrix::from_tensor(f)?))
    }

    fn is_flushed(&self) -> bool {
        self.counter.is_flushed()
    }

    fn state(&self) -> Result<State> {
        let f = Matrix::from_tensor(self.f()?.clone())?;
        let (l, l_state) = self.l.tables()?;
        let f_state = match &self.f_state {
            Some(state) => adamw_moments(state)?,
            None => {
                let zeros = Matrix::from_parts(f.rows(), f.columns(), vec![0.0; f.values().len()]);
                vec![zeros; 2]
            }
        };
        Ok(State {
            l,
            f,
            l_state,
            f_state,
            steps: self.counter.steps(),
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;
    use burn::backend::flex::FlexDevice;

    use super::*;
    use crate::backend::cube::on_both;
    use crate::config::Optimizer;
    use crate::config::{Solver, TableStorage};
    use crate::step::cpu::FusedStep;

    const DOCUMENTS: usize = 200;
    const TERMS: usize = 90;
    const TOPICS: usize = 5;

    fn counts(sparse: bool) -> Counts {
        let random = |at: usize| (at as u32 ^ 0x9e37).wrapping_mul(0x85eb_ca6b) >> 16;
        if !sparse {
            let values = (0..DOCUMENTS * TERMS).map(|at| (random(at) % 7) as u8);
            return Counts::dense(DOCUMENTS, TERMS, values.collect()).unwrap();
        }
        let each = 9;
        let starts = (0..=DOCUMENTS as u64).map(|row| row * each as u64);
        let columns = (0..DOCUMENTS * each).map(|at| (at % each * 10 + at / each % 10) as u32);
        let values = (0..DOCUMENTS * each).map(|at| (1 + random(at) % 9) as f32);
        Counts::csr(
            DOCUMENTS,
            TERMS,
            starts.collect(),
            columns.collect(),
            values.collect(),
        )
        .unwrap()
    }

    fn initial() -> State {
        let table = |rows: usize, columns: usize| {
            let values =
                (0..rows * columns).map(|at| 0.1 * ((at * at + 3 * at) % 101) as f32 / 101.0);
            Matrix::from_parts(rows, columns, values.collect())
        };
        let solver = Solver::default();
        State::new(table(DOCUMENTS, TOPICS), table(TOPICS, TERMS), &solver).unwrap()
    }

    /// Batches of 16 in alternating orders, so that the first batch of an epoch has documents of the last one.
    fn run(step: &mut dyn Step, counts: &Counts, epochs: std::ops::Range<usize>) -> Vec<f64> {
        let mut losses = Vec::new();
        for epoch in epochs {
            let order: Vec<usize> = (0..DOCUMENTS)
                .map(|at| (at * 7 + (epoch % 2) * 191) % DOCUMENTS)
                .collect();
            for rows in order.chunks(16) {
                let batch = Batch {
                    view: counts.view().unwrap(),
                    rows,
                    documents: rows,
                    largest: f64::INFINITY,
                };
                step.step(&batch, 0.05 / (1 + epoch) as f64).unwrap();
            }
            // Not after every epoch, so that a batch is in flight when the next epoch starts.
            if epoch % 2 == 1 {
                losses.extend(step.take_losses().unwrap());
            }
        }
        losses
    }

    /// Compares losses, L and F with the results of the fused step.
    fn matches_the_fused_step<B: Transfer>(device: &B::Device) {
        for (sparse, optimizer, micro_batch, resident) in [
            (false, Optimizer::AdamW, 16, false),
            (false, Optimizer::AdamW, 16, true),
            (false, Optimizer::RowwiseAdamW, 5, false),
            (true, Optimizer::AdamW, 5, false),
            (true, Optimizer::RowwiseAdamW, 16, false),
        ] {
            let case = format!(
                "sparse {sparse}, {optimizer}, micro-batches of {micro_batch}, resident {resident}"
            );
            let counts = counts(sparse);
            let settings = Settings::new(TOPICS).with_mini_batch(|parameters| {
                parameters.optimizer = optimizer;
            });
            let placement = Placement {
                micro_batch,
                resident,
                l_on_host: true,
            };
            let mut ours =
                OffloadedStep::<B>::new(&settings, placement, initial(), device.clone()).unwrap();
            if resident {
                ours.make_resident(&counts).unwrap();
            }
            let mut fused = FusedStep::new(&settings, placement, initial()).unwrap();
            let (a, b) = (
                run(&mut ours, &counts, 0..6),
                run(&mut fused, &counts, 0..6),
            );
            assert_eq!(a.len(), b.len());
            for (step, (a, b)) in a.iter().zip(&b).enumerate() {
                assert!(
                    (a / b - 1.0).abs() < 1e-5,
                    "{case}, step {step}: {a} against {b}"
                );
            }
            let ((l, f), (fused_l, fused_f)) = (ours.topics().unwrap(), fused.topics().unwrap());
            for (ours, fused) in [(l, fused_l), (f, fused_f)] {
                for (a, b) in ours.values().iter().zip(fused.values()) {
                    assert!(
                        (a - b).abs() < 1e-3 * b.max(0.01),
                        "{case}: {a} against {b}"
                    );
                }
            }
        }
    }

    #[test]
    fn offloaded_l_on_the_cpu_backend_matches_the_fused_step() {
        matches_the_fused_step::<Flex>(&FlexDevice);
    }

    on_both!(offloaded_l_on_lavapipe_matches_the_fused_step, offloaded_l_on_a_gpu_matches_the_fused_step: matches_the_fused_step);

    #[test]
    fn a_fit_continues_from_a_state_with_the_same_bits() {
        let counts = counts(true);
        let folder = tempfile::tempdir().unwrap();
        for storage in [
            TableStorage::Memory,
            TableStorage::File(folder.path().into()),
        ] {
            let settings = Settings::new(TOPICS).with_mini_batch(|parameters| {
                parameters.table_storage = storage;
            });
            let placement = Placement {
                l_on_host: true,
                ..Placement::whole(&settings)
            };
            let make = |state| {
                OffloadedStep::<Flex>::new(&settings, placement, state, FlexDevice).unwrap()
            };
            let mut step = make(initial());
            run(&mut step, &counts, 0..2);
            assert!(step.is_flushed());
            let mut other = make(step.state().unwrap());
            assert_eq!(
                run(&mut step, &counts, 2..4),
                run(&mut other, &counts, 2..4)
            );
            assert!(step.topics().unwrap() == other.topics().unwrap());
        }
    }
}
