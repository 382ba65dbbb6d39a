//! Coherence of topics: how often their most probable terms occur in the same documents.

use crate::counts::{self, CoOccurrence, Counts, EPSILON};
use crate::data::{OrRef, Terms, top_n};
use crate::error::{Error, Result};
use crate::text::count;

use super::Fit;
use super::topic_coherence::{Coherence, TopicCoherence};

impl Fit {
    /// The coherence of every topic: u_mass and NPMI of its `n` most probable terms, by the documents of `counts` in which
    /// they occur together. `counts` are the training counts or others over the same terms; for a reference corpus with its
    /// own terms see [`coherence_in`](Self::coherence_in). `n` is capped at the number of terms; 10 is usual.
    ///
    /// With P the share of the documents that contain a term or both terms of a pair, and e = 1e-12:
    ///
    /// - NPMI is the mean over all pairs of ln((P(a, b) + e) / (P(a) P(b))) / -ln(P(a, b) + e), from -1 (never together)
    ///   through 0 (independent) to 1 (only together). Of the two it agrees better with human judgement (Lau, Newman and
    ///   Baldwin 2014).
    /// - u_mass is the mean over all pairs, of which a is the more probable term, of ln((P(a, b) + e) / P(a)), at most 0.
    ///
    /// For both, higher is better. The definitions follow gensim, and the values agree with it to 1e-6, with three exceptions.
    /// A pair in every document has NPMI 1 here; gensim's formula divides zero by zero. Terms that occur in no document are
    /// left out and named; gensim counts their pairs as 0 or fails. And gensim's `c_npmi` takes P from windows of 10 tokens,
    /// which counts do not hold: its value agrees where the window is longer than every document. tomotopy leaves empty
    /// documents out of P and, in u_mass, adds e to the quotient, so that pairs which are never together lose less or more;
    /// Mimno et al. (2011), who proposed u_mass, sum over pairs and add one document instead of e. c_v needs windows of tokens
    /// and has no form for counts.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(200, 60, 3).avg_doc_length(60).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).quiet().fit(&counts)?;
    /// let coherence = fit.coherence(&counts, 10)?;
    /// assert!(coherence.npmi().is_some_and(|npmi| npmi > 0.0));
    /// assert_eq!(coherence.topics().len(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `n` is below 2, the counts have another number of terms, cannot be read or hold something that is not a count, or
    /// memory is too small for the pairs.
    ///
    /// # Cost
    /// One pass over the counts on all cores; a file is read in blocks of bounded size. 8 bytes x k x n² of memory for each
    /// thread.
    #[doc(alias("u_mass", "npmi", "c_npmi", "c_v"))]
    pub fn coherence(&self, counts: impl OrRef<Counts>, n: usize) -> Result<Coherence> {
        let counts = counts.value();
        if counts.terms() != self.terms() {
            return Err(self
                .shape_error(counts, "compute coherence by")
                .fix("use counts over the terms of the fit; for a reference corpus with other terms, coherence_in"));
        }
        self.coherence_of(counts, n, Some)
    }

    /// The [`coherence`](Self::coherence) of every topic in a reference corpus, whose columns are `terms`: its terms are
    /// matched with the fit's by name. Terms that the reference lacks are left out, and named in the result.
    ///
    /// ```
    /// use topicbook::{Counts, Terms, TopicModel};
    /// let counts = Counts::dense(3, 3, vec![3u8, 1, 0, 0, 1, 4, 2, 2, 0])?;
    /// let fit = TopicModel::new(2).terms(Terms::new(["spike", "neuron", "kernel"])?).quiet().fit(&counts)?;
    /// let reference = Counts::dense(3, 2, vec![1u8, 2, 0, 1, 1, 1])?;
    /// let coherence = fit.coherence_in(&reference, Terms::new(["neuron", "spike"])?, 3)?;
    /// assert_eq!(coherence.absent(), ["kernel"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the fit has no term names, there is not one term for each column of the reference, none of the fit's is among them,
    /// and as [`coherence`](Self::coherence).
    ///
    /// # Cost
    /// As [`coherence`](Self::coherence).
    pub fn coherence_in(
        &self,
        reference: impl OrRef<Counts>,
        terms: impl OrRef<Terms>,
        n: usize,
    ) -> Result<Coherence> {
        let (reference, terms) = (reference.value(), terms.value());
        reference.check_terms(terms)?;
        let Some(own) = &self.terms else {
            return Err(Error::value("the fit has no term names to match with the names of the reference")
                .fix("give the model names (TopicModel::terms), or pass counts over its terms to coherence"));
        };
        let columns = terms.columns();
        let column = |term: usize| own.get(term).and_then(|name| columns.get(name).copied());
        if (0..own.len()).all(|term| column(term).is_none()) {
            return Err(Error::value(format!(
                "none of the fit's {} terms is among the terms of the reference",
                count(own.len() as u64)
            ))
            .fix("check that both are in the same language and case, and made by the same rules"));
        }
        self.coherence_of(reference, n, column)
    }

