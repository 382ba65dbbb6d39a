//! `cargo xtask check` and `cargo xtask test`, which CI runs too: all checks and tests, the cheapest first.

use std::env;
use std::ops::AddAssign;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::changes;
use crate::doc_examples;
use crate::examples;
use crate::jupyter;
use crate::layers;
use crate::links;
use crate::lint;
use crate::notebook;
use crate::pages;
use crate::places::Places;
use crate::setup;
use crate::sizes;
use crate::task::{Fail, Result, command, run, seconds, step, succeeded};
use crate::wheel;
use crate::worker;

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// What is printed again at the end: the output of failed tests, and the errors of failed steps.
    failures: Vec<String>,
    /// The parts and their times, which are printed at the end, too.
    parts: Vec<(String, Duration)>,
}

/// A part of the tests that needs no other one, with what it does.
type Part<'a> = (String, Box<dyn FnOnce() -> Result<Tally> + Send + 'a>);

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.parts.extend(other.parts);
    }
}

/// The checks for every change: format, layers, sizes, links, subjects of commits, lints, unit tests of what has changed.
pub fn check(places: &Places) -> Result<ExitCode> {
    let changed = changes::crates(places)?;
    let mut tally = thread::scope(|scope| {
        let lints = scope.spawn(|| single("lints", || lint::changed(places, &changed)));
        let mut tally = quick(places);
        tally += single("subjects of commits", || changes::check_subjects(places));
        tally += lints.join().expect("no check panics");
        tally
    });
    if !changed.is_empty() {
        tally += counted(&format!("unit tests of {}", changed.join(", ")), || {
            // Those on lavapipe compile shaders for ten seconds.
            count(unit_of(places, &changed).args(["--", "--skip", "lavapipe"]))
        });
    }
    Ok(verdict(&tally))
}

/// The checks that compile nothing.
fn quick(places: &Places) -> Tally {
    let mut tally = single("format", || format(places));
    tally += single("layers", || layers::check(places));
    tally += single("sizes", || sizes::check(places));
    tally += single("links", || links::check(places));
    tally += single("lock file of the worker", || worker::lock_file(places));
    tally
}

/// Runs all parts, even after one has failed, and prints the totals as the last line.
pub fn all(places: &Places) -> Result<ExitCode> {
    let mut tally = quick(places);
    setup::python(places)?;
    setup::nvrtc(places);
    worker::for_tests(places);
    tally += single("compiling the library and the tests", || {
        setup::library(places)?;
        run(integration(places).arg("--no-run"))
    });
    // These two use the dependencies that have been compiled above.
    tally += single("lints", || lint::clippy(places));
    if places.worker().is_file() {
        tally += single("lints of the worker", || worker::lints(places));
    }
    tally += single("documentation", || lint::documentation(places));
    // The longest ones first, so that both cores are busy to the end.
    let mut parts: Vec<Part> = Vec::new();
    match step("set-up of the kernel", || setup::all(places)) {
        Ok(()) => {
            tally += single("lints and unit tests of the kernel", || {
                lint::kernel(places)
            });
            parts.push(part("kernel", || kernel_tests(places)));
        }
        Err(error) => tally += failure("set-up of the kernel", &error),
    }
    let has_kernel = !parts.is_empty();
    // The output of passed tests is shown as well: a test that is skipped prints that.
    let ours = places.crates()?;
    for (name, mut tests) in [
        ("integration tests", integration(places)),
        (
            "the library without its default features",
            small_stack(places)?,
        ),
        ("unit tests of the crates", unit_of(places, &ours)),
    ] {
        parts.push(part(name, move || {
            count(tests.args(["--", "--show-output"]))
        }));
    }
    if has_kernel {
        parts.push(part("wheels", || count(&mut wheel::tests(places, false)?)));
        let (notebooks, prepared) = notebooks(places)?;
        tally += prepared;
        parts.extend(notebooks);
    }
    parts.push(part("examples of the documentation", || {
        let mut tally = count(cargo_test(places).args(["--package", "topicbook", "--doc"]))?;
        tally += examples_of_crates(places)?;
        Ok(tally)
    }));
    parts.push(part("examples", || passed(examples::run_all(places))));
    tally += two_at_a_time(parts);
    if has_kernel {
        tally += single("pages of the notebooks", || pages::in_step(places));
        // Alone: it waits for what a person sees, for some seconds.
        tally += counted("notebook 01 in a browser", || browser_tests(places));
    }
    Ok(verdict(&tally))
}

