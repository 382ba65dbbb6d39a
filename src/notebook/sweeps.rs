//! Notebook display of sweeps over numbers of topics.

use crate::model::{Sweep, SweepFits, SweepPlan, SweepRun};
use crate::text::{Card, bytes, count, counted, fixed, seconds};

use crate::evcxr::show_card;
use topicbook_solvers::settings_card;

impl Sweep {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let title = format!(
            "Sweep: k = {}, {} each",
            listed(&self.topics),
            counted(self.seeds, "seed")
        );
        settings_card(&title, &self.model.settings()).show();
    }
}

impl SweepPlan {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let fits = self.sweep.topics.iter().zip(&self.fits);
        let rows = fits.map(|(topics, (_, peak))| vec![topics.to_string(), bytes(*peak)]);
        Card::new(format!(
            "Plan of a sweep: {}",
            counted(self.sweep.topics.len() * self.sweep.seeds, "fit")
        ))
        .row("training", counted(self.train.documents(), "document"))
        .row("held out", counted(self.held_out.documents(), "document"))
        .row("peak of RAM", bytes(self.peak_ram()))
        .grid(&["topics", "peak of RAM"], rows.collect())
        .note("The peaks include the fits and scores that are kept from before.")
        .show();
    }
}

impl SweepFits {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_card(&self.card(), self.plot().picture());
    }

    fn card(&self) -> Card {
        let optional = |value: Option<f64>, decimals: usize| {
            value.map_or("-".into(), |value| fixed(value, decimals))
        };
        let rows = self.rows().into_iter().map(|row| {
            vec![
                row.topics.to_string(),
                fixed(row.score, 4),
                optional(row.standard_error, 4),
                fixed(row.perplexity, 1),
                optional(row.npmi, 3),
                optional(row.stability, 3),
                seconds(row.seconds),
                row.peak_memory.map_or("-".into(), bytes),
            ]
        });
        let [held_out, done, asked] = self.sizes();
        Card::new(format!(
            "Sweep: k = {}, {} of {}",
            listed(&self.topics()),
            count(done as u64),
            counted(asked, "fit")
        ))
        .row("recommended", self.recommendation())
        .grid(
            &[
                "topics",
                "score",
                "±",
                "perplexity",
                "NPMI",
                "stability",
                "time of a fit",
                "peak of RAM",
            ],
            rows.collect(),
        )
        .note(format!(
            "Means over seeds. Score: nats a token of {}, by document completion; higher is better; ±: standard error over \
             documents. Perplexity: exp(-score), lower is better. NPMI: of the ten most probable terms of a topic, in the training \
             documents; from -1 to 1, higher is better. Stability: mean cosine of the paired topics of two seeds, to 1.",
            counted(held_out, "held-out document")
        ))
        .note("sweep.fit(k) takes a fit out. It has not seen the held-out documents: for the final model fit all counts.")
    }
}

impl SweepRun {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new(format!(
            "Fit of a sweep: k = {}, seed {}",
            self.topics, self.seed
        ))
        .row("held-out score", self.evaluation.to_string())
        .row("NPMI", self.npmi.map_or("-".into(), |npmi| fixed(npmi, 3)))
        .row("time", seconds(self.duration.as_secs_f64()))
        .row("peak of RAM", self.peak_memory.map_or("-".into(), bytes))
        .show();
    }
}

fn listed(topics: &[usize]) -> String {
    let topics: Vec<String> = topics.iter().map(usize::to_string).collect();
    topics.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::{Synthetic, TopicModel};

    #[test]
    fn the_card_of_a_sweep_explains_its_numbers() {
        let corpus = Synthetic::new(120, 40, 3)
            .avg_doc_length(60)
            .seed(1)
            .generate();
        let sweep = TopicModel::sweep([1, 3]).seeds(2).quiet();
        let sweep = sweep.fit(corpus.unwrap().counts()).unwrap();
        let text = sweep.card().text();
        for part in [
            "k = 1, 3, 4 of 4 fits",
            "higher is better",
            "lower is better",
            "24 held-out documents",
            &sweep.recommendation(),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
