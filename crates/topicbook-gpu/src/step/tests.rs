//! Fits with the fused loss on lavapipe, and on CUDA if there is a GPU, compared with the same fits on the CPU.

use burn::backend::{Autodiff, Flex};

use crate::backend::Gradients;
use crate::backend::cube::on_both;
use crate::batches::Batch;
use crate::config::Settings;
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::synthetic::Synthetic;

use super::{Fused, State, Step, TensorStep};

/// Sparse counts of which about a fifth are nonzero.
fn sparse() -> Counts {
    let (documents, terms) = (60, 130);
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for document in 0..documents {
        for term in 0..terms {
            let draw = (document * 7919 + term * 104_729 + document * term) % 101;
            if draw < 20 {
                columns.push(term as u32);
                values.push((1 + draw) as f32);
            }
        }
        starts.push(columns.len() as u64);
    }
    Counts::csr(documents, terms, starts, columns, values).unwrap()
}

/// A short fit with the fused loss: its losses, L and F.
fn fit<B: Gradients>(
    device: &B::Device,
    counts: &Counts,
    (k, batch, micro_batch): (usize, usize, usize),
    resident: bool,
) -> (Vec<f64>, Matrix, Matrix) {
    let (documents, terms) = counts.shape();
    let settings = Settings::new(k).with_mini_batch(|parameters| parameters.batch_size = batch);
    let placement = Placement {
        micro_batch,
        resident,
        l_on_host: false,
    };
    let table = |rows: usize, columns: usize| {
        let values = (0..rows * columns).map(|at| 0.1 * ((at * at + 3 * at) % 101) as f32 / 101.0);
        Matrix::from_parts(rows, columns, values.collect())
    };
    let (l, f) = (table(documents, k), table(k, terms));
    let state = State::new(l, f, &settings.solver).unwrap();
    let device = device.clone();
    let mut step = TensorStep::<_, Fused<Autodiff<B>>>::new(&settings, placement, state, device);
    if resident {
        step.make_resident(counts).unwrap();
    }
    let mut order: Vec<usize> = (0..documents).collect();
    for epoch in 0..4 {
        order.rotate_left(epoch + 3);
        for rows in order.chunks(batch) {
            let batch = Batch {
                view: counts.view().unwrap(),
                rows,
                documents: rows,
                largest: f64::INFINITY,
            };
            step.step(&batch, 0.05).unwrap();
        }
    }
    let (l, f) = step.topics().unwrap();
    (step.take_losses().unwrap(), l, f)
}

/// Compares fits on the CPU and on another device: batches uploaded or resident, whole or as micro-batches.
fn fits_agree<B: Gradients>(device: &B::Device) {
    let dense = Synthetic::new(60, 130, 4).avg_doc_length(400).seed(8);
    let dense = dense.generate().unwrap().counts();
    let sparse = sparse();
    for (counts, sizes, resident) in [
        (&dense, (4, 16, 16), false),
        (&dense, (4, 16, 7), false),
        (&dense, (4, 16, 7), true),
        (&sparse, (4, 16, 16), false),
        (&sparse, (4, 16, 5), false),
        (&sparse, (4, 16, 7), true),
    ] {
        let tokens = counts.summary().unwrap().total();
        let (ours, l, f) = fit::<B>(device, counts, sizes, resident);
        let (theirs, their_l, their_f) = fit::<Flex>(&Default::default(), counts, sizes, false);
        for (a, b) in ours.iter().zip(&theirs) {
            let error = (a - b).abs() / tokens;
            assert!(
                error < 1e-6,
                "{counts}, {sizes:?}, {resident}: loss {a} against {b}"
            );
        }
        for (ours, theirs) in [(l, their_l), (f, their_f)] {
            for (a, b) in ours.values().iter().zip(theirs.values()) {
                assert!(
                    (a - b).abs() < 1e-4,
                    "{counts}, {sizes:?}, {resident}: {a} against {b}"
                );
            }
        }
    }
}

on_both!(a_fit_on_lavapipe_matches_the_cpu, a_fit_on_a_gpu_matches_the_cpu: fits_agree);
