//! A step with F on a device and L beside it, in memory or in a mapped file: for tables behind L that a card does not hold.
//!
//! Rows of a batch go to the device, their gradients come back, and the rows move here, by the same laws and with the same
//! sleeping rows as those of the fused step. What comes back is waited for when the next batch is under way: its
//! documents are others, except where an epoch ends.

use burn::optim::{AdamW, AdamWState, AdaptiveMomentumState, SimpleOptimizer};
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::exchange::Exchange;
use super::fused::{Clock, Documents, Law};
use super::network::to_tensor;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::settings::Settings;
use super::slopes::tensor;
use super::step::{Losses, State, Step, adamw, to_matrix};
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Batch;
use crate::matrix::Matrix;
use crate::plan::Placement;

pub(crate) struct HostedStep<B: Exchange> {
    device: B::Device,
    micro_batch: usize,
    clock: Clock,
    documents: Documents,
    /// Taken only while the optimizer, which consumes it, makes the next one.
    f: Option<Tensor<B, 2>>,
    law_of_f: AdamW,
    moments_of_f: Option<AdamWState<B, 2>>,
    held: Option<B::Held>,
    precision: Precision,
    under_way: Option<UnderWay<B>>,
    losses: Losses<B>,
}

/// A batch whose rows of L have not moved yet.
struct UnderWay<B: Exchange> {
    documents: Vec<usize>,
    sorted: Vec<usize>,
    /// Part by part.
    gradients: Vec<B::Arriving>,
    law: Law,
}

impl<B: Exchange> UnderWay<B> {
    fn has_one_of(&self, documents: &[usize]) -> bool {
        let has = |document: &usize| self.sorted.binary_search(document).is_ok();
        documents.iter().any(has)
    }
}

impl<B: Exchange> HostedStep<B> {
    /// Goes on from a state.
    pub(crate) fn new(
        settings: &Settings,
        placement: Placement,
        state: State,
        device: B::Device,
    ) -> Result<Self> {
        let moments_of_f = (state.steps > 0).then(|| {
            let [first, second] = &state.f_moments;
            AdamWState::new(AdaptiveMomentumState::new(
                state.steps as usize,
                to_tensor(first, &device),
                to_tensor(second, &device),
            ))
        });
        Ok(Self {
            micro_batch: placement.micro_batch.max(1),
            clock: Clock::new(settings, &state),
            documents: Documents::new(
                &state.l,
                [&state.l_moments[0], &state.l_moments[1]],
                settings.optimizer == Optimizer::AdamW,
                &settings.table_place,
            )?,
            f: Some(to_tensor(&state.f, &device)),
            law_of_f: adamw(settings).build(),
            moments_of_f,
            held: None,
            precision: settings.precision,
            under_way: None,
            losses: Losses::new(),
            device,
        })
    }

    /// Brings all counts to the device, so that batches need not be sent.
    pub(crate) fn hold(&mut self, counts: &Counts) -> Result<()> {
        self.held = Some(B::hold(counts, &self.device)?);
        Ok(())
    }

    fn f(&self) -> Result<&Tensor<B, 2>> {
        self.f.as_ref().ok_or_else(failed)
    }

    /// Loss and gradients of a part of a batch.
    fn slopes(&self, part: &Batch<'_>) -> Result<(Tensor<B, 1>, B::Arriving, Tensor<B, 2>)> {
        let f = self.f()?;
        let shape = (part.documents.len(), f.dims()[0]);
        let rows = &self.documents;
        let fill = |row: usize, out: &mut [f32]| {
            out.copy_from_slice(rows.free(part.documents[row]));
        };
        let l = B::send(shape, fill, &self.device)?;
        let f = f.clone().into_primitive().tensor();
        let slopes = B::slopes(l, f, part, self.held.as_ref(), self.precision)?;
        Ok((tensor(slopes.loss), B::bring(slopes.l), tensor(slopes.f)))
    }

    /// Waits for the gradients under way, and moves their rows.
    fn settle(&mut self) -> Result<()> {
        let Some(under_way) = self.under_way.take() else {
            return Ok(());
        };
        let topics = self.f()?.dims()[0];
        let mut first = 0;
        for part in under_way.gradients {
            first += B::arrived(part, |gradients| {
                let rows = gradients.len() / topics;
                let documents = &under_way.documents[first..first + rows];
                self.documents
                    .move_rows(documents, gradients, under_way.law);
                rows
            })?;
        }
        Ok(())
    }

    /// Every row moves as far as it should have by now.
    fn refresh(&mut self) -> Result<()> {
        self.settle()?;
        self.clock.rested();
        self.documents.refresh();
        Ok(())
    }
}

fn failed() -> Error {
    Error::new(ErrorKind::Device, "an earlier step failed")
}

