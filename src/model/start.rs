//! Where a fit starts, and the order of its batches: tinytopics', seed by seed.

use super::settings::Settings;
use super::torch::{Orders, TorchRandom};
use crate::matrix::Matrix;

/// Tables start uniform on [0, 0.1).
const UPPER: f32 = 0.1;

/// The free tables at the start: L (documents x topics), then F (topics x terms).
pub(super) fn initial_tables(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> (Matrix, Matrix) {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    let l = random.uniform(documents, k, UPPER);
    (l, random.uniform(k, terms, UPPER))
}

/// The order of the documents in every epoch of the same fit.
pub(super) fn orders(settings: &Settings, documents: usize, terms: usize) -> Orders {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    random.skip(documents * k + k * terms);
    Orders::new(random, documents)
}
