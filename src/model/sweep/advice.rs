//! The recommendation of a sweep, in words.

use crate::fit::Evaluation;
use crate::text::{count, counted};

use super::fits::Group;

/// A number of topics and how it was judged.
pub(super) struct Candidate {
    pub(super) topics: usize,
    /// The mean over its seeds, document by document.
    pub(super) mean: Evaluation,
    /// The score of each seed, in nats a token.
    scores: Vec<f64>,
    /// The mean over its seeds.
    pub(super) npmi: Option<f64>,
    pub(super) stability: Option<f64>,
}

impl Candidate {
    /// `None` of a group without fits.
    pub(super) fn of(group: &Group) -> Option<Self> {
        let evaluations: Vec<&Evaluation> = group.runs.iter().map(|run| &run.evaluation).collect();
        let npmi: Vec<f64> = group.runs.iter().filter_map(|run| run.npmi).collect();
        Some(Self {
            topics: group.topics,
            mean: Evaluation::mean(&evaluations)?,
            scores: evaluations
                .iter()
                .map(|evaluation| evaluation.score_per_token())
                .collect(),
            npmi: mean(&npmi),
            stability: group.stability,
        })
    }

    pub(super) fn score(&self) -> f64 {
        self.mean.score_per_token()
    }

    /// The variance of the mean over seeds; 0 with one seed, of which nothing is known.
    fn variance_of_mean(&self) -> f64 {
        let n = self.scores.len() as f64;
        let mean = self.scores.iter().sum::<f64>() / n;
        let squares: f64 = self.scores.iter().map(|score| (score - mean).powi(2)).sum();
        match self.scores.len() {
            ..2 => 0.0,
            _ => squares / (n - 1.0) / n,
        }
    }

    /// How much higher its score is than that of another, and the standard error of that over documents and seeds.
    pub(super) fn above(&self, other: &Self) -> Gap {
        let paired = self.mean.difference(&other.mean).ok();
        let over_documents = paired.and_then(|difference| difference.standard_error);
        let over_seeds = self.variance_of_mean() + other.variance_of_mean();
        Gap {
            nats: self.score() - other.score(),
            // Nothing is known with one held-out document: then no difference is certain.
            error: over_documents
                .map_or(f64::INFINITY, |error| (error.powi(2) + over_seeds).sqrt()),
        }
    }
}

/// The difference of two scores, and its standard error.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    nats: f64,
    pub(super) error: f64,
}

impl Gap {
    fn is_certain(self) -> bool {
        self.nats > self.error
    }

    fn text(self) -> String {
        match self.error.is_finite() {
            true => format!("{:.4} ± {:.4} nats a token", self.nats, self.error),
            false => format!("{:.4} nats a token (error unknown)", self.nats),
        }
    }

