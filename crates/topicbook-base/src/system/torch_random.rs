//! PyTorch's CPU random numbers (MT19937), so that a seed gives the same initial tables and the same batches as in
//! tinytopics.
//!
//! Order and width of the draws follow PyTorch 2.15 (`uniform_`, `normal_`, `randperm`, `DataLoader`); the tests
//! compare with values that PyTorch generated.

use rand_mt::Mt;

/// Draws that one epoch of a `DataLoader` takes from PyTorch's default generator: two for the seed of its workers, and two for
/// the seed of the shuffle's own generator.
const DRAWS_PER_EPOCH: usize = 4;

#[derive(Debug, Clone)]
pub struct TorchRandom(Mt);

impl TorchRandom {
    /// Uses the lower 32 bits of the seed, as PyTorch does.
    pub fn new(seed: u64) -> Self {
        Self(Mt::new(seed as u32))
    }

    /// Skips `count` normal numbers: `nn.Embedding` draws them for its table before tinytopics draws its own.
    pub fn skip_normals(&mut self, count: usize) {
        // `normal_` makes 16 or more numbers in groups of 16, from one draw each. If `count` is not a multiple of 16, it draws
        // the last 16 again. Fewer than 16 are made in pairs, from two double-precision draws (of 64 bits).
        self.skip(match count {
            0..16 => count.div_ceil(2) * 4,
            _ if count.is_multiple_of(16) => count,
            _ => count + 16,
        });
    }

    /// Skips `draws` draws of 32 bits.
    pub fn skip(&mut self, draws: usize) {
        for _ in 0..draws {
            self.0.next_u32();
        }
    }

    /// Fills `values` as `uniform_(0, upper)` does.
    pub fn fill_uniform(&mut self, values: &mut [f32], upper: f32) {
        for value in values {
            *value = (self.0.next_u32() & 0xff_ffff) as f32 / (1 << 24) as f32 * upper;
        }
    }

    /// The documents in the order of one epoch of a shuffling `DataLoader`.
    fn order(&mut self, documents: usize) -> Vec<usize> {
        self.skip(DRAWS_PER_EPOCH - 1);
        let mut random = Mt::new(self.0.next_u32());
        let mut order: Vec<usize> = (0..documents).collect();
        for first in 0..documents.saturating_sub(1) {
            let other = first + random.next_u32() as usize % (documents - first);
            order.swap(first, other);
        }
        order
    }
}

/// The document orders of successive epochs.
#[derive(Debug, Clone)]
pub struct EpochOrders {
    random: TorchRandom,
    documents: usize,
    epoch: usize,
}

impl EpochOrders {
    /// `random` is the generator in its state before the first epoch.
    pub fn new(random: TorchRandom, documents: usize) -> Self {
        Self {
            random,
            documents,
            epoch: 0,
        }
    }

    /// The order of the documents in an epoch, counted from 0. Epochs must be requested in increasing order; gaps are allowed.
    pub fn of(&mut self, epoch: usize) -> Vec<usize> {
        self.random.skip(DRAWS_PER_EPOCH * (epoch - self.epoch));
        self.epoch = epoch + 1;
        self.random.order(self.documents)
    }
}
