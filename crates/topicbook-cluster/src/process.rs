//! A process of this machine or another.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process that another process may look for after its parent has died.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Process {
    pub host: String,
    pub number: u32,
    /// Clock ticks from the boot of its machine to its start. Process numbers are reused, and this tells the processes apart.
    started: u64,
}

impl Process {
    /// A process of this machine; `None` if it has ended.
    pub(super) fn of(number: u32) -> Option<Self> {
        Some(Self {
            host: host(),
            number,
            started: started(number)?,
        })
    }

    /// Whether it runs; `None` if it is on another machine.
    pub(super) fn runs(&self) -> Option<bool> {
        (self.host == host()).then(|| started(self.number) == Some(self.started))
    }

    /// Sends it a signal, if it runs on this machine.
    pub(super) fn signal(&self, signal: libc::c_int) {
        if let (Some(true), Ok(number)) = (self.runs(), i32::try_from(self.number)) {
            // SAFETY: kill has no preconditions.
            unsafe { libc::kill(number, signal) };
        }
    }
}

/// The start time of a process of this machine; `None` if it has ended, even if its parent has not waited for it yet.
fn started(number: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of the program is in parentheses, and may contain any characters.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    match fields.first()? {
        &"Z" | &"X" => None,
        _ => fields.get(19)?.parse().ok(),
    }
}

/// The name of this machine.
pub(super) fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.split_whitespace().next() {
        Some(name) => name.into(),
        None => "a-host-without-a-name".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_runs_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert_eq!(process.runs(), Some(true));
        let later = Process {
            started: process.started + 1,
            ..process.clone()
        };
        assert_eq!(later.runs(), Some(false), "another one has its number");
        process.signal(libc::SIGKILL);
        testkit::wait_for("the end", || process.runs() == Some(false));
        child.wait().unwrap();
        let elsewhere = Process {
            host: "elsewhere".into(),
            ..process
        };
        assert_eq!(elsewhere.runs(), None);
    }
}
