//! Notebook display of a fit in the background, which follows the fit until it ends.

use std::thread;
use std::time::Duration;

use crate::fit::loss_chart;
use crate::system::LiveOutput;
use crate::system::memory::process_memory;
use crate::text::{bytes, percent};
use crate::training::{Training, Watch};

use crate::evcxr::{card_html, show_card};

/// Time between two views.
const PAUSE: Duration = Duration::from_secs(1);

impl<T> Training<T> {
    /// Shows below a cell how far the fit is, its memory, the shares of its topics and its loss curve. In topicbook's
    /// kernel the output follows the fit, once a second until it ends, and stays as it was then.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let watch = self.watch();
        match LiveOutput::new() {
            Some(output) if !watch.is_ended() => {
                show(&output, &watch);
                thread::spawn(move || follow(&output, &watch));
            }
            _ => {
                let chart = loss_chart(&watch.status().history);
                show_card(&watch.card(), chart.picture());
            }
        }
    }
}

fn follow(output: &LiveOutput, watch: &Watch) {
    loop {
        watch.want_shares();
        thread::sleep(PAUSE);
        // Asked before the view is made, so that the last view shows the end.
        let ended = watch.is_ended();
        show(output, watch);
        if ended {
            return;
        }
    }
}

fn show(output: &LiveOutput, watch: &Watch) {
    let status = watch.status();
    let mut card = watch.card().row(
        "memory",
        format!("{} anonymous", bytes(process_memory().anonymous)),
    );
    if !status.shares.is_empty() {
        card = card.row("topic shares", shares(&status.shares));
    }
    let html = card_html(&card, loss_chart(&status.history).picture());
    output.show(&[("text/html", &html), ("text/plain", card.text().trim_end())]);
}

/// The share of each topic, the largest first: `3: 21%, 0: 14%, ...`.
fn shares(shares: &[f64]) -> String {
    const SHOWN: usize = 10;
    let mut topics: Vec<usize> = (0..shares.len()).collect();
    topics.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    let mut text: Vec<String> = topics
        .iter()
        .take(SHOWN)
        .map(|&topic| format!("{topic}: {}", percent(shares[topic])))
        .collect();
    if topics.len() > SHOWN {
        text.push("…".into());
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn shares_are_sorted() {
        assert_eq!(super::shares(&[0.2, 0.5, 0.3]), "1: 50%, 2: 30%, 0: 20%");
        assert!(super::shares(&[0.05; 20]).ends_with(", …"));
    }
}
