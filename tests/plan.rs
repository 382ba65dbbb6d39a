//! Plans: what they predict is what is measured, what they refuse, and what does not change with them.

#[path = "support/measured.rs"]
mod measured;
#[path = "support/cgroup.rs"]
mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use measured::value;
use support::Cgroup;
use topicbook::{
    Budget, Counts, Device, ErrorKind, Fit, Optimizer, Reading, Solver, Synthetic, TablePlace,
    TopicModel, memory_scope, replay,
};

/// `each` nonzero counts in every document.
fn sparse(documents: usize, terms: usize, each: usize) -> Counts {
    let starts = (0..=documents as u64)
        .map(|row| row * each as u64)
        .collect();
    let columns = (0..documents).flat_map(|row| {
        let first = row * 7 % (terms - each + 1);
        (first..first + each).map(|column| column as u32)
    });
    let columns: Vec<u32> = columns.collect();
    let values = vec![2.0; columns.len()];
    Counts::csr(documents, terms, starts, columns, values).unwrap()
}

fn model(k: usize) -> TopicModel {
    TopicModel::new(k)
        .epochs(2)
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

type Case = (&'static str, fn(&Path) -> Fit);

/// What decides a fit's memory, one after the other.
const CASES: [Case; 14] = [
    ("dense counts in memory", |_| {
        let corpus = Synthetic::new(20_000, 4_000, 5).generate().unwrap();
        model(10).batch_size(256).fit(corpus.counts()).unwrap()
    }),
    ("many documents: L", |_| {
        model(50)
            .batch_size(256)
            .fit(sparse(200_000, 500, 3))
            .unwrap()
    }),
    ("many terms: F", |_| {
        model(40).fit(sparse(200, 100_000, 50)).unwrap()
    }),
    ("large batches", |_| {
        model(20)
            .batch_size(4_000)
            .fit(sparse(8_000, 20_000, 20))
            .unwrap()
    }),
    ("large batches in parts", |_| {
        let budget = Budget::new().ram("48 MiB");
        let model = model(20).batch_size(16_000).budget(budget);
        let plan = model.plan(sparse(32_000, 20_000, 20)).unwrap();
        assert!(plan.micro_batch() < 16_000);
        plan.fit().unwrap()
    }),
    ("checkpoints", |folder| {
        let model = model(40)
            .batch_size(256)
            .checkpoint(folder.join("fit.checkpoint"));
        model.fit(sparse(100_000, 500, 3)).unwrap()
    }),
    ("L in a file", |_| {
        let model = model(50)
            .epochs(1)
            .batch_size(1_000)
            .budget(Budget::new().ram("60 MiB"));
        let plan = model.plan(sparse(200_000, 500, 2)).unwrap();
        let text = format!("{plan:?}");
        assert!(text.contains("live in mapped files"), "{text}");
        plan.fit().unwrap()
    }),
    ("a file", |folder| {
        let corpus = Synthetic::new(4_000, 20_000, 5);
        let corpus = corpus.write_npy(folder.join("X.npy")).unwrap();
        model(20).batch_size(64).fit(corpus.counts()).unwrap()
    }),
    ("an archive", |folder| {
        let path = folder.join("X.npz");
        sparse(100_000, 2_000, 60).write_npz(&path).unwrap();
        model(20)
            .batch_size(256)
            .fit(Counts::open(path).unwrap())
            .unwrap()
    }),
    ("a streamed file", |folder| streamed(folder, Solver::AdamW)),
    ("a streamed file, EM", |folder| streamed(folder, Solver::Em)),
    ("a streamed file, coordinate descent", |folder| {
        streamed(folder, Solver::CoordinateDescent)
    }),
    ("counts in memory, EM", |_| in_memory(Solver::Em)),
    ("counts in memory, coordinate descent", |_| {
        in_memory(Solver::CoordinateDescent)
    }),
];

fn streamed(folder: &Path, solver: Solver) -> Fit {
    let corpus = Synthetic::new(4_000, 30_000, 5).avg_doc_length(500);
    let corpus = corpus.write_npy(folder.join("X.npy")).unwrap();
    model(40)
        .solver(solver)
        .batch_size(64)
        .reading(Reading::Stream {
            block: 20,
            blocks: 50,
        })
        .fit(corpus.counts())
        .unwrap()
}

/// `each` nonzero counts in every document, two of them of terms that all documents have, far apart.
fn common_terms(documents: usize, terms: usize, each: usize) -> Counts {
    let middle = terms / 2;
    let columns = (0..documents).flat_map(|row| {
        let half = row % 2 * middle;
        let first = half + 1 + row * 7 % (middle - each);
        let mut columns: Vec<u32> = (first as u32..(first + each - 2) as u32).collect();
        columns.extend([0, middle as u32]);
        columns.sort_unstable();
        columns
    });
    let columns: Vec<u32> = columns.collect();
    let values = vec![2.0; columns.len()];
    let starts = (0..=documents).map(|row| (row * each) as u64).collect();
    Counts::csr(documents, terms, starts, columns, values).unwrap()
}

/// Far enough for steps with and without extrapolation.
fn in_memory(solver: Solver) -> Fit {
    model(20)
        .solver(solver)
        .epochs(10)
        .tolerance(0.0)
        .fit(common_terms(20_000, 20_000, 5))
        .unwrap()
}

/// Run by the test below in a process of its own.
#[test]
#[ignore = "one case, in a process of its own"]
fn measure() {
    let case: usize = std::env::var("CASE").unwrap().parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fit = CASES[case].1(folder.path());
    let ram = |column: &str| value(&fit.memory(), "RAM, anonymous", column);
    println!(
        "{} {}",
        ram("predicted peak, MiB"),
        ram("measured peak, MiB")
    );
}

#[test]
fn what_is_predicted_is_measured() {
    let mut wrong = Vec::new();
    for (case, (name, _)) in CASES.iter().enumerate() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "measure"])
            .env("CASE", case.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stdout).to_string();
        let numbers: Vec<f64> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]))
            .flatten()
            .collect();
        let [predicted, measured] = numbers[..] else {
            panic!("{name}: {text}{}", String::from_utf8_lossy(&child.stderr));
        };
        let line = format!("{name}: {predicted:.1} MiB predicted, {measured:.1} MiB measured");
        println!("{line}");
        if (predicted / measured - 1.0).abs() > 0.1 {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_batch_in_parts_learns_the_same() {
    let counts = Synthetic::new(90, 70, 4)
        .avg_doc_length(300)
        .seed(3)
        .generate()
        .unwrap()
        .counts();
    let (k, epochs, batch) = (5, 3, 30);
    let table = |rows: usize, columns: usize| {
        let values = (0..rows * columns).map(|i| 0.001 * (i * i % 97) as f32);
        topicbook::Matrix::new(rows, columns, values.collect()).unwrap()
    };
    let (l, f) = (table(90, k), table(k, 70));
    let settings = TopicModel::new(k)
        .epochs(epochs)
        .batch_size(batch)
        .settings();
    let orders: Vec<Vec<usize>> = (0..epochs)
        .map(|epoch| (0..90).map(|i| (i * 7 + epoch) % 90).collect())
        .collect();
    for path in [replay::Path::Fused, replay::Path::Tensor] {
        let run = |part, resident| {
            replay::run_placed(path, &settings, (part, resident), &counts, &l, &f, &orders).unwrap()
        };
        let whole = run(batch, false);
        for (part, resident) in [(1, false), (7, false), (15, true), (1_000, true)] {
            let parts = run(part, resident);
            for (a, b) in whole.step_losses.iter().zip(&parts.step_losses) {
                assert!(
                    (a / b - 1.0).abs() < 1e-5,
                    "{path:?}, parts of {part}: {a} {b}"
                );
            }
            let tables = [(&whole.l, &parts.l), (&whole.f, &parts.f)];
            for (a, b) in tables
                .iter()
                .flat_map(|(a, b)| a.values().iter().zip(b.values()))
            {
                assert!((a - b).abs() < 1e-3, "{path:?}, parts of {part}: {a} {b}");
            }
        }
    }
}

#[test]
fn the_smallest_budget_named_is_enough() {
    let counts = sparse(20_000, 5_000, 10);
    let model = model(30).batch_size(2_000);
    let with = |size: &str| model.clone().budget(Budget::new().ram(size));
    let error = with("8 MiB").plan(&counts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Space);
    let remedy = error.remedy().unwrap().to_string();
    let least = remedy.split("at least ").nth(1).unwrap();
    let least = least.split(';').next().unwrap();
    let plan = with(least).plan(&counts).unwrap();
    assert!(plan.micro_batch() < 2_000);
    // A whole batch takes more.
    let roomy = with("1 GiB").plan(&counts).unwrap();
    assert!(roomy.micro_batch() == 2_000 && roomy.peak_ram() > plan.peak_ram());
    assert!(error.place().unwrap().contains("F's moments"), "{error}");
    // Nearly enough: with fewer topics it would do.
    let nearly: u64 = least.trim_end_matches(" MiB").parse().unwrap();
    let nearly = with(&format!("{} MiB", nearly - 2)).plan(&counts);
    let remedy = nearly.unwrap_err().remedy().unwrap().to_string();
    let fewer = remedy.split("use k = ").nth(1).unwrap();
    let fewer = fewer.split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!((1..30).contains(&fewer));
    // And the other way to fit, spawn, asks the same.
    assert_eq!(
        with("8 MiB").spawn(&counts).unwrap_err().kind(),
        ErrorKind::Space
    );
    let unreadable = with("much").fit(&counts).unwrap_err();
    assert_eq!(unreadable.kind(), ErrorKind::Setting);
}

#[test]
fn what_is_not_free_is_refused() {
    // Tables of 2,000 x 4 billion values; the counts themselves are small.
    let counts = Counts::csr(
        2_000,
        4_000_000_000,
        (0..=2_000).collect(),
        vec![5; 2_000],
        vec![1.0; 2_000],
    )
    .unwrap();
    let error = model(2_000).plan(&counts).unwrap_err();
    assert!(error.to_string().contains("what is free"), "{error}");
    let plan = model(2_000)
        .budget(Budget::new().ram("900 TiB"))
        .plan(&counts)
        .unwrap();
    let error = plan.fit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Space);
    assert!(error.to_string().contains("are free now"), "{error}");
}

