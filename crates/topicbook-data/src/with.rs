//! What setters return.

/// For setters that leave the value as it was.
pub trait With: Clone {
    /// A changed copy.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }
}

impl<T: Clone> With for T {}
