//! Malformed input gives one message with the location and the remedy: no panic, and no partly written file.

mod arrays;
// Parquet files are among the cases.
#[cfg(feature = "polars")]
mod build;
#[cfg(feature = "polars")]
mod cases;
#[cfg(feature = "polars")]
mod claims;
#[cfg(feature = "polars")]
mod files;
mod texts;

use topicbook::{Error, ErrorKind};

/// Checks that there is an error of this kind, with a remedy and all of these fragments in its message. `Err`
/// describes the difference.
pub fn check(
    name: &str,
    error: Result<Error, String>,
    kind: ErrorKind,
    fragments: &[&str],
) -> Result<(), String> {
    let error = error.map_err(|what| format!("{name}: {what}"))?;
    let message = error.to_string();
    if error.kind() != kind {
        return Err(format!(
            "{name}: kind {:?}, not {kind:?}: {message}",
            error.kind()
        ));
    }
    match fragments
        .iter()
        .find(|&&fragment| !message.contains(fragment))
    {
        Some(fragment) => Err(format!("{name}: no {fragment:?} in: {message}")),
        None if error.remedy().is_none() => Err(format!("{name}: no remedy in: {message}")),
        None => Ok(()),
    }
}
