//! The settings of a search, which differ for few topics.

/// Topics that a candidate adds, unless the fit has few.
pub(super) const MOST_ADDED: usize = 3;
/// A fit with fewer topics has short ascents, and its maxima differ by little.
const FEW_TOPICS: usize = 10;

/// The settings of a search for a number of topics.
pub(super) struct SearchSettings {
    /// Topics that a candidate adds.
    pub(super) added: usize,
    /// Whether the first candidate starts from noise.
    pub(super) noise_first: bool,
    /// A candidate is expected to gain this multiple of an iteration's gain: an ascent that settles still gains about ten
    /// times as much.
    pub(super) promise: f64,
    /// The best factors have converged when an iteration gains less than this fraction of the score, and the residual is
    /// small.
    pub(super) converged: f64,
}

impl SearchSettings {
    pub(super) fn of(topics: usize) -> Self {
        match topics < FEW_TOPICS {
            // Three more topics would cost more than half of an iteration, and new starts cost little. The remaining gain of
            // the search is as small as the remaining gain of an ascent.
            true => Self {
                added: topics.min(2),
                noise_first: true,
                promise: 30.0,
                converged: 3e-7,
            },
            false => Self {
                added: MOST_ADDED,
                noise_first: false,
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
        let added = [1, 2, 9, 10, 100].map(|topics| SearchSettings::of(topics).added);
        assert_eq!(added, [1, 2, 2, MOST_ADDED, MOST_ADDED]);
    }
}
