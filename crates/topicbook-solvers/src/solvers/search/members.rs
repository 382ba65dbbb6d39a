//! Topics of earlier fits, which candidates combine with the topics of the best fit.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::solvers::factor::Factor;

use super::crossover::topics_of_two;

/// Number of fits that are kept in addition to the best one.
pub const MEMBERS: usize = 5;
/// Two fits are the same maximum when their scores differ by less than this fraction.
const SAME: f64 = 1e-6;

/// F (terms x topics) of earlier fits and their scores. The newest is the last.
#[derive(Default)]
pub(super) struct Members(pub(super) Vec<(Factor, f64)>);

impl Members {
    /// Adds a fit other than the best one, whose score is `best`. It replaces a fit at the same maximum or, if all places
    /// are taken, the worst fit.
    pub(super) fn add(&mut self, f: Factor, score: f64, best: f64) {
        let is_same = |other: f64| (other - score).abs() < SAME * score.abs();
        if !is_same(best) {
            self.0.retain(|(_, other)| !is_same(*other));
            self.0.sort_by(|a, b| b.1.total_cmp(&a.1));
            self.0.truncate(MEMBERS - 1);
            self.0.push((f, score));
        }
    }

    /// Topics of the best fit, which is given, and of the newest one.
    pub(super) fn cross_newest(&self, best: &Factor, random: &mut Xoshiro256PlusPlus) -> Factor {
        let newest = self.0.last().map_or(best, |(f, _)| f);
        topics_of_two(best, newest, random)
    }

    /// Topics of any two fits, which may include the best one.
    pub(super) fn cross_any(&self, best: &Factor, random: &mut Xoshiro256PlusPlus) -> Factor {
        let fits = self.0.len() + 1;
        let one = random.random_range(0..fits);
        let other = (one + random.random_range(1..fits.max(2))) % fits;
        let f = |fit: usize| match fit {
            0 => best,
            fit => &self.0[fit - 1].0,
        };
        topics_of_two(f(one), f(other), random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Purpose, stream};

    #[test]
    fn the_newest_fit_replaces_its_equal_or_the_worst_one() {
        let mut members = Members::default();
        for (score, scores) in [
            (-300.0, vec![-300.0]),
            (-200.0, vec![-300.0, -200.0]),
            (-400.0, vec![-200.0, -300.0, -400.0]),
            (-200.000_1, vec![-300.0, -400.0, -200.000_1]),
            (-100.000_01, vec![-300.0, -400.0, -200.000_1]),
            (-500.0, vec![-200.000_1, -300.0, -400.0, -500.0]),
            (-600.0, vec![-200.000_1, -300.0, -400.0, -500.0, -600.0]),
            (-550.0, vec![-200.000_1, -300.0, -400.0, -500.0, -550.0]),
        ] {
            members.add(Factor::default(), score, -100.0);
            let found = Vec::from_iter(members.0.iter().map(|(_, score)| *score));
            assert_eq!(found, scores, "{score}");
        }
    }

    #[test]
    fn two_different_fits_are_combined() {
        let factor = |value: f32| Factor {
            topics: 8,
            values: vec![value; 16],
        };
        let mut members = Members::default();
        members.add(factor(0.2), -2.0, -1.0);
        members.add(factor(0.3), -3.0, -1.0);
        let mut seen = [0; 3];
        for number in 0..30 {
            let mut random = stream(5, Purpose::Candidate, number);
            let newest = members.cross_newest(&factor(0.1), &mut random);
            assert!(!newest.values.contains(&0.2));
            let any = members.cross_any(&factor(0.1), &mut random);
            for (value, seen) in [0.1, 0.2, 0.3].into_iter().zip(&mut seen) {
                *seen += usize::from(any.values.contains(&value));
            }
        }
        assert!(
            seen.iter().sum::<usize>() > 50,
            "two fits in nearly all: {seen:?}"
        );
        assert!(seen.iter().all(|seen| *seen > 9), "{seen:?}");
    }
}
