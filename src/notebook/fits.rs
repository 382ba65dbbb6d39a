//! Notebook display of fits, their epochs, plans and checkpoints.

use crate::config::Device;
use crate::fit::{ByLabel, CONSENSUS, Distinctive, Effects, Fit, GIVEN};
use crate::model::{Checkpoint, Estimate, Update};
use crate::plan::Plan;
use crate::text::{Card, bytes, count, counted, escape, fixed, percent, seconds, shown_path};

use crate::evcxr::{show, show_card};
use topicbook_solvers::settings_card;

impl Checkpoint {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let settings = &self.recipe.settings;
        let mut card = settings_card(
            &format!(
                "Checkpoint: {} of {} epochs done",
                self.done(),
                count(settings.epochs as u64)
            ),
            settings,
        )
        .row(
            "counts",
            format!(
                "{} documents × {} terms",
                count(self.counts.documents as u64),
                count(self.counts.terms as u64)
            ),
        )
        .row("topics", settings.topics.to_string())
        .row("trained on", self.device.clone())
        .row("file", shown_path(&self.file));
        if let Some(last) = self.start.history.last() {
            card = card.row(
                "log-likelihood",
                format!("{:.5} nats per token", last.log_likelihood_per_token),
            );
        }
        if let Some(note) = self.note() {
            card = card.note(note);
        }
        card.show();
    }
}

impl Fit {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let title = format!(
            "Fit: {} documents × {} terms, k = {}",
            count(self.documents() as u64),
            count(self.terms() as u64),
            self.topics()
        );
        let not_trained = match self.device.as_str() {
            GIVEN => Some("L and F were given: the fit has no settings, epochs or losses."),
            CONSENSUS => {
                Some("F is the consensus of other fits, which have the epochs and losses.")
            }
            _ => None,
        };
        if let Some(note) = not_trained {
            return Card::new(&title).note(note);
        }
        let mut card = settings_card(&title, &self.settings).row("device", self.device.clone());
        if let Some(last) = self.history.last() {
            let total = self.duration().as_secs_f64();
            let peak = self.history.iter().map(|epoch| epoch.memory_bytes).max();
            card = card
                .row("final loss", last.loss_per_batch())
                .row(
                    "log-likelihood",
                    format!("{:.5} nats per token", last.log_likelihood_per_token),
                )
                .row(
                    "time",
                    format!(
                        "{} ({} per epoch)",
                        seconds(total),
                        seconds(total / self.history.len() as f64)
                    ),
                )
                .row(
                    "peak memory",
                    match &self.memory {
                        Some(profile) => profile.sentence(),
                        None => format!("{} of anonymous memory", bytes(peak.unwrap_or(0))),
                    },
                );
        }
        if let Some(note) = self.note() {
            card = card.note(note);
        }
        if self.settings.solver.is_full_pass() {
            let done = self.history.len();
            return card.note(match done < self.settings.epochs {
                true => format!(
                    "Ended after {}: converged or stopped.",
                    counted(done, "iteration")
                ),
                false => format!("Ended after {}, the maximum.", counted(done, "iteration")),
            });
        }
        if self.settings.device == Device::Auto && self.device.starts_with("CPU") {
            let chosen = Device::Auto.describe();
            // A GPU may be found that the fit could not use.
            if chosen.starts_with("CPU") {
                card = card.note(format!("Device::Auto has chosen: {chosen}."));
            }
        }
        if self.history.len() < self.settings.epochs {
            card = card.note(format!(
                "Stopped early: {} of {} epochs.",
                count(self.history.len() as u64),
                count(self.settings.epochs as u64)
            ));
        }
        card
    }
}

impl Distinctive {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        const TERMS: usize = 8;
        let names = self.topic_names();
        let rows = names.iter().enumerate().map(|(topic, name)| {
            let changes = self.log_fold_changes();
            let best = self.best(topic, 1).into_iter();
            let first = best
                .map(|term| fixed(changes.row(topic)[term].into(), 1))
                .next();
            let terms = self.best_names(topic, TERMS).join(", ");
            vec![name.clone(), terms, first.unwrap_or_default()]
        });
        let card = Card::new(format!(
            "Distinctive terms of {}",
            counted(names.len(), "topic")
        ))
        .grid(&["topic", "terms", "log2 fold change of the first"], rows.collect())
        .note(
            "A term is compared with the topic whose rate of it is nearest. Terms are ordered by the lower end of the 95% \
             interval of their log fold change.",
        )
        .note(".terms_of_topic(3, 20)? is a table of one topic, .plot_volcano(3) its chart.");
        card.show();
    }
}

impl ByLabel {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let labels = self.documents();
        let mut card = Card::new(format!(
            "Mean proportions of {} by {}",
            counted(self.topic_names().len(), "topic"),
            counted(labels.len(), "label")
        ))
        .row("documents", count(labels.iter().sum::<usize>() as u64));
        if self.unlabelled() > 0 {
            card = card.row("without a label", count(self.unlabelled() as u64));
        }
        card = card.note(
            "Intervals hold 95% of the means of 1,000 resamples of a label's documents: .table() has them as a table.",
        );
        let alone = labels.iter().filter(|&&documents| documents == 1).count();
        if alone > 0 {
            card = card.note(format!(
                "No interval for {} of a single document: its resamples are all the same. The months of dates are \
                 fit.by(col(\"date\").cast(DataType::String).str().head(lit(7)))?.",
                counted(alone, "label")
            ));
        }
        show_card(&card, self.plot().picture());
    }
}

impl Effects {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let (formula, [used, left_out]) = self.of();
        let mut card = Card::new(format!("Effects of {formula} on the proportions of topics"))
            .row("documents", count(used as u64));
        if left_out > 0 {
            card = card.row("without all labels, or empty", count(left_out as u64));
        }
        let card = card.note(
            "Coefficients of least squares. Intervals hold 95% of those of 1,000 regressions with random weights of the documents: \
             .table() has them as a table.",
        );
        show_card(&card, self.plot().picture());
    }
}

impl Update {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let fit = self.fit();
        let rows = self.movements().iter().enumerate().map(|(topic, moved)| {
            vec![
                fit.topic_name(topic),
                format!("{:.3}", moved.distance),
                format!(
                    "{} to {}",
                    percent(moved.share_before),
                    percent(moved.share)
                ),
                moved.gained.join(", "),
            ]
        });
        let card = Card::new(format!(
            "Update: {} × {} terms, k = {}",
            counted(fit.documents(), "document"),
            count(fit.terms() as u64),
            fit.topics()
        ))
        .row("iterations", count(fit.history.len() as u64))
        .grid(&["topic", "moved", "share", "terms that gained most"], rows.collect())
        .note(
            "Moved: the Jensen-Shannon distance of a topic's terms before and after, from 0 (the same) to 1 (no term in \
             common).",
        )
        .note(".fit() is the updated fit, .table() this table.");
        card.show();
    }
}

impl Plan {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        self.card().show();
    }
}

impl Estimate {
    /// Shows the plan below a cell, or why there is none.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        match self.plan() {
            Ok(plan) => plan.evcxr_display(),
            Err(error) => {
                let text = error.to_string();
                show(&escape(&text), &text);
            }
        }
    }
}
