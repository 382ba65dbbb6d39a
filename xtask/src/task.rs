//! Errors, commands and progress lines of the set-up.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Fail>;

/// What went wrong, in words for the terminal.
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

/// Says which file an I/O error is about.
pub trait At<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| Fail(format!("{}: {error}", path.display())))
    }
}

/// Does one step and says how long it took. Everything goes to stderr, so that it is seen at once and
/// does not mix with a command's result.
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

/// A time as people say it.
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

/// A command without the variables that `cargo run` leaves behind: they would change what a build of the
/// same crates is called.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || matches!(&*name, "CARGO" | "RUSTFLAGS" | "OUT_DIR")
        {
            command.env_remove(&*name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end; its output goes to the terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Fail(format!("{} ended with {status}", name(command))))
    }
}

/// Runs a command to its end and returns what it printed.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(Fail(format!(
            "{} ended with {}",
            name(command),
            output.status
        )))
    }
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
