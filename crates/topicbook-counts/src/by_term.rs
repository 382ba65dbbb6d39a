//! Which documents contain a term, and how often the terms occur.

use rayon::prelude::*;

#[cfg(feature = "polars")]
use crate::data::{OrRef, Table, Terms};
use crate::error::{Error, Result};
use crate::text::count;

use super::dense::DenseRows;
use super::dtype::{Element, with_values};
use super::pass::for_each_stored_block;
use super::rows::{Block, NonzeroBuffer, nonzeros_of_row};
use super::{Counts, View};

impl Counts {
    /// The documents that contain the term of a column, as row numbers in increasing order;
    /// [`Terms::find`](crate::Terms::find) gives the column of a word.
    ///
    /// ```
    /// use topicbook::{Counts, Terms};
    /// let counts = Counts::dense(3, 2, vec![1u8, 0, 0, 2, 0, 4])?;
    /// let terms = Terms::new(["spike", "neuron"])?;
    /// let documents = counts.documents_with(terms.find("neuron")?)?;
    /// assert_eq!(documents, [1, 2]);
    /// assert_eq!(counts.select(&documents)?.documents(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such column, or the counts' file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts on all cores; a file is read in blocks of bounded size.
    #[doc(alias("docs_with", "contains"))]
    pub fn documents_with(&self, column: usize) -> Result<Vec<usize>> {
        if column >= self.terms() {
            return Err(Error::shape(format!(
                "column {column} of counts with {} terms",
                count(self.terms() as u64)
            ))
            .fix("columns are counted from 0; Terms::find gives the column of a word"));
        }
        let terms = self.terms();
        let mut documents = Vec::new();
        for_each_stored_block(self, false, &mut |block| {
            let Block { view, rows, first } = block;
            let before = rows.start;
            documents.par_extend(
                rows.into_par_iter()
                    .filter(|&row| has(&view, terms, row, column))
                    .map(|row| first + row - before),
            );
            Ok(())
        })?;
        Ok(documents)
    }

    /// How often each term occurs: the sum of its counts, in tokens; one value for each column.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 3, 0, 0])?;
    /// assert_eq!(counts.term_totals()?, [4.0, 0.0, 2.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`summary`](Self::summary), which checks every count first.
    ///
    /// # Cost
    /// One pass over the counts on all cores, after the pass of the summary if that is not cached yet; a file is read in
    /// blocks of bounded size.
    #[doc(alias("term_frequencies", "sum"))]
    pub fn term_totals(&self) -> Result<Vec<f64>> {
        Ok(self.tally_terms()?.totals)
    }

    /// How many documents contain each term; one value for each column.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 3, 0, 0])?;
    /// assert_eq!(counts.document_frequencies()?, [2, 0, 1]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`term_totals`](Self::term_totals).
    ///
    /// # Cost
    /// As [`term_totals`](Self::term_totals).
    #[doc(alias = "df")]
    pub fn document_frequencies(&self) -> Result<Vec<u64>> {
        Ok(self.tally_terms()?.documents)
    }

    /// Table with one row for each term: its column, the term, how often it occurs (`count`, in tokens) and how many
    /// documents contain it (`documents`).
    ///
    /// ```
    /// use topicbook::{Counts, Terms};
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 3, 0, 0])?;
    /// let table = counts.term_table(Terms::new(["spike", "neuron", "cell"])?)?;
    /// assert_eq!((table.height(), table.width()), (3, 4));
    /// assert_eq!(table.column("count")?.f64()?.get(0), Some(4.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one term for each column, and as [`term_totals`](Self::term_totals).
    ///
    /// # Cost
    /// As [`term_totals`](Self::term_totals).
    #[cfg(feature = "polars")]
    #[doc(alias = "value_counts")]
    pub fn term_table(&self, terms: impl OrRef<Terms>) -> Result<Table> {
        use polars::prelude::Column;
        let terms = terms.value();
        self.check_terms(terms)?;
        let tally = self.tally_terms()?;
        Ok(Table::from_columns(vec![
            Column::new("column".into(), (0..terms.len() as u32).collect::<Vec<_>>()),
            Column::new("term".into(), terms.as_slice()),
            Column::new("count".into(), tally.totals),
            Column::new("documents".into(), tally.documents),
        ]))
    }

    fn tally_terms(&self) -> Result<TermTally> {
        self.summary()?;
        let terms = self.terms();
        // One tally per thread, and their sum.
        let tallies = rayon::current_num_threads() as u64 + 1;
        let tally_bytes = (terms as u64).saturating_mul(2 * size_of::<f64>() as u64);
        self.claim()
            .check_memory(tally_bytes.saturating_mul(tallies))?;
        let mut tally = TermTally::new(terms);
        for_each_stored_block(self, false, &mut |block| {
            let Block { view, rows, .. } = block;
            // One tally per thread; sums of whole numbers are exact below 2^53, so their order does not matter.
            let step = rows.len().div_ceil(rayon::current_num_threads()).max(1);
            let found: Vec<TermTally> = rows
                .clone()
                .step_by(step)
                .collect::<Vec<_>>()
                .into_par_iter()
                .map(|first| {
                    let mut tally = TermTally::new(terms);
                    let mut buffer = NonzeroBuffer::default();
                    for row in first..rows.end.min(first + step) {
                        tally.add(&view, row, &mut buffer);
                    }
                    tally
                })
                .collect();
            found.iter().for_each(|found| tally.join(found));
            Ok(())
        })?;
        Ok(tally)
    }
}

/// Whether a document contains a term. Stored zeros of sparse counts, and -0.0, are zeros.
fn has(view: &View<'_>, terms: usize, row: usize, column: usize) -> bool {
    match view {
        View::Dense(rows) => {
            with_values!(DenseRows, rows, values => values[row * terms + column].to_f64() != 0.0)
        }
        View::Csr(csr) => {
            let (columns, values) = csr.row(row);
            columns
                .binary_search(&(column as u32))
                .is_ok_and(|position| values[position] != 0.0)
        }
    }
}

/// Tokens and documents of each term.
struct TermTally {
    totals: Vec<f64>,
    documents: Vec<u64>,
}

impl TermTally {
    fn new(terms: usize) -> Self {
        Self {
            totals: vec![0.0; terms],
            documents: vec![0; terms],
        }
    }

    fn add(&mut self, view: &View<'_>, row: usize, buffer: &mut NonzeroBuffer) {
        let terms = self.totals.len();
        let (columns, values) = nonzeros_of_row(view, terms, row, buffer);
        for (&column, &value) in columns.iter().zip(values) {
            self.totals[column as usize] += f64::from(value);
            self.documents[column as usize] += u64::from(value != 0.0);
        }
    }

    fn join(&mut self, other: &Self) {
        for (total, other) in self.totals.iter_mut().zip(&other.totals) {
            *total += other;
        }
        for (documents, other) in self.documents.iter_mut().zip(&other.documents) {
            *documents += other;
        }
    }
}
