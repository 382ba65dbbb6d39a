//! Matrix products of tiles: the counts of a few documents and terms as a dense matrix, with L of the documents and F of the
//! terms.

mod form;
mod products;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use form::{Form, is_dense};
pub(crate) use products::{BLOCK_TERMS, Floor, TERMS, add_to_f, add_to_l, quotients};
pub(crate) use tile::{DOCUMENTS, Tile, tiled_terms, tiles, to_tiles, unpack};