/// Installs the wheels in a bare Debian, which takes some five minutes: not part of [`all`].
pub fn wheel(places: &Places) -> Result<ExitCode> {
    setup::all(places)?;
    let tally = counted("wheels", || count(&mut wheel::tests(places, true)?));
    Ok(verdict(&tally))
}

fn part<'a>(name: impl Into<String>, work: impl FnOnce() -> Result<Tally> + Send + 'a) -> Part<'a> {
    (name.into(), Box::new(work))
}

/// Runs parts in their order, the next one as soon as one of two has ended.
fn two_at_a_time(parts: Vec<Part>) -> Tally {
    let waiting = Mutex::new(parts.into_iter());
    let next = || waiting.lock().expect("no part panics").next();
    let total = Mutex::new(Tally::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, work)) = next() {
                    let tally = counted(&name, work);
                    *total.lock().expect("no part panics") += tally;
                }
            });
        }
    });
    total.into_inner().expect("no part panics")
}

/// A part for each notebook of the repository, and what was skipped or failed before its first cell.
fn notebooks(places: &Places) -> Result<(Vec<Part<'_>>, Tally)> {
    let mut parts = Vec::new();
    let mut tally = Tally::default();
    for path in notebook::all(places)? {
        let name = format!("notebook {}", path.display());
        if notebook::starts_ranks(&path)? && !places.worker().is_file() {
            println!("SKIPPED {name}: topicbook-worker cannot be built");
            tally.skipped += 1;
            continue;
        }
        match notebook::prepared(places, &path) {
            Ok(mut notebook) => parts.push(part(name, move || {
                let (_, status) = printed(&mut notebook)?;
                passed(succeeded(&notebook, status))
            })),
            Err(error) => tally += failure(&name, &error),
        }
    }
    Ok((parts, tally))
}

fn kernel_tests(places: &Places) -> Result<Tally> {
    count(
        jupyter::python(places)
            .arg(places.root.join("xtask/python/kernel_tests.py"))
            .env("TOPICBOOK_KERNELS", places.kernels())
            .env(
                "TOPICBOOK_FAKE_CUDA",
                places.target.join("debug/deps/libfake_cuda.so"),
            ),
    )
}

fn browser_tests(places: &Places) -> Result<Tally> {
    count(
        jupyter::python(places)
            .arg(places.root.join("xtask/python/browser_tests.py"))
            .arg(places.root.join("notebooks/01_quick_start.ipynb"))
            .arg(&places.build),
    )
}

/// Prints the times of the parts, what has failed, and the totals.
fn verdict(tally: &Tally) -> ExitCode {
    for (name, took) in &tally.parts {
        println!("{:>9} {name}", seconds(*took));
    }
    for line in &tally.failures {
        println!("{line}");
    }
    println!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    );
    match tally.failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn format(places: &Places) -> Result<()> {
    run(command("cargo")
        .args(["fmt", "--all", "--check"])
        .current_dir(&places.root))
}

fn cargo_test(places: &Places) -> Command {
    let mut cargo = command("cargo");
    cargo
        .arg("test")
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target);
    with_python(&mut cargo, places);
    cargo
}

/// Tells tests where the programs are that they call.
fn with_python<'a>(tests: &'a mut Command, places: &Places) -> &'a mut Command {
    let mut path = places.environment().join("bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    tests
        // The tests of file formats call NumPy and SciPy.
        .env("TOPICBOOK_PYTHON", &places.python)
        .env("TOPICBOOK_NVRTC", places.nvrtc())
        .env("TOPICBOOK_WORKER", places.worker())
        .env("PATH", path)
}

/// The examples in the documentation of the crates below the library.
fn examples_of_crates(places: &Places) -> Result<Tally> {
    let mut tally = Tally::default();
    for mut rustdoc in doc_examples::commands(places)? {
        tally += count(with_python(&mut rustdoc, places))?;
    }
    Ok(tally)
}

/// The unit tests of some crates, with the features of the whole library: the crates below them are not compiled again.
/// `.cargo/rustc-wrapper` has them check arithmetic.
fn unit_of(places: &Places, crates: &[String]) -> Command {
    let mut cargo = cargo_test(places);
    cargo.arg("--no-fail-fast");
    for name in crates {
        cargo.args(["--package", name]);
    }
    match crates.iter().any(|name| name == "topicbook") {
        // Without its integration tests.
        true => cargo.args(["--lib", "--bins"]),
        // This package has the library's features, and no tests: nothing of it is built.
        false => cargo.args(["--tests", "--package", "topicbook-dylib"]),
    };
    cargo
}

