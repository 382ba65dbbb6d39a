//! The choice of the next candidate: added topics or others, whichever has gained more per iteration recently, alternately when both
//! gain little.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Decay of a kind's earlier gains and costs when it is tried again.
const KEPT: f64 = 0.7;
/// Iterations after which a kind is tried again, regardless of its gains.
const MOST_ITERATIONS: usize = 300;
/// Expected gain of an iteration of a kind that was not tried yet, in nats per token.
const EXPECTED: f64 = 1e-5;
/// Gain of an iteration, in nats per token, below which it is chance which kind has gained more.
const LITTLE: f64 = 3e-6;

/// A kind of candidates: an arm of the bandit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Arm {
    /// The best factors with added topics.
    Added,
    /// A new start, and two fits with topics of earlier ones.
    Others,
}

/// The gains and costs of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tried {
    /// Gain of the best score, in nats.
    #[serde(with = "crate::system::serde_f64")]
    gain: f64,
    /// Iterations of the candidates, and the first iterations after they became the best factors.
    #[serde(with = "crate::system::serde_f64")]
    iterations: f64,
    /// Iterations since it was tried.
    ago: usize,
}

/// The gains and costs of both kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Arms {
    added: Tried,
    others: Tried,
    /// The kind that is tried, and its gain and cost since then.
    now: Option<Arm>,
    #[serde(with = "crate::system::serde_f64")]
    gain: f64,
    iterations: usize,
}

impl Arms {
    pub(super) const NONE: Self = Self {
        added: Tried::NONE,
        others: Tried::NONE,
        now: None,
        gain: 0.0,
        iterations: 0,
    };

    /// Counts an iteration of the kind that is tried, which raised the best score by `gain`.
    pub(super) fn count(&mut self, gain: f64) {
        self.gain += gain;
        self.iterations += 1;
    }

    /// Counts an iteration of the best factors that no candidate has caused.
    pub(super) fn count_best(&mut self) {
        self.added.ago += 1;
        self.others.ago += 1;
    }

    /// Records the result of the last kind and chooses the next one, for counts of `tokens` tokens: the one that gains more or,
    /// where both gain little, the one that was tried longer ago. `first` is the first choice of all.
    pub(super) fn next(&mut self, first: Arm, tokens: f64) -> Arm {
        let (gain, iterations) = (self.gain, self.iterations);
        for (kind, tried) in [
            (Arm::Added, &mut self.added),
            (Arm::Others, &mut self.others),
        ] {
            match self.now == Some(kind) {
                true => *tried = tried.and(gain, iterations),
                false => tried.ago += iterations,
            }
        }
        let (added, others) = (&self.added, &self.others);
        let gains = |tried: &Tried| match tried.iterations > 0.0 {
            true => tried.rate().max(LITTLE * tokens),
            false => EXPECTED * tokens,
        };
        let others_are_next = match gains(others).total_cmp(&gains(added)) {
            Ordering::Greater => added.ago < MOST_ITERATIONS,
            Ordering::Equal => others.ago > added.ago,
            Ordering::Less => others.ago >= MOST_ITERATIONS,
        };
        let kind = match self.now {
            None => first,
            Some(_) if others_are_next => Arm::Others,
            Some(_) => Arm::Added,
        };
        (self.now, self.gain, self.iterations) = (Some(kind), 0.0, 0);
        kind
    }

    /// The gain per iteration of the better kind, in nats; 0 before any was tried.
    pub(super) fn rate(&self) -> f64 {
        let rate = |kind, tried: &Tried| match self.now == Some(kind) {
            true => tried.and(self.gain, self.iterations).rate(),
            false => tried.rate(),
        };
        rate(Arm::Added, &self.added).max(rate(Arm::Others, &self.others))
    }

    /// Whether a search can reach these numbers.
    pub(super) fn are_in_range(&self) -> bool {
        let is = |tried: &Tried| tried.gain >= 0.0 && tried.iterations >= 0.0;
        is(&self.added) && is(&self.others) && self.gain >= 0.0
    }
}

