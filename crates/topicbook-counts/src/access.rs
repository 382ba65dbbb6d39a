//! Borrowed counts: views in their layout and dtype.

use crate::error::Result;

use super::expected::no_counts;
use super::{Counts, Store, View};

impl Counts {
    /// Calls `read` with the counts in their layout and dtype, and returns its result if a mapped file is the same before
    /// and after: pages that the file loses meanwhile read as zeros.
    #[doc(hidden)]
    pub fn with_view<T>(&self, read: impl FnOnce(View<'_>) -> Result<T>) -> Result<T> {
        let result = read(self.view()?);
        self.check_unchanged()?;
        result
    }

    /// Fails if a mapped file has changed since it was opened, or lost pages. Costs one system call.
    #[doc(hidden)]
    pub fn check_unchanged(&self) -> Result<()> {
        match &self.inner.store {
            Store::Dense(store) => store.check_unchanged(),
            // Sparse rows were read into memory.
            Store::Csr(_) | Store::Files(_) | Store::Expected(_) => Ok(()),
        }
    }

    /// Borrows the counts in their layout and dtype. Reads an `.npz` or several files on the first call, and checks that a
    /// mapped file has not changed. Call [`check_unchanged`](Self::check_unchanged) before a result of a view is used.
    #[doc(hidden)]
    pub fn view(&self) -> Result<View<'_>> {
        Ok(match &self.inner.store {
            Store::Dense(store) => View::Dense(store.rows()?),
            Store::Csr(csr) => View::Csr(csr.get()?),
            Store::Files(files) => files.get(&self.claim(), self.bytes_stored())?.view()?,
            Store::Expected(_) => return Err(no_counts()),
        })
    }
}