impl<B: Exchange> Step for HostedStep<B> {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let before = self.under_way.as_ref();
        if before.is_some_and(|before| before.has_one_of(batch.documents)) {
            self.settle()?;
        }
        self.documents.soon(batch.documents);
        for &document in batch.documents {
            self.documents.catch_up(document);
        }
        let mut gradients = Vec::new();
        let mut sums: Option<(Tensor<B, 1>, Tensor<B, 2>)> = None;
        for part in batch.parts(self.micro_batch) {
            let (loss, of_l, of_f) = self.slopes(&part)?;
            gradients.push(of_l);
            sums = Some(match sums {
                None => (loss, of_f),
                Some((all, all_of_f)) => (all + loss, all_of_f + of_f),
            });
        }
        let Some((loss, of_f)) = sums else {
            return Ok(());
        };
        self.losses.push(loss);
        let laws = self.clock.step(learning_rate);
        let f = self.f.take().ok_or_else(failed)?;
        let moments = self.moments_of_f.take();
        let (f, moments) = self.law_of_f.step(learning_rate, f, of_f, moments);
        (self.f, self.moments_of_f) = (Some(f), moments);
        // While the device works.
        self.settle()?;
        self.documents.fall_asleep(batch.documents, laws.asleep);
        let mut sorted = batch.documents.to_vec();
        sorted.sort_unstable();
        self.under_way = Some(UnderWay {
            documents: batch.documents.to_vec(),
            sorted,
            gradients,
            law: laws.of_l,
        });
        if self.clock.rest_is_due() {
            self.refresh()?;
        }
        Ok(())
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.refresh()?;
        self.losses.take()
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let f = softmax(self.f()?.clone(), 1);
        Ok((self.documents.probabilities()?, to_matrix(f)?))
    }

    fn at_rest(&self) -> bool {
        self.clock.at_rest()
    }

    fn state(&self) -> Result<State> {
        let f = to_matrix(self.f()?.clone())?;
        let [l, l_moment1, l_moment2] = self.documents.tables()?;
        let f_moments = match &self.moments_of_f {
            Some(AdamWState { momentum }) => [
                to_matrix(momentum.moment_1.clone())?,
                to_matrix(momentum.moment_2.clone())?,
            ],
            None => {
                let zeros = Matrix::from_parts(f.rows(), f.columns(), vec![0.0; f.values().len()]);
                [zeros.clone(), zeros]
            }
        };
        Ok(State {
            l,
            f,
            l_moments: [l_moment1, l_moment2],
            f_moments,
            steps: self.clock.steps(),
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;
    use burn::backend::flex::FlexDevice;
    use burn_cuda::Cuda;

    use super::super::fused::FusedStep;
    use super::super::kernels::software::{Processor, SoftwareBackend, card, there};
    use super::*;
    use crate::place::TablePlace;

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

    fn start() -> State {
        let table = |rows: usize, columns: usize| {
            let values =
                (0..rows * columns).map(|at| 0.1 * ((at * at + 3 * at) % 101) as f32 / 101.0);
            Matrix::from_parts(rows, columns, values.collect())
        };
        State::new(
            table(DOCUMENTS, TOPICS),
            table(TOPICS, TERMS),
            &TablePlace::Memory,
        )
        .unwrap()
    }

    /// Batches of 16 in another order in every epoch: documents of the last come again in the first of the next.
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
                };
                step.step(&batch, 0.05 / (1 + epoch) as f64).unwrap();
            }
            // Not after every epoch, so that a batch is under way when the next epoch begins.
            if epoch % 2 == 1 {
                losses.extend(step.take_losses().unwrap());
            }
        }
        losses
    }

    /// By rows beside a device, and as the fused step does it.
    fn is_the_fused_step<B: Exchange>(device: &B::Device) {
        for (sparse, optimizer, micro_batch, resident) in [
            (false, Optimizer::AdamW, 16, false),
            (false, Optimizer::AdamW, 16, true),
            (false, Optimizer::RowwiseAdamW, 5, false),
            (true, Optimizer::AdamW, 5, false),
            (true, Optimizer::RowwiseAdamW, 16, false),
        ] {
            let case = format!("sparse {sparse}, {optimizer}, parts of {micro_batch}, {resident}");
            let counts = counts(sparse);
            let settings = Settings {
                optimizer,
                ..Settings::new(TOPICS)
            };
            let placement = Placement {
                micro_batch,
                resident,
                l_on_host: true,
            };
            let mut ours =
                HostedStep::<B>::new(&settings, placement, start(), device.clone()).unwrap();
            if resident {
                ours.hold(&counts).unwrap();
            }
            let mut fused = FusedStep::new(&settings, placement, start()).unwrap();
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
    fn l_beside_tensors_on_the_cpu_is_the_fused_step() {
        is_the_fused_step::<Flex>(&FlexDevice);
    }

    #[test]
    fn l_beside_a_driver_that_needs_no_card_is_the_fused_step() {
        if there() {
            is_the_fused_step::<SoftwareBackend>(&Processor);
        }
    }

    #[test]
    fn l_beside_a_card_is_the_fused_step() {
        if let Some(card) = card() {
            is_the_fused_step::<Cuda>(&card);
        }
    }

    #[test]
    fn a_fit_goes_on_from_a_state_with_the_same_bits() {
        let counts = counts(true);
        let folder = tempfile::tempdir().unwrap();
        for place in [TablePlace::Memory, TablePlace::File(folder.path().into())] {
            let settings = Settings {
                table_place: place,
                ..Settings::new(TOPICS)
            };
            let placement = Placement {
                l_on_host: true,
                ..Placement::whole(&settings)
            };
            let make =
                |state| HostedStep::<Flex>::new(&settings, placement, state, FlexDevice).unwrap();
            let mut step = make(start());
            run(&mut step, &counts, 0..2);
            assert!(step.at_rest());
            let mut other = make(step.state().unwrap());
            assert_eq!(
                run(&mut step, &counts, 2..4),
                run(&mut other, &counts, 2..4)
            );
            assert!(step.topics().unwrap() == other.topics().unwrap());
        }
    }
}
