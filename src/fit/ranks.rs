//! What the ranks of a cluster did in each pass, as a table.

use polars::prelude::Column;

use crate::data::Table;

use super::Fit;

impl Fit {
    /// Table with one row per pass and rank of a fit on a [`Cluster`](crate::Cluster). Three columns are seconds: the rank
    /// read and computed (`working`), waited for slower ranks (`waiting`), then for the exchange of F's sums and the new F
    /// (`exchange`). The others are its documents and its highest anonymous memory so far, in bytes. It is empty for a fit in
    /// one process, and for a loaded one.
    ///
    /// A pass takes about the sum of the three: the ranks start it within a few milliseconds. What a faster network could save is in
    /// `exchange`, what a better balance in `waiting`. With gradient steps, where a pass has many exchanges, `exchange` includes the
    /// waiting for the slowest rank of each step, as far as that is not always the same one.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// assert_eq!(fit.ranks().height(), 0, "fitted by this process alone");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn ranks(&self) -> Table {
        let rows = || {
            let passes = self.passes.iter();
            passes.flat_map(|pass| pass.ranks.iter().enumerate().map(move |rank| (pass, rank)))
        };
        let whole = |name: &str, values: Vec<u64>| Column::new(name.into(), values);
        let seconds = |name: &str, values: Vec<f64>| Column::new(name.into(), values);
        Table::from_columns(vec![
            whole("pass", rows().map(|(pass, _)| pass.pass as u64).collect()),
            whole("rank", rows().map(|(_, (rank, _))| rank as u64).collect()),
            whole(
                "documents",
                rows().map(|(_, (_, rank))| rank.documents).collect(),
            ),
            seconds(
                "working",
                rows().map(|(_, (_, rank))| rank.working).collect(),
            ),
            seconds(
                "waiting",
                rows()
                    .map(|(pass, (_, rank))| pass.working() - rank.working)
                    .collect(),
            ),
            seconds(
                "exchange",
                rows().map(|(pass, _)| pass.exchange()).collect(),
            ),
            whole("memory", rows().map(|(_, (_, rank))| rank.memory).collect()),
        ])
    }
}
