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
use std::io::{self, BufRead, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use serde_json::json;

use crate::Failure;
use crate::control::stop_file;
use crate::pipe::Writer;

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
    /// Where evcxr reads.
    evcxr: File,
    stdout: File,
    stderr: File,
    /// Gets a message when a pipe's reader has met the end of the cell's output.
    ends: Receiver<()>,
}

impl Worker {
    fn new() -> Result<Self, Failure> {
        // SAFETY: no other thread runs yet, so that none reads the environment meanwhile.
        unsafe {
            std::env::set_var(UPDATES, "1");
            // The frames of a panic are those of evcxr and of the generated code.
            std::env::set_var("RUST_BACKTRACE", "0");
            libc::signal(libc::SIGINT, wait as *const () as libc::sighandler_t);
        }
        let events = Arc::new(Writer::from_environment().ok_or("the kernel's pipe is missing")?);
        let evcxr = duplicate(1)?;
        let (stdout, stderr) = (replace(1)?, replace(2)?);
        let (sender, ends) = mpsc::channel();
        {
            let (events, mut evcxr, sender) = (events.clone(), evcxr.try_clone()?, sender.clone());
            thread::spawn(move || pass_stdout(stdout, &events, &mut evcxr, &sender));
        }
        thread::spawn(move || pass_stderr(stderr, &events, &sender));
        Ok(Self {
            evcxr,
            stdout: duplicate(1)?,
            stderr: duplicate(2)?,
            ends,
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        // evcxr's cells keep their variables behind this pointer.
        let mut variables = std::ptr::null_mut();
        for line in io::stdin().lock().lines() {
            let line = line?;
            let mut words = line.split(' ');
            let (Some("LOAD_AND_RUN"), Some(path), Some(function)) =
                (words.next(), words.next(), words.next())
            else {
                return Err(format!("evcxr sent the unknown line {line}").into());
            };
            // SAFETY: the handlers are one that does nothing, and none. evcxr has compiled the shared object, with a
            // function of this name and type. The object is never unloaded, because variables of the cell may point into
            // it.
            unsafe {
                libc::signal(libc::SIGINT, libc::SIG_IGN);
                if stop_file().exists() {
                    // evcxr forgets the variables that the cell would have bound.
                    writeln!(self.evcxr, "EVCXR_ERROR_OCCURRED")?;
                } else {
                    let cell = libloading::Library::new(path)?;
                    let run: libloading::Symbol<'_, extern "C" fn(*mut c_void) -> *mut c_void> =
                        cell.get(function.as_bytes())?;
                    variables = run(variables);
                    std::mem::forget(cell);
                }
                libc::signal(libc::SIGINT, wait as *const () as libc::sighandler_t);
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

/// Passes the standard output of cells to the kernel, and evcxr's own lines to evcxr.
fn pass_stdout(mut pipe: PipeReader, events: &Writer, evcxr: &mut File, ends: &Sender<()>) {
    let mut lines = Lines::default();
    // The MIME type and the lines of a value that is being printed.
    let mut value: Option<(String, Vec<String>)> = None;
    while lines.read(&mut pipe) {
        while let Some(line) = lines.next(|start| value.is_some() || may_be_marked(start)) {
            let text = line.strip_suffix('\n').unwrap_or(&line);
            if let Some((kind, mut content)) = value.take() {
                if text == "EVCXR_END_CONTENT" {
                    events.send(&json!({"value": kind, "content": content.join("\n")}));
                } else if text != "EVCXR_PANIC_NOTIFICATION" {
                    content.push(text.to_owned());
                    value = Some((kind, content));
                    continue;
                }
            }
            // evcxr's lines may follow text that a cell printed without a line break.
            let (before, text) = text.split_at(marked(text).unwrap_or(text.len()));
            if text.is_empty() {
                events.send(&json!({"stream": "stdout", "text": line}));
                continue;
            }
            if !before.is_empty() {
                events.send(&json!({"stream": "stdout", "text": before}));
            }
            if let Some(kind) = text.strip_prefix("EVCXR_BEGIN_CONTENT ") {
                value = Some((kind.to_owned(), Vec::new()));
            } else if let Some(update) = text.strip_prefix("TOPICBOOK_UPDATE ") {
                if let Ok(update) = serde_json::from_str::<serde_json::Value>(update) {
                    events.send(&json!({ "update": update }));
                }
            } else if text == END {
                let _ = ends.send(());
            } else if text != "EVCXR_END_CONTENT" {
                match text {
                    "EVCXR_ERROR_OCCURRED" => events.send(&json!({"failed": "error"})),
                    "EVCXR_PANIC_NOTIFICATION" => events.send(&json!({"failed": "panic"})),
                    _ => {}
                }
                let _ = writeln!(evcxr, "{text}");
            }
        }
    }
}

/// Where a line of evcxr's or of the library's own protocol begins.
fn marked(text: &str) -> Option<usize> {
    MARKS.iter().filter_map(|mark| text.find(mark)).min()
}

const MARKS: [&str; 8] = [
    "EVCXR_BEGIN_CONTENT ",
    "EVCXR_END_CONTENT",
    "EVCXR_ERROR_OCCURRED",
    "EVCXR_PANIC_NOTIFICATION",
    "EVCXR_VARIABLE_CHANGED_TYPE:",
    "EVCXR_INPUT_REQUEST",
    "TOPICBOOK_UPDATE ",
    "\u{1}topicbook",
];

/// Whether an unfinished line may become one of evcxr's or of the library's own protocol.
fn may_be_marked(start: &str) -> bool {
    marked(start).is_some()
        || MARKS
            .iter()
            .any(|mark| (1..mark.len()).any(|length| start.ends_with(&mark[..length])))
}

/// Passes the standard error of cells to the kernel.
fn pass_stderr(mut pipe: PipeReader, events: &Writer, ends: &Sender<()>) {
    let mut lines = Lines::default();
    while lines.read(&mut pipe) {
        while let Some(line) = lines.next(|start| start.starts_with('\u{1}')) {
            // The end may follow text that does not end with a line break.
            if let Some(text) = line
                .strip_suffix('\n')
                .and_then(|line| line.strip_suffix(END))
            {
                if !text.is_empty() {
                    events.send(&json!({"stream": "stderr", "text": text}));
                }
                let _ = ends.send(());
            } else {
                events.send(&json!({"stream": "stderr", "text": line}));
            }
        }
    }
}

/// Cuts a stream of bytes into lines.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Reads what has arrived, or waits for it. False at the end of the stream.
    fn read(&mut self, pipe: &mut PipeReader) -> bool {
        let mut block = [0; 1 << 16];
        match pipe.read(&mut block) {
            Ok(bytes @ 1..) => {
                self.0.extend_from_slice(&block[..bytes]);
                true
            }
            _ => false,
        }
    }

    /// The next line with its line break, or, if `waits` does not hold for it, a line of which the end is missing yet.
    fn next(&mut self, waits: impl Fn(&str) -> bool) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let end = match self.0.iter().position(|&byte| byte == b'\n') {
            Some(end) => end + 1,
            None => {
                // A character may be cut in its middle.
                let whole = match std::str::from_utf8(&self.0) {
                    Ok(text) => text.len(),
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    Err(_) => self.0.len(),
                };
                let start = String::from_utf8_lossy(&self.0[..whole]);
                // The end of a cell stands behind text without a line break.
                if whole == 0 || waits(&start) || start.contains('\u{1}') {
                    return None;
                }
                whole
            }
        };
        let line: Vec<u8> = self.0.drain(..end).collect();
        Some(String::from_utf8_lossy(&line).into_owned())
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
    // SAFETY: both descriptors are open; the standard stream's old file is closed by the call.
    match unsafe { libc::dup2(writer.as_raw_fd(), descriptor) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(reader),
    }
}
