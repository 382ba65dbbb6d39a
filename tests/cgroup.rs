//! Work on counts and tables that are larger than the memory it gets: the small versions of `cargo xtask bench memory`.

#[path = "support/measured.rs"]
mod measured;
#[path = "support/cgroup.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use measured::value;
use support::Cgroup;
use topicbook::{
    Counts, Device, Dtype, Fit, Optimizer, Reading, Solver, Synthetic, TablePlace, TopicModel,
};

const WORK: &str = "TOPICBOOK_TEST_WORK";
const FOLDER: &str = "TOPICBOOK_TEST_FOLDER";
const LIMIT: u64 = 256 << 20;

/// The process inside the cgroup.
#[test]
#[ignore = "the work of the tests below, in a process of its own"]
fn inside() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    match std::env::var(WORK).unwrap().as_str() {
        "fits" => fits(&folder),
        "table" => table(&folder),
        "many" => many(&folder),
        "writing" => writing(&folder),
        work => panic!("no such work: {work}"),
    }
}

/// Does a piece of work in a cgroup; says so where there can be none.
fn within_limit(work: &str, folder: &Path) {
    let Some(group) = Cgroup::or_skip(LIMIT) else {
        return;
    };
    let output = group
        .run(
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", "--nocapture", "inside"])
                .env(WORK, work)
                .env(FOLDER, folder),
        )
        .unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(
        output.status.success(),
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    if let Some(largest) = group.largest_use() {
        assert!(largest <= LIMIT, "{largest} bytes");
    }
}

fn model(k: usize) -> TopicModel {
    TopicModel::new(k).seed(1).device(Device::Cpu).quiet()
}

/// How far the prediction of a small fit may be off, in MiB: on a machine that was busy with other things, fits of 20 MiB
/// were seen up to 6 MiB above it in some runs; what that is, is not known. Elsewhere it is a tenth.
const SMALL: f64 = 6.0;

/// What was predicted is what was measured, and the control group was watched.
fn check_memory(what: &str, fit: &Fit) {
    let memory = fit.memory();
    println!("{what}\n{memory}");
    let ram = |column: &str| value(&memory, "RAM, anonymous", column);
    let (predicted, measured) = (ram("predicted peak, MiB"), ram("measured peak, MiB"));
    assert!(
        (predicted - measured).abs() <= (0.1 * measured).max(SMALL),
        "{what}: {predicted} MiB predicted, {measured} MiB measured"
    );
    let group = value(&memory, "control group of 256 MiB", "measured peak, MiB");
    // The system counts in portions of some pages.
    assert!(group >= 0.9 * measured && group <= 257.0, "{what}: {group}");
}

fn fits(folder: &Path) {
    let counts = Counts::open(folder.join("X.npy")).unwrap();
    assert!(counts.bytes_stored() > LIMIT);
    for (what, solver, batch) in [
        ("AdamW, batch 16", Solver::AdamW, 16),
        ("AdamW, batch 256", Solver::AdamW, 256),
        ("EM, one pass", Solver::Em, 16),
    ] {
        let model = model(20).epochs(2).solver(solver).batch_size(batch);
        let fit = model
            .reading(Reading::Stream {
                block: 8,
                blocks: 32,
            })
            .fit(&counts)
            .unwrap();
        assert!(fit.loss().is_finite());
        check_memory(what, &fit);
    }
}

#[test]
fn counts_larger_than_memory_are_fitted_within_it() {
    let folder = tempfile::tempdir().unwrap();
    let narrow = Synthetic::new(3_000, 30_000, 5)
        .avg_doc_length(200)
        .seed(1)
        .write_npy(folder.path().join("narrow.npy"))
        .unwrap();
    narrow
        .counts()
        .write_npy_as(folder.path().join("X.npy"), Dtype::F32)
        .unwrap();
    within_limit("fits", folder.path());
}

/// The table behind L and its moments are larger than the limit, and live in a file.
fn table(folder: &Path) {
    let (documents, k) = (400_000, 64);
    assert!(12 * documents as u64 * k as u64 > LIMIT);
    let columns = (0..documents).flat_map(|row| (0..3).map(move |i| (row % 60 + i * 60) as u32));
    let counts = Counts::csr(
        documents,
        180,
        (0..=documents as u64).map(|row| row * 3).collect(),
        columns.collect(),
        vec![2.0; 3 * documents],
    )
    .unwrap();
    let fit = model(k)
        .epochs(1)
        .batch_size(256)
        .optimizer(Optimizer::RowwiseAdamW)
        .table_place(TablePlace::File(folder.into()))
        .fit(&counts)
        .unwrap();
    assert_eq!(fit.l().shape(), (documents, k));
    check_memory("L mapped", &fit);
}

#[test]
fn tables_larger_than_memory_are_learned_within_it() {
    let folder = tempfile::tempdir().unwrap();
    within_limit("table", folder.path());
}

/// One fit after the other holds no more than those before.
fn many(folder: &Path) {
    let counts = Counts::open(folder.join("X.npy")).unwrap();
    let held: Vec<f64> = (0..6)
        .map(|_| {
            let fit = model(5)
                .epochs(20)
                .batch_size(64)
                .reading(Reading::Stream {
                    block: 8,
                    blocks: 32,
                })
                .fit(&counts)
                .unwrap();
            let history = fit.history();
            let memory: Vec<u64> = history
                .column("memory")
                .unwrap()
                .u64()
                .unwrap()
                .into_no_null_iter()
                .collect();
            // The first epoch fills the buffers.
            let (first, last) = (memory[1] as f64, memory[memory.len() - 1] as f64);
            assert!(last - first < ROUGHLY, "{memory:?}");
            last
        })
        .collect();
    println!("{held:?}");
    // The first fit fills caches.
    assert!(held[held.len() - 1] - held[1] < ROUGHLY, "{held:?}");
}

/// What the system and the allocator may have left over between fits: half of that was seen.
const ROUGHLY: f64 = 1_048_576.0;

#[test]
fn many_fits_take_no_more_than_one() {
    let folder = tempfile::tempdir().unwrap();
    Synthetic::new(2_000, 5_000, 5)
        .avg_doc_length(200)
        .seed(1)
        .write_npy(folder.path().join("X.npy"))
        .unwrap();
    within_limit("many", folder.path());
}

fn writing(folder: &Path) {
    let corpus = Synthetic::new(3_000, 100_000, 5)
        .avg_doc_length(200)
        .seed(1)
        .write_npy(folder.join("generated.npy"))
        .unwrap();
    assert!(corpus.counts().bytes_stored() > LIMIT);
    let drawn = corpus
        .counts()
        .resample(4_000)
        .seed(2)
        .write_npy(folder.join("drawn.npy"))
        .unwrap();
    assert_eq!(drawn.shape(), (4_000, 100_000));
    let sparse = drawn.write_npz(folder.join("drawn.npz")).unwrap();
    assert_eq!(sparse.documents(), 4_000);
}

#[test]
fn files_larger_than_memory_are_written_within_it() {
    let folder = tempfile::tempdir().unwrap();
    within_limit("writing", folder.path());
}
