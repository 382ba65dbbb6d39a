//! Resident counts: all counts in VRAM, in their stored dtype and layout.

use cubecl::ir::AddressType;
use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::counts::{Counts, View};
use crate::error::Result;

use super::dense::UNITS;
use super::upload::{Dense, Sparse, Target, Uploaded};
use super::{CountFormat, upload};

/// Maximum bytes of a piece: within a page of the runtime's pools, and within the reach of 32-bit indices.
const MAX_PIECE: usize = 1 << 30;

/// All counts in VRAM, in pieces of consecutive documents.
pub struct Resident {
    pieces: Vec<Piece>,
    layout: Layout,
}

struct Piece {
    /// The first document of the piece.
    first: usize,
    /// The rows of dense counts; or the columns and the values of sparse counts.
    arrays: Vec<Handle>,
}

enum Layout {
    Dense {
        /// Words in a row.
        stride: usize,
        format: CountFormat,
    },
    /// Row pointers of all documents.
    Sparse(Vec<u64>),
}

impl Resident {
    /// Uploads all counts, in pieces of at most `max_piece` bytes for each array (but at least one document).
    pub fn new<R: Runtime>(
        target: Target<'_, R>,
        counts: &Counts,
        max_piece: usize,
    ) -> Result<Self> {
        let (documents, terms) = counts.shape();
        Ok(match counts.view()? {
            View::Dense(rows) => {
                let format = CountFormat::of(counts.dtype(), counts.largest_known());
                let stride = upload::stride(terms, format);
                let per_piece = (max_piece / (4 * stride)).max(1);
                let pieces = (0..documents).step_by(per_piece).map(|first| {
                    let length = per_piece.min(documents - first);
                    let row = |number| first + number;
                    let words = upload::upload_rows(target, (&rows, format), terms, length, row)?;
                    let arrays = vec![words];
                    Ok(Piece { first, arrays })
                });
                Self {
                    pieces: pieces.collect::<Result<_>>()?,
                    layout: Layout::Dense { stride, format },
                }
            }
            View::Csr(csr) => {
                let (mut pieces, mut first) = (Vec::new(), 0);
                while first < documents {
                    let begin = csr.indptr[first];
                    let limit = begin + (max_piece / 4) as u64;
                    let end = csr.indptr.partition_point(|start| *start <= limit) - 1;
                    let end = end.clamp(first + 1, documents);
                    let range = begin as usize..csr.indptr[end] as usize;
                    let columns = upload::upload_slice(target, &csr.indices[range.clone()])?;
                    let values = upload::upload_slice(target, &csr.values[range])?;
                    let arrays = vec![columns, values];
                    pieces.push(Piece { first, arrays });
                    first = end;
                }
                Self {
                    pieces,
                    layout: Layout::Sparse(csr.indptr.clone()),
                }
            }
        })
    }

    /// Uploads all counts, in pieces that suit the device.
    pub fn all<R: Runtime>(target: Target<'_, R>, counts: &Counts) -> Result<Self> {
        let page = target.0.properties().memory.max_page_size;
        Self::new(target, counts, MAX_PIECE.min(page as usize))
    }

    /// Gathers the rows of a batch on the GPU.
    pub fn gather<R: Runtime>(
        &self,
        target: Target<'_, R>,
        documents: &[usize],
    ) -> Result<Uploaded> {
        match &self.layout {
            &Layout::Dense { stride, format } => {
                let span = |document, first, number| Span {
                    from: document - first,
                    to: number,
                    length: 1,
                };
                let [words] = self.copy(target, documents, (documents.len(), stride), span)?;
                Ok(Uploaded::Dense(Dense {
                    words,
                    stride,
                    format,
                }))
            }
            Layout::Sparse(indptr) => {
                let length = |document: usize| (indptr[document + 1] - indptr[document]) as usize;
                let starts =
                    upload::row_starts(documents.iter().map(|&document| length(document)))?;
                let nonzeros = starts[documents.len()] as usize;
                let span = |document, first: usize, number: usize| Span {
                    from: (indptr[document] - indptr[first]) as usize,
                    to: starts[number] as usize,
                    length: length(document),
                };
                let [columns, counts] = self.copy(target, documents, (nonzeros, 1), span)?;
                Ok(Uploaded::Sparse(Sparse {
                    nonzeros,
                    capacity: upload::rounded_capacity(nonzeros.max(1)),
                    starts: upload::upload_slice(target, &starts)?,
                    columns,
                    counts,
                }))
            }
        }
    }

    /// Copies documents from their pieces into new arrays, one for each array of a piece. An array has `items` items of
    /// `words` words: the rows of dense counts, or nonzero counts. `span(document, first document of its piece, number
    /// in the batch)` returns the items to copy.
    fn copy<R: Runtime, const ARRAYS: usize>(
        &self,
        target: Target<'_, R>,
        documents: &[usize],
        (items, words): (usize, usize),
        span: impl Fn(usize, usize, usize) -> Span,
    ) -> Result<[Handle; ARRAYS]> {
        let client = target.0;
        let length = items * words;
        // The number of nonzero counts varies from batch to batch, the number of dense words does not.
        let capacity = match words {
            1 => upload::rounded_capacity(length.max(1)),
            _ => length.max(1),
        };
        let out = std::array::from_fn(|_| client.empty(4 * capacity));
        let mut spans: Vec<Vec<u32>> = vec![Vec::new(); self.pieces.len()];
        for (number, &document) in documents.iter().enumerate() {
            let piece = self.pieces.partition_point(|piece| piece.first <= document) - 1;
            let Span { from, to, length } = span(document, self.pieces[piece].first, number);
            spans[piece].extend([from, to, length].map(|item| item as u32));
        }
        for (piece, spans) in self.pieces.iter().zip(&spans) {
            if spans.is_empty() {
                continue;
            }
            let n = spans.len() / 3;
            let table = upload::upload_varying(target, spans)?;
            let dim = CubeDim::new_1d(UNITS as u32);
            let count = cubecl::calculate_cube_count_elemwise(client, n * UNITS, dim);
            for (from, out) in piece.arrays.iter().zip(&out) {
                // SAFETY: a cube past the last span terminates; spans are within the piece and the batch.
                unsafe {
                    copy_spans::launch_unchecked::<R>(
                        client,
                        count.clone(),
                        dim,
                        AddressType::from_len(length),
                        ArrayArg::from_raw_parts(from.clone(), from.size() as usize / 4),
                        ArrayArg::from_raw_parts(table.clone(), spans.len()),
                        ArrayArg::from_raw_parts(out.clone(), length.max(1)),
                        n,
                        words,
                    );
                }
            }
        }
        Ok(out)
    }
}

/// A range of items to copy: rows, or nonzero counts.
struct Span {
    /// First item in the piece.
    from: usize,
    /// First item in the batch.
    to: usize,
    length: usize,
}

/// Copies `n` spans of items of `words` words. `spans` has three numbers for each: `from`, `to` and `length`, in items.
/// One cube copies one span.
#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_spans(
    piece: &Array<u32>,
    spans: &Array<u32>,
    out: &mut Array<u32>,
    n: usize,
    words: usize,
) {
    let span = CUBE_POS;
    if span >= n {
        terminate!();
    }
    let from = spans[3 * span] as usize * words;
    let to = spans[3 * span + 1] as usize * words;
    let length = spans[3 * span + 2] as usize * words;
    let mut at = UNIT_POS as usize;
    while at < length {
        out[to + at] = piece[from + at];
        at += UNITS;
    }
}
