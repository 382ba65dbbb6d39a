//! What the rows show, compared with the goals.

use serde_json::Value;

use crate::gpu::page::{show, text};
use crate::gpu::sizes::DENSITIES;

/// Goals: the longest epoch of 100,000 documents, in seconds.
const EPOCH_SECONDS: f64 = 1.5;
/// The longest epoch, relative to the time of its bytes on the bus.
const OVER_BUS: f64 = 1.3;
/// The least speed relative to tinytopics.
const TIMES_FASTER: f64 = 15.0;
/// The least speed relative to tinytopics, until both score as high as tinytopics does after its epochs.
const TIMES_FASTER_TO_SCORE: f64 = 10.0;
/// The largest relative error of a VRAM prediction.
const VRAM_ERROR: f64 = 0.1;
/// Bytes by which the memory of the pool may change from fit to fit.
const POOL_GROWTH: f64 = 1048576.0;

/// Seconds of the fastest epoch after the first, which compiles kernels.
pub fn epoch(row: &Value) -> Option<f64> {
    let seconds = row["epoch_seconds"].as_array()?;
    let seconds = seconds.iter().skip(1).filter_map(Value::as_f64);
    seconds.min_by(f64::total_cmp)
}

pub fn over_bus(row: &Value) -> Option<f64> {
    Some(epoch(row)? / row["bus_seconds"].as_f64()?)
}

/// Relative error of the predicted VRAM.
pub fn vram_error(row: &Value) -> Option<f64> {
    Some(row["vram_predicted"].as_f64()? / row["vram_reserved_peak"].as_f64()? - 1.0)
}

/// The row of counts in RAM to which the goals apply.
fn in_ram<'a>(record: &'a Value, density: &str) -> &'a Value {
    &record["rows"][format!("f32 in RAM, {density}")]
}

/// Speed per document relative to tinytopics.
pub fn times_faster(record: &Value, density: &str) -> Option<f64> {
    let peer = &record["rows"][format!("tinytopics, {density}")];
    let ours = in_ram(record, density);
    let per_document =
        |seconds: Option<f64>, row: &Value| Some(seconds? / row["documents"].as_f64()?);
    let peer_seconds = per_document(peer["seconds_per_epoch"].as_f64(), peer)?;
    Some(peer_seconds / per_document(epoch(ours), ours)?)
}

/// Speed relative to tinytopics until both score as high; `None` also where our score is lower.
pub fn times_faster_to_score(record: &Value, density: &str) -> Option<f64> {
    let peer = &record["rows"][format!("tinytopics, {density}")];
    let ours = &record["rows"][format!("equal score, {density}")];
    let is_as_good =
        ours["reached"] == true && ours["score"].as_f64()? >= peer["score"].as_f64()?;
    is_as_good.then_some(peer["seconds"].as_f64()? / ours["seconds"].as_f64()?)
}

/// The names of the rows that ran, in order, with their results.
pub fn rows(record: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let names = record["order"].as_array().into_iter().flatten();
    names
        .filter_map(Value::as_str)
        .map(|name| (name, &record["rows"][name]))
}

/// Why a row has no result, if it has none.
pub fn without_result(row: &Value) -> Option<String> {
    if !row["skipped"].is_null() {
        return Some(format!("skipped, {}", text(&row["skipped"])));
    }
    let stderr = text(&row["stderr"]);
    let last = stderr.lines().last().unwrap_or_default();
    (!row["failed"].is_null()).then(|| format!("failed, {} ({last})", text(&row["failed"])))
}

/// Rows without a result, and goals that were missed or not measured. A dry run has no goals.
pub fn missed_goals(record: &Value) -> Vec<String> {
    let mut missed: Vec<String> = rows(record)
        .filter_map(|(name, row)| Some(format!("{name}: {}", without_result(row)?)))
        .collect();
    if record["small"] == true {
        return missed;
    }
    let mut goal = |what: &str,
                    measured: Option<f64>,
                    reached: &dyn Fn(f64) -> bool,
                    asked: &str| match measured {
        Some(measured) if reached(measured) => {}
        Some(measured) => {
            missed.push(format!(
                "{what}: {}, {asked} asked",
                show(Some(measured), 1.0)
            ));
        }
        None => missed.push(format!("{what}: not measured, {asked} asked")),
    };
    let ours = in_ram(record, DENSITIES[0]);
    let scale = ours["documents"].as_f64().unwrap_or(0.0) / 1e5;
    goal(
        "f32 in RAM, seconds an epoch (for 100,000 documents)",
        epoch(ours).map(|seconds| seconds / scale),
        &|seconds| seconds <= EPOCH_SECONDS,
        &format!("at most {EPOCH_SECONDS}"),
    );
    goal(
        "f32 in RAM, over the time of the bus",
        over_bus(ours),
        &|times| times <= OVER_BUS,
        &format!("at most {OVER_BUS}"),
    );
    for density in DENSITIES {
        goal(
            &format!("{density}, times faster than tinytopics an epoch"),
            times_faster(record, density),
            &|times| times >= TIMES_FASTER,
            &format!("at least {TIMES_FASTER}"),
        );
        goal(
            &format!("{density}, times faster than tinytopics to its score"),
            times_faster_to_score(record, density),
            &|times| times >= TIMES_FASTER_TO_SCORE,
            &format!("at least {TIMES_FASTER_TO_SCORE}"),
        );
    }
    for (name, row) in rows(record).filter(|(_, row)| !row["epoch_seconds"].is_null()) {
        goal(
            &format!("{name}, VRAM predicted over measured, less one"),
            vram_error(row),
            &|error| error.abs() <= VRAM_ERROR,
            &format!("within {VRAM_ERROR}"),
        );
    }
    let fits = &record["rows"]["fits one after the other"];
    for pool in ["in_use", "reserved"] {
        goal(
            &format!(
                "fits one after the other, bytes {pool} after the last, less those after the second"
            ),
            growth(&fits[pool]),
            &|bytes| bytes.abs() <= POOL_GROWTH,
            &format!("at most {POOL_GROWTH}"),
        );
    }
    missed
}

/// The change from the second fit to the last; the first has only one epoch.
fn growth(after_fits: &Value) -> Option<f64> {
    let bytes = after_fits.as_array()?;
    Some(bytes.last()?.as_f64()? - bytes.get(1)?.as_f64()?)
}
