//! Where a fit starts.

use rand::RngExt;
use rayon::prelude::*;

use super::settings::Settings;
use crate::matrix::Matrix;
use crate::random::{Purpose, stream};

/// The free tables at the start: uniform on [0, 0.1), as in tinytopics.
pub(super) fn initial_tables(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> (Matrix, Matrix) {
    let k = settings.topics;
    (
        uniform_table(documents, k, settings.seed, Purpose::InitialL),
        uniform_table(k, terms, settings.seed, Purpose::InitialF),
    )
}

fn uniform_table(rows: usize, columns: usize, seed: u64, purpose: Purpose) -> Matrix {
    let mut values = vec![0.0f32; rows * columns];
    values
        .par_chunks_mut(columns)
        .enumerate()
        .for_each(|(row, values)| {
            let mut rng = stream(seed, purpose, row as u64);
            values
                .iter_mut()
                .for_each(|value| *value = rng.random::<f32>() * 0.1);
        });
    Matrix::from_parts(rows, columns, values)
}
