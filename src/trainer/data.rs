//! What a training reads.

use crate::batches::Batches;

/// Batches to train on, and batches to validate on.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) batches: &'a Batches,
    pub(super) validation: Option<&'a Batches>,
}
