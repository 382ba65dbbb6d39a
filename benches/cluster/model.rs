//! A model of what a pass takes on many machines, from what is measured on one.

use serde_json::Value;

use crate::numbers::{median, numbers};

/// Counts that one machine like this one passes over in a second by EM: 500,000 x 100,000 of 47% in 113 s, from
/// `benches/records/article.md`.
const COUNTS_A_SECOND: f64 = 444e6;
/// Terms and topics of the article.
const TERMS: f64 = 100_000.0;
const TOPICS: f64 = 20.0;
/// Bytes of a count in the article's files.
const WIDTH: f64 = 4.0;
/// The slowest of many machines takes so much longer than their mean.
const STRAGGLER: f64 = 1.1;
/// Corpora of the article's kind: name, bytes.
const CORPORA: [(&str, f64); 2] = [
    ("186 GiB (the article)", 186.0 * 1.073_741_824e9),
    ("100 TB", 1e14),
];
/// Networks: delay in s, rate in bit/s.
const NETWORKS: [(f64, f64); 2] = [(1e-4, 1e9), (1e-4, 1e10)];

/// What an exchange takes beside the wire: seconds for each value of a table of sums, as two ranks take over shared memory.
#[derive(Clone, Copy)]
struct Costs {
    per_value: f64,
    /// Delays of the network until a message has arrived, besides its bytes: there and back before they come, and until TCP sends as
    /// many at once as the network holds.
    delays: f64,
}

/// Tables of sums that reach the first rank one after the other: it receives one in a round where neighbours can be added, and
/// two in the next, because four neighbours are added from left to right.
fn tables(machines: f64) -> f64 {
    let rounds = machines.log2() as usize;
    (0..rounds).map(|round| 1.0 + (round % 2) as f64).sum()
}

impl Costs {
    /// Seconds of an exchange: tables of 8 bytes a value, then F of 4 bytes a value, which goes on from machine to machine while it
    /// arrives.
    fn exchange(self, machines: f64, (delay, rate): (f64, f64), values: f64) -> f64 {
        let tables = tables(machines);
        let wire = (tables * 8.0 + 4.0) * values * 8.0 / rate;
        wire + self.per_value * values * tables + self.delays * delay * (tables + machines.log2())
    }
}

/// The section of the page.
pub fn markdown(exchange: &Value) -> String {
    let values = exchange["terms"].as_f64().unwrap_or(f64::NAN)
        * exchange["topics"].as_f64().unwrap_or(f64::NAN);
    let rows = exchange["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let seconds = |row: &Value| median(&numbers(&row["seconds"]));
    let link = |row: &Value| {
        row["delay_ms"]
            .as_f64()
            .zip(row["gbit_per_second"].as_f64())
    };
    let local = rows
        .iter()
        .find(|row| row["network"] == "shared memory" && row["ranks"] == 2);
    let with_delay = |delay: f64| {
        let row = rows
            .iter()
            .find(|row| link(row).is_some_and(|(found, _)| found == delay));
        row.map_or(f64::NAN, seconds)
    };
    let costs = Costs {
        per_value: local.map_or(f64::NAN, seconds) / values,
        // Of two messages: the sums, and F.
        delays: (with_delay(10.0) - with_delay(0.0)) / 10e-3 / 2.0,
    };
    let mut page = format!(
        "\n## The exchange\n\nSums of {} terms x {} topics (the values of 100,000 terms with k = 20) come to the first rank, and F goes \
        back: medians of five passes. Shared memory and TCP: ranks of this machine, of which more than two share its cores. Two \
        hosts: network namespaces, joined by virtual cards and a program that delays frames and limits their rate.\n\n\
        | network | ranks | delay, ms | Gbit/s | exchange, s | by the model, s |\n|---|---:|---:|---:|---:|---:|\n",
        exchange["terms"], exchange["topics"]
    );
    for row in rows {
        let of_link = link(row);
        let model =
            of_link.map(|(delay, rate)| costs.exchange(2.0, (delay / 1e3, rate * 1e9), values));
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        page += &format!(
            "| {} | {} | {} | {} | {:.4} | {} |\n",
            row["network"].as_str().unwrap_or_default(),
            row["ranks"],
            shown(of_link.map(|link| link.0), 1),
            shown(of_link.map(|link| link.1), 0),
            seconds(row),
            shown(model, 4),
        );
    }
    page += &format!(
        "\n## A model of many machines\n\nA pass of EM on machines like this one: reading and computing, {:.0} million counts a second \
        and machine as over 50 GB in [article.md](article.md), the slowest {:.0}% slower than the mean; then the exchange, whose work \
        besides the wire takes {:.1} ns a value and table, as between two ranks by shared memory, and a message {:.1} delays, as between the two hosts at 10 ms. No row of it was measured.\n\n\
        | corpus, f32 | machines | computing, s | exchange at 1 Gbit/s, s | share | at 10 Gbit/s, s | share | L of a rank, GB | L of the notebook, GB |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        COUNTS_A_SECOND / 1e6,
        100.0 * (STRAGGLER - 1.0),
        1e9 * costs.per_value,
        costs.delays,
    );
    for (name, bytes) in CORPORA {
        for power in 0..=8 {
            let machines = f64::from(1u32 << power);
            let counts = bytes / WIDTH;
            let straggler = if machines > 1.0 { STRAGGLER } else { 1.0 };
            let computing = counts / COUNTS_A_SECOND / machines * straggler;
            let cells = NETWORKS.map(|network| {
                let exchange = match machines > 1.0 {
                    true => costs.exchange(machines, network, TERMS * TOPICS),
                    false => 0.0,
                };
                format!(
                    "{exchange:.2} | {:.1}%",
                    100.0 * exchange / (exchange + computing)
                )
            });
            let l = counts / TERMS * TOPICS * 4.0 / 1e9;
            page += &format!(
                "| {name} | {machines} | {computing:.1} | {} | {} | {:.3} | {:.2} |\n",
                cells[0],
                cells[1],
                l / machines,
                l
            );
        }
    }
    page += "\nWhat breaks first: over the article's corpus, the exchange: between 64 and 128 machines it begins to take longer than the computing at 1 Gbit/s, and twice \
        the machines save little. Over 100 TB the exchange stays small on 256 machines, and what breaks is the notebook's \
        machine, which holds L of all documents (and its proportions, as much again, when the fit is joined).\n";
    page
}
