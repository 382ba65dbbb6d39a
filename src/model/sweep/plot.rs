//! The charts of a sweep.

use crate::charts::{Chart, stack};
use crate::text::counted;

use super::advice::Candidate;
use super::fits::SweepFits;

impl SweepFits {
    /// Charts over the number of topics, of means over the seeds: the held-out score, NPMI, and the stability between seeds
    /// where there are two or more.
    ///
    /// The band of the score is the standard error of its difference to the best score, paired over documents, with the
    /// variance between seeds: what [`recommendation`](Self::recommendation) judges by. It is narrow where two numbers of topics
    /// err on the same documents, and has no width at the best. The band of NPMI spans its seeds.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
    /// assert!(sweep.plot().to_svg()?.contains("NPMI"));
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
            let chart = over_topics(&candidates, stability).y_label("stability, mean cosine");
            charts.push(chart.title("Stability: how alike the paired topics of two seeds are"));
        }
        stack(charts)
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
            .y_label("held-out score, nats a token")
            .title(format!(
                "Held-out score, {}; band: standard error of the difference to the best",
                self.seeds_text()
            ))
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
            .y_label("NPMI")
            .title(format!(
                "Coherence (NPMI of ten terms), {}; band: lowest to highest",
                self.seeds_text()
            ))
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