    fn coherence_of(
        &self,
        counts: &Counts,
        n: usize,
        column: impl Fn(usize) -> Option<usize>,
    ) -> Result<Coherence> {
        if n < 2 {
            return Err(
                Error::setting(format!("the coherence of {n} terms a topic"))
                    .fix("ask for at least 2: coherence is about pairs of terms, and 10 is usual"),
            );
        }
        let lists: Vec<Vec<usize>> = (0..self.topics())
            .map(|topic| top_n(self.f.row(topic), n))
            .collect();
        let columns: Vec<Vec<Option<usize>>> = lists
            .iter()
            .map(|list| list.iter().map(|&term| column(term)).collect())
            .collect();
        let pairs = counts.co_occurrence(&columns)?;
        let documents = counts.documents() as f64;
        let topics = lists.iter().zip(&pairs).enumerate();
        let topics = topics.map(|(topic, (terms, pairs))| {
            let [present, absent] = [true, false].map(|is| {
                let positions = (0..terms.len()).filter(|&at| (pairs.with(at) > 0) == is);
                positions.collect::<Vec<usize>>()
            });
            let names = |positions: &[usize]| -> Vec<String> {
                let terms = positions.iter().map(|&at| terms[at]);
                terms.map(|term| self.term_name(term)).collect()
            };
            TopicCoherence {
                topic,
                u_mass: mean_of_pairs(&present, |a, b| u_mass(pairs, documents, a, b)),
                npmi: mean_of_pairs(&present, |a, b| npmi(pairs, documents, a, b)),
                terms: names(&present),
                absent: names(&absent),
            }
        });
        Ok(Coherence {
            topics: topics.collect(),
            terms: lists.first().map_or(0, Vec::len),
            documents: counts.documents(),
        })
    }
}

/// The mean over the pairs of positions, of which the first comes before the second; `None` without pairs.
fn mean_of_pairs(positions: &[usize], of: impl Fn(usize, usize) -> f64) -> Option<f64> {
    let pairs = positions.iter().enumerate().flat_map(|(at, &b)| {
        let before = positions[..at].iter();
        before.map(move |&a| (a, b))
    });
    let (sum, number) = pairs.fold((0.0, 0u64), |(sum, number), (a, b)| {
        (sum + of(a, b), number + 1)
    });
    (number > 0).then(|| sum / number as f64)
}

fn u_mass(pairs: &CoOccurrence, documents: f64, before: usize, after: usize) -> f64 {
    let both = pairs.with_both(before, after) as f64 / documents;
    ((both + EPSILON) / (pairs.with(before) as f64 / documents)).ln()
}

