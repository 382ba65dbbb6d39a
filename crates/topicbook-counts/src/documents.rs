//! Counts and the documents that their rows stand for.

use crate::data::{Documents, OrRef};
use crate::error::Result;

use super::Counts;

impl Counts {
    /// Fails unless there is one document for each row.
    ///
    /// ```
    /// use topicbook::{Counts, Documents};
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// counts.check_documents(Documents::new(["a.txt", "b.txt"])?)?;
    /// let error = counts.check_documents(Documents::numbered(3)?).unwrap_err();
    /// assert!(error.to_string().contains("3 documents for counts of 2 rows"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the numbers differ: the message says both.
    pub fn check_documents(&self, documents: impl OrRef<Documents>) -> Result<()> {
        documents.value().check_rows(self.documents(), "counts")
    }
}
