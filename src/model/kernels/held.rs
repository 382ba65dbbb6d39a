//! Counts that stay on the card, as they are stored.

use cubecl::client::ComputeClient;
use cubecl::ir::AddressType;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::Kind;
use super::dense::UNITS;
use super::send::{self, Dense, Sent, Sparse};
use crate::counts::{Counts, View};
use crate::error::Result;

/// Bytes in one piece: what every pool of the runtime takes, and what indices of 32 bits reach.
const PIECE: usize = 1 << 30;

/// All counts on the card, in pieces of consecutive documents.
pub(crate) struct Held {
    pieces: Vec<Piece>,
    stored: Stored,
}

struct Piece {
    /// Its first document.
    first: usize,
    /// Rows of dense counts; or columns, and counts of the same length.
    words: Vec<Handle>,
}

/// How counts are stored.
enum Stored {
    Dense {
        stride: usize,
        kind: Kind,
    },
    /// Where each document begins, counted from the first one.
    Sparse(Vec<u64>),
}

impl Held {
    /// Sends all counts, in pieces of at most so many bytes (but for a document that takes more).
    pub(super) fn new<R: Runtime>(
        to: (&ComputeClient<R>, &R::Device),
        counts: &Counts,
        piece: usize,
    ) -> Result<Self> {
        let (documents, terms) = counts.shape();
        Ok(match counts.view()? {
            View::Dense(rows) => {
                let kind = Kind::of(&rows);
                let stride = send::stride(terms, kind);
                let per_piece = (piece / (4 * stride)).max(1);
                let pieces = (0..documents).step_by(per_piece).map(|first| {
                    let length = per_piece.min(documents - first);
                    let words = send::upload_rows(to, &rows, terms, length, |row| first + row)?;
                    let words = vec![words];
                    Ok(Piece { first, words })
                });
                Self {
                    pieces: pieces.collect::<Result<_>>()?,
                    stored: Stored::Dense { stride, kind },
                }
            }
            View::Csr(csr) => {
                let (mut pieces, mut first) = (Vec::new(), 0);
                while first < documents {
                    let begin = csr.indptr[first];
                    let room = begin + (piece / 4) as u64;
                    let end = csr.indptr.partition_point(|start| *start <= room) - 1;
                    let end = end.clamp(first + 1, documents);
                    let all = begin as usize..csr.indptr[end] as usize;
                    let columns = send::upload_slice(to, &csr.indices[all.clone()])?;
                    let counts = send::upload_slice(to, &csr.values[all])?;
                    let words = vec![columns, counts];
                    pieces.push(Piece { first, words });
                    first = end;
                }
                Self {
                    pieces,
                    stored: Stored::Sparse(csr.indptr.clone()),
                }
            }
        })
    }

    /// In pieces as they fit every card.
    pub(super) fn all<R: Runtime>(
        to: (&ComputeClient<R>, &R::Device),
        counts: &Counts,
    ) -> Result<Self> {
        let page = to.0.properties().memory.max_page_size;
        Self::new(to, counts, PIECE.min(page as usize))
    }

    /// A batch, copied together on the card.
    pub(super) fn gather<R: Runtime>(
        &self,
        to: (&ComputeClient<R>, &R::Device),
        documents: &[usize],
    ) -> Result<Sent> {
        match &self.stored {
            &Stored::Dense { stride, kind } => {
                let span = |document, first, number| Span {
                    from: document - first,
                    to: number,
                    length: 1,
                };
                let [words] = self.copy(to, documents, (documents.len(), stride), span)?;
                Ok(Sent::Dense(Dense {
                    words,
                    stride,
                    kind,
                }))
            }
            Stored::Sparse(begins) => {
                let length = |document: usize| (begins[document + 1] - begins[document]) as usize;
                let starts = send::starts(documents.iter().map(|&document| length(document)))?;
                let nonzeros = starts[documents.len()] as usize;
                let span = |document, first: usize, number: usize| Span {
                    from: (begins[document] - begins[first]) as usize,
                    to: starts[number] as usize,
                    length: length(document),
                };
                let [columns, counts] = self.copy(to, documents, (nonzeros, 1), span)?;
                Ok(Sent::Sparse(Sparse {
                    nonzeros,
                    room: send::room(nonzeros.max(1)),
                    starts: send::upload_slice(to, &starts)?,
                    columns,
                    counts,
                }))
            }
        }
    }

    /// Documents one after the other, in each of the arrays that a piece has: so many things of so many words. `span` says
    /// for a document, the first one of its piece and its number in the batch which things are copied where.
    fn copy<R: Runtime, const ARRAYS: usize>(
        &self,
        to: (&ComputeClient<R>, &R::Device),
        documents: &[usize],
        (things, words): (usize, usize),
        span: impl Fn(usize, usize, usize) -> Span,
    ) -> Result<[Handle; ARRAYS]> {
        let client = to.0;
        let all = things * words;
        // Documents have so many words, or so many nonzero counts, which differ.
        let room = match words {
            1 => send::room(all.max(1)),
            _ => all.max(1),
        };
        let out = std::array::from_fn(|_| client.empty(4 * room));
        let mut spans: Vec<Vec<u32>> = vec![Vec::new(); self.pieces.len()];
        for (number, &document) in documents.iter().enumerate() {
            let piece = self.pieces.partition_point(|piece| piece.first <= document) - 1;
            let Span { from, to, length } = span(document, self.pieces[piece].first, number);
            spans[piece].extend([from, to, length].map(|things| things as u32));
        }
        for (piece, spans) in self.pieces.iter().zip(&spans) {
            if spans.is_empty() {
                continue;
            }
            let rows = spans.len() / 3;
            let table = send::upload_varying(to, spans)?;
            let dim = CubeDim::new_1d(UNITS as u32);
            let count = cubecl::calculate_cube_count_elemwise(client, rows * UNITS, dim);
            for (from, out) in piece.words.iter().zip(&out) {
                // SAFETY: a cube past the last span ends; spans lie within the piece and the batch.
                unsafe {
                    copy_spans::launch_unchecked::<R>(
                        client,
                        count.clone(),
                        dim,
                        AddressType::from_len(all),
                        ArrayArg::from_raw_parts(from.clone(), from.size() as usize / 4),
                        ArrayArg::from_raw_parts(table.clone(), spans.len()),
                        ArrayArg::from_raw_parts(out.clone(), all.max(1)),
                        rows,
                        words,
                    );
                }
            }
        }
        Ok(out)
    }
}

/// What of a piece is copied into a batch: rows, or nonzero counts.
struct Span {
    from: usize,
    to: usize,
    length: usize,
}

/// Copies spans of things of `words` words: of each three numbers of `spans`, from the first to the second, so many as the
/// third. A cube has a span.
#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_spans(
    piece: &Array<u32>,
    spans: &Array<u32>,
    out: &mut Array<u32>,
    rows: usize,
    words: usize,
) {
    let row = CUBE_POS;
    if row >= rows {
        terminate!();
    }
    let from = spans[3 * row] as usize * words;
    let to = spans[3 * row + 1] as usize * words;
    let length = spans[3 * row + 2] as usize * words;
    let mut at = UNIT_POS as usize;
    while at < length {
        out[to + at] = piece[from + at];
        at += UNITS;
    }
}
