//! The rows of F at the nonzero counts of a document, transposed.

use crate::counts::rows::columns_between;
use crate::system::simd_dispatch;

use super::{Form, Parts};

impl Parts {
    /// Gathers the rows of F at `columns`, transposed into columns of length `stride` and padded with zeros.
    pub(in crate::solvers) fn gather(&self, columns: &[u32], stride: usize, gathered: &mut [f32]) {
        for part in 0..self.forms.len() {
            match self.forms[part] {
                Form::Tiles => {
                    for (tile, f) in self.tiles(part) {
                        let found = columns_between(columns, &tile.terms);
                        let at = found.start;
                        let columns = &columns[found];
                        gather_tile(
                            columns,
                            tile.terms.start,
                            f,
                            tile.width,
                            at,
                            stride,
                            gathered,
                        );
                    }
                }
                Form::Nonzeros => {
                    let (range, f) = (self.range(part), self.part_of_f(part));
                    for at in columns_between(columns, &range) {
                        let row = &f[(columns[at] as usize - range.start) * self.width..];
                        for topic in 0..self.topics {
                            gathered[topic * stride + at] = row[topic];
                        }
                    }
                }
            }
        }
        for column in gathered.chunks_mut(stride) {
            column[columns.len()..].fill(0.0);
        }
    }
}

simd_dispatch! {
    /// Copies the values of a tile of F (topics x width) at some columns to each topic's row of `gathered`, from `at` on.
    fn gather_tile(
        columns: &[u32],
        first: usize,
        f: &[f32],
        width: usize,
        at: usize,
        stride: usize,
        gathered: &mut [f32],
    ) {
        for (f, gathered) in f.chunks_exact(width).zip(gathered.chunks_exact_mut(stride)) {
            let gathered = &mut gathered[at..][..columns.len()];
            for (value, &column) in gathered.iter_mut().zip(columns) {
                *value = f[column as usize - first];
            }
        }
    }
}
