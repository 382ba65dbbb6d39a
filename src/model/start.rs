//! Where a fit starts.

use rand::RngExt;
use rayon::prelude::*;

use super::settings::Settings;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::place::Values;
use crate::random::{Purpose, stream};

/// The free tables at the start: uniform on [0, 0.1), as in tinytopics.
pub(super) fn initial_tables(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> Result<(Matrix, Matrix)> {
    let k = settings.topics;
    let (l, f) = (
        settings.table_place.zeros(documents * k)?,
        vec![0.0; k * terms],
    );
    Ok((
        uniform_table(k, l, settings.seed, Purpose::InitialL),
        uniform_table(terms, Values::Memory(f), settings.seed, Purpose::InitialF),
    ))
}

fn uniform_table(columns: usize, mut values: Values, seed: u64, purpose: Purpose) -> Matrix {
    values
        .par_chunks_mut(columns)
        .enumerate()
        .for_each(|(row, values)| {
            let mut rng = stream(seed, purpose, row as u64);
            values
                .iter_mut()
                .for_each(|value| *value = rng.random::<f32>() * 0.1);
        });
    Matrix::of(values.len() / columns, columns, values)
}