fn npmi(pairs: &CoOccurrence, documents: f64, a: usize, b: usize) -> f64 {
    let both = pairs.with_both(a, b) as f64 / documents;
    let [a, b] = [a, b].map(|term| pairs.with(term) as f64 / documents);
    counts::npmi(both, a, b)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use crate::config::Settings;
    use crate::data::Matrix;

    use super::*;
    use crate::error::ErrorKind;

    const TERMS: usize = 18;

    /// What `tests/data/make_coherence.py` writes.
    #[derive(Deserialize)]
    struct Golden {
        counts: Vec<Vec<u8>>,
        topics: Vec<Vec<usize>>,
        u_mass: Peers,
        npmi: Peers,
    }

    #[derive(Deserialize)]
    struct Peers {
        gensim: Vec<f64>,
        tomotopy: Vec<f64>,
    }

    fn golden() -> Golden {
        serde_json::from_str(include_str!("../../tests/data/coherence.json")).unwrap()
    }

    /// A fit whose topics have these most probable terms, in this order.
    fn with_top_terms(topics: &[Vec<usize>], terms: Option<Terms>) -> Fit {
        let mut f = vec![0.0; topics.len() * TERMS];
        for (row, list) in f.chunks_mut(TERMS).zip(topics) {
            for (rank, &term) in list.iter().enumerate() {
                row[term] = 1.0 / (2.0 + rank as f32);
            }
        }
        let f = Matrix::new(topics.len(), TERMS, f).unwrap();
        let l = Matrix::new(
            1,
            topics.len(),
            vec![1.0 / topics.len() as f32; topics.len()],
        )
        .unwrap();
        let settings = Settings::new(topics.len());
        Fit::new(settings, l, f, terms, Vec::new(), "CPU".into(), None)
    }

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} and {expected}");
    }

    #[test]
    fn values_are_those_of_gensim_and_tomotopy() {
        let golden = golden();
        let fit = with_top_terms(&golden.topics, None);
        let documents = golden.counts.len();
        let counts = Counts::dense(documents, TERMS, golden.counts.concat()).unwrap();
        let coherence = fit.coherence(&counts, 5).unwrap();
        for (topic, found) in coherence.topics().iter().enumerate() {
            close(found.u_mass, golden.u_mass.gensim[topic]);
            close(found.npmi, golden.npmi.gensim[topic]);
        }
        close(
            coherence.npmi(),
            golden.npmi.gensim.iter().sum::<f64>() / golden.topics.len() as f64,
        );
        // tomotopy leaves empty documents out.
        let with_tokens: Vec<usize> = (0..documents)
            .filter(|&document| golden.counts[document].iter().any(|&count| count > 0))
            .collect();
        assert!(with_tokens.len() < documents);
        let fewer = fit
            .coherence(counts.select(&with_tokens).unwrap(), 5)
            .unwrap();
        let pairs = counts
            .co_occurrence(
                &golden
                    .topics
                    .iter()
                    .map(|list| list.iter().copied().map(Some).collect())
                    .collect::<Vec<_>>(),
            )
            .unwrap();
        for (topic, found) in fewer.topics().iter().enumerate() {
            close(found.npmi, golden.npmi.tomotopy[topic]);
            let never = (0..5).any(|b| (0..b).any(|a| pairs[topic].with_both(a, b) == 0));
            // In u_mass it adds e to the quotient, which matters to pairs that are never together.
            match never {
                false => close(found.u_mass, golden.u_mass.tomotopy[topic]),
                true => {
                    assert!((found.u_mass.unwrap() - golden.u_mass.tomotopy[topic]).abs() > 0.1)
                }
            }
        }
    }

    #[test]
    fn absent_terms_are_named_and_left_out() {
        let golden = golden();
        let counts = Counts::dense(golden.counts.len(), TERMS, golden.counts.concat()).unwrap();
        // No document contains term 17.
        let lists = [vec![17, 3, 2], vec![3, 2, 17], vec![3, 17]];
        let names = Terms::new((0..TERMS).map(|term| format!("w{term}"))).unwrap();
        let fit = with_top_terms(&lists, Some(names.clone()));
        let found = fit.coherence(&counts, 3).unwrap();
        let without = with_top_terms(&[vec![3, 2]], None)
            .coherence(&counts, 2)
            .unwrap();
        let expected = &without.topics()[0];
        for topic in &found.topics()[..2] {
            assert_eq!((topic.u_mass, topic.npmi), (expected.u_mass, expected.npmi));
            assert_eq!(topic.absent, ["w17"]);
            assert_eq!(topic.terms, ["w3", "w2"]);
        }
        let two = fit.coherence(&counts, 2).unwrap();
        assert_eq!((two.topics()[2].u_mass, two.topics()[2].npmi), (None, None));
        assert_eq!(found.absent(), ["w17"]);
        // The same terms in a reference with columns in another order, and without one of them.
        let order: Vec<usize> = (0..TERMS).rev().filter(|&term| term != 2).collect();
        let reference = counts.select_terms(&order).unwrap();
        let matched = fit
            .coherence_in(&reference, names.select(&order).unwrap(), 3)
            .unwrap();
        assert_eq!(matched.absent(), ["w17", "w2"]);
        assert_eq!(matched.topics()[0].npmi, None);
        let all: Vec<usize> = (0..TERMS).rev().collect();
        let reference = counts.select_terms(&all).unwrap();
        let matched = fit
            .coherence_in(&reference, names.select(&all).unwrap(), 3)
            .unwrap();
        assert_eq!(matched.topics(), found.topics());
    }

    #[test]
    fn pairs_in_every_document_are_as_coherent_as_can_be() {
        let counts = Counts::dense(4, TERMS, vec![1u8; 4 * TERMS]).unwrap();
        let fit = with_top_terms(&[vec![0, 1, 2]], None);
        let topic = fit.coherence(&counts, 3).unwrap().topics()[0].clone();
        assert_eq!(topic.npmi, Some(1.0));
        assert!(topic.u_mass.unwrap().abs() < 1e-11);
        // A term in each of two documents.
        let mut apart = vec![0u8; 2 * TERMS];
        (apart[0], apart[TERMS + 1]) = (1, 1);
        let counts = Counts::dense(2, TERMS, apart).unwrap();
        let topic = fit.coherence(&counts, 2).unwrap().topics()[0].clone();
        assert!(topic.npmi.unwrap() < -0.9, "{topic:?}");
    }

    #[test]
    fn what_has_no_coherence_is_refused() {
        let fit = with_top_terms(&[vec![0, 1]], None);
        let counts = Counts::dense(2, TERMS, vec![1u8; 2 * TERMS]).unwrap();
        let names = Terms::new((0..TERMS).map(|term| format!("w{term}"))).unwrap();
        let named = with_top_terms(&[vec![0, 1]], Some(names.clone()));
        let others = Terms::new((0..TERMS).map(|term| format!("v{term}"))).unwrap();
        let narrow = Counts::dense(1, 2, vec![1u8; 2]).unwrap();
        testkit::refused! {
            fit.coherence(&counts, 1) => Setting, "1 terms a topic";
            fit.coherence(&narrow, 2) => Shape, "counts of 2 terms with a fit of 18";
            fit.coherence_in(&counts, &names, 2) => Value, "no term names";
            named.coherence_in(&counts, &others, 2) => Value, "none of the fit's 18 terms";
            named.coherence_in(&narrow, &names, 2) => Shape, "for counts of 2 terms";
        }
    }
}
