//! Stands for `segment.rs` in a build without the feature `languages`.

use crate::error::{Error, Result};

use super::scripts::is_without_spaces;

pub(super) struct Segmenter;

impl Segmenter {
    /// # Errors
    /// For a language whose words are in a dictionary.
    pub(super) fn new(language: &str) -> Result<Self> {
        match is_without_spaces(language) {
            false => Ok(Self),
            true => Err(Error::setting(format!(
                "the dictionary of {language} is not in this build of topicbook"
            ))
            .fix("build it with the feature `languages`")),
        }
    }

    pub(super) fn for_each_word<'t>(&self, run: &'t str, visit: &mut impl FnMut(&'t str)) {
        visit(run);
    }
}
