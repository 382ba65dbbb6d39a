//! Tables of recommendations.

use polars::prelude::{Column, IdxCa};

use crate::counts::Counts;
use crate::counts::rows::{RowReader, for_each_block};
use crate::data::{OrRef, Table};
use crate::error::{Error, Result};
use crate::solvers::documents_in_block;
use crate::system::memory::check_free;
use crate::text::count;

use super::super::Fit;
use super::super::topics::ranks;
use super::ranker::Ranker;
use super::reading;

/// Bytes of a recommendation while it is collected (numbers of the document and the term, rank, rate) and in the table (number
/// of the document, a view of the term's name).
const ROW_BYTES: u64 = 4 * size_of::<u32>() as u64 + size_of::<u64>() as u64 + VIEW_BYTES;
/// Bytes of a text in a column of the table, whose letters are shared with other rows.
const VIEW_BYTES: u64 = 16;

/// Recommendations of several documents, by column.
struct Collected {
    documents: Vec<u32>,
    ranks: Vec<u32>,
    terms: Vec<u32>,
    rates: Vec<f32>,
}

impl Fit {
    /// Recommends terms to a document: table of the `n` terms that it has no count of and whose rates are the largest. Its
    /// columns are `rank` from 1, `term`, and `rate`, the rate of L F: the share of the document's next tokens that is expected
    /// to be of the term, from 0 to 1. There are fewer than `n` rows where the document has counts of almost all terms.
    ///
    /// In a recommender, documents are users, terms are items, and a count says how often a user bought, played or opened an
    /// item. `counts` are the counts that the model was fitted to, with the fit's L. They can also be counts of new users over
    /// the same items, whose topics [`transform`](Self::transform) then computes from this one row. A document without any
    /// counts gets the terms that are probable over all topics alike. Poisson factorisation as a recommender is described in
    /// Gopalan, Hofman and Blei (2015, *Scalable recommendation with hierarchical Poisson factorization*, UAI);
    /// [`evaluate_ranking`](Self::evaluate_ranking) says how good it is.
    ///
    /// ```
    /// use topicbook::{Counts, Terms, TopicModel};
    /// // Four users; two play chess and go, two cook.
    /// let plays = Counts::dense(4, 4, vec![5u8, 4, 0, 0, 6, 5, 0, 0, 0, 0, 5, 6, 0, 0, 4, 5])?;
    /// let items = Terms::new(["chess", "go", "soup", "bread"])?;
    /// let fit = TopicModel::new(2).seed(1).terms(&items).quiet().fit(&plays)?;
    /// let new_user = Counts::dense(1, 4, vec![3u8, 0, 0, 0])?;
    /// let table = fit.recommend(&new_user, 0, 2)?;
    /// assert_eq!(table.column_names(), ["rank", "term", "rate"]);
    /// assert_eq!(table.texts("term")?[0].as_str(), "go");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such document in `counts`, they have another number of terms, cannot be read or hold something that is
    /// not a count. When `n` is 0, or memory is too small. The memory is checked before anything is allocated.
    ///
    /// # Cost
    /// O(terms x k) operations, and memory for F twice. A pass over the counts comes first if they have the fit's number of
    /// documents and have not been checked yet. Otherwise only the one row is read of a file that is larger than half of the
    /// free memory.
    #[doc(alias("predict", "top_n", "recommend_items"))]
    pub fn recommend(
        &self,
        counts: impl OrRef<Counts>,
        document: usize,
        n: usize,
    ) -> Result<Table> {
        let counts = counts.value();
        self.check_ranking(counts, n)?;
        if document >= counts.documents() {
            let all = count(counts.documents() as u64);
            return Err(Error::shape(format!(
                "document {document} of counts with {all} documents"
            ))
            .fix("documents are counted from 0"));
        }
        let n = n.min(self.terms());
        let needed = Ranker::bytes(self.f.shape(), n).saturating_add(counts.in_memory().to_read);
        check_free(needed, "the rates of this document")?;
        let fitted = self.is_fitted_to(counts)?;
        let (_, streamed) = reading(counts)?;
        let own = RowReader::new(counts, streamed)?.copy(document..document + 1)?;
        let l = match fitted {
            true => self.l.row(document).to_vec(),
            false => self.transform(&own)?.into_values(),
        };
        let ranker = Ranker::new(&self.f, n);
        let best = own.with_view(|view| Ok(ranker.rank(&view, 0..1, &l, |ranked| ranked.best)))?;
        let best: Vec<(usize, f32)> = best.into_iter().flatten().collect();
        let names: Vec<String> = best.iter().map(|pair| self.term_name(pair.0)).collect();
        let rates: Vec<f32> = best.iter().map(|pair| pair.1).collect();
        Ok(Table::from_columns(vec![
            ranks(best.len()),
            Column::new("term".into(), names),
            Column::new("rate".into(), rates),
        ]))
    }

