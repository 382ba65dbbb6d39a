//! A process's share of the steps: the rows of L of some document shards, and their sums.

use std::ops::Range;

use crate::config::MiniBatch;
use crate::counts::rows::Block;
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::factor::Factor;
use crate::solvers::parts::{Parts, Pending, TermLayouts};
use crate::solvers::shards::Tree;
use crate::solvers::streaming_em::PassSums;
use crate::step::update::{LazyRows, StepCounter, UpdateRules};
use crate::step::{divergence, team};
use crate::system::Team;

use super::term_rows::TermRows;

/// The start of a process.
pub struct StepsStart {
    pub parameters: MiniBatch,
    /// The number of documents of the fit, and the documents of this process.
    pub documents: usize,
    pub own: Range<usize>,
    /// Steps taken before.
    pub steps: u64,
    /// The logits of this process's rows of L (documents x topics), and the tables of the optimizer's state.
    pub l: Matrix,
    pub l_state: Vec<Matrix>,
    /// The logits of F (terms x topics), then the tables of the optimizer's state.
    pub f: Vec<Vec<f32>>,
}

pub struct ShardedSteps {
    parameters: MiniBatch,
    counter: StepCounter,
    /// The first document of this process.
    first: usize,
    l: LazyRows,
    /// The threads that bring all rows of L up to date.
    team: Team,
    rows_of_f: TermRows,
    /// F in probabilities (terms x topics).
    f: Factor,
    parts: Parts,
    /// F's statistics, then the likelihood.
    tree: Tree,
    pending: Pending,
    /// The documents of the current shard in the batch, and their rows of L.
    documents: Vec<usize>,
    weights: Vec<f32>,
    /// The documents of the batch whose rows of L are updated.
    stepped: Vec<usize>,
    /// The tokens that the model expects of each term from each topic. Kept to reuse its memory.
    expected: Factor,
}

impl ShardedSteps {
    /// `layouts`: the layouts of F's term shards, the same for all processes.
    pub fn new(start: StepsStart, layouts: TermLayouts) -> Result<Self> {
        let StepsStart { parameters, l, .. } = start;
        let topics = l.columns();
        let terms = start.f.first().map_or(0, |logits| logits.len() / topics);
        let padded = Parts::values(terms as u64, topics as u64) as usize;
        let mut parts = Parts::new(terms, topics);
        parts.set_layouts(layouts);
        let rows_of_f = TermRows::new(&start.f, topics);
        drop(start.f);
        let table = || Factor {
            topics,
            values: vec![0.0; terms * topics],
        };
        let mut f = table();
        rows_of_f.probabilities(&mut f);
        Ok(Self {
            counter: StepCounter::new(&parameters, start.documents, start.steps),
            first: start.own.start,
            l: LazyRows::new((&l, &start.l_state), start.steps, &parameters)?,
            team: team()?,
            rows_of_f,
            f,
            parts,
            tree: Tree::new(padded + PassSums::OTHERS),
            pending: Pending::default(),
            documents: Vec::new(),
            weights: Vec::new(),
            stepped: Vec::new(),
            expected: table(),
            parameters,
        })
    }

    /// Starts a step, and returns its update rules.
    pub fn start(&mut self, learning_rate: f64) -> UpdateRules {
        self.tree.clear();
        self.parts.copy(&self.f.values);
        self.stepped.clear();
        self.counter.step(learning_rate)
    }

    /// Starts a shard, with its documents in the batch.
    pub fn start_shard(&mut self, shard: usize, documents: impl Iterator<Item = usize>) {
        let topics = self.f.topics;
        self.tree.start(shard);
        self.documents.clear();
        self.documents
            .extend(documents.map(|document| document - self.first));
        self.weights.clear();
        self.weights.resize(self.documents.len() * topics, 0.0);
        let rows = self.weights.chunks_exact_mut(topics);
        for (&document, weights) in self.documents.iter().zip(rows) {
            self.l.weights(document, weights);
        }
    }

    /// Adds documents of the shard to its sums, and updates their rows of L. `block.first` is counted from the shard's first
    /// document in the batch.
    pub fn add(&mut self, block: &Block<'_>, rules: &UpdateRules) {
        let topics = self.f.topics;
        let mut sums = PassSums::of(self.tree.current());
        let pending = &mut self.pending;
        let mut gradients = sums.add_with_multipliers(&self.parts, block, &self.weights, pending);
        let weights = self.weights[block.first * topics..].chunks_exact(topics);
        for (gradients, weights) in gradients.chunks_exact_mut(topics).zip(weights) {
            let expected =
                |(weight, multiplier): (&f32, &f32)| f64::from(*weight) * f64::from(*multiplier);
            let tokens: f64 = weights.iter().zip(&*gradients).map(expected).sum();
            for (weight, gradient) in weights.iter().zip(gradients) {
                *gradient = (f64::from(*weight) * tokens - expected((weight, gradient))) as f32;
            }
        }
        let documents = &self.documents[block.first..block.first + block.rows.len()];
        self.l.update_rows(documents, &gradients, rules.l_rule);
    }

    /// Ends a shard, all of whose documents in the batch were added.
    pub fn end_shard(&mut self) {
        let mut sums = PassSums::of(self.tree.current());
        sums.add_pending(&self.parts, &self.weights, &mut self.pending);
        self.tree.join();
        self.stepped.extend(&self.documents);
    }

    /// The sums of the step.
    pub fn tree(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Updates F by the sums of all shards, once they are in the tree. Returns the batch's sum of x log rate.
    pub fn update_f(&mut self, rules: &UpdateRules) -> f64 {
        let sums = PassSums::of(self.tree.total());
        self.expected.values.copy_from_slice(&self.f.values);
        self.parts
            .multiply(&mut self.expected.values, sums.statistics);
        let totals = self.expected.column_sums();
        self.rows_of_f
            .step(&self.f, (&self.expected, &totals), rules.f_rule);
        self.rows_of_f.probabilities(&mut self.f);
        *sums.likelihood
    }

    /// F in probabilities (terms x topics).
    pub fn f_mut(&mut self) -> &mut [f32] {
        &mut self.f.values
    }

    /// Ends a step, after every process has the new F.
    pub fn end(&mut self, rules: &UpdateRules) {
        self.l.mark_updated(&self.stepped, rules.step_sizes);
        if self.counter.flush_due() {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.l.flush(&mut self.team);
        self.counter.mark_flushed();
    }

    /// Ends an epoch: no row of L is stale afterwards, so that a fit continues from the tables with the same bits.
    ///
    /// # Errors
    /// If the logits are no longer numbers that a step can change.
    pub fn end_epoch(&mut self) -> Result<()> {
        self.flush();
        divergence::check("L", self.l.extent(), &self.parameters)?;
        divergence::check("F", self.rows_of_f.extent(), &self.parameters)
    }

    /// The logits of this process's rows of L, then the tables of the optimizer's state.
    pub fn l_tables(&self) -> Result<Vec<Matrix>> {
        let (logits, state) = self.l.tables()?;
        Ok(std::iter::once(logits).chain(state).collect())
    }

    /// The logits of F, then the tables of the optimizer's state.
    pub fn f_tables(&self) -> Vec<Vec<f32>> {
        self.rows_of_f.tables()
    }
}
