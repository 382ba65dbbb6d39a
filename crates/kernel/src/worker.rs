//! The process in which the cells run.
//!
//! evcxr sends it lines of the form `LOAD_AND_RUN <shared object> <function>` and reads the lines of its own protocol
//! (`EVCXR_...`) from the standard output. Cells print to the same standard output. So this process gives the cells
//! pipes of its own as standard output and standard error: evcxr's lines are passed on to evcxr, everything else goes to
//! the kernel as an event. A cell ends only after all that it printed has been passed on, so that no text can appear
//! below the next cell.
//!
//! SIGINT is ignored while a cell runs. A fit of the library catches it then, and ends early (see `control`).

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::Failure;
use crate::control::stop_file;
use crate::pipe::{self, CAPACITY, Writer};

/// Ends the output of a cell in each of the two pipes. It begins with a character that text does not contain.
const END: &str = "\u{1}topicbook: the cell has ended";

/// The variable that tells the library that outputs can be updated.
const UPDATES: &str = "TOPICBOOK_UPDATES";

/// Runs cells until evcxr closes the standard input.
pub fn run() -> ! {
    let code = match Worker::new().and_then(Worker::run) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("topicbook: the process of the cells failed: {error}");
            99
        }
    };
    std::process::exit(code)
}

struct Worker {
    /// evcxr's lines. The cells' own standard input is at its end: it would wait for the lines that are evcxr's.
    commands: BufReader<File>,
    /// Where evcxr reads.
    evcxr: File,
    stdout: File,
    stderr: File,
    /// Gets a message when a pipe's reader has reached the end of the cell's output.
    ends: Receiver<()>,
}

