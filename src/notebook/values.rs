//! Notebook display of models, and of the result of `doctor`.

use crate::doctor::Doctor;
use crate::model::TopicModel;
use crate::text::Card;

use crate::evcxr::show_card;
use topicbook_solvers::settings_card;

impl Doctor {
    /// Shows the results below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new("This machine");
        let rows = self.rows().iter();
        let card = rows.fold(card, |card, (label, value)| card.row(label, value));
        show_card(&card, None);
    }
}

impl TopicModel {
    /// Shows the settings below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let settings = self.settings();
        let title = format!("Topic model, k = {}", settings.topics);
        show_card(&settings_card(&title, &settings), None);
    }
}