    /// Recommends terms to all documents: one table with what [`recommend`](Self::recommend) has for each. Its columns are
    /// `document` (a row of `counts`), with names and labels if the fit [has them](Self::with_documents) and was fitted to
    /// these counts, `rank` from 1, `term`, and `rate`, from 0 to 1. A document that has counts of all terms has no row.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 300, 3).avg_doc_length(50).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let table = fit.recommend_all(&counts, 4)?;
    /// assert_eq!(table.column_names(), ["document", "rank", "term", "rate"]);
    /// assert_eq!(table.height(), 4 * 60);
    /// assert_eq!(table.head(4).texts("term")?, fit.recommend(&counts, 0, 4)?.texts("term")?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`recommend`](Self::recommend), and when the table would have more than 4,294,967,295 rows.
    ///
    /// # Cost
    /// O(documents x terms x k) operations on all cores, in registers and caches: the rates of 16 documents and 256 terms at a
    /// time. One pass over the counts, after the one that checks them where that has not been done; for new documents also what
    /// [`transform`](Self::transform) takes. A file that is larger than half of the free memory is streamed. Memory for the
    /// table (40 bytes a row), F twice, and for new documents L.
    #[doc(alias("predict", "top_n", "recommend_items"))]
    pub fn recommend_all(&self, counts: impl OrRef<Counts>, n: usize) -> Result<Table> {
        let counts = counts.value();
        self.check_ranking(counts, n)?;
        let n = n.min(self.terms());
        let rows = (counts.documents() as u64).saturating_mul(n as u64);
        if rows > u64::from(u32::MAX) {
            return Err(Error::setting(format!(
                "a table of {} recommendations, {} for each of {} documents",
                count(rows),
                count(n as u64),
                count(counts.documents() as u64)
            ))
            .fix("ask for fewer terms, or for some of the documents at a time: at most 4,294,967,295 rows"));
        }
        let needed = self.recommendation_bytes(counts, n, rows);
        check_free(needed, "the recommendations for these documents")?;
        let (l, fitted) = self.topics_of(counts)?;
        let (per_block, streamed) = reading(counts)?;
        let ranker = Ranker::new(&self.f, n);
        let mut all = Collected::with_capacity(rows as usize);
        for_each_block(counts, streamed, per_block, &mut |block| {
            let end = block.first + block.rows.len();
            let l = &l.values()[block.first * self.topics()..end * self.topics()];
            let best = ranker.rank(&block.view, block.rows, l, |ranked| {
                let best = ranked.best.iter();
                best.map(|&(term, rate)| (term as u32, rate))
                    .collect::<Vec<_>>()
            });
            for (document, best) in (block.first..end).zip(best) {
                all.add(document, &best);
            }
            Ok(())
        })?;
        self.recommendation_table(all, counts.documents(), fitted)
    }

    /// Bytes that [`recommend_all`](Self::recommend_all) takes at most.
    fn recommendation_bytes(&self, counts: &Counts, n: usize, rows: u64) -> u64 {
        let labels = self.document_column_names().len() as u64;
        let in_block = counts.documents().min(documents_in_block(self.terms()));
        let block = (in_block as u64).saturating_mul((n * size_of::<(u32, f32)>()) as u64);
        rows.saturating_mul(ROW_BYTES + labels * VIEW_BYTES)
            .saturating_add(block)
            .saturating_add(Ranker::bytes(self.f.shape(), n))
            .saturating_add(self.topics_bytes(counts))
    }

    /// The table. Names of terms and documents are gathered from columns that have each once.
    fn recommendation_table(
        &self,
        all: Collected,
        documents: usize,
        fitted: bool,
    ) -> Result<Table> {
        let gathered = |column: Column, rows: &IdxCa| {
            column.take(rows).map_err(|source| {
                Error::value("the table of recommendations cannot be made").because(source)
            })
        };
        let numbers: Vec<usize> = (0..documents).collect();
        let own = match fitted {
            true => self.document_columns(&numbers),
            false => {
                let numbers: Vec<u64> = (0..documents as u64).collect();
                vec![Column::new("document".into(), numbers)]
            }
        };
        let rows = IdxCa::from_vec("".into(), all.documents);
        let mut columns = Vec::with_capacity(own.len() + 3);
        for column in own {
            columns.push(gathered(column, &rows)?);
        }
        columns.push(Column::new("rank".into(), all.ranks));
        let names: Vec<String> = (0..self.terms()).map(|term| self.term_name(term)).collect();
        let terms = IdxCa::from_vec("".into(), all.terms);
        columns.push(gathered(Column::new("term".into(), names), &terms)?);
        columns.push(Column::new("rate".into(), all.rates));
        Ok(Table::from_columns(columns))
    }
}

impl Collected {
    fn with_capacity(rows: usize) -> Self {
        Self {
            documents: Vec::with_capacity(rows),
            ranks: Vec::with_capacity(rows),
            terms: Vec::with_capacity(rows),
            rates: Vec::with_capacity(rows),
        }
    }

    fn add(&mut self, document: usize, best: &[(u32, f32)]) {
        self.documents
            .extend(std::iter::repeat_n(document as u32, best.len()));
        self.ranks.extend(1..=best.len() as u32);
        self.terms.extend(best.iter().map(|pair| pair.0));
        self.rates.extend(best.iter().map(|pair| pair.1));
    }
}
