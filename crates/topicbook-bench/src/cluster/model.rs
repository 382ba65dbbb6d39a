//! A model of what a pass takes on many machines, from what is measured on one.

use serde_json::Value;

use crate::support::drawing::{Curve, Plot};
use crate::support::numbers::{median, numbers};

/// Counts that one machine passes over in a second by EM: 500,000 x 100,000 of 47% in 113 s, from
/// `benches/records/article.md`.
const COUNTS_A_SECOND: f64 = 444e6;
/// Terms and topics of the article.
const TERMS: f64 = 100_000.0;
const TOPICS: f64 = 20.0;
/// Bytes of a count in the article's files.
const WIDTH: f64 = 4.0;
/// How much longer the slowest of many machines takes than their mean.
const STRAGGLER: f64 = 1.1;
/// Corpora of the article's kind: name, bytes.
const CORPORA: [(&str, f64); 2] = [
    ("186 GiB (the article)", 186.0 * 1.073_741_824e9),
    ("100 TB", 1e14),
];
/// Networks: delay in s, rate in bit/s.
const NETWORKS: [(f64, f64); 2] = [(1e-4, 1e9), (1e-4, 1e10)];

/// What an exchange takes besides the wire: seconds for each value of a table of sums, as two ranks take over shared memory.
#[derive(Clone, Copy)]
struct Costs {
    per_value: f64,
    /// Delays of the network until a message has arrived, besides its bytes: a round trip before they come, and TCP's
    /// slow start.
    delays: f64,
}

/// Tables of sums that reach the first rank one after the other. It receives one in a round where neighbours can be
/// added, and two in the next, because four neighbours are added from left to right.
fn tables(machines: f64) -> f64 {
    let rounds = machines.log2() as usize;
    (0..rounds).map(|round| 1.0 + (round % 2) as f64).sum()
}

impl Costs {
    /// Seconds of an exchange: tables of 8 bytes a value, then F of 4 bytes a value, which each machine passes on while
    /// it arrives.
    fn exchange(self, machines: f64, (delay, rate): (f64, f64), values: f64) -> f64 {
        let tables = tables(machines);
        let wire = (tables * 8.0 + 4.0) * values * 8.0 / rate;
        wire + self.per_value * values * tables + self.delays * delay * (tables + machines.log2())
    }
}

/// What the model predicts for a number of machines.
struct Prediction {
    machines: f64,
    /// Seconds of a pass until the slowest machine has its sums.
    computing: f64,
    /// Seconds of the exchange on each of [`NETWORKS`].
    exchange: [f64; 2],
}

/// Predictions for 1 to 256 machines and a corpus of `counts` counts.
fn predictions(costs: Costs, counts: f64) -> Vec<Prediction> {
    let of = |power: u32| {
        let machines = f64::from(1u32 << power);
        let straggler = if machines > 1.0 { STRAGGLER } else { 1.0 };
        Prediction {
            machines,
            computing: counts / COUNTS_A_SECOND / machines * straggler,
            exchange: NETWORKS.map(|network| match machines > 1.0 {
                true => costs.exchange(machines, network, TERMS * TOPICS),
                false => 0.0,
            }),
        }
    };
    (0..=8).map(of).collect()
}

/// A measured exchange.
struct Measured<'a> {
    row: &'a Value,
    seconds: f64,
    /// Delay in ms and rate in Gbit/s, between two hosts.
    link: Option<(f64, f64)>,
}

impl<'a> Measured<'a> {
    fn new(row: &'a Value) -> Self {
        let value = |name: &str| row[name].as_f64();
        Self {
            row,
            seconds: median(&numbers(&row["seconds"])),
            link: value("delay_ms").zip(value("gbit_per_second")),
        }
    }
}

fn measured(exchange: &Value) -> Vec<Measured<'_>> {
    let rows = exchange["rows"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().map(Measured::new).collect()
}

/// Values of a table of sums in the measured exchanges.
fn values(exchange: &Value) -> f64 {
    let number = |name: &str| exchange[name].as_f64().unwrap_or(f64::NAN);
    number("terms") * number("topics")
}

