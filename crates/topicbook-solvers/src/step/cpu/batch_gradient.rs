//! The loss of one batch and its gradients, computed from given tables by the passes of the fused step.

use rayon::prelude::*;

use crate::counts::View;
use crate::data::Matrix;
use crate::system::softmax;

use super::shard::TermShard;
use super::weights::Weights;
use super::{add_parts, reduce, terms_per_shard};

/// Loss of one batch and its gradients with respect to the logits.
pub struct LossAndGradients {
    pub loss: f64,
    /// With respect to the batch's rows of L's logits: documents x topics.
    pub l: Vec<f32>,
    /// With respect to F's logits: topics x terms.
    pub f: Vec<f32>,
}

/// Loss and gradients of the documents in `rows` of the counts, where `l` has their logits of L (documents x topics)
/// and `f` the logits of F (topics x terms).
///
/// Costs one pass over the batch's counts and three over F.
pub fn loss_and_gradients(
    view: &View<'_>,
    rows: &[usize],
    l: &Matrix,
    f: &Matrix,
) -> LossAndGradients {
    let (topics, terms) = f.shape();
    let offsets: Vec<f32> = (0..topics)
        .map(|topic| f.row(topic).iter().copied().fold(f32::MIN, f32::max))
        .collect();
    let length = terms_per_shard(topics, terms);
    let mut shards: Vec<TermShard> = (0..terms)
        .into_par_iter()
        .step_by(length)
        .map(|first| {
            let range = first..terms.min(first + length);
            let mut shard = TermShard::new(range, f, &[]);
            shard.choose_layout(view, terms, rows, &offsets);
            shard.recompute_sums(&offsets);
            shard
        })
        .collect();
    let scales: Vec<f64> = (0..topics)
        .map(|topic| {
            let sums = shards.iter().map(|shard| shard.exp_sums[topic]);
            1.0 / sums.sum::<f64>()
        })
        .collect();
    // `reduce` replaces the documents' weights in `l` by gradients.
    let mut l = l.values().to_vec();
    l.chunks_exact_mut(topics).for_each(softmax);
    let weights = Weights::new(rows, &l, &scales, &offsets);
    shards.par_iter_mut().for_each(|shard| {
        shard.accumulate(view, terms, &weights);
        shard.add_kept(&weights.padded);
    });
    let mut sums = vec![0.0; rows.len() * weights.width];
    add_parts(&shards, 0, &mut sums);
    let (likelihood, totals) = reduce(&shards, sums, &scales, &mut l);
    let scaled_totals: Vec<f64> = (scales.iter().zip(&totals))
        .map(|(scale, total)| scale * total)
        .collect();
    let mut f = vec![0.0; topics * terms];
    for shard in &shards {
        shard.copy_gradients(&scaled_totals, &offsets, terms, &mut f);
    }
    LossAndGradients {
        loss: rows.len() as f64 - likelihood,
        l,
        f,
    }
}
