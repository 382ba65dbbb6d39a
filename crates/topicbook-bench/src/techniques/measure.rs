//! One run, in this process.

use serde_json::{Value, json};
use topicbook::{Result, memory, release};

use crate::measured::value;
use crate::support::record;
use crate::support::sampler::Sampler;
use crate::techniques::gpu_runs::Run;

/// Fits once; the peaks that were planned and measured, in bytes, and the seconds of an epoch, of the clock and of the CPU.
pub fn measure(Run { sizes, model, .. }: &Run) -> Result<Value> {
    let before = memory().anonymous;
    let counts = sizes.generate()?;
    // Memory that drawing the counts has freed is no part of the fit.
    release();
    let sampler = Sampler::start();
    let plan = model.plan(&counts)?;
    let cpu_seconds = || record::cpu_seconds().iter().sum::<f64>();
    let cpu_before = cpu_seconds();
    let fit = plan.fit()?;
    let cpu = (cpu_seconds() - cpu_before) / fit.epochs().len() as f64;
    let measured = sampler.finish();
    let mut seconds: Vec<f64> = fit
        .epochs()
        .iter()
        .skip(1)
        .map(|epoch| epoch.duration.as_secs_f64())
        .collect();
    seconds.sort_by(f64::total_cmp);
    let vram = |column: &str| match plan.peak_vram() {
        Some(_) => {
            json!((value(&fit.memory(), "VRAM reserved", column) * f64::from(1 << 20)).round())
        }
        None => Value::Null,
    };
    Ok(json!({
        "before": before,
        "counts": counts.to_string(),
        "predicted": plan.peak_ram(),
        "measured": measured,
        "vram_predicted": vram("predicted peak, MiB"),
        "vram_measured": vram("measured peak, MiB"),
        "seconds": seconds[seconds.len() / 2],
        "cpu_seconds": cpu,
        "loss": fit.loss(),
    }))
}
