//! Widgets: what front ends send to the process of the cells, and what it has opened in them.
//!
//! The process sends events (`comm` in `outputs`); it reads lines of JSON from a pipe of its own, `{"comm_id": .., "data": ..}`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::message::Message;
use crate::pipe;

/// The variable that tells the process of the cells the number of the pipe's file descriptor.
pub const VARIABLE: &str = "TOPICBOOK_COMMS";

/// The longest line that a pipe takes whole, or not at all.
const LONGEST: usize = 4096;

pub struct Comms {
    writer: File,
    reader: OwnedFd,
    /// The comms that are open, and their targets.
    open: Mutex<BTreeMap<String, Value>>,
}

impl Comms {
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe::to_cells()?;
        Ok(Self {
            writer,
            reader,
            open: Mutex::default(),
        })
    }

    /// The descriptor that the process of the cells reads from.
    pub fn descriptor(&self) -> i32 {
        self.reader.as_raw_fd()
    }

    /// Notes what the process of the cells opens.
    pub fn sent(&self, kind: &str, content: &Value) {
        if let ("comm_open", Some(id)) = (kind, content["comm_id"].as_str()) {
            let target = json!({"target_name": content["target_name"]});
            // The comms of a process that has ended begin otherwise.
            let process = id.rsplit_once('-').map_or(id, |(process, _)| process);
            self.with(|open| {
                open.retain(|known, _| known.starts_with(process));
                open.insert(id.to_owned(), target);
            });
        }
    }

    /// Passes a message of a front end to the process of the cells. A process that does not read loses it: what a slider
    /// sends next says more.
    pub fn pass(&self, message: &Message) {
        let id = message.text("comm_id");
        if message.kind() == "comm_close" {
            self.with(|open| open.remove(id));
        }
        let line = json!({"comm_id": id, "data": message.content["data"]});
        let line = format!("{line}\n");
        if line.len() <= LONGEST && self.with(|open| open.contains_key(id)) {
            let _ = (&self.writer).write_all(line.as_bytes());
        }
    }

    /// The comms that are open, for a page that was loaded again.
    pub fn info(&self) -> Value {
        self.with(|open| json!({"status": "ok", "comms": open}))
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, Value>) -> T) -> T {
        act(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
