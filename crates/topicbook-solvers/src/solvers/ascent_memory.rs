//! RAM of coordinate descent for counts in memory.

use crate::cost::{Consumer, Item, Phase, Shape};

/// Memory of a fit without the counts.
pub fn memory(shape: &Shape) -> Vec<Item> {
    let mut items = data_memory(shape, shape.topics);
    items.extend(ascent_memory(shape, shape.topics));
    items
}

/// Memory that does not depend on the number of [`Ascent`](super::coordinate_descent::Ascent)s.
pub fn data_memory(shape: &Shape, topics: u64) -> Vec<Item> {
    use Consumer::{Counts, Rest};
    // A row of F has at most one nonzero count per document, a row of L about `nonzeros`.
    let longest = shape.documents.max(shape.nonzeros);
    let scratch = 4 * (topics + 2) * longest * rayon::current_num_threads() as u64;
    vec![
        Item::ram(
            Counts,
            "counts by term",
            Phase::Fit,
            8 * shape.nonzeros * shape.documents + 16 * shape.terms,
        ),
        Item::ram(
            Counts,
            "documents' lengths",
            Phase::Fit,
            8 * shape.documents,
        ),
        Item::ram(
            Rest,
            "scratch buffers, one per thread",
            Phase::Steps,
            scratch,
        ),
    ]
}

/// Memory of one [`Ascent`](super::coordinate_descent::Ascent): three copies of both factors (best, previous, extrapolated), and
/// a fourth during an iteration.
pub fn ascent_memory(shape: &Shape, topics: u64) -> Vec<Item> {
    use Consumer::Parameters;
    let factors = 4 * topics * (shape.documents + shape.terms);
    vec![
        Item::ram(
            Parameters,
            "L and F: best, previous and extrapolated",
            Phase::Fit,
            3 * factors,
        ),
        Item::ram(
            Parameters,
            "L and F of the current iteration",
            Phase::Pass,
            factors,
        ),
    ]
}
