//! A sample of the fits of `cargo xtask bench plans`, each in a control group whose limit is 5% above its budget.

use std::path::PathBuf;

use serde_json::Value;
use testkit::Cgroup;

use super::row::Row;

const ROW: &str = "TOPICBOOK_TEST_ROW";
const FOLDER: &str = "TOPICBOOK_TEST_FOLDER";
const BUDGET: &str = "TOPICBOOK_TEST_BUDGET";

const ROWS: u64 = 12;

/// Prepares a row, or fits it where there is a budget. Prints a line of JSON.
#[test]
#[ignore = "started by another test, in a process of its own"]
fn prepare_or_fit() {
    let variable = |name: &str| std::env::var(name).ok();
    let row = Row::random(variable(ROW).unwrap().parse().unwrap());
    let folder = PathBuf::from(variable(FOLDER).unwrap());
    match variable(BUDGET) {
        Some(budget) => println!("\n{}", row.fit(&folder, budget.parse().unwrap()).unwrap()),
        None => println!("\n{{\"budget\": {}}}", row.prepare(&folder).unwrap()),
    }
}

/// The line of JSON that a process has printed.
fn printed(output: &std::process::Output) -> Option<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .find_map(|line| serde_json::from_str(line).ok())
}

#[test]
fn random_fits_use_what_was_predicted_and_are_not_killed() {
    let mut wrong = Vec::new();
    for row in 0..ROWS {
        let folder = tempfile::tempdir().unwrap();
        let this = || {
            let mut program = testkit::one_test("plans::tests::prepare_or_fit");
            program.env(ROW, row.to_string()).env(FOLDER, folder.path());
            program
        };
        let prepared = printed(&this().output().unwrap()).unwrap();
        let budget = prepared["budget"].as_u64().unwrap();
        let Some(group) = Cgroup::or_skip(budget + budget / 20) else {
            return;
        };
        let output = group.run(this().env(BUDGET, budget.to_string())).unwrap();
        let what = Row::random(row).describe();
        let Some(fit) = printed(&output) else {
            let message = String::from_utf8_lossy(&output.stderr);
            panic!("{what}, budget {budget}: {}, {message}", output.status);
        };
        let [predicted, measured] =
            ["predicted", "measured"].map(|name| fit[name].as_f64().unwrap());
        println!("{what}: {predicted} bytes predicted, {measured} measured");
        // The memory of the process before a fit differs by up to a MiB from run to run.
        if (predicted - measured).abs() > (0.1 * measured).max(1_048_576.0) {
            wrong.push(format!(
                "{what}: {predicted} bytes predicted, {measured} measured"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