impl Costs {
    /// Fitted to the exchanges of two ranks over shared memory, and of two hosts without a delay and with 10 ms.
    fn fitted(exchange: &Value) -> Self {
        let rows = measured(exchange);
        let seconds = |is: &dyn Fn(&&Measured) -> bool| {
            rows.iter().find(is).map_or(f64::NAN, |row| row.seconds)
        };
        let local = seconds(&|one| one.row["network"] == "shared memory" && one.row["ranks"] == 2);
        let with_delay =
            |delay: f64| seconds(&|one| one.link.is_some_and(|(found, _)| found == delay));
        Self {
            per_value: local / values(exchange),
            // Of two messages: the sums, and F.
            delays: (with_delay(10.0) - with_delay(0.0)) / 10e-3 / 2.0,
        }
    }
}

/// The chart of the model: computing and exchange against machines, for each corpus.
pub fn plots(exchange: &Value) -> Vec<Plot> {
    let costs = Costs::fitted(exchange);
    let plot = |(name, bytes): (&str, f64)| {
        let all = predictions(costs, bytes / WIDTH);
        let curve = |name: &str, seconds: &dyn Fn(&Prediction) -> f64| Curve {
            name: name.into(),
            measured: Vec::new(),
            predicted: (all.iter().map(|one| (one.machines, seconds(one))))
                .filter(|(_, seconds)| *seconds > 0.0)
                .collect(),
        };
        Plot {
            title: format!("{name}: predicted, not measured"),
            x_label: "machines".into(),
            curves: vec![
                curve("reading and computing", &|one| one.computing),
                curve("exchange at 1 Gbit/s", &|one| one.exchange[0]),
                curve("exchange at 10 Gbit/s", &|one| one.exchange[1]),
            ],
        }
    };
    CORPORA.map(plot).into()
}

/// The section of the page.
pub fn markdown(exchange: &Value) -> String {
    let (costs, values) = (Costs::fitted(exchange), values(exchange));
    let mut page = format!(
        "\n## The exchange\n\nSums of {} terms x {} topics (the values of 100,000 terms with k = 20) come to the first rank, and F goes \
        back: medians of five passes. Shared memory and TCP: ranks of this machine, of which more than two share its cores. Two \
        hosts: network namespaces, joined by virtual cards and a program that delays frames and limits their rate.\n\n\
        | network | ranks | delay, ms | Gbit/s | exchange, s | by the model, s |\n|---|---:|---:|---:|---:|---:|\n",
        exchange["terms"], exchange["topics"]
    );
    for Measured { row, seconds, link } in measured(exchange) {
        let model =
            link.map(|(delay, rate)| costs.exchange(2.0, (delay / 1e3, rate * 1e9), values));
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        page += &format!(
            "| {} | {} | {} | {} | {:.4} | {} |\n",
            row["network"].as_str().unwrap_or_default(),
            row["ranks"],
            shown(link.map(|link| link.0), 1),
            shown(link.map(|link| link.1), 0),
            seconds,
            shown(model, 4),
        );
    }
    page += &format!(
        "\n## A model of many machines\n\nA pass of EM on machines like that of [article.md](article.md): reading and computing, {:.0} million counts a second \
        and machine as over 50 GB there, the slowest {:.0}% slower than the mean; then the exchange as measured above, whose work \
        besides the wire takes {:.1} ns a value and table, as between two ranks by shared memory, and a message {:.1} delays, as between the two hosts at 10 ms. No row of it was measured.\n\n\
        ![A pass, predicted](cluster.svg)\n\n\
        | corpus, f32 | machines | computing, s | exchange at 1 Gbit/s, s | share | at 10 Gbit/s, s | share | L of a rank, GB | L of the notebook, GB |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        COUNTS_A_SECOND / 1e6,
        100.0 * (STRAGGLER - 1.0),
        1e9 * costs.per_value,
        costs.delays,
    );
    for (name, bytes) in CORPORA {
        let counts = bytes / WIDTH;
        for one in predictions(costs, counts) {
            let Prediction {
                machines,
                computing,
                ..
            } = one;
            let cells = one.exchange.map(|exchange| {
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
