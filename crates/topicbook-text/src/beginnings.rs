//! The first characters of each text.

use crate::error::Result;
use crate::system::Claim;
use crate::text::counted;

use super::pass::{PassProgress, for_each_batch};
use super::texts::Texts;

impl Texts {
    /// The first `characters` characters of each text, in their order: to look at them, and for `Explorer::documents`. Of an
    /// HTML page, the characters of its text are taken.
    ///
    /// ```
    /// use topicbook::Texts;
    /// let letters = Texts::new(["My dear Cassandra, ...", "Sir"])?;
    /// assert_eq!(letters.beginnings(7)?, ["My dear", "Sir"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a file cannot be read or is malformed, or the beginnings need more than the free memory.
    ///
    /// # Cost
    /// One pass over the texts; at most four bytes of memory per character.
    #[doc(alias = "head")]
    pub fn beginnings(&self, characters: usize) -> Result<Vec<String>> {
        let mut beginnings = Vec::new();
        let mut kept = 0;
        let mut progress = PassProgress::new("reading", self);
        for_each_batch(
            self.reader()?,
            &mut progress,
            |batch| {
                let mut found = Vec::new();
                batch.for_each_text(None, &mut |text| {
                    found.push(text.beginning(characters));
                })?;
                Ok(found)
            },
            || Ok(()),
            |found: Vec<String>| {
                kept += found
                    .iter()
                    .map(|text| (text.len() + size_of::<String>()) as u64)
                    .sum::<u64>();
                beginnings.extend(found);
                let what = format!("the beginnings of {}", counted(beginnings.len(), "text"));
                // The next batches can take as much again before the next check.
                Claim::new(None, what, "texts").check_memory(kept)
            },
        )?;
        Ok(beginnings)
    }
}
