//! What a search does differently with few topics.

use super::arms::Kind;

/// Topics that a candidate adds, unless there are few.
pub(super) const MOST_ADDED: usize = 3;
/// Topics below which a fit is that of few topics. Its ascents are short, and its maxima differ by little.
const FEW_TOPICS: usize = 10;

/// The settings of a search for a number of topics.
pub(super) struct Settings {
    /// Topics that a candidate adds.
    pub(super) added: usize,
    /// The kind of the first candidate.
    pub(super) first: Kind,
    /// A candidate promises to gain that many times what an iteration gains: an ascent that settles still gains about ten
    /// times as much.
    pub(super) promise: f64,
    /// The best factors have converged when an iteration gains less than this fraction of the score, and the residual is
    /// small.
    pub(super) converged: f64,
}

impl Settings {
    pub(super) fn of(topics: usize) -> Self {
        match topics < FEW_TOPICS {
            // Three topics more would cost more than half of an iteration, new starts cost little, and what is left to gain is
            // as small as what an ascent has not gained yet.
            true => Self {
                added: topics.min(2),
                first: Kind::Others,
                promise: 30.0,
                converged: 3e-7,
            },
            false => Self {
                added: MOST_ADDED,
                first: Kind::Added,
                promise: 15.0,
                converged: 1e-6,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_add_no_more_topics_than_there_are() {
        let added = [1, 2, 9, 10, 100].map(|topics| Settings::of(topics).added);
        assert_eq!(added, [1, 2, 2, MOST_ADDED, MOST_ADDED]);
    }
}
