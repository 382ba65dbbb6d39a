//! Matrix products of tiles: the counts of a few documents and terms as a dense matrix, with L of the documents and F of the
//! terms.

mod products;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use products::{add_to_f, add_to_l, quotients};
pub(crate) use tile::{DOCUMENTS, Tile, tiled_terms, tiles, to_tiles, unpack};
