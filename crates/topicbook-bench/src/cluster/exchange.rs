//! What the exchange of a pass takes: by ranks of this machine over shared memory and over TCP, and by two hosts on networks of
//! several speeds.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Hosts, Link, SLOW_NETWORK, SlowLink};
use topicbook::{Cluster, Counts, Device, Result, Solver, Synthetic, TopicModel};

use crate::support::record;

/// The same number of values as 100,000 terms and k = 20, but enough shards for 8 ranks of smaller counts.
const TERMS: usize = 20_000;
const TOPICS: usize = 100;
const DOCUMENTS: usize = 140_000;
const LENGTH: usize = 200;
const PASSES: usize = 6;

/// Delays and rates of the networks, in milliseconds and Gbit/s.
const NETWORKS: [(f64, f64); 4] = [(0.0, 1.0), (0.1, 1.0), (1.0, 1.0), (10.0, 1.0)];

/// Measures all; `folder` holds the counts, 3 GB.
pub fn measure(folder: &Path) -> Result<Value> {
    let path = folder.join("exchange.npy");
    if !path.is_file() {
        let recipe = Synthetic::new(DOCUMENTS, TERMS, 20)
            .avg_doc_length(LENGTH)
            .seed(1);
        recipe.write_npy(&path)?;
    }
    let mut rows = Vec::new();
    for ranks in [2, 4, 8] {
        let all = format!("-n {ranks} --oversubscribe --bind-to none --mca pml ob1");
        for (network, link) in [
            ("shared memory", "self,sm"),
            ("TCP on this machine", "self,tcp"),
        ] {
            let options = format!("{all} --mca btl {link}");
            rows.push(row(network, ranks, None, fit(&path, folder, &options)));
        }
    }
    match Hosts::new() {
        Ok(hosts) => {
            hosts.write_home(folder);
            for (delay, rate) in NETWORKS {
                let link = Link {
                    delay: Duration::from_secs_f64(delay / 1e3),
                    bits_per_second: rate * 1e9,
                    loses_one_in: 0,
                };
                let options = format!(
                    "-n 2 --hostfile {} --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include {SLOW_NETWORK}",
                    folder.join("hosts.txt").display()
                );
                let seconds =
                    SlowLink::between(&hosts, link).map(|_link| fit(&path, folder, &options));
                let seconds = seconds.unwrap_or_else(|error| json!({ "failed": error }));
                rows.push(row("two hosts", 2, Some((delay, rate)), seconds));
            }
        }
        Err(error) => println!("no hosts here: {error}"),
    }
    fs::remove_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Ok(json!({ "terms": TERMS, "topics": TOPICS, "rows": rows }))
}

fn row(network: &str, ranks: usize, link: Option<(f64, f64)>, seconds: Value) -> Value {
    let row = json!({
        "network": network,
        "ranks": ranks,
        "delay_ms": link.map(|link| link.0),
        "gbit_per_second": link.map(|link| link.1),
        "seconds": seconds,
    });
    println!("{row}");
    row
}

/// A fit in a process of its own, whose home has the settings of the hosts: seconds of the exchange in each pass but the first.
fn fit(path: &Path, folder: &Path, options: &str) -> Value {
    let mut program = record::this_program(&[
        "exchange",
        &path.display().to_string(),
        &folder.display().to_string(),
        options,
    ]);
    let output = program.env("HOME", folder).output();
    record::result_of(&output.unwrap_or_else(|error| panic!("this program: {error}")))
}

/// The fit of [`fit`].
pub fn fit_here(path: &str, folder: &str, options: &str) -> Result<Value> {
    let counts = Counts::open(path)?;
    let worker = std::env::var("TOPICBOOK_WORKER").unwrap_or_default();
    let mpiexec = fs::read_to_string(Path::new(&worker).with_extension("mpiexec"));
    let command = format!("{} {options}", mpiexec.unwrap_or("mpiexec".into()).trim());
    let model = TopicModel::new(TOPICS)
        .solver(Solver::em())
        .tolerance(0.0)
        .epochs(PASSES)
        .device(Device::Cpu)
        .seed(1)
        .quiet();
    let fit = model
        .cluster(Cluster::command(command).folder(folder))
        .fit(&counts)?;
    let ranks = fit.ranks();
    let of_first = |column: &str| -> Vec<f64> {
        let both = ranks
            .numbers("rank")
            .into_iter()
            .flatten()
            .zip(ranks.numbers(column).into_iter().flatten());
        both.filter(|(rank, _)| *rank == 0.0)
            .map(|(_, value)| value)
            .skip(1)
            .collect()
    };
    Ok(json!(of_first("exchange")))
}
