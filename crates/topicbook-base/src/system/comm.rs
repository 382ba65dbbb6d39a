//! Messages between a widget in a notebook's page and the process of the cells.
//!
//! topicbook's kernel passes lines of the form `TOPICBOOK_COMM {"kind": .., "content": ..}` on standard output to the front
//! ends, and what these send as lines of JSON through a pipe.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{LazyLock, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::lock::lock;

/// Who waits for messages, by the id of the comm: each gets them with its number.
type Waiting = HashMap<String, (usize, Sender<(usize, Value)>)>;

static WAITING: LazyLock<Mutex<Waiting>> = LazyLock::new(|| {
    let descriptor = std::env::var("TOPICBOOK_COMMS").ok();
    if let Some(descriptor) = descriptor.and_then(|number| number.parse().ok()) {
        // SAFETY: the kernel opened this descriptor for this process, and nothing else uses it.
        let pipe = unsafe {
            // The programs that a cell starts do not need it.
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            File::from_raw_fd(descriptor)
        };
        thread::spawn(move || pass_on(BufReader::new(pipe)));
    }
    Mutex::default()
});

fn pass_on(pipe: impl BufRead) {
    for line in pipe.lines() {
        let Ok(line) = line else { return };
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let id = message["comm_id"].as_str().unwrap_or_default();
        let waiting = lock(&WAITING);
        if let Some((number, sender)) = waiting.get(id) {
            let _ = sender.send((*number, message["data"].take()));
        }
    }
}

/// A model of ipywidgets in the front ends, and the connection to it.
pub struct Comm(String);

impl Comm {
    /// Opens a model with this state. `inbox` gets the data of its messages, with this number.
    pub fn open(state: &Value, number: usize, inbox: Sender<(usize, Value)>) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let id = format!("topicbook-{}-{made}", std::process::id());
        let mut waiting = lock(&WAITING);
        waiting.insert(id.clone(), (number, inbox));
        drop(waiting);
        send(&json!({
            "kind": "comm_open",
            "content": {
                "comm_id": id,
                "target_name": "jupyter.widget",
                "data": {"state": state, "buffer_paths": []},
            },
            // The version of the protocol of ipywidgets.
            "metadata": {"version": "2.1.0"},
        }));
        Self(id)
    }

    /// What other models call it.
    pub fn reference(&self) -> String {
        format!("IPY_MODEL_{}", self.0)
    }

    /// What shows it below a cell: a value of `application/vnd.jupyter.widget-view+json`.
    pub fn view(&self) -> String {
        json!({"version_major": 2, "version_minor": 0, "model_id": self.0}).to_string()
    }

    /// Sends the state, to a page that was loaded again.
    pub fn send_state(&self, state: &Value) {
        send(&json!({
            "kind": "comm_msg",
            "content": {
                "comm_id": self.0,
                "data": {"method": "update", "state": state, "buffer_paths": []},
            },
        }));
    }
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    // A closed standard output must not end the computation.
    let _ = writeln!(out, "TOPICBOOK_COMM {message}");
}
