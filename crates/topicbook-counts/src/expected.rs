//! What is known of counts that do not exist yet: enough to plan a fit.

use crate::error::{Error, Result};

use super::{Counts, Dtype, Layout, Location, Store};

/// The dtype, layout and number of nonzero counts of a future file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) dtype: Dtype,
    pub(super) layout: Layout,
    pub(super) nonzeros: u64,
}

impl Counts {
    /// Counts of which only these facts are known, in a file that can be read row by row. Plans accept them; reading
    /// them is an error.
    ///
    /// # Errors
    /// When they are empty or have too many terms.
    #[doc(hidden)]
    pub fn expected(
        (documents, terms): (usize, usize),
        dtype: Dtype,
        layout: Layout,
        nonzeros: u64,
    ) -> Result<Self> {
        let location = match layout {
            Layout::Dense => Location::File("X.npy".into()),
            Layout::Csr => Location::Loaded("X.npz".into()),
        };
        let expected = Expected {
            dtype,
            layout,
            nonzeros,
        };
        Self::new(documents, terms, Store::Expected(expected), location)
    }

    /// # Errors
    /// When the counts do not exist.
    #[doc(hidden)]
    pub fn check_existing(&self) -> Result<()> {
        match &self.inner.store {
            Store::Expected(_) => Err(no_counts()),
            _ => Ok(()),
        }
    }
}

/// The error for reading them.
pub(super) fn no_counts() -> Error {
    Error::value("an estimate has no counts to fit to").fix(
        "open or draw the counts, and plan again with them: TopicModel::plan or TopicModel::fit",
    )
}
