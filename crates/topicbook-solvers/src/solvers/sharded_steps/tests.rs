//! Steps by sums of shards, compared with the steps of one process on the same batches.

use crate::batches::Batch;
use crate::config::{Optimizer, Settings, Solver};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::counts::rows::Block;
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::parts::TermLayouts;
use crate::step::cpu::FusedStep;
use crate::step::{State, Step};

use super::{ShardedSteps, StepsStart};

const DOCUMENTS: usize = 70;
const TERMS: usize = 300;
const TOPICS: usize = 3;
const BATCH: usize = 20;

/// Counts, one in `gap` of which is nonzero.
fn counts(gap: usize) -> Counts {
    let count = |at: usize| {
        let drawn = (at * 7919 + at * at % 1013) % 101;
        (u8::from(drawn.is_multiple_of(gap)) * (1 + drawn % 5) as u8).into()
    };
    let values: Vec<f32> = (0..DOCUMENTS * TERMS).map(count).collect();
    Counts::dense(DOCUMENTS, TERMS, values).unwrap()
}

fn logits(rows: usize, columns: usize) -> Matrix {
    let value = |at: usize| 0.3 * ((at * at + 3 * at) % 101) as f32 / 101.0;
    Matrix::from_parts(rows, columns, (0..rows * columns).map(value).collect())
}

/// L, F and the losses of two epochs by sums over three shards.
fn sharded(counts: &Counts, settings: &Settings) -> Result<(Vec<f32>, Vec<f32>, Vec<f64>)> {
    let parameters = settings.mini_batch();
    let state = State::new(
        logits(DOCUMENTS, TOPICS),
        logits(TOPICS, TERMS),
        &settings.solver,
    )?;
    let of_f = std::iter::once(&state.f).chain(&state.f_state);
    let start = StepsStart {
        parameters,
        documents: DOCUMENTS,
        own: 0..DOCUMENTS,
        steps: 0,
        l: state.l,
        l_state: state.l_state,
        f: of_f
            .map(|table| table.transposed().values().to_vec())
            .collect(),
    };
    let block = |rows, first| -> Result<Block<'_>> {
        let view = counts.view()?;
        Ok(Block { view, rows, first })
    };
    let mut steps = ShardedSteps::new(start, TermLayouts::of(&block(0..DOCUMENTS, 0)?, TERMS))?;
    let mut losses = Vec::new();
    for _ in 0..2 {
        for first in (0..DOCUMENTS).step_by(BATCH) {
            let batch = first..DOCUMENTS.min(first + BATCH);
            let rules = steps.start(0.05);
            let cuts = [batch.start, batch.start + 3, batch.start + 4, batch.end];
            for (shard, cut) in cuts.windows(2).enumerate() {
                steps.start_shard(shard, cut[0]..cut[1]);
                steps.add(&block(cut[0]..cut[1], 0)?, &rules);
                steps.end_shard();
            }
            losses.push(batch.len() as f64 - steps.update_f(&rules));
            steps.end(&rules);
        }
    }
    steps.end_epoch()?;
    let mut l = steps.l_tables()?[0].values().to_vec();
    l.chunks_mut(TOPICS).for_each(crate::system::softmax);
    Ok((l, steps.f_mut().to_vec(), losses))
}

fn in_one_process(counts: &Counts, settings: &Settings) -> Result<(Matrix, Matrix, Vec<f64>)> {
    let state = State::new(
        logits(DOCUMENTS, TOPICS),
        logits(TOPICS, TERMS),
        &settings.solver,
    )?;
    let mut step = FusedStep::new(settings, Placement::whole(settings), state)?;
    let order: Vec<usize> = (0..DOCUMENTS).collect();
    for _ in 0..2 {
        for documents in order.chunks(BATCH) {
            let batch = Batch {
                view: counts.view()?,
                rows: documents,
                documents,
                largest: f64::INFINITY,
            };
            step.step(&batch, 0.05)?;
        }
    }
    let losses = step.take_losses()?;
    let (l, f) = step.topics()?;
    Ok((l, f, losses))
}

#[test]
fn steps_are_those_of_one_process() -> Result<()> {
    for (gap, optimizer) in [
        (20, Optimizer::AdamW),
        (2, Optimizer::AdamW),
        (20, Optimizer::RowwiseAdamW),
        (20, Optimizer::RowwiseAdagrad),
    ] {
        let counts = counts(gap);
        let settings = Settings::new(TOPICS).with_mini_batch(|parameters| {
            (parameters.batch_size, parameters.optimizer) = (BATCH, optimizer);
        });
        assert!(matches!(settings.solver, Solver::MiniBatch(_)));
        let (l, f, losses) = sharded(&counts, &settings)?;
        let (expected_l, expected_f, expected_losses) = in_one_process(&counts, &settings)?;
        let near = |found: &[f32], expected: &[f32], what: &str| {
            let difference = |(found, expected): (&f32, &f32)| (found - expected).abs() / expected;
            let largest = found
                .iter()
                .zip(expected)
                .map(difference)
                .fold(0.0, f32::max);
            assert!(largest < 2e-3, "{what}, {optimizer}, gap {gap}: {largest}");
        };
        near(&l, expected_l.values(), "L");
        near(&f, expected_f.transposed().values(), "F");
        for (found, expected) in losses.iter().zip(&expected_losses) {
            let difference = (found - expected).abs() / expected;
            assert!(difference < 1e-6, "{found} in the place of {expected}");
        }
    }
    Ok(())
}
