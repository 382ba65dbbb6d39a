//! Everything that a cell shows: its value, what it prints, outputs that are updated, and the text of its error.

use std::collections::{BTreeMap, HashSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::message::Message;
use crate::pipe::{self, Reader};
use crate::sockets::Post;

/// Text on the standard error is held back for so long, because it is the cell's error if the cell fails meanwhile.
const HELD_MILLISECONDS: i32 = 100;

/// Sends the outputs of cells to the front ends. Copies share one state.
#[derive(Clone)]
pub struct Outputs {
    pub post: Post,
    state: Arc<Mutex<State>>,
    writer: Arc<OwnedFd>,
}

/// How a cell failed while it ran.
#[derive(Clone, Copy, PartialEq)]
pub enum Failed {
    /// A `?` met an error.
    Error,
    Panic,
}

struct State {
    reader: Reader,
    /// The last request to run a cell: what threads print later belongs to it too.
    request: Option<Message>,
    count: u64,
    /// A value in all its forms, by MIME type, of which more forms may follow.
    value: BTreeMap<String, String>,
    /// Text on the standard error that has not been sent yet.
    held: String,
    failed: Option<Failed>,
    /// The outputs that have been shown, and are updated when they are sent again.
    shown: HashSet<String>,
}

impl Outputs {
    pub fn new(post: Post) -> Result<Self, Failure> {
        let (reader, writer) = pipe::pipe()?;
        let descriptor = reader.descriptor();
        let outputs = Self {
            post,
            state: Arc::new(Mutex::new(State {
                reader,
                request: None,
                count: 0,
                value: BTreeMap::new(),
                held: String::new(),
                failed: None,
                shown: HashSet::new(),
            })),
            writer: Arc::new(writer),
        };
        let copy = outputs.clone();
        thread::spawn(move || {
            loop {
                let holding =
                    copy.with(|state, _| !state.held.is_empty() && state.failed.is_none());
                let before = copy.with(|state, _| state.held.len());
                pipe::wait(descriptor, if holding { HELD_MILLISECONDS } else { -1 });
                copy.with(|state, post| {
                    state.take(post);
                    if holding && state.failed.is_none() && state.held.len() == before {
                        state.send_held(post);
                    }
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
            match state.request {
                Some(_) => state.send_held(post),
                None => state.held.clear(),
            }
            // What evcxr showed while it started belongs to no cell.
            state.value.clear();
            state.request = Some(request.clone());
            state.count = count;
            state.failed = None;
        });
    }

    /// How the cell has failed so far, if it has.
    pub fn failed(&self) -> Option<Failed> {
        self.with(|state, post| {
            state.take(post);
            state.failed
        })
    }

    /// Sends the value of the cell that has ended. Returns the text of its error, if it failed.
    pub fn end(&self) -> Option<(Failed, String)> {
        self.with(|state, post| {
            state.take(post);
            let failed = state.failed.take();
            if failed.is_none() {
                state.send_held(post);
            }
            let count = state.count;
            state.send_value(post, "execute_result", |content| {
                content.insert("execution_count".into(), count.into());
            });
            failed.map(|failed| (failed, std::mem::take(&mut state.held)))
        })
    }

    /// Shows a line below the running cell.
    pub fn print(&self, line: &str) {
        self.with(|state, post| state.send_text(post, "stdout", &format!("{line}\n")));
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, &Post) -> T) -> T {
        // A thread that panicked left a state that is as good as any.
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
                self.send_held(post);
                if self.value.contains_key(kind) {
                    self.send_value(post, "display_data", |_| {});
                }
                let content = event["content"].as_str().unwrap_or_default();
                self.value.insert(kind.to_owned(), content.to_owned());
            } else if let Some(failed) = event["failed"].as_str() {
                self.failed = Some(match failed {
                    "panic" => Failed::Panic,
                    _ => Failed::Error,
                });
            } else if event["stream"] == "stderr" {
                self.held
                    .push_str(event["text"].as_str().unwrap_or_default());
            } else if let Some(text) = event["text"].as_str() {
                self.send_held(post);
                self.send_value(post, "display_data", |_| {});
                self.send_text(post, "stdout", text);
            } else if event["update"].is_object() {
                self.update(post, &event["update"]);
            }
        }
    }

    /// Shows an output of which newer versions will follow, or puts a newer version in its place.
    fn update(&mut self, post: &Post, update: &Value) {
        let Some(id) = update["id"].as_str() else {
            return;
        };
        let kind = match self.shown.insert(id.to_owned()) {
            true => "display_data",
            false => "update_display_data",
        };
        let content = json!({
            "data": update["data"],
            "metadata": metadata(&update["data"]),
            "transient": {"display_id": id},
        });
        post.publish(self.request.as_ref(), kind, content);
    }

    fn send_value(&mut self, post: &Post, kind: &str, add: impl FnOnce(&mut Map<String, Value>)) {
        // A loop has the value `()`, which says nothing.
        let unit = self.value.len() == 1
            && self
                .value
                .get("text/plain")
                .is_some_and(|text| text == "()");
        if self.value.is_empty() || unit {
            return self.value.clear();
        }
        let data: Map<String, Value> = std::mem::take(&mut self.value)
            .into_iter()
            .map(|(kind, text)| {
                let value = match kind.contains("json") {
                    true => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                    false => Value::String(text),
                };
                (kind, value)
            })
            .collect();
        let data = Value::Object(data);
        let mut content = Map::new();
        content.insert("metadata".into(), metadata(&data));
        content.insert("data".into(), data);
        add(&mut content);
        post.publish(self.request.as_ref(), kind, Value::Object(content));
    }

    fn send_held(&mut self, post: &Post) {
        if !self.held.is_empty() {
            let text = std::mem::take(&mut self.held);
            self.send_text(post, "stderr", &text);
        }
    }

    fn send_text(&self, post: &Post, name: &str, text: &str) {
        post.publish(
            self.request.as_ref(),
            "stream",
            json!({"name": name, "text": text}),
        );
    }
}

/// Gives a picture the text beside it as its description for people who cannot see it.
fn metadata(data: &Value) -> Value {
    match (data.get("image/png"), data.get("text/plain")) {
        (Some(_), Some(text)) => json!({"image/png": {"alt": text}}),
        _ => json!({}),
    }
}
