//! The charts of a sweep.

use crate::charts::{Chart, stack};
use crate::text::counted;

use super::advice::{Candidate, headline};
use super::fits::SweepFits;

impl SweepFits {
    /// Charts over the number of topics, of means over the seeds: the held-out score, NPMI, and the stability between seeds
    /// where there are two or more. A line marks the number that [`recommendation`](Self::recommendation) names, and the title
    /// says why.
    ///
    /// The band of the score is the standard error of its difference to the best score, paired over documents, with the
    /// variance between seeds: what the recommendation judges by. It is narrow where two numbers of topics
    /// err on the same documents, and has no width at the best. The band of NPMI spans its seeds.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
    /// assert!(sweep.plot().to_svg()?.contains("Recommended: 4 topics, which predict unseen documents"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn plot(&self) -> Chart {
        let candidates = self.candidates();
        let mut charts = vec![self.plot_score(&candidates), self.plot_npmi(&candidates)];
        let stability: Vec<f64> = candidates
            .iter()
            .map(|candidate| candidate.stability.unwrap_or(f64::NAN))
            .collect();
        if stability.iter().any(|value| !value.is_nan()) {
            let chart = over_topics(&candidates, stability);
            let chart = chart.y_label("stability: mean cosine of the paired topics of two seeds");
            charts.push(chart.title("Do other starts find the same topics? At 1, they do"));
        }
        let (recommended, reason) = headline(&candidates);
        let marked = charts
            .into_iter()
            .enumerate()
            .map(|(index, chart)| match recommended {
                Some(topics) => {
                    let text = if index == 0 { "recommended" } else { "" };
                    chart.mark(topics as f64, text)
                }
                None => chart,
            });
        stack(marked).title(reason)
    }

    fn plot_score(&self, candidates: &[Candidate]) -> Chart {
        let best = candidates
            .iter()
            .max_by(|one, other| one.score().total_cmp(&other.score()));
        let error = |candidate: &Candidate| match best {
            Some(best) if best.topics != candidate.topics => best.above(candidate).error,
            _ => 0.0,
        };
        let scores: Vec<f64> = candidates.iter().map(Candidate::score).collect();
        // With one held-out document the error is unknown, and no band is drawn.
        let errors = candidates.iter().map(error).map(|error| match error {
            error if error.is_finite() => error,
            _ => f64::NAN,
        });
        let errors: Vec<f64> = errors.collect();
        let end = |sign: f64| -> Vec<f64> {
            let pairs = scores.iter().zip(&errors);
            pairs.map(|(score, error)| score + sign * error).collect()
        };
        over_topics(candidates, scores.clone())
            .bands(end(-1.0), end(1.0))
            .y_label(format!(
                "score in nats a token, {}; band: standard error of the difference to the best",
                self.seeds_text()
            ))
            .title("How well are unseen documents predicted? Higher is better")
    }

    fn plot_npmi(&self, candidates: &[Candidate]) -> Chart {
        let of_seeds = |pick: fn(f64, f64) -> f64| -> Vec<f64> {
            let groups = self.groups.iter().filter(|group| !group.runs.is_empty());
            let ends = groups.map(|group| {
                let values = group.runs.iter().filter_map(|run| run.npmi);
                values.reduce(pick).unwrap_or(f64::NAN)
            });
            ends.collect()
        };
        let means = candidates
            .iter()
            .map(|candidate| candidate.npmi.unwrap_or(f64::NAN));
        over_topics(candidates, means.collect())
            .bands(of_seeds(f64::min), of_seeds(f64::max))
            .y_label(format!(
                "NPMI of ten terms, {}; band: lowest to highest",
                self.seeds_text()
            ))
            .title("Do the top terms of a topic occur together? Higher is better")
    }

    /// What the means are of.
    fn seeds_text(&self) -> String {
        let seeds = self.groups.iter().map(|group| group.runs.len()).max();
        match seeds.unwrap_or(0) {
            ..2 => "one seed".into(),
            seeds => format!("mean of {}", counted(seeds, "seed")),
        }
    }
}

/// A line over the numbers of topics.
fn over_topics(candidates: &[Candidate], values: Vec<f64>) -> Chart {
    let topics: Vec<f64> = candidates
        .iter()
        .map(|candidate| candidate.topics as f64)
        .collect();
    Chart::lines(values)
        .x(topics)
        .x_label("topics")
        .size(900, 300)
}
