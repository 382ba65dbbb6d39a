//! Fits of one setting with several seeds.

use topicbook::{Counts, Fit, Matrix, Result, TopicModel};

use super::record;

/// Seeds of the fits.
pub const SEEDS: [u64; 5] = [42, 1, 2, 3, 4];

/// What the fits of one setting with several seeds reached.
pub struct Outcome {
    /// The log-likelihood of each fit.
    pub scores: Vec<f64>,
    /// With true topics: the distance of the learned ones, as [`error_of_f`] computes it.
    pub errors_of_f: Vec<f64>,
    /// CPU seconds a fit.
    pub cpu_seconds: f64,
}

/// Concurrent fits of a model with all seeds.
///
/// # Panics
/// When a fit diverges.
pub fn fit_all_seeds(
    model: &TopicModel,
    counts: &Counts,
    true_f: Option<&Matrix>,
    seeds: &[u64],
) -> Result<Outcome> {
    let cpu_seconds = || -> f64 { record::cpu_seconds().iter().sum() };
    let before = cpu_seconds();
    let fits = seeds.iter().map(|seed| model.seed(*seed).spawn(counts));
    let fits: Result<Vec<_>> = fits.collect();
    let fits: Result<Vec<Fit>> = fits?.into_iter().map(|fit| fit.join()).collect();
    let fits = fits?;
    let cpu_seconds = (cpu_seconds() - before) / seeds.len() as f64;
    let scores: Vec<f64> = fits
        .iter()
        .map(|fit| fit.score(counts))
        .collect::<Result<_>>()?;
    for score in &scores {
        assert!(score.is_finite(), "a fit that diverged: {score}");
    }
    let errors_of_f: Result<Vec<f64>> = true_f
        .into_iter()
        .flat_map(|true_f| fits.iter().map(move |fit| error_of_f(fit, true_f)))
        .collect();
    Ok(Outcome {
        scores,
        errors_of_f: errors_of_f?,
        cpu_seconds,
    })
}

/// The mean over topics of the total variation distance between true and learned topics: 0 is equal, 1 is disjoint.
fn error_of_f(fit: &Fit, true_f: &Matrix) -> Result<f64> {
    let learned = fit.align_to(true_f)?.f();
    let pairs = learned.values().iter().zip(true_f.values());
    let difference: f64 = pairs.map(|(a, b)| f64::from((a - b).abs())).sum();
    Ok(difference / 2.0 / learned.rows() as f64)
}
