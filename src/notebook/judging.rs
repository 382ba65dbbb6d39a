//! Notebook display of what judges fits: evaluations and coherence.

use crate::fit::{Coherence, Evaluation, RankingEvaluation, ScoreDifference, TopicCoherence};
use crate::text::{Card, count, counted, fixed, listed, shorten};

impl Evaluation {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let (topics, terms) = self.of_fit();
        let mut card = Card::new(format!("Evaluation: {self}, k = {topics}"))
            .row("score", format!("{self}: higher is better"))
            .row(
                "perplexity",
                format!("{}: lower is better", fixed(self.perplexity(), 1)),
            )
            .row(
                "tokens",
                format!(
                    "{} scored, given {} others of the same documents",
                    count(self.tokens() as u64),
                    count(self.observed_tokens() as u64)
                ),
            )
            .row("documents", count(self.documents() as u64));
        let left_out = [
            ("left out, no tokens", self.empty_documents()),
            (
                "left out, first half empty",
                self.documents_without_first_half(),
            ),
            (
                "left out, second half empty",
                self.documents_without_second_half(),
            ),
        ];
        for (label, rows) in left_out {
            if !rows.is_empty() {
                card = card.row(label, listed(&rows));
            }
        }
        if self.impossible_tokens() > 0.0 {
            card = card.row(
                "of terms that no topic has",
                counted(self.impossible_tokens() as usize, "token"),
            );
        }
        if topics > 1 {
            card = card.row(
                "prior of L",
                format!(
                    "Dirichlet of concentration {}",
                    fixed(self.concentration(), 2)
                ),
            );
        }
        card = card.row(
            "weight of a uniform distribution",
            format!("{:.4}", self.smoothing()),
        );
        if self.is_of_training() {
            card = card.note(
                "The fit has seen these documents: the score says little about new ones. Hold documents out with Counts::split.",
            );
        }
        card.note(
            "Document completion. Score = Σ x ln p / Σ x over a random half of each document's tokens (x: count, p = (1 - e) L F + \
             e / terms, ln: natural logarithm), with L the posterior mean given the other half, and F fixed. The concentration of \
             the prior and e are those with which halves of that other half predict each other best. Perplexity = exp(-score). \
             ±: standard error over documents.",
        )
        .note(format!(
            "A model that knows nothing scores {:.5}, perplexity {}.",
            self.uniform_score(),
            count(terms as u64)
        ))
    }
}

impl ScoreDifference {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new(format!("Difference of scores: {self}")).note(
            "Above zero, the first fit predicts better. ±: standard error over documents, paired.",
        ).show();
    }
}

impl RankingEvaluation {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let value = |value: f64, error: Option<f64>| match error {
            Some(error) => format!("{value:.4} ± {error:.4}"),
            None => format!("{value:.4}"),
        };
        let rows = vec![
            vec![
                format!("recall@{}", self.n()),
                value(self.recall(), self.recall_error()),
                value(self.popularity_recall(), None),
            ],
            vec![
                format!("NDCG@{}", self.n()),
                value(self.ndcg(), self.ndcg_error()),
                value(self.popularity_ndcg(), None),
            ],
        ];
        let mut card = Card::new(format!("Ranking: {self}, k = {}", self.topics()))
            .row("documents", count(self.documents() as u64))
            .grid(
                &[
                    "from 0 to 1, higher is better",
                    "this fit",
                    "most popular terms",
                ],
                rows,
            );
        let left_out = self.documents_left_out();
        if !left_out.is_empty() {
            card = card.row("left out, nothing new is held out", listed(&left_out));
        }
        if self.left_out() > 0 {
            let counts = counted(self.left_out() as usize, "held-out count");
            card = card.row(
                "left out, not new",
                format!("{counts} of terms that the document has"),
            );
        }
        card.note(
            "For each document the terms that it has no count of are ranked by their rates L F. Recall@n: held-out terms among the \
             first n / min(n, held-out terms). NDCG@n: Σ 1 / log₂(rank + 1) over those, divided by its largest possible value. Both \
             are means over documents; ±: standard error over documents.",
        )
        .note("Most popular terms: those that most documents have, the same for every document but for the terms that it has.")
    }
}

/// Topics that a card shows.
const TOPICS_SHOWN: usize = 20;
/// Letters of the terms of a topic that a card shows.
const TERMS_SHOWN: usize = 60;

