//! How well a fit ranks the terms that documents have next: recall and NDCG.

use crate::counts::rows::{NonzeroBuffer, RowReader, for_each_block};
use crate::counts::{Counts, READ_BYTES};
use crate::data::OrRef;
use crate::error::{Error, Result};
use crate::solvers::documents_in_block;
use crate::system::memory::check_free;
use crate::text::count;

use super::super::Fit;
use super::evaluation::{Ranked, RankingEvaluation};
use super::ranker::{Ranker, terms_of_row};
use super::reading;

impl Fit {
    /// Judges how well the fit ranks the terms that documents have next, as recommenders are judged. `counts` and `held_out`
    /// have the same documents, in the same order, and the terms of the fit. For each document, the terms without a count in
    /// `counts` are ranked by their rates L F, and the first `n` are compared with the terms that `held_out` has:
    ///
    /// - recall@n is the number of held-out terms among the first n, divided by n or by their number, whichever is smaller.
    /// - NDCG@n is the sum of 1 / log₂(rank + 1) over the held-out terms among the first n, divided by what it would be with all
    ///   of them at the top. A good rank counts more.
    ///
    /// Both are from 0 to 1, are means over documents, and are defined as in Liang, Krishnan, Hoffman and Jebara
    /// (2018, *Variational autoencoders for collaborative filtering*, WWW). The same two measures of the most popular terms
    /// (the terms in most documents of `counts`, ties by column) say what the fit adds to a list that is the same for
    /// everyone.
    ///
    /// For the counts that the model was fitted to, L is the fit's L. For others, such as the counts of new users, L is what
    /// [`transform`](Self::transform) computes of `counts`. Held-out counts of terms that `counts` has too are left out, and
    /// so are documents for which nothing remains; the [`RankingEvaluation`] counts both.
    ///
    /// Few topics rank better where documents are short: their proportions are maximum-likelihood estimates, which a few tens
    /// of tokens determine badly. Of 400 drawn documents with five topics, 150 terms and 20 observed tokens each, five topics
    /// have a recall@20 of 0.22, the most popular terms 0.25. With three topics, 1,000 terms and 150 observed tokens it is
    /// 0.37 against 0.31.
    ///
    /// Few epochs rank better for the same reason. Of 20,000 drawn documents of 50 to 100 tokens, expectation-maximisation
    /// with 50 topics has an NDCG@20 of 0.249 after 20 epochs, and of 0.232 after its last one. The alternating least squares
    /// of the Python package implicit have 0.233 there at their best settings. On the ratings of MovieLens 100k they are
    /// ahead: our value is 0.79 to 0.91 of theirs (`benches/records/recommend.md`).
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let all = Synthetic::new(200, 500, 2).avg_doc_length(300).seed(1).generate()?.counts();
    /// let (counts, held_out) = all.split_tokens(1)?; // a half of the tokens is held out
    /// let fit = TopicModel::new(2).solver(Solver::em()).quiet().fit(&counts)?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 20)?;
    /// assert!(ranking.recall() > ranking.popularity_recall());
    /// assert!(ranking.ndcg() > ranking.popularity_ndcg());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When either has another number of terms than the fit, or another number of documents than the other, cannot be read or
    /// holds something that is not a count. When `n` is 0, no document has a held-out term that is not among its counts, or
    /// memory is too small. The memory is checked before anything is allocated.
    ///
    /// # Cost
    /// As [`recommend_all`](Self::recommend_all), with two passes over the counts and one over the held-out counts, after the
    /// passes that check them. Files that are larger than half of the free memory are streamed. It takes memory for F twice,
    /// 48 bytes a document, the counts of a thousand documents, and L of new documents.
    #[doc(alias("recall_at_k", "ndcg", "ndcg_at_k", "ranking_metrics"))]
    pub fn evaluate_ranking(
        &self,
        counts: impl OrRef<Counts>,
        held_out: impl OrRef<Counts>,
        n: usize,
    ) -> Result<RankingEvaluation> {
        let (counts, held_out) = (counts.value(), held_out.value());
        self.check_ranking(counts, n)?;
        self.check_ranking(held_out, n)?;
        check_same_documents(counts, held_out)?;
        let needed = self.ranking_bytes(counts, held_out, n);
        check_free(needed, "the evaluation of these rankings")?;
        let ((per_block, streamed), (_, held_streamed)) = (reading(counts)?, reading(held_out)?);
        counts.summary_by(streamed, READ_BYTES)?;
        held_out.summary_by(held_streamed, READ_BYTES)?;
        let (l, _) = self.topics_of(counts)?;
        let measure = Measure::new(n.min(self.terms()), popular_first(counts)?);
        let ranker = Ranker::new(&self.f, measure.n());
        let mut held_rows = RowReader::new(held_out, held_streamed)?;
        let mut judged = Vec::with_capacity(counts.documents());
        for_each_block(counts, streamed, per_block, &mut |block| {
            let documents = block.first..block.first + block.rows.len();
            let l = &l.values()[documents.start * self.topics()..documents.end * self.topics()];
            let held = held_rows.copy(documents)?;
            held.with_view(|view| {
                judged.extend(ranker.rank(&block.view, block.rows, l, |ranked| {
                    let mut buffer = NonzeroBuffer::default();
                    let held = terms_of_row(&view, self.terms(), ranked.offset, &mut buffer);
                    let best = ranked.best.iter().map(|&(term, _)| term as u32);
                    measure.judge(best, ranked.seen, held)
                }));
                Ok(())
            })
        })?;
        if !judged.iter().any(Ranked::counts) {
            return Err(Error::value("nothing to evaluate: no document has a held-out term that it has no count of already")
                .fix("hold out other counts of the same documents: the counts of some of their terms, or the second part of Counts::split_tokens"));
        }
        Ok(RankingEvaluation::new(judged, n, self.topics()))
    }

