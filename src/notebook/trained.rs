//! Notebook display of trainers and of what they have trained.

use crate::text::Card;
use crate::{Trained, Trainer, TrainingEstimate};

use crate::evcxr::show_card;

impl<M> Trainer<M> {
    /// Shows the settings below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_card(
            &Card::new("Trainer").row("settings", self.settings_text()),
            None,
        );
    }
}

impl<M> Trained<M> {
    /// Shows losses, memory and time below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_card(&self.card(), self.plot_loss().picture());
    }
}

impl TrainingEstimate {
    /// Shows the parts below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new("Memory of a training");
        let card = self
            .rows()
            .into_iter()
            .fold(card, |card, (part, size)| card.row(part, size));
        show_card(&card, None);
    }
}
