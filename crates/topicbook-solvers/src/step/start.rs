//! Starting values of a fit and the order of its batches, equal to tinytopics' for the same seed.

use crate::batches::{Order, Source, open_source};
use crate::config::{Settings, TableStorage};
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::system::{EpochOrders, TorchRandom, Values};

/// The starting logits are uniform on [0, 0.1).
const UPPER_BOUND: f32 = 0.1;

/// The starting logits of L (documents x topics) and F (topics x terms).
pub fn initial_tables(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> Result<(Matrix, Matrix)> {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    let mut table = |storage: &TableStorage, rows, columns| -> Result<Matrix> {
        let mut values: Values = storage.zeros(rows * columns)?;
        random.fill_uniform(&mut values, UPPER_BOUND);
        Ok(Matrix::of(rows, columns, values))
    };
    let l = table(&settings.solver.table_storage(), documents, k)?;
    Ok((l, table(&TableStorage::Memory, k, terms)?))
}

/// The orders of the documents in the epochs of the same fit.
pub fn orders(settings: &Settings, documents: usize, terms: usize) -> EpochOrders {
    let k = settings.topics;
    let mut random = TorchRandom::new(settings.seed);
    random.skip_normals(documents * k);
    random.skip(documents * k + k * terms);
    EpochOrders::new(random, documents)
}

/// Streams batches from the file if the settings request a stream and the counts are stored in a file. Otherwise reads
/// them in place.
pub fn source(settings: &Settings, counts: &Counts) -> Result<Box<dyn Source>> {
    let stream = (settings.seed, settings.epochs);
    let order = || -> Order {
        let (documents, terms) = counts.shape();
        let mut orders = orders(settings, documents, terms);
        Box::new(move |epoch| orders.of(epoch))
    };
    open_source(
        counts,
        settings.reading,
        settings.batch_size(),
        stream,
        order,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values recorded from tinytopics 0.9.3 and PyTorch 2.15 for a seed and a shape, in batches of 2: the first and
    /// last logit of L and F, and the orders of the first three epochs.
    #[test]
    fn seeds_mean_what_they_mean_in_pytorch() {
        type Case = (u64, [usize; 3], [f32; 2], [f32; 2], [&'static [usize]; 3]);
        let cases: [Case; 4] = [
            (
                42,
                [3, 4, 2],
                [0.086940445, 0.057390448],
                [0.026658004, 0.026949484],
                [&[1, 2, 0], &[0, 2, 1], &[1, 2, 0]],
            ),
            (
                7,
                [5, 6, 4],
                [0.038874198, 0.051366158],
                [0.026739025, 0.037807297],
                [&[4, 1, 0, 2, 3], &[1, 0, 3, 2, 4], &[0, 4, 2, 1, 3]],
            ),
            (
                4_000_000_123,
                [8, 5, 4],
                [0.021956516, 0.020890629],
                [0.01052134, 0.0545006],
                [
                    &[1, 3, 2, 4, 5, 6, 7, 0],
                    &[4, 0, 7, 3, 6, 2, 5, 1],
                    &[5, 1, 6, 0, 3, 7, 2, 4],
                ],
            ),
            (
                1,
                [7, 9, 1],
                [0.0572472, 0.04161922],
                [0.028432965, 0.09742778],
                [
                    &[0, 5, 3, 2, 6, 1, 4],
                    &[3, 1, 0, 5, 2, 6, 4],
                    &[6, 3, 5, 0, 2, 1, 4],
                ],
            ),
        ];
        for (seed, [documents, terms, topics], expected_l, expected_f, epochs) in cases {
            let mut settings = Settings::new(topics);
            settings.seed = seed;
            let (l, f) = initial_tables(&settings, documents, terms).unwrap();
            for (table, expected) in [(&l, expected_l), (&f, expected_f)] {
                let values = table.values();
                assert_eq!(
                    [values[0], values[values.len() - 1]],
                    expected,
                    "seed {seed}"
                );
            }
            let mut all = orders(&settings, documents, terms);
            for (epoch, expected) in epochs.iter().enumerate() {
                assert_eq!(all.of(epoch), *expected, "seed {seed}, epoch {epoch}");
            }
            let mut later = orders(&settings, documents, terms);
            assert_eq!(later.of(2), epochs[2], "seed {seed}, from epoch 2 on");
        }
    }
}
