//! A rank's share of a fit on a cluster: the rows of L of some document shards, and their sums.

use std::ops::Range;

use crate::counts::rows::{RowFiles, for_each_file_block};
use crate::error::Result;
use crate::solvers::factor::Factor;
use crate::solvers::parts::{Parts, Pending, TermLayouts};
use crate::solvers::shards::{DocumentShards, Tree};
use crate::solvers::{Iteration, documents_in_block};

use super::{LUpdate, PassSums, StreamingEm};

pub struct RankStart {
    /// Whether rows of L are updated by coordinate descent.
    pub descent: bool,
    pub shards: DocumentShards,
    /// The rank's shards.
    pub own: Range<usize>,
    pub topics: usize,
    pub terms: usize,
    /// Tokens of the rank's documents.
    pub lengths: Vec<f64>,
    /// Tokens of all documents, and the sum of n log n over their lengths.
    pub tokens: f64,
    pub entropy: f64,
    /// The rank's rows of L in tokens, and F in probabilities (terms x topics).
    pub l: Vec<f32>,
    pub f: Vec<f32>,
}

impl StreamingEm {
    /// `layouts`: the layouts of F's term shards, the same for all ranks.
    pub fn of_rank(start: RankStart, layouts: TermLayouts) -> Self {
        let RankStart { topics, terms, .. } = start;
        let padded = Parts::values(terms as u64, topics as u64) as usize;
        let mut parts = Parts::new(terms, topics);
        parts.set_layouts(layouts);
        let factor = |values| Factor { topics, values };
        Self {
            l_update: match start.descent {
                true => LUpdate::CoordinateDescent,
                false => LUpdate::Em,
            },
            streamed: true,
            lengths: start.lengths,
            entropy: start.entropy,
            tokens: start.tokens,
            l: factor(start.l),
            f: factor(start.f),
            first_document: start.shards.documents(start.own.clone()).start,
            first_shard: start.own.start,
            shards: start.shards,
            parts,
            tree: Tree::new(padded + PassSums::OTHERS),
            pending: Pending::default(),
        }
    }

    /// Passes over the rank's documents, which are `documents` of the file. `progress` is called once per block.
    pub fn pass_of_rank(
        &mut self,
        rows: RowFiles,
        documents: Range<usize>,
        progress: &mut dyn FnMut(),
    ) -> Result<()> {
        let in_block = documents_in_block(self.parts.terms());
        self.pass(|visit| {
            for_each_file_block(rows, documents, in_block, &mut |block| {
                progress();
                visit(block)
            })
        })
    }

    /// The sums of the last pass.
    pub fn tree(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Updates F by the sums of all shards, once they are in the tree.
    pub fn update(&mut self) -> Iteration {
        self.update_f()
    }

    /// F in probabilities (terms x topics).
    pub fn f(&self) -> &[f32] {
        &self.f.values
    }

    /// [`f`](Self::f), to be replaced by the first rank's.
    pub fn f_mut(&mut self) -> &mut [f32] {
        &mut self.f.values
    }

    /// The rank's rows of L in tokens.
    pub fn l(&self) -> &[f32] {
        &self.l.values
    }
}
