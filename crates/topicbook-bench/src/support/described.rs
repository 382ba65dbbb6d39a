//! The description of counts in a record.

use topicbook::{Counts, Result};

/// The dtype, the layout and the density of counts, as in `f32 dense, 92.7% nonzero`.
pub fn described(counts: &Counts) -> Result<String> {
    let density = 100.0 * counts.summary()?.density();
    Ok(format!(
        "{} {}, {density:.1}% nonzero",
        counts.dtype(),
        counts.layout()
    ))
}