/// Takes memory and waits; run beside a fit, in its cgroup.
#[test]
#[ignore = "the neighbour of the test below"]
fn neighbour() {
    let taken = std::hint::black_box(vec![1u8; NEIGHBOUR]);
    std::thread::sleep(Duration::from_secs(60));
    assert_eq!(taken.len(), NEIGHBOUR);
}

const LIMIT: u64 = 512 << 20;
/// What it leaves is less than a fit takes notice of (64 MiB), however little the fit itself holds.
const NEIGHBOUR: usize = 456 << 20;

/// Fits in the background while the neighbour takes what was free.
#[test]
#[ignore = "the fit of the test below"]
fn crowded() {
    let training = model(5)
        .epochs(1_000_000)
        .spawn(sparse(2_000, 300, 10))
        .unwrap();
    let mut neighbour = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "neighbour"])
        .spawn()
        .unwrap();
    let began = Instant::now();
    let mut said = String::new();
    while !said.contains("memory is short") && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
        said = format!("{training:?}");
    }
    training.stop();
    let fit = training.join().unwrap();
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    println!("{said}");
    let ram = |column: &str| value(&fit.memory(), "RAM, anonymous", column);
    assert!(ram("measured peak, MiB") < ram("predicted peak, MiB") + 4.0);
}

