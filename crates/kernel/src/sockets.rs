//! All sockets of Jupyter, on one thread.
//!
//! The sockets of the crate zeromq keep their clients in a map with locks. A lock is handed to a waiting task before that
//! task runs, and removing a client blocks the thread until it has the lock. With several threads, that task may be in
//! the queue of the very thread that blocks, where no other thread takes it. evcxr_jupyter hangs like this in a few
//! starts of a hundred, when clients come and go while it starts. Here one thread does everything, so that no lock is
//! ever held by a task that waits, and a socket's task lets all others run between sending and receiving.
//!
//! This thread answers at once what needs no compiler, also while a cell runs or the kernel starts.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;
use zeromq::{PubSocket, RepSocket, RouterSocket, Socket, SocketRecv, SocketSend};

use crate::comms::Comms;
use crate::control::Control;
use crate::evaluator;
use crate::kernel_info::kernel_info;
use crate::message::{Message, Signer};
use crate::outputs::Outputs;
use crate::{Failure, say};

/// Maximum bytes of text that wait to be sent.
const MOST_WAITING: usize = 8 << 20;

/// Sends messages through the sockets; any thread may use it.
#[derive(Clone)]
pub struct Post {
    pub signer: Arc<Signer>,
    all: UnboundedSender<Message>,
    /// Bytes of text for all clients that have not been sent yet.
    waiting: Arc<AtomicUsize>,
    shell: UnboundedSender<Message>,
    control: UnboundedSender<Message>,
    stdin: UnboundedSender<Message>,
}

impl Post {
    /// Sends a message to all clients. If the sockets are closed, the kernel is ending.
    pub fn publish(&self, parent: Option<&Message>, kind: &str, content: Value) {
        self.publish_with(parent, kind, content, Value::Null);
    }

    /// Sends a message with metadata to all clients.
    pub fn publish_with(
        &self,
        parent: Option<&Message>,
        kind: &str,
        content: Value,
        metadata: Value,
    ) {
        let message = self.signer.message(parent, kind, content);
        let _ = self.all.send(message.with_metadata(metadata));
    }

    /// Sends text to all clients. Blocks while too much text is queued: meanwhile the pipe that the text comes from
    /// fills up, and the cell that prints it blocks too.
    pub fn stream(&self, parent: Option<&Message>, name: &str, text: &str) {
        // A client that does not read holds the others up for ten seconds at most.
        let mut tries = 0;
        while self.waiting.load(Ordering::Relaxed) > MOST_WAITING && tries < 10_000 {
            thread::sleep(Duration::from_millis(1));
            tries += 1;
        }
        self.waiting.fetch_add(text.len(), Ordering::Relaxed);
        self.publish(parent, "stream", json!({"name": name, "text": text}));
    }

    pub fn reply(&self, request: &Message, content: Value) {
        let _ = self.shell.send(self.signer.reply(request, content));
    }

    pub fn reply_on_control(&self, request: &Message, content: Value) {
        let _ = self.control.send(self.signer.reply(request, content));
    }

    /// Asks the client that sent a request for a line of text.
    pub fn ask(&self, request: &Message, content: Value) {
        let mut question = self.signer.reply(request, content);
        question.set_kind("input_request");
        let _ = self.stdin.send(question);
    }

    /// Reports that the kernel starts or stops working on a request.
    pub fn status(&self, request: Option<&Message>, state: &str) {
        self.publish(request, "status", json!({ "execution_state": state }));
    }
}

/// Serves the front ends named in Jupyter's connection file until one of them requests a shutdown. With a message,
/// every cell is answered with it, as an error.
pub fn serve(connection_file: &Path, say: Option<String>) -> Result<(), Failure> {
    let text = fs::read_to_string(connection_file)
        .map_err(|error| format!("cannot read {}: {error}", connection_file.display()))?;
    let connection: Value = serde_json::from_str(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, serve_all(connection, say))
}

