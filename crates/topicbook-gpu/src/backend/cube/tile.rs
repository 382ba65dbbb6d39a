//! The tile of dense counts that a unit processes at a time, and where its inputs are: constants of a compiled kernel.

use crate::config::Precision;

use super::CountFormat;
use super::dense::UNITS;

/// Accumulators that a unit may have in registers if the device has 255 registers for each unit.
const REGISTERS: usize = 128;
/// The same for other runtimes, whose compilers need a minute for a long kernel.
const FEW_REGISTERS: usize = 16;
/// Values of F that a unit may have in shared memory: 40 KiB for a cube on CUDA, 16 KiB elsewhere.
const SHARED_VALUES: usize = 80;
const FEW_SHARED_VALUES: usize = 32;
/// Topics up to which weights are read from shared memory, and the weights of a chunk of documents that are there at once.
const SHARED_TOPICS: usize = 128;
const SHARED_WEIGHTS: usize = 1024;

/// Size of the tile that a unit processes at a time, and the form of its inputs: constants of a compiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tile {
    pub topics: usize,
    pub documents: usize,
    pub terms: usize,
    /// Whether loops over the accumulators are unrolled, so that they are in registers.
    pub(super) unroll: bool,
    /// Whether weights are read from shared memory.
    pub(super) shares_weights: bool,
    /// Whether the values of F are read from there: only the kernel `by_terms` uses them again.
    pub(super) shares_f: bool,
    pub(super) format: CountFormat,
    pub(super) precision: Precision,
}

impl Tile {
    /// The tile of the kernel `by_terms`. `many_registers`: the runtime is CUDA.
    pub fn by_terms(topics: usize, inputs: (CountFormat, Precision), many_registers: bool) -> Self {
        // Up to 128 topics, the accumulators fit into REGISTERS. Longer kernels also compile slowly.
        let (documents, terms) = match topics {
            ..=20 => (8, 4),
            21..=40 => (8, 2),
            41..=64 => (4, 2),
            65..=REGISTERS => (4, 1),
            _ => (8, 2),
        };
        let unroll = unroll(topics * terms, many_registers);
        let most = match many_registers {
            true => SHARED_VALUES,
            false => FEW_SHARED_VALUES,
        };
        Self {
            shares_f: topics * terms <= most,
            ..Self::new(topics, (documents, terms), unroll, inputs)
        }
    }

    /// The tile of the kernel `by_documents`.
    pub fn by_documents(
        topics: usize,
        inputs: (CountFormat, Precision),
        many_registers: bool,
    ) -> Self {
        let (documents, terms) = match topics {
            ..=32 => (4, 4),
            33..=64 => (2, 8),
            65..=REGISTERS => (1, 8),
            _ => (4, 8),
        };
        let unroll = unroll(topics * documents, many_registers);
        Self::new(topics, (documents, terms), unroll, inputs)
    }

    /// Whether pairs of terms are read as one word: this needs bf16, and tiles that start at even terms.
    pub(super) fn in_pairs(self) -> bool {
        self.precision == Precision::Bf16 && self.terms.is_multiple_of(2)
    }

    fn new(
        topics: usize,
        (documents, terms): (usize, usize),
        unroll: bool,
        (format, precision): (CountFormat, Precision),
    ) -> Self {
        Self {
            topics,
            documents,
            terms,
            unroll,
            shares_weights: topics <= SHARED_TOPICS,
            shares_f: false,
            format,
            precision,
        }
    }

    /// Documents whose weights are in shared memory at once: tiles of documents.
    pub(super) const fn chunk(self) -> usize {
        let tiles = SHARED_WEIGHTS / (self.topics * self.documents);
        if tiles > 1 {
            tiles * self.documents
        } else {
            self.documents
        }
    }

    /// Topics of the rates that are unrolled: up to four, of which the number of topics is a multiple.
    pub(super) const fn topics_at_once(self) -> usize {
        let mut number = 4;
        while !self.topics.is_multiple_of(number) {
            number -= 1;
        }
        number
    }

    /// Weights in shared memory; an array in shared memory has at least one number.
    pub(super) const fn shared_weights(self) -> usize {
        if self.shares_weights {
            self.chunk() * self.topics
        } else {
            1
        }
    }

    /// Values of F in shared memory.
    pub(super) const fn shared_f(self) -> usize {
        if self.shares_f {
            self.topics * self.terms * UNITS
        } else {
            1
        }
    }
}

/// Whether this number of accumulators fits into registers.
fn unroll(accumulators: usize, many_registers: bool) -> bool {
    let limit = if many_registers {
        REGISTERS
    } else {
        FEW_REGISTERS
    };
    accumulators <= limit
}
