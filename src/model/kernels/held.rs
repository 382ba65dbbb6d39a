//! Dense counts that stay on the card, as they are stored.

use cubecl::client::ComputeClient;
use cubecl::prelude::*;
use cubecl::server::Handle;

use super::Kind;
use super::dense::UNITS;
use super::send::{self, Dense, Sent};
use crate::counts::{Counts, View};
use crate::error::{Error, ErrorKind, Result};

/// Bytes in one piece: what every pool of the runtime takes, and what indices of 32 bits reach.
const PIECE: usize = 1 << 30;

/// All counts on the card, in pieces of consecutive documents.
pub(crate) struct Held {
    pieces: Vec<Handle>,
    /// Documents of a piece; the last may have fewer.
    documents: usize,
    stride: usize,
    kind: Kind,
}

impl Held {
    /// Sends all counts.
    pub(super) fn new<R: Runtime>(
        to: (&ComputeClient<R>, &R::Device),
        counts: &Counts,
        piece: usize,
    ) -> Result<Self> {
        let (documents, terms) = counts.shape();
        let View::Dense(rows) = counts.view()? else {
            return Err(Error::new(
                ErrorKind::Device,
                "sparse counts are not held on a card: each batch is sent",
            ));
        };
        let kind = Kind::of(&rows);
        let stride = send::stride(terms, kind);
        let per_piece = (piece / (4 * stride)).max(1);
        let pieces = (0..documents).step_by(per_piece).map(|first| {
            let length = per_piece.min(documents - first);
            send::upload_rows(to, &rows, terms, length, |row| first + row)
        });
        Ok(Self {
            pieces: pieces.collect::<Result<_>>()?,
            documents: per_piece,
            stride,
            kind,
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
        let client = to.0;
        let words = client.empty(4 * self.stride * documents.len());
        // By piece: rows of it, and where they go.
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); self.pieces.len()];
        for (to, document) in documents.iter().enumerate() {
            let row = document % self.documents;
            places[document / self.documents].extend([row as u32, to as u32]);
        }
        for (piece, places) in self.pieces.iter().zip(&places) {
            if places.is_empty() {
                continue;
            }
            let rows = places.len() / 2;
            let table = send::upload_slice(to, places)?;
            let dim = CubeDim::new_1d(UNITS as u32);
            let total = rows * self.stride;
            let count = cubecl::calculate_cube_count_elemwise(client, total, dim);
            // SAFETY: a unit past the last word ends; rows and places are within the piece and the batch.
            unsafe {
                copy_rows::launch_unchecked::<R>(
                    client,
                    count,
                    dim,
                    AddressType::from_len(self.stride * documents.len()),
                    ArrayArg::from_raw_parts(piece.clone(), piece.size() as usize / 4),
                    ArrayArg::from_raw_parts(table, places.len()),
                    ArrayArg::from_raw_parts(words.clone(), self.stride * documents.len()),
                    rows,
                    self.stride,
                );
            }
        }
        Ok(Sent::Dense(Dense {
            words,
            stride: self.stride,
            kind: self.kind,
        }))
    }
}

/// Copies rows of `stride` words: of each pair of `places`, from the first to the second.
#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_rows(
    piece: &Array<u32>,
    places: &Array<u32>,
    out: &mut Array<u32>,
    rows: usize,
    stride: usize,
) {
    let row = ABSOLUTE_POS / stride;
    if row >= rows {
        terminate!();
    }
    let word = ABSOLUTE_POS % stride;
    let from = places[2 * row] as usize;
    let to = places[2 * row + 1] as usize;
    out[to * stride + word] = piece[from * stride + word];
}
