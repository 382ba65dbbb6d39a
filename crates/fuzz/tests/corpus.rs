//! Every file of the corpus, and mutants of them: what fuzzing has found stays found.

use std::path::Path;

use fuzz::round::{Kind, Report, Round};
use fuzz::{PROBES, TARGETS, Target};

/// Mutants of all targets: a minute on two cores.
const MUTANTS: usize = 11_000;

fn round(corpora: &Path, folder: &Path, seed: u64, targets: &[Target], mutants: usize) -> Report {
    let worker = Path::new(env!("CARGO_BIN_EXE_worker"));
    let round = Round {
        worker,
        corpora,
        folder,
        seed,
    };
    round.run(targets, mutants).unwrap()
}

fn corpora() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))
}

#[test]
fn corpus_and_mutants_are_read_or_refused() {
    // The folder is kept if the test fails: it has the inputs that failed.
    let folder = tempfile::tempdir().unwrap().keep();
    let report = round(corpora(), &folder, 1, &TARGETS, MUTANTS);
    assert_eq!(report.failures().count(), 0, "{report}");
    std::fs::remove_dir_all(folder).unwrap();
    for tally in &report.0 {
        assert!(tally.accepted > 0, "{}: nothing is read", tally.target);
    }
}

#[test]
fn what_panics_dies_takes_memory_or_hangs_is_found() {
    let corpora = tempfile::tempdir().unwrap();
    for probe in &PROBES {
        let folder = corpora.path().join(probe.name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("file"), b"0").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let report = round(corpora.path(), folder.path(), 1, &PROBES, 0);
    let kinds: Vec<Vec<Kind>> = (report.0.iter())
        .map(|tally| tally.failures.iter().map(|failure| failure.kind).collect())
        .collect();
    let expected = [Kind::Panicked, Kind::Died, Kind::Died, Kind::Hung];
    assert_eq!(kinds, expected.map(|kind| vec![kind]), "{report}");
    assert!(report.failures().all(|failure| failure.file.is_file()));
    let text = report.to_string();
    testkit::assert_has(&text, ["1 bytes are too many", "memory allocation"]);
}

/// `cargo xtask fuzz round` gives the number of mutants, the seed and the folder.
#[test]
#[ignore = "a long round"]
fn a_long_round() {
    let setting = |name| std::env::var(name).expect("cargo xtask fuzz round sets it");
    let number = |name| setting(name).parse().expect("a number");
    let folder = setting("TOPICBOOK_FUZZ_FOLDER");
    let (seed, mutants) = (
        number("TOPICBOOK_FUZZ_SEED"),
        number("TOPICBOOK_FUZZ_MUTANTS"),
    );
    let report = round(
        corpora(),
        Path::new(&folder),
        seed as u64,
        &TARGETS,
        mutants,
    );
    std::fs::write(Path::new(&folder).join("report.md"), report.to_string()).unwrap();
    println!("{report}");
}
