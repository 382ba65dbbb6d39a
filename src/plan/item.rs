//! What takes memory, where and when.

use std::fmt;

/// Something that takes memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) what: String,
    pub(crate) lives: Lives,
    pub(crate) when: When,
    pub(crate) bytes: u64,
}

/// Where it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lives {
    /// Anonymous memory of the process.
    Ram,
    /// Memory of the card.
    Card,
    /// A file; its pages in memory are the system's.
    Disk,
}

/// When it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// From the beginning to the end.
    Throughout,
    /// From the first step to the last and a little longer: the tables.
    Fit,
    /// While counts are read and checked.
    Checking,
    /// While the tables are made.
    Starting,
    /// From the first step to the end.
    Steps,
    /// From the first step to the last: what batches are read into.
    Reading,
    /// Within each pass over the documents, not between them.
    Pass,
    /// While a checkpoint is written.
    Checkpoint,
    /// While L and F are handed over.
    End,
}

impl Item {
    pub(crate) fn new(what: impl Into<String>, lives: Lives, when: When, bytes: u64) -> Self {
        Self {
            what: what.into(),
            lives,
            when,
            bytes,
        }
    }

    pub(crate) fn ram(what: impl Into<String>, when: When, bytes: u64) -> Self {
        Self::new(what, Lives::Ram, when, bytes)
    }

    pub(crate) fn card(what: impl Into<String>, when: When, bytes: u64) -> Self {
        Self::new(what, Lives::Card, when, bytes)
    }
}

/// The highest sum of what lives in a place at one time, and that time.
pub(crate) fn peak(items: &[Item], lives: Lives) -> (u64, When) {
    let sum = |times: &[When]| -> u64 {
        let there = items
            .iter()
            .filter(|item| item.lives == lives && times.contains(&item.when));
        there.fold(0, |sum, item| sum.saturating_add(item.bytes))
    };
    use When::*;
    let times: [(&[When], When); 5] = [
        (&[Throughout, Fit, Steps, Reading, Pass], Steps),
        (&[Throughout, Checking], Checking),
        (&[Throughout, Fit, Starting], Starting),
        (&[Throughout, Fit, Steps, Reading, Checkpoint], Checkpoint),
        (&[Throughout, Fit, Steps, End], End),
    ];
    // The first of equals: what lasts longest.
    times
        .into_iter()
        .map(|(times, name)| (sum(times), name))
        .fold(
            (0, Steps),
            |best, next| if next.0 > best.0 { next } else { best },
        )
}

impl fmt::Display for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lives::Ram => "RAM",
            Lives::Card => "VRAM",
            Lives::Disk => "disk",
        })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            When::Throughout => "all the time",
            When::Fit => "all through the fit",
            When::Checking => "while the counts are checked",
            When::Starting => "while the tables are made",
            When::Steps => "during the steps",
            When::Reading => "while batches are read",
            When::Pass => "during a pass over the documents",
            When::Checkpoint => "while a checkpoint is written",
            When::End => "when L and F are handed over",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_highest_time() {
        let items = [
            Item::ram("base", When::Throughout, 100),
            Item::ram("start", When::Starting, 30),
            Item::ram("batch", When::Steps, 20),
            Item::ram("copy", When::Checkpoint, 15),
            Item::ram("buffers", When::Checking, 25),
            Item::card("table", When::Throughout, 7),
            Item::new("X", Lives::Disk, When::Throughout, 1 << 40),
        ];
        assert_eq!(peak(&items, Lives::Ram), (135, When::Checkpoint));
        assert_eq!(peak(&items[..3], Lives::Ram), (130, When::Starting));
        // The tables are not there yet while the counts are checked.
        let tables = [
            Item::ram("table", When::Fit, 10),
            Item::ram("buffers", When::Checking, 25),
        ];
        assert_eq!(peak(&tables, Lives::Ram), (25, When::Checking));
        assert_eq!(peak(&items, Lives::Card), (7, When::Steps));
        // What a pass takes is gone when L and F are handed over.
        let passes = [
            Item::ram("statistics", When::Pass, 10),
            Item::ram("L and F", When::End, 9),
        ];
        assert_eq!(peak(&passes, Lives::Ram), (10, When::Steps));
        let huge = [
            Item::ram("a", When::Throughout, u64::MAX),
            Item::ram("b", When::Steps, 5),
        ];
        assert_eq!(peak(&huge, Lives::Ram).0, u64::MAX);
    }
}
