//! Merges two topics of a candidate.

use rayon::prelude::*;

use crate::system::ln;

use crate::solvers::coordinate_descent::Factors;
use crate::solvers::factor::{CHUNK, Factor};

/// Merges the two topics whose merger costs the least log-likelihood: the pair with the smallest Jensen-Shannon
/// divergence, weighted by their tokens.
pub(super) fn merge_most_similar(factors: &Factors) -> Factors {
    let topics = factors.f.topics;
    let tokens = factors.l.column_sums();
    let losses = merge_losses(&factors.f, &tokens);
    let mut cheapest = (f64::INFINITY, 0, 1);
    for second in 1..topics {
        for first in 0..second {
            let loss = losses[second * topics + first];
            if loss < cheapest.0 {
                cheapest = (loss, first, second);
            }
        }
    }
    let (_, first, second) = cheapest;
    let share = tokens[first] / (tokens[first] + tokens[second]).max(f64::MIN_POSITIVE);
    let l = merge_columns(&factors.l, first, second, |a, b| a + b);
    let f = merge_columns(&factors.f, first, second, |a, b| {
        (f64::from(a) * share + f64::from(b) * (1.0 - share)) as f32
    });
    Factors { l, f }
}

/// For each pair of topics (second, first) with first < second, the log-likelihood in nats that their tokens lose when
/// both topics have the mean of their term distributions.
fn merge_losses(f: &Factor, tokens: &[f64]) -> Vec<f64> {
    let topics = f.topics;
    let x_log_x = |x: f64| if x > 0.0 { x * x.ln() } else { 0.0 };
    let x_log_x_f32 = |x: f32| x * ln(x.max(f32::MIN_POSITIVE));
    let parts: Vec<Vec<f32>> = f
        .values
        .par_chunks(CHUNK * topics)
        .map(|rows| {
            let mut losses = vec![0.0f32; topics * topics];
            let (mut masses, mut mass_log_mass) = (vec![0.0; topics], vec![0.0; topics]);
            for row in rows.chunks(topics) {
                for (topic, f) in row.iter().enumerate() {
                    masses[topic] = (f64::from(*f) * tokens[topic]) as f32;
                    mass_log_mass[topic] = x_log_x_f32(masses[topic]);
                }
                for second in 1..topics {
                    let (b, b_log_b) = (masses[second], mass_log_mass[second]);
                    let others = masses.iter().zip(&mass_log_mass);
                    let losses = &mut losses[second * topics..][..second];
                    for (loss, (a, a_log_a)) in losses.iter_mut().zip(others) {
                        *loss += a_log_a + b_log_b - x_log_x_f32(a + b);
                    }
                }
            }
            losses
        })
        .collect();
    let mut losses = vec![0.0; topics * topics];
    for part in parts {
        losses
            .iter_mut()
            .zip(part)
            .for_each(|(sum, part)| *sum += f64::from(part));
    }
    for second in 1..topics {
        for first in 0..second {
            let (a, b) = (tokens[first], tokens[second]);
            losses[second * topics + first] -= x_log_x(a) + x_log_x(b) - x_log_x(a + b);
        }
    }
    losses
}

/// The factor without column `second`, and with `merge` of both columns as column `first`.
fn merge_columns(
    factor: &Factor,
    first: usize,
    second: usize,
    merge: impl Fn(f32, f32) -> f32,
) -> Factor {
    let mut values = Vec::with_capacity(factor.values.len() / factor.topics * (factor.topics - 1));
    for row in factor.values.chunks(factor.topics) {
        for (topic, value) in row.iter().enumerate() {
            if topic == first {
                values.push(merge(*value, row[second]));
            } else if topic != second {
                values.push(*value);
            }
        }
    }
    Factor {
        topics: factor.topics - 1,
        values,
    }
}
