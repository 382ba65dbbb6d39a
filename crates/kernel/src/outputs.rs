//! Everything that a cell shows: its value, what it prints, outputs that are updated, and the text of its error.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::comms::Comms;
use crate::errors;
use crate::message::Message;
use crate::pipe::{self, Reader};
use crate::sockets::Post;

/// How long text on the standard error is held back: it is the cell's error if the cell fails meanwhile.
const HELD: Duration = Duration::from_millis(100);

/// Minimum time between two messages of text: front ends drop messages of cells that send several hundred a second.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum bytes of text that wait for their message.
const MOST: usize = 1 << 20;

/// Sends the outputs of cells to the front ends. Copies share one state.
#[derive(Clone)]
pub struct Outputs {
    pub post: Post,
    pub comms: Arc<Comms>,
    state: Arc<Mutex<State>>,
    writer: Arc<OwnedFd>,
}

/// How a cell failed while it ran.
#[derive(Clone, Copy, PartialEq)]
pub enum Failed {
    /// A `?` returned an error.
    Error,
    Panic,
}

/// What a cell has reported about itself.
pub struct Shown {
    /// How it failed, and the text of its error.
    pub failed: Option<(Failed, String)>,
    /// The variables whose types had another definition when they were made.
    pub redefined: Vec<String>,
}

struct State {
    comms: Arc<Comms>,
    reader: Reader,
    /// The last request to run a cell: what threads print later belongs to it too.
    request: Option<Message>,
    count: u64,
    /// A value in all its forms, by MIME type, of which more forms may follow.
    value: BTreeMap<String, String>,
    /// Text on the standard output that has not been sent yet.
    printed: String,
    /// Text on the standard error that has not been sent yet, and when its end arrived.
    held: String,
    held_at: Instant,
    /// Bytes of `held` that are no error of the cell, because something follows them. They come before `printed`.
    settled: usize,
    /// When text was sent.
    sent: Option<Instant>,
    failed: Option<Failed>,
    redefined: Vec<String>,
    /// The outputs that have been shown, and are updated when they are sent again.
    shown: HashSet<String>,
}

impl Outputs {
    pub fn new(post: Post, comms: Arc<Comms>) -> Result<Self, Failure> {
        let (reader, writer) = pipe::pipe()?;
        let descriptor = reader.descriptor();
        let outputs = Self {
            post,
            comms: comms.clone(),
            state: Arc::new(Mutex::new(State {
                comms,
                reader,
                request: None,
                count: 0,
                value: BTreeMap::new(),
                printed: String::new(),
                held: String::new(),
                held_at: Instant::now(),
                settled: 0,
                sent: None,
                failed: None,
                redefined: Vec::new(),
                shown: HashSet::new(),
            })),
            writer: Arc::new(writer),
        };
        let copy = outputs.clone();
        thread::spawn(move || {
            loop {
                let due = copy.with(|state, _| state.due());
                pipe::wait([descriptor], due);
                copy.with(|state, post| {
                    state.take(post);
                    state.send_if_due(post);
                });
            }
        });
        Ok(outputs)
    }

    /// The descriptor that the process of the cells writes to.
    pub fn descriptor(&self) -> i32 {
        self.writer.as_raw_fd()
    }

    pub fn begin(&self, request: &Message, count: u64) {
        self.with(|state, post| {
            state.take(post);
            // What evcxr showed while it started belongs to no cell.
            if state.request.is_some() {
                state.send_all(post);
            }
            state.printed.clear();
            state.held.clear();
            state.settled = 0;
            state.value.clear();
            state.request = Some(request.clone());
            state.count = count;
            state.sent = None;
            state.failed = None;
            state.redefined.clear();
        });
    }

    /// How the cell has failed so far, if it has.
    pub fn failed(&self) -> Option<Failed> {
        self.with(|state, post| {
            state.take(post);
            state.failed
        })
    }

    /// Sends the text and the value of the cell that has ended. Returns the rest.
    pub fn end(&self) -> Shown {
        self.with(|state, post| {
            state.take(post);
            let failed = state.failed.take();
            match failed {
                Some(failed) => {
                    // The report of a panic begins like this; the text before it is no part of it.
                    if failed == Failed::Panic
                        && let Some(begin) = state.held.find("\nthread '")
                    {
                        state.settled = begin;
                    }
                    state.send(post);
                }
                None => state.send_all(post),
            }
            let count = state.count;
            state.send_value(post, "execute_result", |content| {
                content.insert("execution_count".into(), count.into());
            });
            Shown {
                failed: failed.map(|failed| (failed, std::mem::take(&mut state.held))),
                redefined: std::mem::take(&mut state.redefined),
            }
        })
    }