impl Tried {
    const NONE: Self = Self {
        gain: 0.0,
        iterations: 0.0,
        ago: 0,
    };

    /// Adds a try with this gain and cost; earlier ones decay.
    fn and(&self, gain: f64, iterations: usize) -> Self {
        Self {
            gain: KEPT * self.gain + gain,
            iterations: KEPT * self.iterations + iterations as f64,
            ago: 0,
        }
    }

    /// Nats per iteration; 0 before it was tried.
    fn rate(&self) -> f64 {
        self.gain / self.iterations.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each kind is chosen in 60 tries, of gains and iterations by the number of earlier tries of the kind.
    fn chosen(gains: impl Fn(Arm, usize) -> (f64, usize)) -> [usize; 2] {
        let (mut arms, mut tries) = (Arms::NONE, [0; 2]);
        for _ in 0..60 {
            let kind = arms.next(Arm::Added, 1e4);
            let (gain, iterations) = gains(kind, tries[kind as usize]);
            (0..iterations).for_each(|_| arms.count(gain / iterations as f64));
            tries[kind as usize] += 1;
        }
        tries
    }

    #[test]
    fn what_gains_more_an_iteration_is_tried_more_often() {
        let only = |good: Arm| chosen(move |kind, _| (if kind == good { 50.0 } else { 0.0 }, 20));
        // The others after every 300 iterations.
        let [added, others] = only(Arm::Added);
        assert!((1..=4).contains(&others), "{added} {others}");
        // Added topics at first, and after every 300 iterations.
        let [added, others] = only(Arm::Others);
        assert!((2..=6).contains(&added), "{added} {others}");
        // They gain at first only.
        let [added, others] = chosen(|kind, tries| match kind {
            Arm::Added => (if tries < 5 { 900.0 } else { 0.0 }, 20),
            Arm::Others => (if tries % 4 == 0 { 100.0 } else { 0.0 }, 40),
        });
        assert!((6..=30).contains(&added), "{added} {others}");
        // One gains little and the other nothing: they alternate.
        let little = 0.9 * LITTLE * 1e4;
        for gain in [little, 0.0] {
            let tries = chosen(|kind, _| match kind {
                Arm::Added => (20.0 * gain, 20),
                Arm::Others => (0.0, 20),
            });
            assert_eq!(tries, [30, 30]);
        }
    }

    #[test]
    fn the_first_kind_is_that_of_the_caller() {
        let mut arms = Arms::NONE;
        assert_eq!(arms.next(Arm::Others, 1e4), Arm::Others);
        arms.count(0.0);
        // Others have gained nothing, and added topics were not tried.
        assert_eq!(arms.next(Arm::Others, 1e4), Arm::Added);
    }

    #[test]
    fn the_rate_is_that_of_the_better_kind() {
        // An iteration of what was not tried is expected to gain 1 nat.
        let tokens = 1.0 / EXPECTED;
        let mut arms = Arms::NONE;
        assert_eq!(arms.rate(), 0.0);
        assert_eq!(arms.next(Arm::Added, tokens), Arm::Added);
        (0..10).for_each(|_| arms.count(3.0));
        assert_eq!(arms.rate(), 3.0);
        arms.count_best();
        assert_eq!(arms.next(Arm::Added, tokens), Arm::Added);
        (0..10).for_each(|_| arms.count(0.0));
        // 0.7 x 30 nats in 0.7 x 10 + 10 iterations.
        assert_eq!(arms.rate(), 21.0 / 17.0);
        assert_eq!(arms.next(Arm::Added, tokens), Arm::Added);
        (0..10).for_each(|_| arms.count(0.0));
        assert_eq!(arms.next(Arm::Added, tokens), Arm::Others);
        (0..10).for_each(|_| arms.count(2.0));
        assert_eq!(arms.rate(), 2.0);
    }
}
