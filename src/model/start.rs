//! Where a fit starts, and the order of its batches: tinytopics', seed by seed.

use super::settings::Settings;
use super::torch::{Orders, TorchRandom};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::place::{TablePlace, Values};

/// Tables start uniform on [0, 0.1).
const UPPER: f32 = 0.1;

/// The free tables at the start: L (documents x topics), then F (topics x terms).
pub(super) fn initial_tables(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> Result<(Matrix, Matrix)> {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    let mut table = |place: &TablePlace, rows, columns| -> Result<Matrix> {
        let mut values: Values = place.zeros(rows * columns)?;
        random.fill_uniform(&mut values, UPPER);
        Ok(Matrix::of(rows, columns, values))
    };
    let l = table(&settings.table_place, documents, k)?;
    Ok((l, table(&TablePlace::Memory, k, terms)?))
}

/// The order of the documents in every epoch of the same fit.
pub(super) fn orders(settings: &Settings, documents: usize, terms: usize) -> Orders {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    random.skip(documents * k + k * terms);
    Orders::new(random, documents)
}