    /// Bytes that [`evaluate_ranking`](Self::evaluate_ranking) takes at most.
    fn ranking_bytes(&self, counts: &Counts, held_out: &Counts, n: usize) -> u64 {
        let in_block = counts.documents().min(documents_in_block(self.terms())) as u64;
        let all = held_out.documents() as u64;
        let block = held_out
            .bytes_stored()
            .div_ceil(all)
            .saturating_mul(in_block);
        let judged = (counts.documents() * size_of::<Ranked>()) as u64;
        let popularity = (self.terms() * (2 * size_of::<f64>() + size_of::<u32>())) as u64;
        Ranker::bytes(self.f.shape(), n.min(self.terms()))
            .saturating_add(self.topics_bytes(counts))
            .saturating_add(held_out.in_memory().to_read)
            .saturating_add(block + judged + popularity)
    }
}

fn check_same_documents(counts: &Counts, held_out: &Counts) -> Result<()> {
    let (documents, held) = (counts.documents(), held_out.documents());
    if documents == held {
        return Ok(());
    }
    Err(Error::shape(format!(
            "the held-out counts are of {} documents, the others of {}",
            count(held as u64),
            count(documents as u64)
        ))
    .fix("pass two parts of the counts of the same documents, in the same order, for example from Counts::split_tokens"))
}

/// The terms, sorted by the number of documents that have them, the largest first; ties by column.
fn popular_first(counts: &Counts) -> Result<Vec<u32>> {
    let documents = counts.document_frequencies()?;
    let mut order: Vec<u32> = (0..documents.len() as u32).collect();
    order.sort_by_key(|&term| std::cmp::Reverse(documents[term as usize]));
    Ok(order)
}

/// Recall and NDCG of the first n terms of a ranking.
pub(super) struct Measure {
    /// 1 / log₂(rank + 1) of each rank.
    discounts: Vec<f64>,
    /// All terms, the most popular first.
    popular: Vec<u32>,
}

impl Measure {
    pub(super) fn new(n: usize, popular: Vec<u32>) -> Self {
        let discounts = (1..=n).map(|rank| 1.0 / (rank as f64 + 1.0).log2());
        Self {
            discounts: discounts.collect(),
            popular,
        }
    }

    fn n(&self) -> usize {
        self.discounts.len()
    }

    /// Judges the ranking `best` of a document that has the terms `seen` and the held-out terms `held`; both are sorted.
    pub(super) fn judge(
        &self,
        best: impl Iterator<Item = u32>,
        seen: &[u32],
        held: impl Iterator<Item = u32>,
    ) -> Ranked {
        let is_seen = |term: &u32| seen.binary_search(term).is_ok();
        let (known, relevant): (Vec<u32>, Vec<u32>) = held.partition(is_seen);
        if relevant.is_empty() {
            return Ranked::left_out(known.len());
        }
        let popular = self.popular.iter().copied();
        let [(recall, ndcg), (popularity_recall, popularity_ndcg)] = [
            self.measure(best, &relevant),
            self.measure(popular.filter(|term| !is_seen(term)), &relevant),
        ];
        Ranked {
            relevant: relevant.len() as u32,
            known: known.len() as u32,
            recall,
            ndcg,
            popularity_recall,
            popularity_ndcg,
        }
    }

    /// Recall and NDCG of a ranking, with the relevant terms, of which there is at least one.
    fn measure(&self, ranking: impl Iterator<Item = u32>, relevant: &[u32]) -> (f64, f64) {
        let (mut hits, mut gain) = (0, 0.0);
        for (term, discount) in ranking.zip(&self.discounts) {
            if relevant.binary_search(&term).is_ok() {
                hits += 1;
                gain += discount;
            }
        }
        let most = relevant.len().min(self.n());
        let ideal: f64 = self.discounts[..most].iter().sum();
        (f64::from(hits) / most as f64, gain / ideal)
    }
}
