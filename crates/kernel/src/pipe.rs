//! The pipe from the process of the cells to the kernel: one JSON value a line.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

/// The variable that tells the process of the cells the number of the pipe's file descriptor.
pub const VARIABLE: &str = "TOPICBOOK_EVENTS";

/// Bytes that a pipe of Linux holds; whoever writes more waits.
pub const CAPACITY: usize = 1 << 16;

/// The end of the pipe that the kernel reads, without waiting.
pub struct Reader {
    file: File,
    /// The beginning of a line of which the end has not been read yet.
    rest: Vec<u8>,
}

/// Makes a pipe. Its write end is inherited by every process that this one starts, and stays open as long as this
/// process, so that the reader never sees its end.
pub fn pipe() -> io::Result<(Reader, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    set_up(reader.as_raw_fd(), writer.as_raw_fd())?;
    let reader = Reader {
        file: File::from(reader),
        rest: Vec::new(),
    };
    Ok((reader, writer))
}

/// Makes a pipe to the process of the cells: its read end is inherited, and writing to it never waits.
pub fn to_cells() -> io::Result<(OwnedFd, File)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    set_up(writer.as_raw_fd(), reader.as_raw_fd())?;
    Ok((reader, File::from(writer)))
}

/// This process never waits at its end, and the processes that it starts have the other one.
fn set_up(own: RawFd, inherited: RawFd) -> io::Result<()> {
    set_flag(own, libc::F_GETFL, libc::F_SETFL, |flags| {
        flags | libc::O_NONBLOCK
    })?;
    set_flag(inherited, libc::F_GETFD, libc::F_SETFD, |flags| {
        flags & !libc::FD_CLOEXEC
    })
}

impl Reader {
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The events that have arrived; at least those that had been sent before the call.
    pub fn read(&mut self) -> Vec<Value> {
        let mut block = [0; CAPACITY];
        let known = self.rest.len();
        // An error means that nothing is there yet.
        for _ in 0..2 {
            let Ok(bytes @ 1..) = io::Read::read(&mut self.file, &mut block) else {
                break;
            };
            self.rest.extend_from_slice(&block[..bytes]);
        }
        let new = &self.rest[known..];
        let Some(end) = new.iter().rposition(|&byte| byte == b'\n') else {
            return Vec::new();
        };
        let lines: Vec<u8> = self.rest.drain(..=known + end).collect();
        lines
            .split(|&byte| byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect()
    }
}

/// Waits until one of the pipes has something to read, or the time has passed. Returns which have; a closed pipe counts
/// as having something.
pub fn wait<const N: usize>(descriptors: [RawFd; N], time: Option<Duration>) -> [bool; N] {
    let mut asked = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let milliseconds = time.map_or(-1, |time| time.as_micros().div_ceil(1000) as i32);
    // SAFETY: the pointer is to N valid entries, and they live until the call returns.
    unsafe { libc::poll(asked.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    asked.map(|asked| asked.revents != 0)
}

/// The end of the pipe that the process of the cells writes to.
pub struct Writer(Mutex<File>);

impl Writer {
    /// The pipe that the kernel has named in the environment.
    pub fn from_environment() -> Option<Self> {
        let descriptor: RawFd = std::env::var(VARIABLE).ok()?.parse().ok()?;
        // The programs that a cell starts do not need it.
        set_flag(descriptor, libc::F_GETFD, libc::F_SETFD, |flags| {
            flags | libc::FD_CLOEXEC
        })
        .ok()?;
        // SAFETY: the kernel opened this descriptor for this process, and nothing else here uses it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        Some(Self(Mutex::new(file)))
    }

    /// Sends one event. An error is ignored, because then the kernel has ended.
    pub fn send(&self, event: &Value) {
        let line = format!("{event}\n");
        if let Ok(mut file) = self.0.lock() {
            let _ = file.write_all(line.as_bytes());
        }
    }
}

fn set_flag(descriptor: RawFd, get: i32, set: i32, change: impl Fn(i32) -> i32) -> io::Result<()> {
    // SAFETY: the two calls read and write flags of a descriptor, and touch no memory.
    unsafe {
        let flags = libc::fcntl(descriptor, get);
        match flags >= 0 && libc::fcntl(descriptor, set, change(flags)) >= 0 {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    }
}
