//! Notebook display of models, and of the result of `doctor`.

use crate::doctor::Doctor;
use crate::model::TopicModel;
use crate::text::Card;

use topicbook_solvers::settings_card;

impl Doctor {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new("This machine");
        let rows = self.rows().iter();
        let card = rows.fold(card, |card, (label, value)| card.row(label, value));
        card.show();
    }
}

impl TopicModel {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let settings = self.settings();
        let title = format!("Topic model, k = {}", settings.topics);
        settings_card(&title, &settings).show();
    }
}
