//! Errors, commands and progress lines of the set-up.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Fail>;

/// An error, as a message for the terminal.
pub struct Fail(String);

impl Fail {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Fail {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Adds the path of the file to an I/O error.
pub trait At<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| Fail(format!("{}: {error}", path.display())))
    }
}

/// Runs one step and prints how long it took. All lines go to stderr, so that they appear at once and do not mix with a
/// command's result.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("topicbook: {what} ...");
    let start = Instant::now();
    let result = work();
    let took = seconds(start.elapsed());
    match &result {
        Ok(_) => eprintln!("topicbook: {what}: done in {took}"),
        Err(_) => eprintln!("topicbook: {what}: failed after {took}"),
    }
    result
}

/// Formats a time, such as `2.5 s` or `3 min 20 s`.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 90.0 {
        format!("{seconds:.1} s")
    } else {
        format!(
            "{:.0} min {:.0} s",
            (seconds / 60.0).floor(),
            seconds % 60.0
        )
    }
}

/// A command without the environment variables that `cargo run` has set, and without `CI`, which a crate of the kernel
/// reads at compile time. With them Cargo would take the same crates for other ones and build them again.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || matches!(&*name, "CARGO" | "CI" | "RUSTFLAGS" | "OUT_DIR")
        {
            command.env_remove(&*name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command until it ends; its output goes to the terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    succeeded(command, status)
}

/// Fails if a command that has ended with this status has failed.
pub fn succeeded(command: &Command, status: ExitStatus) -> Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(Fail(format!("{} ended with {status}", name(command)))),
    }
}

/// Runs a command until it ends and returns what it printed to stdout.
pub fn output(command: &mut Command) -> Result<String> {
    output_by_line(command, |_| ())
}

/// [`output`] that calls `note` with each line when it comes.
pub fn output_by_line(command: &mut Command, mut note: impl FnMut(&str)) -> Result<String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let mut text = String::new();
    if let Some(mut lines) = child.stdout.take().map(BufReader::new) {
        let mut from = 0;
        while lines.read_line(&mut text)? > 0 {
            note(&text[from..]);
            from = text.len();
        }
    }
    let status = child.wait()?;
    succeeded(command, status)?;
    Ok(text.trim().to_owned())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Fail {
    Fail(format!("cannot start {}: {error}", name(command)))
}

fn name(command: &Command) -> String {
    let mut name = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args().take(3) {
        name.push(' ');
        name.push_str(&argument.to_string_lossy());
    }
    name
}