#[test]
fn a_neighbour_that_takes_memory_is_named_and_the_fit_goes_on() {
    let Some(group) = Cgroup::or_skip(LIMIT) else {
        return;
    };
    let output = group
        .run(Command::new(std::env::current_exe().unwrap()).args([
            "--exact",
            "--ignored",
            "--nocapture",
            "crowded",
        ]))
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("memory is short") && text.contains("keeps within its plan"),
        "{text}"
    );
}

#[test]
fn a_budget_stands_for_a_card() {
    let corpus = Synthetic::new(400, 3_000, 4).seed(2).generate().unwrap();
    let model = model(4).batch_size(100);
    let with = |size: &str| model.clone().budget(Budget::new().vram(size));
    let all = with("1 GiB").plan(corpus.counts()).unwrap();
    let text = format!("{all:?}");
    assert!(
        text.contains("X, as stored") && text.contains("stands for one"),
        "{text}"
    );
    let sent = with("2 MiB").plan(corpus.counts()).unwrap();
    let text = format!("{sent:?}");
    assert!(
        !text.contains("X, as stored") && text.contains("goes there part by part"),
        "{text}"
    );
    let parts = with("1 MiB").plan(corpus.counts()).unwrap();
    assert!(parts.micro_batch() < 100);
    assert!(parts.peak_vram().unwrap() <= 1 << 20);
    assert!(format!("{parts:?}").contains("added up over parts of"));
    let error = with("100 kB").plan(corpus.counts()).unwrap_err();
    assert!(
        error.to_string().contains("of VRAM") && error.to_string().contains("the budget is"),
        "{error}"
    );
    let (whole, learned) = (model.fit(corpus.counts()).unwrap(), parts.fit().unwrap());
    assert!((whole.loss() / learned.loss() - 1.0).abs() < 1e-6);
    let seen = learned.memory();
    assert!(value(&seen, "VRAM reserved", "budget, MiB") == 1.0);
    assert!(value(&seen, "VRAM reserved", "measured peak, MiB").is_nan());
    assert!(learned.plot_memory().to_png().unwrap().len() > 1_000);
    assert_eq!(
        parts.table().get_column_names(),
        ["what", "lives in", "when", "bytes"]
    );
}