impl Coherence {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let mut topics: Vec<&TopicCoherence> = self.topics().iter().collect();
        let rank = |topic: &TopicCoherence| topic.npmi.unwrap_or(f64::NEG_INFINITY);
        topics.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        let rows = topics.iter().take(TOPICS_SHOWN).map(|topic| {
            vec![
                topic.topic.to_string(),
                shorten(&topic.terms.join(", "), TERMS_SHOWN),
                shown(topic.u_mass),
                shown(topic.npmi),
            ]
        });
        let mut card = Card::new(format!(
            "Coherence of the {} most probable terms of {}",
            self.terms(),
            counted(self.topics().len(), "topic")
        ))
        .row(
            "NPMI",
            format!("{}: from -1 to 1, higher is better", shown(self.npmi())),
        )
        .row(
            "u_mass",
            format!("{}: at most 0, higher is better", shown(self.u_mass())),
        )
        .row("documents", count(self.documents() as u64))
        .grid(&["topic", "terms", "u_mass", "NPMI"], rows.collect());
        if topics.len() > TOPICS_SHOWN {
            let more = counted(topics.len() - TOPICS_SHOWN, "topic");
            card = card.note(format!("and {more} more: table()"));
        }
        let absent = self.absent();
        if !absent.is_empty() {
            card = card.note(format!(
                "In no document, and left out: {}.",
                shorten(&absent.join(", "), 2 * TERMS_SHOWN)
            ));
        }
        card.note(
            "Means over pairs of terms a, b, with P the share of documents that contain a term or both, and e = 1e-12. \
             NPMI: ln((P(a, b) + e) / (P(a) P(b))) / -ln(P(a, b) + e). u_mass: ln((P(a, b) + e) / P(a)), a the more probable term.",
        )
    }
}

impl TopicCoherence {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let mut card = Card::new(format!("Coherence of topic {}", self.topic))
            .row("NPMI", shown(self.npmi))
            .row("u_mass", shown(self.u_mass))
            .row("terms", self.terms.join(", "));
        if !self.absent.is_empty() {
            card = card.row("in no document", self.absent.join(", "));
        }
        card.show();
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or("none".into(), |value| format!("{value:.4}"))
}

#[cfg(test)]
mod tests {
    use crate::{Counts, Synthetic, TopicModel};

    #[test]
    fn the_card_of_an_evaluation_names_everything() {
        let counts = Synthetic::new(40, 20, 2)
            .seed(1)
            .generate()
            .unwrap()
            .counts();
        let fit = TopicModel::new(2).epochs(3).quiet().fit(&counts).unwrap();
        let mut values = vec![0u8; 60 * 20];
        values[20..]
            .iter_mut()
            .step_by(20)
            .for_each(|value| *value = 1);
        values[20..40].fill(3);
        let held_out = Counts::dense(60, 20, values).unwrap();
        let evaluation = fit.evaluate(&held_out).unwrap();
        let text = evaluation.card().text();
        for part in [
            "natural logarithm",
            "higher is better",
            "lower is better",
            "nats a token",
            "exp(-score)",
            "1 (0)",
            "first half empty",
            "second half empty",
            "perplexity 20",
            "k = 2",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("has seen"), "{text}");
        let text = fit.evaluate(&counts).unwrap().card().text();
        assert!(text.contains("has seen"), "{text}");
        assert!(!text.contains("left out"), "{text}");
    }

    #[test]
    fn the_card_of_a_ranking_has_the_baseline_and_what_was_left_out() {
        let counts = Synthetic::new(40, 20, 2).avg_doc_length(20).seed(1);
        let (counts, held_out) = counts.generate().unwrap().counts().split_tokens(1).unwrap();
        let fit = TopicModel::new(2).epochs(3).quiet().fit(&counts).unwrap();
        let ranking = fit.evaluate_ranking(&counts, &held_out, 5).unwrap();
        assert!(ranking.left_out() > 0);
        let text = ranking.card().text();
        for part in [
            "recall@5",
            "NDCG@5",
            "k = 2",
            "±",
            "most popular terms",
            "higher is better",
            "left out, not new",
            "log₂(rank + 1)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_card_of_coherence_has_the_best_topic_first() {
        let counts = Synthetic::new(90, 40, 3)
            .avg_doc_length(30)
            .seed(1)
            .generate()
            .unwrap();
        let fit = TopicModel::new(3)
            .epochs(30)
            .quiet()
            .fit(counts.counts())
            .unwrap();
        let coherence = fit.coherence(counts.counts(), 8).unwrap();
        let text = coherence.card().text();
        let best = coherence
            .topics()
            .iter()
            .max_by(|a, b| a.npmi.unwrap().total_cmp(&b.npmi.unwrap()));
        let heading = text
            .lines()
            .position(|line| line.trim().starts_with("topic"))
            .unwrap();
        let first = text.lines().nth(heading + 1).unwrap().trim();
        assert!(
            first.starts_with(&format!("{} ", best.unwrap().topic)),
            "{text}"
        );
        assert!(text.contains("higher is better"), "{text}");
        assert!(!text.contains("left out"), "{text}");
    }
}
