//! A fitted model: L, F, and what can be asked of them.

mod align;
mod file;
mod likelihood;
mod memory;
mod plots;
mod tables;
mod transform;

use std::sync::Arc;

use crate::device::Device;
use crate::display::{Card, bytes, seconds};
use crate::matrix::Matrix;
use crate::memory::Profile;
use crate::model::{Epoch, Settings, settings_card};
use crate::terms::Terms;

/// A fitted topic model.
///
/// Cheap to clone. All its methods leave it as it is; those that change something return a new one.
#[derive(Debug, Clone)]
pub struct Fit {
    settings: Settings,
    l: Matrix,
    f: Matrix,
    terms: Option<Terms>,
    history: Vec<Epoch>,
    device: String,
    memory: Option<Arc<Profile>>,
}

impl Fit {
    pub(crate) fn new(
        settings: Settings,
        l: Matrix,
        f: Matrix,
        terms: Option<Terms>,
        history: Vec<Epoch>,
        device: String,
        memory: Option<Profile>,
    ) -> Self {
        Self {
            settings,
            l,
            f,
            terms,
            history,
            device,
            memory: memory.map(Arc::new),
        }
    }

    /// L: documents x topics; the proportions of the topics in each document, rows summing to one.
    pub fn l(&self) -> Matrix {
        self.l.clone()
    }

    /// F: topics x terms; the probabilities of the terms in each topic, rows summing to one.
    pub fn f(&self) -> Matrix {
        self.f.clone()
    }

    /// Number of documents.
    pub fn documents(&self) -> usize {
        self.l.rows()
    }

    /// Number of topics.
    pub fn topics(&self) -> usize {
        self.f.rows()
    }

    /// Number of terms.
    pub fn terms(&self) -> usize {
        self.f.columns()
    }

    /// The settings the model was fitted with.
    pub fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// The loss of the last epoch: the mean over batches of the batches' sums, as tinytopics reports it. NaN for a fit
    /// without a history.
    pub fn loss(&self) -> f64 {
        self.history.last().map_or(f64::NAN, |epoch| epoch.loss)
    }

    /// The log-likelihood per token over the last epoch, in nats; higher is better, and it does not depend on the batch
    /// size. NaN for a fit without a history.
    pub fn log_likelihood_per_token(&self) -> f64 {
        self.history
            .last()
            .map_or(f64::NAN, |epoch| epoch.log_likelihood_per_token)
    }

    /// Wall time of the training, in seconds.
    pub fn seconds(&self) -> f64 {
        self.history.iter().map(|epoch| epoch.seconds).sum()
    }

    /// The name of a term, or its number where the model has no names.
    fn term_name(&self, term: usize) -> String {
        match self.terms.as_ref().and_then(|terms| terms.get(term)) {
            Some(name) => name.to_string(),
            None => term.to_string(),
        }
    }

    /// Shows the fit as a card below a cell.
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let title = format!(
            "Fit: {} documents x {} terms, k = {}",
            crate::display::count(self.documents() as u64),
            crate::display::count(self.terms() as u64),
            self.topics()
        );
        let mut card = settings_card(&title, &self.settings).row("device", self.device.clone());
        if let Some(last) = self.history.last() {
            let peak = self.history.iter().map(|epoch| epoch.memory).max();
            card = card
                .row("final loss", format!("{:.2} a batch", last.loss))
                .row(
                    "log-likelihood",
                    format!("{:.5} nats a token", last.log_likelihood_per_token),
                )
                .row(
                    "time",
                    format!(
                        "{} ({} an epoch)",
                        seconds(self.seconds()),
                        seconds(self.seconds() / self.history.len() as f64)
                    ),
                )
                .row(
                    "peak memory",
                    match &self.memory {
                        Some(profile) => profile.sentence(),
                        None => format!("{} of the process, files aside", bytes(peak.unwrap_or(0))),
                    },
                );
        }
        if self.settings.solver.iterates() {
            let done = self.history.len();
            return card.note(match done < self.settings.epochs {
                true => format!("Ended after {done} iterations: converged or stopped."),
                false => format!("Ended after {done} iterations, all that were allowed."),
            });
        }
        if self.settings.device == Device::Auto && self.device.starts_with("CPU") {
            card = card.note(format!("Device::Auto chose: {}.", Device::Auto.describe()));
        }
        if self.history.len() < self.settings.epochs {
            card = card.note(format!(
                "Stopped early: {} of {} epochs.",
                self.history.len(),
                self.settings.epochs
            ));
        }
        card
    }
}
