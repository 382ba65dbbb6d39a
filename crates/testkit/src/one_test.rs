//! Tests in processes of their own.

use std::env;
use std::io::Result;
use std::process::{Command, Output, Stdio};

/// This program of tests again, for one test, such as `module::name`, which may be ignored otherwise. It prints what the test
/// prints.
///
/// # Panics
/// When the system cannot tell the path of the program.
pub fn one_test(name: &str) -> Command {
    let program = env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let mut command = Command::new(program);
    command
        .args(["--exact", "--include-ignored", "--nocapture", name])
        .stdin(Stdio::null());
    command
}

/// What the program of [`one_test`] has printed.
///
/// # Panics
/// When its test has not passed.
pub fn passed(output: Result<Output>) -> String {
    let output = output.unwrap_or_else(|error| panic!("this program: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}
