//! The random numbers of PyTorch on the CPU, so that a seed means here what it means in tinytopics: the same start and
//! the same batches.
//!
//! Order and width of the draws were read off PyTorch 2.15 (`uniform_`, `normal_`, `randperm`, `DataLoader`); the tests hold
//! values that PyTorch gave.

use rand_mt::Mt;

/// Draws of PyTorch's generator for one epoch of a `DataLoader`: two for the seed of its workers, two for the seed of
/// the order, of which the generator of the order takes the second.
const DRAWS_OF_AN_EPOCH: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct TorchRandom(Mt);

impl TorchRandom {
    /// PyTorch takes the lower 32 bits of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(Mt::new(seed as u32))
    }

    /// Passes over the normal numbers that `nn.Embedding` draws for its table before tinytopics draws its own.
    pub(super) fn skip_normals(&mut self, count: usize) {
        // From 16 numbers on, whole groups of 16 are made of as many draws, and the last 16 again where a part is left;
        // fewer are made in pairs, of two draws in double precision each.
        self.skip(match count {
            0..16 => count.div_ceil(2) * 4,
            _ if count.is_multiple_of(16) => count,
            _ => count + 16,
        });
    }

    /// Passes over numbers that are made of one draw each.
    pub(super) fn skip(&mut self, draws: usize) {
        for _ in 0..draws {
            self.0.next_u32();
        }
    }

    /// `uniform_(0, upper)`.
    pub(super) fn fill_uniform(&mut self, values: &mut [f32], upper: f32) {
        for value in values {
            *value = (self.0.next_u32() & 0xff_ffff) as f32 / (1 << 24) as f32 * upper;
        }
    }

    /// The documents of one epoch in the order in which a `DataLoader` that shuffles meets them.
    fn order(&mut self, documents: usize) -> Vec<usize> {
        self.skip(DRAWS_OF_AN_EPOCH - 1);
        let mut random = Mt::new(self.0.next_u32());
        let mut order: Vec<usize> = (0..documents).collect();
        for first in 0..documents.saturating_sub(1) {
            let other = first + random.next_u32() as usize % (documents - first);
            order.swap(first, other);
        }
        order
    }
}

/// The orders of the epochs, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    random: TorchRandom,
    documents: usize,
    epoch: usize,
}

impl Orders {
    /// `random` as it stands before the first epoch.
    pub(super) fn new(random: TorchRandom, documents: usize) -> Self {
        Self {
            random,
            documents,
            epoch: 0,
        }
    }

    /// The documents of an epoch, counted from 0; epochs are asked for in their order, and may be left out.
    pub(super) fn of(&mut self, epoch: usize) -> Vec<usize> {
        self.random.skip(DRAWS_OF_AN_EPOCH * (epoch - self.epoch));
        self.epoch = epoch + 1;
        self.random.order(self.documents)
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::super::start::{initial_tables, orders};

    /// What tinytopics 0.9.3 and PyTorch 2.15 gave for a seed and a shape, in batches of 2: first and last value of L
    /// and F, and the first three epochs.
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
        for (seed, [documents, terms, topics], of_l, of_f, epochs) in cases {
            let mut settings = Settings::new(topics);
            settings.seed = seed;
            let (l, f) = initial_tables(&settings, documents, terms).unwrap();
            for (table, expected) in [(&l, of_l), (&f, of_f)] {
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
