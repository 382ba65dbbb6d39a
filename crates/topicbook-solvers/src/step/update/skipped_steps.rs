//! The steps of dense AdamW that stale rows have skipped, and their effect in closed form (derived in `lazy_rows.rs`).

use crate::system::simd_dispatch;

use super::rule::{AdamWStep, BETA1, BETA2, EPSILON};

/// Lag (in steps) beyond which the momentum of a stale row is negligible: (0.9 / sqrt(0.999))^256 is 2e-12.
const MAX_LAG: usize = 256;

/// The steps of dense AdamW that the rows outside the batch have skipped.
pub(super) struct SkippedSteps {
    /// s: for each row, the step (since the last flush) that it is up to date with.
    updated: Vec<u32>,
    /// D: for each step since the last flush, the product of the decay factors up to it.
    decays: Vec<f64>,
    /// For each step since the last flush, the sum of the step factors after it, each divided by its D.
    shifts: Vec<f64>,
    /// (b1 / sqrt(b2))^i
    powers: Vec<f64>,
    /// For each number of skipped steps, the factors of the moments.
    moment_decays: Vec<[f32; 2]>,
}

/// The combined effect of the steps that a row has skipped:
/// `x = decay * x - shift * m / sqrt(v)`, then `m` and `v` times `moment_decays`.
#[derive(Clone, Copy)]
pub(super) struct Replay {
    decay: f32,
    shift: f32,
    moment_decays: [f32; 2],
}

impl SkippedSteps {
    pub(super) fn new(documents: usize) -> Self {
        let ratio = BETA1 / BETA2.sqrt();
        Self {
            updated: vec![0; documents],
            decays: vec![1.0],
            shifts: vec![0.0],
            powers: (0..=MAX_LAG).map(|i| ratio.powi(i as i32)).collect(),
            moment_decays: vec![[1.0; 2]],
        }
    }

    /// Steps taken since the last flush.
    fn now(&self) -> usize {
        self.decays.len() - 1
    }

    pub(super) fn step(&mut self, updated: &[usize], step_sizes: AdamWStep) {
        let now = self.now() + 1;
        for &document in updated {
            self.updated[document] = now as u32;
        }
        let product = self.decays[now - 1] * step_sizes.decay;
        self.decays.push(product);
        self.shifts.push(0.0);
        // A flush keeps them: they depend on the number of steps alone.
        if self.moment_decays.len() == now {
            let decays = [BETA1, BETA2].map(|beta| beta.powi(now as i32) as f32);
            self.moment_decays.push(decays);
        }
        let unit = step_sizes.size / step_sizes.root / product;
        let first = now.saturating_sub(MAX_LAG);
        // A row updated in the step before this one has a lag of one step.
        let shifts = self.shifts[first..now].iter_mut().rev();
        for (shift, power) in shifts.zip(&self.powers[1..]) {
            *shift += unit * power;
        }
    }

    /// The effect of the steps that a row has skipped, `None` if it is up to date. Marks the row as up to date.
    pub(super) fn replay(&mut self, document: usize) -> Option<Replay> {
        let replay = self.of(document);
        self.updated[document] = self.now() as u32;
        replay
    }

    /// The effect of the steps that a row has skipped, `None` if it is up to date.
    pub(super) fn of(&self, document: usize) -> Option<Replay> {
        let (now, since) = (self.now(), self.updated[document] as usize);
        if since == now {
            return None;
        }
        Some(Replay {
            decay: (self.decays[now] / self.decays[since]) as f32,
            shift: (self.shifts[since] * self.decays[now]) as f32,
            moment_decays: self.moment_decays[now - since],
        })
    }

    pub(super) fn reset(&mut self) {
        self.updated.fill(0);
        self.decays = vec![1.0];
        self.shifts = vec![0.0];
    }
}

simd_dispatch! {
    /// Only dense AdamW has stale rows.
    pub(super) fn replay_row(row: &mut [f32], replay: Replay, topics: usize) {
        let (logits, state) = row.split_at_mut(topics);
        let (first, second) = state.split_at_mut(topics);
        for ((value, m), v) in logits.iter_mut().zip(first).zip(second) {
            // AdamW itself adds EPSILON / root(t). As root is in (1, 32], this only matters where v is nearly zero.
            let step = replay.shift * *m / (v.sqrt() + EPSILON as f32);
            *value = value.mul_add(replay.decay, -step);
            *m *= replay.moment_decays[0];
            *v *= replay.moment_decays[1];
        }
    }
}
