//! Topics and score of documents that are more than one machine's work.

use crate::config::Cluster;
use crate::counts::Counts;
use crate::data::{Matrix, OrRef};
use crate::error::Result;
use crate::fit::Fit;
use crate::training::{OnRanks, documents_by_ranks};

impl Fit {
    /// [`transform`](Self::transform) by the ranks of a cluster: L (documents x topics, rows summing to one) for counts over the
    /// same terms, with F fixed. It has the bits of `transform`.
    ///
    /// The counts lie in a file that every rank sees, as for a fit on a [`Cluster`]; a rank that is lost ends the job with its
    /// number, host and signal, or the job starts again ([`Cluster::retries`]). The job ends with this process, and with the stop
    /// button of a notebook; a part of the documents is not returned.
    ///
    /// ```no_run
    /// use topicbook::prelude::*;
    /// let fit = Fit::load("fit.safetensors")?;
    /// let cluster = Cluster::hosts("hosts.txt").folder("/shared/runs");
    /// let l = fit.transform_on(cluster, Counts::open("/shared/new.npz")?)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms, are in memory or in a table, are cut into fewer shards than there are ranks,
    /// when a rank, its memory or its disk fails, or when the stop button ends the job.
    ///
    /// # Cost
    /// Each rank reads its documents once to check them and once to compute; F is sent to each, L comes back, by files.
    pub fn transform_on(
        &self,
        cluster: impl OrRef<Cluster>,
        counts: impl OrRef<Counts>,
    ) -> Result<Matrix> {
        Ok(self
            .by_ranks_of(cluster.value(), counts.value(), None, "transform")?
            .l)
    }

    /// [`score`](Self::score) by the ranks of a cluster, to the same bits: with L of the fit for the counts that it was fitted to,
    /// and for others with what [`transform_on`](Self::transform_on) computes.
    ///
    /// ```no_run
    /// use topicbook::prelude::*;
    /// let fit = Fit::load("fit.safetensors")?;
    /// let cluster = Cluster::hosts("hosts.txt").folder("/shared/runs");
    /// let score = fit.score_on(cluster, Counts::open("/shared/held_out.npz")?)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`transform_on`](Self::transform_on).
    ///
    /// # Cost
    /// That of [`transform_on`](Self::transform_on).
    pub fn score_on(
        &self,
        cluster: impl OrRef<Cluster>,
        counts: impl OrRef<Counts>,
    ) -> Result<f64> {
        let counts = counts.value();
        let l = self.is_fitted_to(counts)?.then_some(&self.l);
        Ok(self.by_ranks_of(cluster.value(), counts, l, "score")?.score)
    }

    fn by_ranks_of(
        &self,
        cluster: &Cluster,
        counts: &Counts,
        l: Option<&Matrix>,
        action: &str,
    ) -> Result<OnRanks> {
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, action));
        }
        documents_by_ranks(self, cluster, counts, l)
    }
}