    /// Shows a line below the running cell.
    pub fn print(&self, line: &str) {
        self.with(|state, post| {
            state.send_all(post);
            state.send_text(post, "stdout", &format!("{line}\n"));
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, &Post) -> T) -> T {
        // The state is valid even after a panic of a thread that held the lock.
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        act(&mut state, &self.post)
    }
}

impl State {
    /// Handles the events that have arrived.
    fn take(&mut self, post: &Post) {
        for event in self.reader.read() {
            if let Some(kind) = event["value"].as_str() {
                self.send_all(post);
                // The form as plain text is the last of a value.
                if self.value.contains_key(kind) || self.value.contains_key("text/plain") {
                    self.send_value(post, "display_data", |_| {});
                }
                let content = event["content"].as_str().unwrap_or_default();
                self.value.insert(kind.to_owned(), content.to_owned());
            } else if let Some(failed) = event["failed"].as_str() {
                self.failed = Some(match failed {
                    "panic" => Failed::Panic,
                    _ => Failed::Error,
                });
            } else if let Some(name) = event["redefined"].as_str() {
                self.redefined.push(name.to_owned());
            } else if let Some(text) = event["stderr"].as_str() {
                self.held.push_str(text);
                self.held_at = Instant::now();
            } else if let Some(text) = event["stdout"].as_str() {
                self.send_value(post, "display_data", |_| {});
                self.printed.push_str(text);
                // Text without a line break may have been printed before the error and arrive after it.
                if self.failed.is_none() && text.ends_with('\n') {
                    self.settled = self.held.len();
                }
            } else if event["update"].is_object() {
                self.update(post, &event["update"]);
            } else if let Some(kind) = event["comm"]["kind"].as_str() {
                let [content, metadata] =
                    ["content", "metadata"].map(|name| event["comm"][name].clone());
                self.comms.sent(kind, &content);
                post.publish_with(self.request.as_ref(), kind, content, metadata);
            }
            if self.printed.len() + self.held.len() > MOST {
                self.settled = self.held.len();
                self.send(post);
            }
        }
    }

    /// The time until text must be sent.
    fn due(&self) -> Option<Duration> {
        let now = Instant::now();
        let at = if !self.printed.is_empty() || self.settled > 0 {
            self.sent.map_or(now, |sent| sent + PAUSE)
        } else if !self.held.is_empty() && self.failed.is_none() {
            self.held_at + HELD
        } else {
            return None;
        };
        Some(at.saturating_duration_since(now))
    }

    fn send_if_due(&mut self, post: &Post) {
        if self.due() == Some(Duration::ZERO) {
            if self.failed.is_none() && self.held_at.elapsed() >= HELD {
                self.settled = self.held.len();
            }
            self.send(post);
        }
    }

    /// Sends the text that waits, but for what may be the cell's error.
    fn send(&mut self, post: &Post) {
        let errors: String = self
            .held
            .drain(..std::mem::take(&mut self.settled))
            .collect();
        let printed = std::mem::take(&mut self.printed);
        for (name, text) in [("stderr", errors), ("stdout", printed)] {
            if !text.is_empty() {
                self.send_text(post, name, &text);
                self.sent = Some(Instant::now());
            }
        }
    }

    /// Sends all text that waits.
    fn send_all(&mut self, post: &Post) {
        self.settled = self.held.len();
        self.send(post);
    }

    /// Shows an output of which newer versions will follow, or puts a newer version in its place.
    fn update(&mut self, post: &Post, update: &Value) {
        let Some(id) = update["id"].as_str() else {
            return;
        };
        let kind = match self.shown.insert(id.to_owned()) {
            true => {
                self.send_all(post);
                "display_data"
            }
            false => "update_display_data",
        };
        let data = update["data"].as_object().cloned().unwrap_or_default();
        let data: Map<String, Value> = data.into_iter().map(parsed).collect();
        let data = Value::Object(data);
        let content = json!({
            "metadata": metadata(&data),
            "data": data,
            "transient": {"display_id": id},
        });
        post.publish(self.request.as_ref(), kind, content);
    }

    fn send_value(&mut self, post: &Post, kind: &str, add: impl FnOnce(&mut Map<String, Value>)) {
        // A loop has the value `()`, which is not worth showing.
        let unit = self.value.len() == 1
            && self
                .value
                .get("text/plain")
                .is_some_and(|text| text == "()");
        if self.value.is_empty() || unit {
            return self.value.clear();
        }
        if let Some(text) = self.value.get_mut("text/plain")
            && let Some(hint) = errors::of_result(text)
        {
            text.push_str(&format!("\n{hint}"));
        }
        let data: Map<String, Value> = std::mem::take(&mut self.value)
            .into_iter()
            .map(|(kind, text)| parsed((kind, text.into())))
            .collect();
        let data = Value::Object(data);
        let mut content = Map::new();
        content.insert("metadata".into(), metadata(&data));
        content.insert("data".into(), data);
        add(&mut content);
        post.publish(self.request.as_ref(), kind, Value::Object(content));
    }

    fn send_text(&self, post: &Post, name: &str, text: &str) {
        post.stream(self.request.as_ref(), name, text);
    }
}

/// A form of a value, whose text is JSON where its MIME type says so.
fn parsed((kind, value): (String, Value)) -> (String, Value) {
    let json = value.as_str().filter(|_| kind.contains("json"));
    match json.and_then(|text| serde_json::from_str(text).ok()) {
        Some(json) => (kind, json),
        None => (kind, value),
    }
}

/// Gives a picture its text form as alternative text (`alt`), for people who cannot see it.
fn metadata(data: &Value) -> Value {
    match (data.get("image/png"), data.get("text/plain")) {
        (Some(_), Some(text)) => json!({"image/png": {"alt": text}}),
        _ => json!({}),
    }
}