    fn text_of_uncertain(self) -> String {
        match self.error.is_finite() {
            true => format!("only by {}, within one standard error", self.text()),
            false => format!("by {}, since one document was scored", self.text()),
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The candidate of the best score, the smallest whose score is not certainly lower, and the one before it.
fn choose(candidates: &[Candidate]) -> Option<(&Candidate, &Candidate, Option<&Candidate>)> {
    let best = candidates
        .iter()
        .reduce(|best, other| match other.score() > best.score() {
            true => other,
            false => best,
        })?;
    let chosen = candidates.iter().position(|candidate| {
        let learned = candidate.score() > candidate.mean.uniform_score();
        candidate.topics == best.topics || (learned && !best.above(candidate).is_certain())
    })?;
    let fewer = chosen
        .checked_sub(1)
        .and_then(|before| candidates.get(before));
    Some((best, candidates.get(chosen)?, fewer))
}

/// Whether a score is above that of a model that gives each term the same probability. Rounding errors of the sum over
/// documents are no gain.
fn learned(candidate: &Candidate) -> bool {
    candidate.score() - candidate.mean.uniform_score() >= 1e-9
}

/// The number of topics that is recommended, if one is, and why: a heading.
#[cfg(feature = "charts")]
pub(super) fn headline(candidates: &[Candidate]) -> (Option<usize>, String) {
    let Some((best, chosen, _)) = choose(candidates) else {
        return (None, "Nothing was fitted".into());
    };
    if !learned(best) {
        let text = "No number of topics predicts unseen documents better than chance";
        return (None, text.into());
    }
    let k = counted(chosen.topics, "topic");
    let predict = match chosen.topics {
        1 => "predicts",
        _ => "predict",
    };
    let text = if candidates.len() == 1 {
        format!("{k}: the only number that was tried")
    } else if best.topics == chosen.topics {
        format!("Recommended: {k}, which {predict} unseen documents best")
    } else {
        format!(
            "Recommended: {k}, which {predict} unseen documents about as well as {}",
            best.topics
        )
    };
    (Some(chosen.topics), text)
}

/// The recommendation for candidates by increasing number of topics.
pub(super) fn advise(candidates: &[Candidate]) -> String {
    let Some((best, chosen, fewer)) = choose(candidates) else {
        return "Nothing was fitted.".into();
    };
    let uniform = best.mean.uniform_score();
    if !learned(best) {
        return format!(
            "No number of topics is recommended: the highest held-out score, {:.4} nats a token with {}, is not above the {uniform:.4} \
             of a model that gives each term the same probability. Nothing that these fits learned helps with other documents: \
             check that the held-out documents are of the same kind and over the same terms, or fit more documents or longer ones.",
            best.score(),
            counted(best.topics, "topic")
        );
    }
    let (documents, seeds) = (best.mean.documents(), best.scores.len());
    let k = counted(chosen.topics, "topic");
    if candidates.len() == 1 {
        return format!(
            "{k}: the only number that was fitted, with {} held out. Sweep over others to compare.",
            best.mean
        );
    }
    let mut text = match best.topics == chosen.topics {
        true => format!(
            "{k}: the held-out score is highest, {:.4} nats a token",
            best.score()
        ),
        false => format!(
            "{k}: the held-out score is highest with {} ({:.4} nats a token), but {}, and fewer topics are easier to read",
            best.topics,
            best.score(),
            best.above(chosen).text_of_uncertain()
        ),
    };
    if let Some(fewer) = fewer {
        let gap = best.above(fewer);
        text += &format!("; with {} it is lower by {}", fewer.topics, gap.text());
        if best.topics != chosen.topics {
            text += &format!(" than with {}", best.topics);
        }
    }
    text += &format!(
        ". The error is over {}, paired{}.",
        counted(documents, "held-out document"),
        match seeds {
            1 => String::from(", with one seed: how much starts differ is not part of it"),
            _ => format!(", and {}", counted(seeds, "seed")),
        }
    );
    if Some(best.topics) == candidates.last().map(|last| last.topics) {
        text += &format!(
            " {} is the largest number tried: more topics may score higher still.",
            count(best.topics as u64)
        );
    }
    if Some(chosen.topics) == candidates.first().map(|first| first.topics) {
        text += &format!(
            " {} is the smallest number tried: fewer may do as well.",
            count(chosen.topics as u64)
        );
    }
    text + &besides(candidates, chosen)
}

/// What NPMI and stability say about the choice.
fn besides(candidates: &[Candidate], chosen: &Candidate) -> String {
    let mut text = String::new();
    let with_npmi = candidates
        .iter()
        .filter_map(|candidate| Some((candidate, candidate.npmi?)));
    if let (Some(own), Some((most, npmi))) = (
        chosen.npmi,
        with_npmi.reduce(|best, other| if other.1 > best.1 { other } else { best }),
    ) {
        text += &match most.topics == chosen.topics {
            true => format!(" NPMI is highest with {} too ({own:.3}).", chosen.topics),
            false => format!(
                " NPMI is {own:.3} with {}, and highest with {} ({npmi:.3}).",
                chosen.topics, most.topics
            ),
        };
    }
    if let Some(stability) = chosen.stability {
        text += &format!(
            " Its topics from two seeds have a mean cosine of {stability:.2}, where 1 is the same topics."
        );
    }
    text
}
