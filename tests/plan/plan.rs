//! Plans: predicted against measured memory, budgets that are refused, and results that do not depend on the plan.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::measured::value;
use testkit::{Cgroup, one_test, passed, refused};
use topicbook::{
    Budget, Counts, Device, ErrorKind, Fit, Precision, Reading, Solver, Synthetic, TopicModel,
    bench_hooks, memory_scope,
};

/// Counts with `nonzeros` nonzero counts per document.
pub fn sparse(documents: usize, terms: usize, nonzeros: usize) -> Counts {
    let starts = (0..=documents as u64)
        .map(|row| row * nonzeros as u64)
        .collect();
    let columns = (0..documents).flat_map(|row| {
        let first = row * 7 % (terms - nonzeros + 1);
        (first..first + nonzeros).map(|column| column as u32)
    });
    let columns: Vec<u32> = columns.collect();
    let values = vec![2.0; columns.len()];
    Counts::csr(documents, terms, starts, columns, values).unwrap()
}

pub fn model(k: usize) -> TopicModel {
    TopicModel::new(k)
        .epochs(2)
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

type Case = (&'static str, fn(&Path) -> Fit);

/// In each case another part decides how much memory the fit needs.
const CASES: [Case; 16] = [
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
    ("many documents: L in 16 bits", |_| {
        model(50)
            .batch_size(256)
            .solver(Solver::mini_batch().table_precision(Precision::Bf16))
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
    ("large batches in micro-batches", |_| {
        let budget = Budget::new().ram("48 MiB").unwrap();
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
    ("L in a file", |folder| {
        let model = model(50)
            .epochs(1)
            .batch_size(1_000)
            .budget(Budget::new().ram("60 MiB").unwrap().spill_dir(folder));
        let plan = model.plan(sparse(200_000, 500, 2)).unwrap();
        let text = plan.to_string();
        assert!(text.contains("memory-mapped files"), "{text}");
        plan.fit().unwrap()
    }),
    ("a file", |folder| {
        let corpus = Synthetic::new(4_000, 20_000, 5);
        let counts = corpus.write_npy(folder.join("X.npy")).unwrap().counts();
        // A plan for a dense file that was not read before assumes that no count is zero.
        counts.summary().unwrap();
        model(20).batch_size(64).fit(counts).unwrap()
    }),
    ("an archive", |folder| {
        let path = folder.join("X.npz");
        sparse(100_000, 2_000, 60).write_npz(&path).unwrap();
        model(20)
            .batch_size(256)
            .fit(Counts::open(path).unwrap())
            .unwrap()
    }),
    ("a streamed file", |folder| {
        streamed(folder, model(40).batch_size(64))
    }),
    ("a streamed file, EM", |folder| {
        streamed(folder, model(40).solver(Solver::em()))
    }),
    ("a streamed file, coordinate descent", |folder| {
        streamed(folder, model(40).solver(Solver::coordinate_descent()))
    }),
    ("counts in memory, EM", |_| in_memory(Solver::em())),
    ("counts in memory, coordinate descent", |_| {
        in_memory(Solver::coordinate_descent())
    }),
    (
        "counts in memory, a search that begins with a sample",
        |_| {
            model(50)
                .solver(Solver::auto())
                .epochs(10)
                .fit(common_terms(8_000, 2_000, 800))
                .unwrap()
        },
    ),
];

fn streamed(folder: &Path, model: TopicModel) -> Fit {
    let corpus = Synthetic::new(4_000, 30_000, 5).avg_doc_length(500);
    let corpus = corpus.write_npy(folder.join("X.npy")).unwrap();
    model
        .reading(Reading::Stream {
            block: 20,
            blocks: 50,
        })
        .fit(corpus.counts())
        .unwrap()
}

/// Counts with `nonzeros` nonzero counts per document, of which two are of terms 0 and `terms / 2`, which all documents
/// have.
fn common_terms(documents: usize, terms: usize, nonzeros: usize) -> Counts {
    let middle = terms / 2;
    let columns = (0..documents).flat_map(|row| {
        let half = row % 2 * middle;
        let first = half + 1 + row * 7 % (middle - nonzeros);
        let mut columns: Vec<u32> = (first as u32..(first + nonzeros - 2) as u32).collect();
        columns.extend([0, middle as u32]);
        columns.sort_unstable();
        columns
    });
    let columns: Vec<u32> = columns.collect();
    let values = vec![2.0; columns.len()];
    let starts = (0..=documents).map(|row| (row * nonzeros) as u64).collect();
    Counts::csr(documents, terms, starts, columns, values).unwrap()
}

/// Enough iterations for some with and some without extrapolation.
fn in_memory(solver: Solver) -> Fit {
    model(20)
        .solver(solver)
        .epochs(10)
        .tolerance(0.0)
        .fit(common_terms(20_000, 20_000, 5))
        .unwrap()
}

/// Fits one case and prints predicted and measured memory.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn measure_case() {
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
fn predicted_memory_is_within_a_tenth_of_measured_memory() {
    let mut wrong = Vec::new();
    for (case, (name, _)) in CASES.iter().enumerate() {
        let mut child = one_test("plan::measure_case");
        let text = passed(child.env("CASE", case.to_string()).output());
        let numbers: Vec<f64> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]))
            .flatten()
            .collect();
        let [predicted, measured] = numbers[..] else {
            panic!("{name}: {text}");
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
fn micro_batches_give_the_same_fit() {
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
    for path in [bench_hooks::Path::Fused, bench_hooks::Path::Tensor] {
        let run = |micro_batch, resident| {
            bench_hooks::run_placed(
                path,
                &settings,
                (micro_batch, resident),
                &counts,
                &l,
                &f,
                &orders,
            )
            .unwrap()
        };
        let whole = run(batch, false);
        for (micro_batch, resident) in [(1, false), (7, false), (15, true), (1_000, true)] {
            let split = run(micro_batch, resident);
            for (a, b) in whole.step_losses.iter().zip(&split.step_losses) {
                assert!(
                    (a / b - 1.0).abs() < 1e-5,
                    "{path:?}, micro-batch {micro_batch}: {a} {b}"
                );
            }
            let tables = [(&whole.l, &split.l), (&whole.f, &split.f)];
            for (a, b) in tables
                .iter()
                .flat_map(|(a, b)| a.values().iter().zip(b.values()))
            {
                assert!(
                    (a - b).abs() < 1e-3,
                    "{path:?}, micro-batch {micro_batch}: {a} {b}"
                );
            }
        }
    }
}

#[test]
fn the_smallest_budget_that_an_error_names_is_enough() {
    let counts = sparse(20_000, 5_000, 10);
    let model = model(30).batch_size(2_000);
    let with = |size: &str| model.clone().budget(Budget::new().ram(size).unwrap());
    let error = with("8 MiB").plan(&counts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Space);
    let remedy = error.remedy().unwrap().to_string();
    let smallest = remedy.split("at least ").nth(1).unwrap();
    let smallest = smallest.split(';').next().unwrap();
    let plan = with(smallest).plan(&counts).unwrap();
    assert!(plan.micro_batch() < 2_000);
    // Whole batches need more memory.
    let large = with("1 GiB").plan(&counts).unwrap();
    assert!(large.micro_batch() == 2_000 && large.peak_ram() > plan.peak_ram());
    testkit::assert_has(error.place().unwrap(), ["L's optimizer state"]);
    // Where the budget is almost enough, the error names a smaller number of topics.
    let nearly: u64 = smallest.trim_end_matches(" MiB").parse().unwrap();
    let nearly = with(&format!("{} MiB", nearly - 2)).plan(&counts);
    let remedy = nearly.unwrap_err().remedy().unwrap().to_string();
    let fewer = remedy.split("use k = ").nth(1).unwrap();
    let fewer = fewer.split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!((1..30).contains(&fewer));
    // `spawn` checks the budget, too.
    refused! {
        with("8 MiB").spawn(&counts) => Space;
        Budget::new().ram("much") => Setting;
    }
}

#[test]
fn a_plan_for_more_memory_than_is_free_is_refused() {
    // F has 2,000 x 4 billion values; the counts themselves are small.
    let counts = Counts::csr(
        2_000,
        4_000_000_000,
        (0..=2_000).collect(),
        vec![5; 2_000],
        vec![1.0; 2_000],
    )
    .unwrap();
    refused! { model(2_000).plan(&counts) => Space, "what is free"; }
    let plan = model(2_000)
        .budget(Budget::new().ram("900 TiB").unwrap())
        .plan(&counts)
        .unwrap();
    refused! { plan.fit() => Space, "are free now"; }
}

/// Allocates memory and waits. Runs in the cgroup of a fit.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn memory_hog() {
    let memory = std::hint::black_box(vec![1u8; HOG_BYTES]);
    std::thread::sleep(Duration::from_secs(60));
    assert_eq!(memory.len(), HOG_BYTES);
}

const LIMIT: u64 = 512 << 20;
/// Leaves less than the 64 MiB free below which a fit warns, however little memory the fit itself uses.
const HOG_BYTES: usize = 456 << 20;

/// Fits in the background while another process uses up the memory of the cgroup.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn fit_next_to_memory_hog() {
    let training = model(5)
        .epochs(1_000_000)
        .spawn(sparse(2_000, 300, 10))
        .unwrap();
    let mut hog = one_test("plan::memory_hog").spawn().unwrap();
    let start = Instant::now();
    let mut card = String::new();
    while !card.contains("memory is short") && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
        card = training.to_string();
    }
    training.stop();
    let fit = training.join().unwrap();
    hog.kill().unwrap();
    hog.wait().unwrap();
    println!("{card}");
    let ram = |column: &str| value(&fit.memory(), "RAM, anonymous", column);
    assert!(ram("measured peak, MiB") < ram("predicted peak, MiB") + 4.0);
}

#[test]
fn a_fit_warns_and_continues_when_another_process_uses_up_memory() {
    let Some(group) = Cgroup::or_skip(LIMIT) else {
        return;
    };
    let text = passed(group.run(&mut one_test("plan::fit_next_to_memory_hog")));
    testkit::assert_has(&text, ["memory is short", "keeps within its plan"]);
}

#[test]
fn memory_is_saved_with_the_fit_and_plotted() {
    let (_folder, path) = testkit::temp_path("fit.safetensors");
    let fit = model(4).fit(sparse(500, 100, 5)).unwrap();
    fit.save(&path).unwrap();
    let loaded = Fit::load(&path).unwrap();
    assert_eq!(fit.memory().to_string(), loaded.memory().to_string());
    assert_eq!(
        fit.plot_memory().to_png().unwrap(),
        loaded.plot_memory().to_png().unwrap()
    );
    let background = model(4).spawn(sparse(500, 100, 5)).unwrap().join().unwrap();
    assert_eq!(background.memory().height(), 2);
}

#[test]
fn a_memory_scope_measures_an_allocation() {
    const ALLOCATED: usize = 48 << 20;
    let mut scope = memory_scope("load");
    let before = scope.peak();
    let memory = std::hint::black_box(vec![3u8; ALLOCATED]);
    let peak = scope.peak();
    // Other tests of this process may free memory meanwhile.
    assert!(peak - before > ALLOCATED as u64 / 2, "{before} {peak}");
    scope.finish();
    drop(memory);
    assert_eq!(scope.peak(), scope.peak());
    assert!(scope.change() > 0);
    assert!(scope.plot().to_png().is_ok());
    assert!(scope.to_string().contains("Memory: load (finished)"));
}