impl Worker {
    fn new() -> Result<Self, Failure> {
        // SAFETY: no other thread runs yet, so that none reads the environment meanwhile.
        unsafe {
            std::env::set_var(UPDATES, "1");
            // A backtrace would show only evcxr and the generated code.
            std::env::set_var("RUST_BACKTRACE", "0");
            libc::signal(libc::SIGINT, wait as *const () as libc::sighandler_t);
            // A file that grows beyond `ulimit -f` is then an error of its writer, as in Python.
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        let events = Writer::from_environment().ok_or("the kernel's pipe is missing")?;
        let commands = BufReader::new(duplicate(0)?);
        put(&File::open("/dev/null")?, 0)?;
        let evcxr = duplicate(1)?;
        let (stdout, stderr) = (replace(1)?, replace(2)?);
        let (sender, ends) = mpsc::channel();
        let mut passing = Passing {
            events,
            evcxr: evcxr.try_clone()?,
            ends: sender,
            value: None,
        };
        thread::spawn(move || passing.run(stdout, stderr));
        Ok(Self {
            commands,
            evcxr,
            stdout: duplicate(1)?,
            stderr: duplicate(2)?,
            ends,
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        // evcxr's cells keep their variables at this pointer.
        let mut variables = std::ptr::null_mut();
        let mut line = String::new();
        while self.commands.read_line(&mut line)? > 0 {
            let sent = std::mem::take(&mut line);
            let line = sent.trim_end_matches('\n');
            let mut words = line.split(' ');
            let (Some("LOAD_AND_RUN"), Some(path), Some(function)) =
                (words.next(), words.next(), words.next())
            else {
                return Err(format!("evcxr sent the unknown line {line}").into());
            };
            let runs;
            // SAFETY: the handlers are one that does nothing, and none. evcxr has compiled the shared object, with a
            // function of this name and type. The object is never unloaded, because variables of the cell may point into
            // it.
            unsafe {
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                runs = !stop_file().exists();
                if runs {
                    let cell = libloading::Library::new(path)?;
                    let run: libloading::Symbol<'_, extern "C" fn(*mut c_void) -> *mut c_void> =
                        cell.get(function.as_bytes())?;
                    variables = run(variables);
                    std::mem::forget(cell);
                }
                libc::signal(libc::SIGINT, wait as *const () as libc::sighandler_t);
            }
            if !runs {
                // evcxr takes a line that is no text for an error of its own, and keeps all variables as they are.
                self.evcxr.write_all(b"\xff\n")?;
                continue;
            }
            for pipe in [&mut self.stdout, &mut self.stderr] {
                writeln!(pipe, "{END}")?;
            }
            for _ in 0..2 {
                self.ends.recv()?;
            }
            writeln!(self.evcxr, "EVCXR_EXECUTION_COMPLETE")?;
        }
        Ok(())
    }
}

/// The handler of SIGINT while no cell runs.
extern "C" fn wait(_signal: libc::c_int) {}

/// The thread that passes what cells print to the kernel, and evcxr's own lines to evcxr.
struct Passing {
    events: Writer,
    evcxr: File,
    ends: Sender<()>,
    /// The MIME type and the lines of a value that is being printed.
    value: Option<(String, Vec<String>)>,
}

impl Passing {
    fn run(&mut self, mut stdout: PipeReader, mut stderr: PipeReader) {
        let (mut out, mut err) = (Arrived::default(), Arrived::default());
        let descriptors = [stdout.as_raw_fd(), stderr.as_raw_fd()];
        loop {
            let [mut has_out, has_err] = pipe::wait(descriptors, None);
            if has_err {
                if !err.read(&mut stderr) {
                    return;
                }
                // Text that the cell printed before this error text is sent first.
                [has_out] = pipe::wait([descriptors[0]], Some(Duration::ZERO));
            }
            if has_out {
                if !out.read(&mut stdout) {
                    return;
                }
                self.pass_stdout(&mut out);
            }
            if has_err {
                self.pass_stderr(&mut err);
            }
        }
    }

    fn pass_stdout(&mut self, arrived: &mut Arrived) {
        loop {
            if self.value.is_none() {
                self.send("stdout", arrived.text(&MARKS));
            }
            let Some(line) = arrived.line() else { return };
            if let Some((kind, mut content)) = self.value.take() {
                if line == "EVCXR_END_CONTENT" {
                    self.events
                        .send(&json!({"value": kind, "content": content.join("\n")}));
                    continue;
                } else if line != "EVCXR_PANIC_NOTIFICATION" {
                    content.push(line);
                    self.value = Some((kind, content));
                    continue;
                }
            }
            self.pass_mark(&line);
        }
    }

    /// Handles a line of evcxr's or of the library's own protocol.
    fn pass_mark(&mut self, line: &str) {
        if let Some(kind) = line.strip_prefix("EVCXR_BEGIN_CONTENT ") {
            self.value = Some((kind.to_owned(), Vec::new()));
        } else if let Some(update) = line.strip_prefix("TOPICBOOK_UPDATE ") {
            if let Ok(update) = serde_json::from_str::<serde_json::Value>(update) {
                self.events.send(&json!({ "update": update }));
            }
        } else if let Some(message) = line.strip_prefix("TOPICBOOK_COMM ") {
            if let Ok(message) = serde_json::from_str::<serde_json::Value>(message) {
                self.events.send(&json!({ "comm": message }));
            }
        } else if line == "TOPICBOOK_FAILED" {
            self.events.send(&json!({"failed": "error"}));
        } else if line == END {
            let _ = self.ends.send(());
        } else if line != "EVCXR_END_CONTENT" {
            match line {
                "EVCXR_ERROR_OCCURRED" => self.events.send(&json!({"failed": "error"})),
                "EVCXR_PANIC_NOTIFICATION" => self.events.send(&json!({"failed": "panic"})),
                _ => {}
            }
            if let Some(name) = line.strip_prefix(REDEFINED) {
                self.events.send(&json!({ "redefined": name }));
            }
            let _ = writeln!(self.evcxr, "{line}");
        }
    }

    fn pass_stderr(&mut self, arrived: &mut Arrived) {
        loop {
            self.send("stderr", arrived.text(&[END]));
            if arrived.line().is_none() {
                return;
            }
            let _ = self.ends.send(());
        }
    }

    fn send(&self, stream: &str, text: String) {
        if !text.is_empty() {
            self.events.send(&json!({ stream: text }));
        }
    }
}

/// evcxr's line about a variable whose type has another definition now.
const REDEFINED: &str = "EVCXR_VARIABLE_CHANGED_TYPE:";

/// The prefixes of the lines of evcxr's and of the library's own protocol. They may follow text that a cell printed
/// without a line break.
const MARKS: [&str; 10] = [
    "EVCXR_BEGIN_CONTENT ",
    "EVCXR_END_CONTENT",
    "EVCXR_ERROR_OCCURRED",
    "EVCXR_PANIC_NOTIFICATION",
    REDEFINED,
    "EVCXR_INPUT_REQUEST",
    "TOPICBOOK_UPDATE ",
    "TOPICBOOK_COMM ",
    "TOPICBOOK_FAILED",
    "\u{1}topicbook",
];

/// What has arrived through a pipe and has not been passed on.
#[derive(Default)]
struct Arrived(Vec<u8>);

impl Arrived {
    /// Reads what the pipe holds, or waits for it. False at the end of the stream.
    fn read(&mut self, pipe: &mut PipeReader) -> bool {
        let mut block = [0; CAPACITY];
        match pipe.read(&mut block) {
            Ok(bytes @ 1..) => {
                self.0.extend_from_slice(&block[..bytes]);
                true
            }
            _ => false,
        }
    }

    /// Takes the text before the first mark, or before what may become a mark or a character when more arrives.
    fn text(&mut self, marks: &[&str]) -> String {
        let whole = match std::str::from_utf8(&self.0) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.0.len(),
        };
        let begins = |at: usize| {
            let rest = &self.0[at..whole];
            marks
                .iter()
                .map(|mark| mark.as_bytes())
                .any(|mark| rest.starts_with(mark) || mark.starts_with(rest))
        };
        let end = (0..whole).find(|&at| begins(at)).unwrap_or(whole);
        let text: Vec<u8> = self.0.drain(..end).collect();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Takes a whole line; returns it without its line break.
    fn line(&mut self) -> Option<String> {
        let end = self.0.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.0.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }
}

/// A second descriptor of an open file, which the programs that a cell starts do not inherit.
fn duplicate(descriptor: RawFd) -> io::Result<File> {
    // SAFETY: the result is a new descriptor, which nothing else owns.
    unsafe {
        match libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) {
            -1 => Err(io::Error::last_os_error()),
            copy => Ok(File::from(OwnedFd::from_raw_fd(copy))),
        }
    }
}

/// Puts a new pipe in the place of a standard stream; returns the end from which to read.
fn replace(descriptor: RawFd) -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    put(&writer, descriptor)?;
    Ok(reader)
}

/// Puts an open file in the place of a standard stream.
fn put(file: &impl AsRawFd, descriptor: RawFd) -> io::Result<()> {
    // SAFETY: both descriptors are open; the standard stream's old file is closed by the call.
    match unsafe { libc::dup2(file.as_raw_fd(), descriptor) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_where_a_mark_begins_or_may_begin() {
        let mut arrived = Arrived("aé\nb".into());
        assert_eq!(arrived.text(&MARKS), "aé\nb");
        arrived.0.extend(b"tail\xc3");
        assert_eq!(arrived.text(&MARKS), "tail");
        arrived.0.extend(b"\xa9EVCXR_ERR");
        assert_eq!(arrived.text(&MARKS), "é");
        assert_eq!(
            (arrived.text(&MARKS), arrived.line()),
            (String::new(), None)
        );
        arrived.0.extend(b"OR_OCCURRED\nEVERY");
        assert_eq!(arrived.text(&MARKS), "");
        assert_eq!(arrived.line().as_deref(), Some("EVCXR_ERROR_OCCURRED"));
        assert_eq!(arrived.text(&MARKS), "EVERY");
        // Bytes that are no text are shown as such.
        arrived.0.extend(b"\xff\n");
        assert_eq!(arrived.text(&MARKS), "\u{fffd}\n");
    }
}
