//! tinytopics' model as a Burn module, trained by the loop that fits have.

use topicbook::burn::lr_scheduler::LrScheduler;
use topicbook::burn::optim::AdamWConfig;
use topicbook::burn::tensor::backend::Backend;
use topicbook::burn::tensor::{Int, Tensor};
use topicbook::{Batches, Cpu, Fit, Matrix, NeuralPoissonNmf, Trainer, poisson_nmf_loss};

use super::golden::{Trace, largest_difference};

/// The learning rates of the trace, one a step.
#[derive(Clone)]
struct Recorded(Vec<f64>, usize);

impl LrScheduler for Recorded {
    type Record<B: Backend> = usize;

    fn step(&mut self) -> f64 {
        self.1 += 1;
        self.0[self.1 - 1]
    }

    fn to_record<B: Backend>(&self) -> usize {
        self.1
    }

    fn load_record<B: Backend>(self, record: usize) -> Self {
        Self(self.0, record)
    }
}

#[test]
fn a_trainer_of_tinytopics_model_replays_its_run() {
    let mut trace = Trace::open();
    let (counts, orders) = (trace.counts(), trace.orders());
    let device = Default::default();
    let model = NeuralPoissonNmf::<Cpu>::new(&trace.matrix("L0"), &trace.matrix("F0"), &device);
    let trained = Trainer::new(model)
        .epochs(orders.len())
        .optimizer(
            AdamWConfig::new()
                .with_weight_decay(1e-5)
                .with_epsilon(1e-8),
        )
        .lr_scheduler(Recorded(trace.array("step_lrs").1, 0))
        .quiet()
        .fit(Batches::of_rows(64, 16).unwrap(), |model, batch| {
            let rows = &orders[batch.epoch()][16 * batch.batch()..][..16];
            let x = counts.select(rows).unwrap();
            let mut values = vec![0.0; 16 * 200];
            x.fill_rows(&(0..16).collect::<Vec<_>>(), &mut values)
                .unwrap();
            let x = Matrix::new(16, 200, values)
                .unwrap()
                .to_tensor(&Default::default());
            let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
            let rows = Tensor::<Cpu, 1, Int>::from_data(&*rows, &Default::default());
            poisson_nmf_loss(x, model.forward(rows))
        })
        .unwrap();
    let (_, expected) = trace.array("epoch_losses");
    assert_eq!(trained.epochs().len(), expected.len());
    for (epoch, expected) in trained.epochs().iter().zip(expected) {
        assert!(
            (epoch.loss / expected - 1.0).abs() < 1e-4,
            "{} {expected}",
            epoch.loss
        );
    }
    let (l, f) = trained.module().topics().unwrap();
    assert!(largest_difference(&l, &trace.matrix("L_final")) < 1e-3);
    assert!(largest_difference(&f, &trace.matrix("F_final")) < 1e-3);
    assert_eq!(Fit::from_matrices(&l, &f).unwrap().l().shape(), (64, 5));
}