/// Tests that use packages from outside, and those of programs. They have the library that cells have, which is compiled once.
fn integration(places: &Places) -> Command {
    let mut cargo = cargo_test(places);
    cargo
        .args(["--workspace", "--exclude", "topicbook-dylib"])
        .args(["--test", "*", "--bins", "--no-fail-fast"]);
    cargo
}

/// Tests the library without its default features, with some 90 crates in a target folder of their own. Its unit tests are
/// those of the library with them. Arithmetic is checked in all tests, because this library is a build of its own.
fn small_stack(places: &Places) -> Result<Command> {
    let mut cargo = cargo_test(places);
    for name in places.crates()? {
        for check in ["debug-assertions", "overflow-checks"] {
            cargo.args([
                "--config",
                &format!("profile.test.package.{name}.{check}=true"),
            ]);
        }
    }
    cargo
        .args(["--package", "topicbook", "--no-default-features"])
        .args(["--test", "*"])
        .env("CARGO_TARGET_DIR", places.target.join("small"));
    Ok(cargo)
}

/// Runs a program that reports like Rust's test harness, and sums its reports.
fn count(command: &mut Command) -> Result<Tally> {
    let (output, status) = printed(command)?;
    let mut tally = Tally::default();
    let mut skipped = 0;
    let mut in_failure = false;
    for line in output.lines() {
        tally += report(line);
        skipped += usize::from(line.starts_with("SKIPPED"));
        // Rust's harness prints what failed between these lines, that of Python between a traceback and the verdict.
        in_failure |= line == "failures:" || line.starts_with("Traceback");
        if in_failure {
            tally.failures.push(line.to_owned());
        }
        in_failure &= !line.starts_with("test ");
    }
    // The harness counts a skipped test as passed.
    tally.passed = tally.passed.saturating_sub(skipped);
    tally.skipped += skipped;
    // A program that fails without a failed test has crashed, or did not compile.
    if tally.failed == 0
        && let Err(error) = succeeded(command, status)
    {
        tally += failure("a test program", &error);
    }
    Ok(tally)
}

/// Runs a program, and prints its output at its end and in one piece, because another one may run at the same time.
fn printed(command: &mut Command) -> Result<(String, ExitStatus)> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    Ok((text, output.status))
}

/// The numbers of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; zeros for other lines.
fn report(line: &str) -> Tally {
    let result = line
        .trim_start()
        .strip_prefix("test result: ")
        .unwrap_or("");
    let number = |unit: &str| -> usize {
        result
            .split(['.', ';'])
            .find_map(|part| part.trim().strip_suffix(unit)?.trim().parse().ok())
            .unwrap_or(0)
    };
    Tally {
        passed: number("passed"),
        failed: number("failed"),
        skipped: number("ignored"),
        ..Tally::default()
    }
}

fn failure(name: &str, error: &Fail) -> Tally {
    eprintln!("topicbook: {error}");
    Tally {
        failed: 1,
        failures: vec![format!("FAILED: {name}: {error}")],
        ..Tally::default()
    }
}

fn counted(name: &str, work: impl FnOnce() -> Result<Tally>) -> Tally {
    let start = Instant::now();
    let mut tally = step(name, work).unwrap_or_else(|error| failure(name, &error));
    tally.parts.push((name.to_owned(), start.elapsed()));
    tally
}

fn single(name: &str, work: impl FnOnce() -> Result<()>) -> Tally {
    counted(name, || passed(work()))
}

fn passed(result: Result<()>) -> Result<Tally> {
    result.map(|()| Tally {
        passed: 1,
        ..Tally::default()
    })
}

#[cfg(test)]
mod tests {
    use super::report;

    #[test]
    fn reports_of_the_test_harness_are_counted() {
        let line = "test result: FAILED. 13 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.0s";
        let tally = report(line);
        assert_eq!((tally.passed, tally.failed, tally.skipped), (13, 2, 1));
        let tally = report("test counts::negative ... ok");
        assert_eq!((tally.passed, tally.failed, tally.skipped), (0, 0, 0));
    }
}
