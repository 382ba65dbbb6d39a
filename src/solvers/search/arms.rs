//! Whether added topics or other candidates are tried next: what has gained more an iteration lately.

use serde::{Deserialize, Serialize};

/// How much of what a kind of candidate has gained and cost before counts when it is tried again.
const KEPT: f64 = 0.7;
/// Iterations after which a kind is tried again, whatever it has gained.
const MOST_ITERATIONS: usize = 300;

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
    /// Iterations of the candidates, and of the best factors after them.
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
    /// The kind that is tried, the best score when that began, and the iterations since.
    now: Option<Kind>,
    #[serde(with = "crate::system::serde_f64")]
    score: f64,
    iterations: usize,
}

impl Arms {
    pub(super) const NONE: Self = Self {
        added: Tried::NONE,
        others: Tried::NONE,
        now: None,
        score: 0.0,
        iterations: 0,
    };

    /// Counts an iteration, of whatever.
    pub(super) fn count(&mut self) {
        self.iterations += 1;
    }

    /// Notes what the last kind has brought, given the best score, and chooses the next one: at first added topics, then the
    /// other kind once they bring nothing, then what gains more.
    pub(super) fn next(&mut self, score: f64) -> Kind {
        let (gain, iterations) = (score - self.score, self.iterations);
        for (kind, tried) in [
            (Kind::Added, &mut self.added),
            (Kind::Others, &mut self.others),
        ] {
            match self.now == Some(kind) {
                true => tried.note(gain, iterations),
                false => tried.ago += iterations,
            }
        }
        let (added, others) = (&self.added, &self.others);
        let kind = if others.iterations == 0.0 {
            let fails = self.now == Some(Kind::Added) && gain <= 0.0;
            if fails { Kind::Others } else { Kind::Added }
        } else if added.ago >= MOST_ITERATIONS {
            Kind::Added
        } else if others.ago >= MOST_ITERATIONS || others.rate() > added.rate() {
            Kind::Others
        } else {
            Kind::Added
        };
        (self.now, self.score, self.iterations) = (Some(kind), score, 0);
        kind
    }

    /// Whether a search reaches these numbers.
    pub(super) fn are_in_range(&self) -> bool {
        let is = |tried: &Tried| tried.gain >= 0.0 && tried.iterations >= 0.0;
        is(&self.added) && is(&self.others) && self.score < f64::INFINITY
    }
}

impl Tried {
    const NONE: Self = Self {
        gain: 0.0,
        iterations: 0.0,
        ago: 0,
    };

    fn note(&mut self, gain: f64, iterations: usize) {
        self.gain = KEPT * self.gain + gain.max(0.0);
        self.iterations = KEPT * self.iterations + iterations as f64;
        self.ago = 0;
    }

    /// Nats an iteration.
    fn rate(&self) -> f64 {
        self.gain / self.iterations.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each kind is chosen in 60 tries, of gains and iterations by the number of earlier tries of the kind.
    fn chosen(gains: impl Fn(Kind, usize) -> (f64, usize)) -> [usize; 2] {
        let (mut arms, mut score, mut tries) = (Arms::NONE, -1e6, [0; 2]);
        for _ in 0..60 {
            let kind = arms.next(score);
            let (gain, iterations) = gains(kind, tries[kind as usize]);
            score += gain;
            (0..iterations).for_each(|_| arms.count());
            tries[kind as usize] += 1;
        }
        tries
    }

    #[test]
    fn what_gains_more_an_iteration_is_tried_more_often() {
        let only = |good: Kind| chosen(move |kind, _| (if kind == good { 50.0 } else { 0.0 }, 20));
        let [added, others] = only(Kind::Added);
        assert!(others == 0, "{added} {others}");
        // Added topics at first, and after every 300 iterations.
        let [added, others] = only(Kind::Others);
        assert!((2..=6).contains(&added), "{added} {others}");
        // They gain at first only.
        let [added, others] = chosen(|kind, tries| match kind {
            Kind::Added => (if tries < 5 { 900.0 } else { 0.0 }, 20),
            Kind::Others => (if tries % 4 == 0 { 100.0 } else { 0.0 }, 40),
        });
        assert!((6..=30).contains(&added), "{added} {others}");
        // Nothing gains: both are tried.
        let [added, others] = chosen(|_, _| (0.0, 20));
        assert!(added > 2 && others > 2, "{added} {others}");
    }
}