/// L leaves the card before batches are cut small, and goes into a file only where RAM is short, too.
#[test]
fn l_stays_beside_a_card_that_is_too_small_for_it() {
    let counts = sparse(200_000, 500, 3);
    let with = |budget: Budget| model(50).batch_size(1_024).budget(budget);
    let text = |plan: &topicbook::Plan| format!("{plan:?}");
    let card = with(Budget::new().vram("1 GiB")).plan(&counts).unwrap();
    assert!(!text(&card).contains("stay beside it"), "{card}");
    let beside = with(Budget::new().vram("16 MiB")).plan(&counts).unwrap();
    assert!(text(&beside).contains("stay beside it"), "{beside}");
    assert!(
        text(&beside).contains("rows of L, and their gradients"),
        "{beside}"
    );
    assert!(!text(&beside).contains("mapped files"), "{beside}");
    assert_eq!(beside.micro_batch(), 1_024);
    assert!(beside.peak_vram().unwrap() <= 16 << 20);
    let in_file = with(Budget::new().vram("16 MiB").ram("60 MiB"))
        .plan(&counts)
        .unwrap();
    assert!(text(&in_file).contains("stay beside it"), "{in_file}");
    assert!(text(&in_file).contains("live in mapped files"), "{in_file}");
    // Asked for, L is never on the card, however large.
    for asked in [
        model(50).table_place(TablePlace::File(std::env::temp_dir())),
        model(50).optimizer(Optimizer::RowwiseAdamW),
    ] {
        let plan = asked
            .budget(Budget::new().vram("1 GiB"))
            .plan(&counts)
            .unwrap();
        assert!(
            text(&plan).contains("rows of L, and their gradients"),
            "{plan}"
        );
        assert!(!text(&plan).contains("stay beside it"), "{plan}");
    }
    let error = with(Budget::new().vram("100 kB"))
        .plan(&counts)
        .unwrap_err();
    let fewer = error.to_string();
    let at = fewer.find("use k = ").map(|at| &fewer[at + 8..]);
    let k = at.and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let k = k.unwrap_or_else(|| panic!("{fewer}"));
    let plan = |k: usize| {
        let model = model(k).batch_size(1_024);
        model.budget(Budget::new().vram("100 kB")).plan(&counts)
    };
    assert!(plan(k).is_ok() && plan(k + 1).is_err(), "{fewer}");
}

#[test]
fn memory_is_kept_with_the_fit_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    let fit = model(4).fit(sparse(500, 100, 5)).unwrap();
    fit.save(&path).unwrap();
    let again = TopicModel::load(&path).unwrap();
    assert_eq!(fit.memory().to_string(), again.memory().to_string());
    assert_eq!(
        fit.plot_memory().to_png().unwrap(),
        again.plot_memory().to_png().unwrap()
    );
    let background = model(4).spawn(sparse(500, 100, 5)).unwrap().join().unwrap();
    assert_eq!(background.memory().height(), 2);
}

#[test]
fn a_scope_sees_what_was_taken() {
    const TAKEN: usize = 48 << 20;
    let mut scope = memory_scope("load");
    let before = scope.peak();
    let held = std::hint::black_box(vec![3u8; TAKEN]);
    let peak = scope.peak();
    // Tests beside this one may give memory back.
    assert!(peak - before > TAKEN as u64 / 2, "{before} {peak}");
    scope.finish();
    drop(held);
    assert_eq!(scope.peak(), scope.peak());
    assert!(scope.change() > 0);
    assert!(scope.plot().to_png().is_ok());
    assert!(format!("{scope:?}").contains("Memory: load (finished)"));
}
