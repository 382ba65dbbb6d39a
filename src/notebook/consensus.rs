//! Notebook display of the consensus of fits.

use crate::evcxr::show_card;
use crate::fit::Consensus;
use crate::text::{Card, counted, fixed, percent};

/// Most probable terms that the card shows of a topic.
const TERMS: usize = 6;

impl Consensus {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_card(&self.card(), self.plot().picture());
    }

    fn card(&self) -> Card {
        let (fits, sizes) = self.sizes();
        let fit = self.fit();
        let rows = sizes.iter().zip(self.stability()).enumerate();
        let rows = rows.map(|(topic, (&[members, of_fits], stability))| {
            vec![
                fit.topic_name(topic),
                of_fits.to_string(),
                members.to_string(),
                fixed(stability, 3),
                fit.most_probable(topic, TERMS).join(", "),
            ]
        });
        Card::new(format!(
            "Consensus of {}: {} × {} topics",
            counted(fits, "fit"),
            counted(fit.documents(), "document"),
            fit.topics()
        ))
        .row("dropped", format!("{} of the topics of the fits", percent(self.dropped())))
        .grid(
            &["topic", "fits that have it", "members", "stability", "terms"],
            rows.collect(),
        )
        .note(
            "Members: the topics of the fits whose median the topic is. Stability: their mean silhouette, from -1 to 1; 1 is the \
             same topics, far from others. Dropped: those with few near ones in other fits.",
        )
        .note(".fit() is the fit, .table() this table.")
    }
}
