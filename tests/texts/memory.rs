//! Memory within a budget, and files that change while they are read.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use topicbook::{Budget, Vectorizer};

/// Anonymous memory of this process.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn a_vocabulary_beyond_the_budget_is_pruned_and_counts_stay_complete() {
    let (folder, path) = testkit::temp_path("texts.txt");
    let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let mut line = String::new();
    let documents = 60_000;
    for document in 0..documents {
        // Two words that every document has, and forty that no other has.
        line.clear();
        for word in 0..40 {
            write!(line, "rare{} ", document * 40 + word).unwrap();
        }
        writeln!(file, "common {line}frequent common").unwrap();
    }
    drop(file);
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let room = (32 << 20) + threads * (24 << 20) + (60 << 20);
    let count = |budget: &Budget| {
        Vectorizer::new()
            .min_df(100)
            .budget(budget)
            .out(folder.path().join("out.npz"))
            .fit_transform(&path)
    };
    let before = anonymous();
    let counted = count(&Budget::new().ram(before + room).unwrap()).unwrap();
    assert!(
        counted.dropped().pruned() > 500_000,
        "{}",
        counted.dropped()
    );
    assert_eq!(counted.terms().as_slice(), ["common", "frequent"]);
    assert_eq!(counted.counts().shape(), (documents, 2));
    let summary = counted.counts().summary().unwrap();
    assert_eq!(summary.total(), 3.0 * documents as f64);
    testkit::refused! { count(&Budget::new().ram(before + (10 << 20)).unwrap()), "counting terms needs"; }
}