async fn serve_all(connection: Value, message: Option<String>) -> Result<(), Failure> {
    let text = |name: &str| connection[name].as_str().unwrap_or_default().to_owned();
    let address = |name: &str| {
        let port = connection[name].as_u64().unwrap_or_default();
        format!("{}://{}:{port}", text("transport"), text("ip"))
    };
    let mut heartbeat = RepSocket::new();
    let mut shell = RouterSocket::new();
    let mut control = RouterSocket::new();
    let mut stdin = RouterSocket::new();
    let mut all = PubSocket::new();
    heartbeat.bind(&address("hb_port")).await?;
    shell.bind(&address("shell_port")).await?;
    control.bind(&address("control_port")).await?;
    stdin.bind(&address("stdin_port")).await?;
    all.bind(&address("iopub_port")).await?;

    let (all_sender, mut all_messages) = unbounded_channel();
    let (shell_sender, shell_messages) = unbounded_channel();
    let (control_sender, control_messages) = unbounded_channel();
    let (stdin_sender, stdin_messages) = unbounded_channel();
    let post = Post {
        signer: Arc::new(Signer::new(&text("key"))?),
        all: all_sender,
        waiting: Arc::default(),
        shell: shell_sender,
        control: control_sender,
        stdin: stdin_sender,
    };
    let (end, mut ended) = unbounded_channel();
    let (requests, inbox) = channel();
    let (lines, typed) = channel();
    let cells = Control::default();
    let comms = Arc::new(Comms::new()?);
    match message {
        Some(message) => say::start(post.clone(), inbox, message),
        None => {
            let outputs = Outputs::new(post.clone(), comms.clone())?;
            evaluator::start(outputs, inbox, typed, cells.clone())?;
        }
    }

    tokio::task::spawn_local(async move {
        while let Ok(beat) = heartbeat.recv().await {
            if heartbeat.send(beat).await.is_err() {
                return;
            }
        }
    });
    let (signer, waiting) = (post.signer.clone(), post.waiting.clone());
    tokio::task::spawn_local(async move {
        while let Some(message) = all_messages.recv().await {
            let mut frames = signer.encode(&message);
            // Front ends subscribe to all topics; the first frame is the topic.
            frames.push_front(message.kind().as_bytes().to_vec().into());
            // A client that has gone is no reason to stop.
            let _ = all.send(frames).await;
            if message.kind() == "stream" {
                waiting.fetch_sub(message.text("text").len(), Ordering::Relaxed);
            }
        }
    });
    post.status(None, "starting");
    let answer = {
        let (post, cells) = (post.clone(), cells.clone());
        move |request| answer_shell(&post, request, (&cells, &comms), &requests)
    };
    tokio::task::spawn_local(exchange(shell, shell_messages, post.signer.clone(), answer));
    let answer = move |request: Message| drop(lines.send(request.text("value").to_owned()));
    tokio::task::spawn_local(exchange(stdin, stdin_messages, post.signer.clone(), answer));
    let answer = {
        let post = post.clone();
        move |request| answer_control(&post, &request, &cells, &end)
    };
    tokio::task::spawn_local(exchange(
        control,
        control_messages,
        post.signer.clone(),
        answer,
    ));

    ended.recv().await;
    // The last messages are still on their way.
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(())
}

/// Receives requests and sends replies. Nothing else uses the socket, so that it never does both at once.
async fn exchange(
    mut socket: RouterSocket,
    mut replies: UnboundedReceiver<Message>,
    signer: Arc<Signer>,
    answer: impl Fn(Message),
) {
    loop {
        tokio::select! {
            received = socket.recv() => match received.map(|frames| signer.decode(frames)) {
                Ok(Ok(request)) => answer(request),
                Ok(Err(error)) => eprintln!("topicbook: a message cannot be read: {error}"),
                Err(error) => {
                    eprintln!("topicbook: a socket failed: {error}");
                    return;
                }
            },
            reply = replies.recv() => {
                let Some(reply) = reply else { return };
                // A client that has gone is no reason to stop.
                let _ = socket.send(signer.encode(&reply)).await;
                // Tasks that waited for the lock of this client's entry run now, before the next look at the socket.
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// Answers what needs no compiler; the evaluator gets the rest, in order.
fn answer_shell(
    post: &Post,
    request: Message,
    (cells, comms): (&Control, &Comms),
    evaluator: &Sender<Message>,
) {
    let content = match request.kind() {
        "kernel_info_request" => kernel_info(),
        "comm_info_request" => comms.info(),
        "history_request" => json!({"status": "ok", "history": []}),
        "is_complete_request" => json!({"status": "complete"}),
        "execute_request" | "complete_request" | "inspect_request" => {
            if request.kind() == "execute_request" {
                cells.received();
            }
            // The evaluator ends only with this process.
            let _ = evaluator.send(request);
            return;
        }
        "comm_open" => {
            let comm = json!({"comm_id": request.text("comm_id"), "data": {}});
            post.publish(Some(&request), "comm_close", comm);
            return;
        }
        "comm_msg" | "comm_close" => {
            // A front end sends the next state of a slider when it hears that the kernel has this one.
            post.status(Some(&request), "busy");
            comms.pass(&request);
            post.status(Some(&request), "idle");
            return;
        }
        _ => return,
    };
    post.status(Some(&request), "busy");
    post.reply(&request, content);
    post.status(Some(&request), "idle");
}

fn answer_control(post: &Post, request: &Message, cells: &Control, end: &UnboundedSender<()>) {
    post.status(Some(request), "busy");
    match request.kind() {
        "kernel_info_request" => post.reply_on_control(request, kernel_info()),
        "interrupt_request" => {
            cells.interrupt();
            post.reply_on_control(request, json!({"status": "ok"}));
        }
        "shutdown_request" => {
            cells.kill();
            let restart = request.content["restart"].as_bool().unwrap_or_default();
            post.reply_on_control(request, json!({"status": "ok", "restart": restart}));
            let _ = end.send(());
        }
        // Jupyter's debugger, which this kernel does not have.
        _ => {}
    }
    post.status(Some(request), "idle");
}
