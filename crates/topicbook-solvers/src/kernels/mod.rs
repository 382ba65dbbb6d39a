//! Products of L and F: for tiles, which are the counts of a few documents and terms as a dense matrix, and for nonzero counts.

mod document_nonzeros;
mod nonzeros;
mod products;
mod table_shape;
#[cfg(test)]
mod tests;
mod tile;

pub use document_nonzeros::DocumentNonzeros;
pub(crate) use nonzeros::with_registers;
pub use nonzeros::{WIDEST, add_rows, divide, rates, registers};
pub use products::{BLOCK, BLOCK_TERMS, Floor, TERMS, add_to_f, add_to_l, quotients, tile_rates};
pub use table_shape::{TableShape, TermLayout, is_dense};
pub use tile::{DOCUMENTS, Tile, prefetch, prefetch_next, tiled_terms, unpack};
