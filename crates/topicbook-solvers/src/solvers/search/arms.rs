//! What is done next: iterations of the best factors, added topics or other candidates, whichever has gained more an iteration
//! lately, and in turn when both gain little.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// How much of what a kind of candidate has gained and cost before counts when it is tried again.
const KEPT: f64 = 0.7;
/// Iterations after which a kind is tried again, whatever it has gained.
const MOST_ITERATIONS: usize = 300;
/// What an iteration of a kind is expected to gain before it was tried, in nats per token.
const EXPECTED: f64 = 1e-5;
/// What an iteration gains, in nats per token, below which chance decides which kind has gained more.
const LITTLE: f64 = 3e-6;

/// A kind of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The best factors with added topics.
    Added,
    /// A new start, and two fits with topics of earlier ones.
    Others,
}

/// What a kind of candidates has brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tried {
    /// Gain of the best score, in nats.
    #[serde(with = "crate::system::serde_f64")]
    gain: f64,
    /// Iterations of the candidates, and the first ones of the best factors that they have become.
    #[serde(with = "crate::system::serde_f64")]
    iterations: f64,
    /// Iterations since it was tried.
    ago: usize,
}

/// What both kinds have brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Arms {
    added: Tried,
    others: Tried,
    /// The kind that is tried, and what it has gained and cost since that began.
    now: Option<Kind>,
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

    /// Counts an iteration of what is tried, by which the best score gained so much.
    pub(super) fn count(&mut self, gain: f64) {
        self.gain += gain;
        self.iterations += 1;
    }

    /// Counts an iteration of the best factors that no candidate is the cause of.
    pub(super) fn count_best(&mut self) {
        self.added.ago += 1;
        self.others.ago += 1;
    }

    /// Notes what the last kind has brought and chooses the next one, for counts of so many tokens: what gains more, and where
    /// both gain little, the one that was tried longer ago. `first` is what is tried before anything else.
    pub(super) fn next(&mut self, first: Kind, tokens: f64) -> Kind {
        let (gain, iterations) = (self.gain, self.iterations);
        for (kind, tried) in [
            (Kind::Added, &mut self.added),
            (Kind::Others, &mut self.others),
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
            Some(_) if others_are_next => Kind::Others,
            Some(_) => Kind::Added,
        };
        (self.now, self.gain, self.iterations) = (Some(kind), 0.0, 0);
        kind
    }

    /// What the better kind has gained an iteration, in nats: 0 before anything was tried.
    pub(super) fn rate(&self) -> f64 {
        let rate = |kind, tried: &Tried| match self.now == Some(kind) {
            true => tried.and(self.gain, self.iterations).rate(),
            false => tried.rate(),
        };
        rate(Kind::Added, &self.added).max(rate(Kind::Others, &self.others))
    }

    /// Whether a search reaches these numbers.
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

    /// What was tried before and another time, with what it has gained and cost.
    fn and(&self, gain: f64, iterations: usize) -> Self {
        Self {
            gain: KEPT * self.gain + gain,
            iterations: KEPT * self.iterations + iterations as f64,
            ago: 0,
        }
    }

    /// Nats an iteration; 0 before it was tried.
    fn rate(&self) -> f64 {
        self.gain / self.iterations.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each kind is chosen in 60 tries, of gains and iterations by the number of earlier tries of the kind.
    fn chosen(gains: impl Fn(Kind, usize) -> (f64, usize)) -> [usize; 2] {
        let (mut arms, mut tries) = (Arms::NONE, [0; 2]);
        for _ in 0..60 {
            let kind = arms.next(Kind::Added, 1e4);
            let (gain, iterations) = gains(kind, tries[kind as usize]);
            (0..iterations).for_each(|_| arms.count(gain / iterations as f64));
            tries[kind as usize] += 1;
        }
        tries
    }

    #[test]
    fn what_gains_more_an_iteration_is_tried_more_often() {
        let only = |good: Kind| chosen(move |kind, _| (if kind == good { 50.0 } else { 0.0 }, 20));
        // The others after every 300 iterations.
        let [added, others] = only(Kind::Added);
        assert!((1..=4).contains(&others), "{added} {others}");
        // Added topics at first, and after every 300 iterations.
        let [added, others] = only(Kind::Others);
        assert!((2..=6).contains(&added), "{added} {others}");
        // They gain at first only.
        let [added, others] = chosen(|kind, tries| match kind {
            Kind::Added => (if tries < 5 { 900.0 } else { 0.0 }, 20),
            Kind::Others => (if tries % 4 == 0 { 100.0 } else { 0.0 }, 40),
        });
        assert!((6..=30).contains(&added), "{added} {others}");
        // One gains little and the other nothing: both are tried in turn.
        let little = 0.9 * LITTLE * 1e4;
        for gain in [little, 0.0] {
            let tries = chosen(|kind, _| match kind {
                Kind::Added => (20.0 * gain, 20),
                Kind::Others => (0.0, 20),
            });
            assert_eq!(tries, [30, 30]);
        }
    }

    #[test]
    fn the_first_kind_is_that_of_the_caller() {
        let mut arms = Arms::NONE;
        assert_eq!(arms.next(Kind::Others, 1e4), Kind::Others);
        arms.count(0.0);
        // Others have gained nothing, and added topics were not tried.
        assert_eq!(arms.next(Kind::Others, 1e4), Kind::Added);
    }

    #[test]
    fn the_rate_is_that_of_the_better_kind() {
        // An iteration of what was not tried is expected to gain 1 nat.
        let tokens = 1.0 / EXPECTED;
        let mut arms = Arms::NONE;
        assert_eq!(arms.rate(), 0.0);
        assert_eq!(arms.next(Kind::Added, tokens), Kind::Added);
        (0..10).for_each(|_| arms.count(3.0));
        assert_eq!(arms.rate(), 3.0);
        arms.count_best();
        assert_eq!(arms.next(Kind::Added, tokens), Kind::Added);
        (0..10).for_each(|_| arms.count(0.0));
        // 0.7 x 30 nats in 0.7 x 10 + 10 iterations.
        assert_eq!(arms.rate(), 21.0 / 17.0);
        assert_eq!(arms.next(Kind::Added, tokens), Kind::Added);
        (0..10).for_each(|_| arms.count(0.0));
        assert_eq!(arms.next(Kind::Added, tokens), Kind::Others);
        (0..10).for_each(|_| arms.count(2.0));
        assert_eq!(arms.rate(), 2.0);
    }
}
