//! The loss of one batch and its gradients, from tables that are given: what the fused step computes, by itself.

use rayon::prelude::*;

use super::gather::{Gather, Weights};
use super::{per_shard, reduce, softmax};
use crate::counts::View;
use crate::matrix::Matrix;

/// What one batch asks of the tables.
pub(crate) struct Slopes {
    pub(crate) loss: f64,
    /// With respect to the batch's rows of the free table behind L: documents x topics.
    pub(crate) l: Vec<f32>,
    /// With respect to the free table behind F: topics x terms.
    pub(crate) f: Vec<f32>,
}

/// Loss and gradients of the documents in `rows` of the counts; `l` holds their rows of the free table behind L, `f` the
/// free table behind F (topics x terms).
///
/// Costs a pass over the batch's counts and three over F.
pub(crate) fn loss_and_gradients(
    view: &View<'_>,
    rows: &[usize],
    l: &Matrix,
    f: &Matrix,
) -> Slopes {
    let (topics, terms) = f.shape();
    let offsets: Vec<f32> = (0..topics)
        .map(|topic| f.row(topic).iter().copied().fold(f32::MIN, f32::max))
        .collect();
    let length = per_shard(topics, terms);
    let mut gathers: Vec<Gather> = (0..terms)
        .into_par_iter()
        .step_by(length)
        .map(|first| {
            let range = first..terms.min(first + length);
            let mut free = vec![0.0; range.len() * topics];
            for (term, row) in range.clone().zip(free.chunks_exact_mut(topics)) {
                for (topic, value) in row.iter_mut().enumerate() {
                    *value = f.row(topic)[term];
                }
            }
            let mut gather = Gather::new(range, topics);
            gather.set(&free, &offsets);
            gather
        })
        .collect();
    let scales: Vec<f64> = (0..topics)
        .map(|topic| 1.0 / gathers.iter().map(|gather| gather.sums[topic]).sum::<f64>())
        .collect();
    let mut gradients = l.values().to_vec();
    gradients.chunks_exact_mut(topics).for_each(softmax);
    let weights = Weights::new(rows, &gradients, &scales);
    gathers
        .par_iter_mut()
        .for_each(|gather| gather.gather(view, terms, &weights));
    let (likelihood, totals) = reduce(gathers.iter(), weights.width, &scales, &mut gradients);
    let mut of_f = vec![0.0; topics * terms];
    for gather in &gathers {
        gather.copy_gradients(&scales, &totals, terms, &mut of_f);
    }
    Slopes {
        loss: rows.len() as f64 - likelihood,
        l: gradients,
        f: of_f,
    }
}
