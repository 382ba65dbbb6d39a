//! Text and HTML: number formats, escaping, and the cards that values show in notebook cells.

mod card;
mod format;
mod html;
mod printable;

pub use card::Card;
pub use format::{
    bytes, count, counted, decimals_of, fixed, listed, number, occurrences, pad_left, pad_right,
    percent, quoted_list, seconds, shorten, width,
};
pub use html::{cell, direction, escape, inside_script};
pub use printable::{one_line, printable, shown_path};
