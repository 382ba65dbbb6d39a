//! The rows of F at the nonzero counts of a document, transposed.

use std::ops::Range;

use crate::kernels::{TERMS, TermLayout};
use crate::system::LANES;

use super::Parts;

impl Parts {
    /// Gathers the rows of F at `columns`, transposed into columns of length `stride` and padded with zeros.
    pub(crate) fn gather(&self, columns: &[u32], stride: usize, gathered: &mut [f32]) {
        let mut at = 0;
        // The next columns that are in a range of terms: at most one for each term.
        let columns_in = |at: usize, terms: &Range<usize>| {
            let next = &columns[at..columns.len().min(at + terms.len())];
            &next[..next.partition_point(|&column| (column as usize) < terms.end)]
        };
        for shard in self.shards() {
            match shard.layout {
                TermLayout::Tiles => {
                    for (tile, f) in self.tiles(shard) {
                        let columns = columns_in(at, &tile.terms);
                        let first = tile.terms.start;
                        gather_tile(columns, first, (f, tile.width), at, (gathered, stride));
                        at += columns.len();
                    }
                }
                TermLayout::Rows => {
                    for &column in columns_in(at, &shard.terms) {
                        let row = &self.f[column as usize * self.width..];
                        for topic in 0..self.topics {
                            gathered[topic * stride + at] = row[topic];
                        }
                        at += 1;
                    }
                }
            }
        }
        for column in gathered.chunks_mut(stride) {
            column[columns.len()..].fill(0.0);
        }
    }
}

/// Copies the values of a tile of F (topics x width) at these columns to each topic's row of `gathered`, from `at` on.
fn gather_tile(
    columns: &[u32],
    first: usize,
    (f, width): (&[f32], usize),
    at: usize,
    (gathered, stride): (&mut [f32], usize),
) {
    let rows = f.chunks_exact(width).zip(gathered.chunks_exact_mut(stride));
    #[cfg(target_arch = "x86_64")]
    if crate::system::Instructions::used() == crate::system::Instructions::Avx512 {
        // For each register, the number of values before its own, and a mask of the lanes to copy.
        let mut registers = [(0, 0u16); TERMS / LANES];
        for &column in columns {
            let term = column as usize - first;
            registers[term / LANES].1 |= 1 << (term % LANES);
        }
        let mut before = 0;
        for register in &mut registers {
            register.0 = before;
            before += register.1.count_ones() as usize;
        }
        for (f, gathered) in rows {
            // SAFETY: the processor has these instructions.
            unsafe { compress(f, &registers, &mut gathered[at..]) };
        }
        return;
    }
    for (f, gathered) in rows {
        for (value, &column) in gathered[at..].iter_mut().zip(columns) {
            *value = f[column as usize - first];
        }
    }
}

/// Copies the masked lanes of each register to `gathered`, one after the other. May overwrite values past the last one.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn compress(f: &[f32], registers: &[(usize, u16)], gathered: &mut [f32]) {
    use std::arch::x86_64::{_mm512_loadu_ps, _mm512_maskz_compress_ps, _mm512_storeu_ps};

    for (f, &(at, wanted)) in f.as_chunks::<LANES>().0.iter().zip(registers) {
        // SAFETY: the array has the lanes of a register.
        let values = unsafe { _mm512_loadu_ps(f.as_ptr()) };
        let values = _mm512_maskz_compress_ps(wanted, values);
        let rest = &mut gathered[at..];
        match rest.as_chunks_mut::<LANES>().0.first_mut() {
            // SAFETY: as above.
            Some(whole) => unsafe { _mm512_storeu_ps(whole.as_mut_ptr(), values) },
            None => {
                let mut lanes = [0.0; LANES];
                // SAFETY: as above.
                unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), values) };
                let length = rest.len();
                rest.copy_from_slice(&lanes[..length]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::counts::rows::for_each_block;
    use crate::solvers::parts::both_forms::{self, count};

    use super::*;

    #[test]
    fn rows_are_gathered_from_tiles_and_from_rows() {
        let (documents, terms, topics) = (16, both_forms::TERMS, 3);
        let counts = both_forms::counts(documents);
        let f: Vec<f32> = (0..terms * topics).map(|at| at as f32).collect();
        let mut parts = Parts::new(terms, topics);
        for_each_block(&counts, false, documents, &mut |block| {
            parts.start_pass(&f, &block);
            Ok(())
        })
        .unwrap();
        for form in [TermLayout::Rows, TermLayout::Tiles] {
            assert!(parts.has(form), "{form:?}");
        }
        let all = |document| -> Vec<u32> {
            let found = (0..terms).filter(|&term| count(document, term) > 0);
            found.map(|term| term as u32).collect()
        };
        for columns in [all(0), all(5), vec![0], vec![2_499], (0..2_500).collect()] {
            let stride = columns.len().next_multiple_of(LANES);
            let mut gathered = vec![-1.0; stride * topics];
            parts.gather(&columns, stride, &mut gathered);
            for (at, value) in gathered.iter().enumerate() {
                let (topic, at) = (at / stride, at % stride);
                let column = columns.get(at);
                let expected = column.map_or(0.0, |&term| f[term as usize * topics + topic]);
                assert_eq!(*value, expected, "value {at} of {}", columns.len());
            }
        }
    }
}
