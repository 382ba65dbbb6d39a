//! `cargo xtask test`: everything, cheapest first, in one command that is also what CI runs.

use std::env;
use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::process::{Command, ExitCode, Stdio};

use crate::lint;
use crate::notebook;
use crate::places::Places;
use crate::setup;
use crate::task::{Fail, Result, command, run, step};

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Runs every part, also after one has failed, and prints the sum as the last line.
pub fn all(places: &Places) -> Result<ExitCode> {
    let mut tally = Tally::default();
    tally += single("format", || {
        run(command("cargo")
            .args(["fmt", "--all", "--check"])
            .current_dir(&places.root))
    });
    setup::python(places)?;
    setup::nvrtc(places);
    tally += single("compiling everything", || {
        run(cargo_test(places).arg("--no-run"))
    });
    // After the compilation, whose dependencies the lints borrow.
    tally += single("lints", || lint::clippy(places));
    tally += counted("unit, integration and documentation tests", || {
        // The output of tests that passed as well: some say there that they were skipped.
        count(cargo_test(places).args(["--", "--show-output"]))
    });
    match step("set-up of the kernel", || setup::all(places)) {
        Ok(()) => {
            tally += counted("kernel", || {
                count(
                    setup::jupyter(places, "python")
                        .arg(places.root.join("xtask/python/kernel_tests.py"))
                        .env("TOPICBOOK_KERNELS", places.kernels())
                        .env(
                            "TOPICBOOK_CARDLESS",
                            places.target.join("debug/deps/libcardless.so"),
                        ),
                )
            });
            for path in notebook::all(places)? {
                let name = format!("notebook {}", path.display());
                tally += single(&name, || notebook::execute(places, &path));
            }
            tally += counted("notebook 01 in a browser", || {
                count(
                    setup::jupyter(places, "python")
                        .arg(places.root.join("xtask/python/browser_tests.py"))
                        .arg(places.root.join("notebooks/01_quick_start.ipynb"))
                        .arg(places.build()),
                )
            });
        }
        Err(error) => {
            eprintln!("topicbook: {error}");
            tally.failed += 1;
        }
    }
    println!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    );
    Ok(if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn cargo_test(places: &Places) -> Command {
    let mut path = places.python().join("bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut cargo = command("cargo");
    cargo
        .args(["test", "--workspace", "--no-fail-fast"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target)
        // The tests of file formats call NumPy and SciPy.
        .env("TOPICBOOK_PYTHON", places.python_exe())
        .env("TOPICBOOK_NVRTC", places.nvrtc())
        .env("PATH", path);
    cargo
}

/// Runs a program that reports as Rust's test harness does, and adds up its reports.
fn count(command: &mut Command) -> Result<Tally> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut tally = Tally::default();
    let mut skipped = 0;
    let output = child
        .stdout
        .take()
        .ok_or_else(|| Fail::new("a test program without output"))?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        tally += report(&line);
        skipped += usize::from(line.starts_with("SKIPPED"));
    }
    // To the harness, a test that gave up before it tested anything has passed.
    tally.passed = tally.passed.saturating_sub(skipped);
    tally.skipped += skipped;
    // A program that fails without a failed test did not compile, or crashed.
    if !child.wait()?.success() && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// The numbers of a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; zeros of any other.
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
    }
}

fn counted(name: &str, work: impl FnOnce() -> Result<Tally>) -> Tally {
    step(name, work).unwrap_or_else(|error| {
        eprintln!("topicbook: {error}");
        Tally {
            failed: 1,
            ..Tally::default()
        }
    })
}

fn single(name: &str, work: impl FnOnce() -> Result<()>) -> Tally {
    counted(name, || {
        work().map(|()| Tally {
            passed: 1,
            ..Tally::default()
        })
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
