//! The thread that owns evcxr: it runs cells and answers requests for completions and help, one after the other.

use std::collections::{HashSet, VecDeque};
use std::env;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use evcxr::{CommandContext, Error, EvalCallbacks, EvalContext, EvalContextOutputs};
use serde_json::{Value, json};

use crate::control::Control;
use crate::message::Message;
use crate::names::{Change, Names};
use crate::outputs::{Failed, Outputs};
use crate::speed::Speed;
use crate::waiting::{Library, Progress};
use crate::{cell, comms, compiler, dep, errors, help, kernel_folder, paths, pipe};

/// Starts the thread. `typed` are the lines that a person types when a cell asks for input.
pub fn start(
    outputs: Outputs,
    inbox: Receiver<Message>,
    typed: Receiver<String>,
    control: Control,
) -> std::io::Result<()> {
    // The parser calls itself for each bracket and operator that stands in another one.
    let thread = thread::Builder::new().stack_size(STACK);
    let started = thread.spawn(move || {
        let mut evaluator = Evaluator {
            outputs,
            inbox,
            waiting: VecDeque::new(),
            typed,
            control,
            evcxr: Err("the kernel has not started".into()),
            count: 0,
            names: Names::default(),
            speed: Speed::default(),
            has_analysed: false,
        };
        evaluator.evcxr = evaluator.start();
        evaluator.serve();
    });
    started.map(drop)
}

/// Address space of the thread's stack.
const STACK: usize = 1 << 28;

struct Evaluator {
    outputs: Outputs,
    inbox: Receiver<Message>,
    /// Requests that have been received but not answered.
    waiting: VecDeque<Message>,
    typed: Receiver<String>,
    control: Control,
    /// An error says why no cell can run.
    evcxr: Result<CommandContext, String>,
    /// The number of the last cell.
    count: u64,
    names: Names,
    speed: Speed,
    /// Whether rust-analyzer has inferred a type of the library's.
    has_analysed: bool,
}

/// Without a request for so long, rust-analyzer has time for its first analysis.
const IDLE: Duration = Duration::from_millis(200);
/// What it analyses first.
const FIRST: &str =
    "let topicbook_ready = topicbook::Matrix::new(0, 0, Vec::new())?;\ntopicbook_ready.";

/// How a cell failed: the name of the error and the lines that describe it.
struct Complaint {
    name: &'static str,
    lines: Vec<String>,
}

impl Evaluator {
    /// Starts evcxr and gives it the library, for which it waits if the library is still being built.
    fn start(&mut self) -> Result<CommandContext, String> {
        let worker = env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(worker);
        command.env(pipe::VARIABLE, self.outputs.descriptor().to_string());
        command.env(comms::VARIABLE, self.outputs.comms.descriptor().to_string());
        let (evcxr, outputs) =
            EvalContext::with_subprocess_command(command).map_err(|error| error.to_string())?;
        drain(outputs);
        let mut evcxr = CommandContext::with_eval_context(evcxr);
        self.control.set_process(evcxr.process_handle());
        self.wait_for_library()?;
        give_sources().map_err(|error| error.to_string())?;
        match give_library(&mut evcxr) {
            Ok(()) => Ok(evcxr),
            Err(Error::CompilationErrors(found)) => {
                Err(errors::compilation(&found, "", &self.names).join("\n"))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn wait_for_library(&mut self) -> Result<(), String> {
        let library = Library::of_this_kernel();
        // A request to run a cell waits; from then on, the progress of the build is shown below that cell.
        let mut progress: Option<Progress> = None;
        while !library.is_ready() {
            library.still_builds()?;
            match self.inbox.recv_timeout(Duration::from_millis(100)) {
                Ok(request) => {
                    if progress.is_none() && request.kind() == "execute_request" {
                        self.outputs.begin(&request, 1);
                        progress = Some(Progress::begin(&self.outputs));
                    }
                    self.waiting.push_back(request);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("the kernel is ending".into()),
            }
            if let Some(progress) = &mut progress {
                progress.show(&self.outputs, &library);
            }
        }
        if let Some(progress) = progress {
            progress.end(&self.outputs);
        }
        Ok(())
    }

    fn serve(&mut self) {
        while let Some(request) = self.next() {
            let post = self.outputs.post.clone();
            post.status(Some(&request), "busy");
            match request.kind() {
                "execute_request" => self.execute(&request),
                "complete_request" => post.reply(&request, self.complete(&request)),
                _ => post.reply(&request, self.inspect(&request)),
            }
            post.status(Some(&request), "idle");
        }
    }

    /// The next request. Where none comes at first, rust-analyzer infers a type meanwhile, because it is slow only in its first
    /// analysis of the library.
    fn next(&mut self) -> Option<Message> {
        if let Some(request) = self.waiting.pop_front() {
            return Some(request);
        }
        if let Ok(evcxr) = &mut self.evcxr
            && !self.has_analysed
        {
            match self.inbox.recv_timeout(IDLE) {
                Err(RecvTimeoutError::Timeout) => {
                    self.has_analysed = true;
                    // Nothing is missing if it fails.
                    let _ = evcxr.completions(FIRST, FIRST.len());
                }
                request => return request.ok(),
            }
        }
        self.inbox.recv().ok()
    }

    fn execute(&mut self, request: &Message) {
        let post = self.outputs.post.clone();
        let code = request.text("code");
        if code.trim().is_empty() {
            self.control.answered();
            let content =
                json!({"status": "ok", "execution_count": self.count, "user_expressions": {}});
            return post.reply(request, content);
        }
        self.count += 1;
        let count = self.count;
        post.publish(
            Some(request),
            "execute_input",
            json!({"execution_count": count, "code": code}),
        );
        self.outputs.begin(request, count);
        let before = self.variables();
        let result = self.run(request, code);
        let asked = self.control.answered();
        let shown = self.outputs.end();
        // Also evcxr's commands end the process.
        let ended = matches!(result, Err(Error::SubprocessTerminated(_)))
            || cell::has_command(code, ":clear")
            || cell::has_command(code, ":restart");
        let kept = match ended {
            true => Vec::new(),
            false => self.keep(&before),
        };
        let complaint = self.complaint(result, shown.failed, asked, code);
        let lost = self.names.update(&Change {
            count,
            failed: complaint.is_some(),
            ended,
            before,
            after: self.variables(),
            new: &cell::new_variables(code),
            redefined: &shown.redefined,
        });
        let Some(Complaint { name, mut lines }) = complaint else {
            let content = json!({"status": "ok", "execution_count": count, "user_expressions": {}, "payload": []});
            return post.reply(request, content);
        };
        if name == "Stopped" && !lost.is_empty() {
            let names: Vec<&String> = lost.iter().map(|(name, _)| name).collect();
            lines = vec![format!(
                "stopped before the cell had bound {}",
                errors::list(&names)
            )];
        } else if name != "CompileError" && name != "Ended" {
            lines.extend(errors::of_lost(&lost));
        }
        if !kept.is_empty() {
            lines.push(errors::of_kept(&kept));
        }
        let lines = errors::wrapped(lines);
        let mut content = json!({
            "ename": name,
            "evalue": lines.first().cloned().unwrap_or_default(),
            "traceback": lines,
        });
        post.publish(Some(request), "error", content.clone());
        content["status"] = "error".into();
        content["execution_count"] = count.into();
        // A client may send a cell because it has the reply; that cell must not be aborted.
        self.waiting.extend(self.inbox.try_iter());
        post.reply(request, content);
        if request.content["stop_on_error"].as_bool().unwrap_or(true) {
            self.abort();
        }
    }

    /// Runs the parts of a cell until one fails.
    fn run(&mut self, request: &Message, code: &str) -> Result<(), Error> {
        let evcxr = self
            .evcxr
            .as_mut()
            .map_err(|why| Error::Message(why.clone()))?;
        if cell::is_too_deep(code) {
            return Err(Error::Message(format!(
                "the cell has {} brackets inside of one another, and {} at most are read: bind some parts to variables",
                cell::deepest(code),
                cell::DEEPEST
            )));
        }
        if cell::returns(code) && !cell::new_variables(code).is_empty() {
            return Err(Error::Message(
                "a cell that binds variables cannot `return`: those after it would be missing. Put the rest into an `if`, or \
                 into a function."
                    .into(),
            ));
        }
        for note in dep::notes(code) {
            self.outputs.print(&note);
        }
        compiler::set_level(self.speed.level(code))?;
        let (outputs, typed, control) = (&self.outputs, &self.typed, &self.control);
        let code = cell::closed(code);
        let mut parts = cell::parts(&code);
        // An error of the compiler is found before the first part runs.
        if parts.len() > 1 && !evcxr.check(&code).is_ok_and(|found| found.is_empty()) {
            parts = vec![code];
        }
        for part in parts {
            if outputs.failed().is_some() || control.is_asked() {
                break;
            }
            let ask = |prompt: String, password: bool| {
                if request.content["allow_stdin"].as_bool() != Some(true) {
                    return String::new();
                }
                outputs
                    .post
                    .ask(request, json!({"prompt": prompt, "password": password}));
                typed.recv().unwrap_or_default()
            };
            let mut callbacks = EvalCallbacks {
                input_reader: &|input| ask(input.prompt, input.is_password),
            };
            let kept: HashSet<String> = evcxr
                .variables_and_types()
                .map(|(name, _)| name.to_owned())
                .collect();
            if let Some(bound) = cell::bound(&part, &kept) {
                match evcxr.execute_with_callbacks(&bound, &mut callbacks) {
                    // It did not compile, so nothing of it has run. The cell as it stands may compile, because it keeps
                    // temporary values longer; otherwise its errors name the right places.
                    Err(Error::CompilationErrors(_) | Error::Message(_)) if !control.is_asked() => {
                    }
                    result => {
                        result?;
                        continue;
                    }
                }
            }
            let answer = evcxr.execute_with_callbacks(&part, &mut callbacks)?;
            // Of evcxr's commands, such as `:vars`; what the cell itself shows has come from its process.
            if let Some(text) = answer.get("text/plain")
                && part.trim_start().starts_with(':')
            {
                outputs.print(text.trim_end());
            }
            // evcxr forgets the library with everything else.
            if cell::has_command(&part, ":clear") {
                give_library(evcxr)?;
            }
        }
        Ok(())
    }

    /// Takes the old values of variables that a failed cell was to bind again out of the store, in which the cell has put them
    /// back: evcxr has forgotten them. Returns their names.
    fn keep(&mut self, before: &HashSet<String>) -> Vec<String> {
        let now = self.variables();
        let mut old = compiler::kept();
        old.retain(|old| before.contains(&old.name) && !now.contains(&old.name));
        old.sort_by(|a, b| a.name.cmp(&b.name));
        let (names, statements): (Vec<_>, Vec<_>) =
            old.into_iter().map(|old| (old.name, old.statement)).unzip();
        match &mut self.evcxr {
            Ok(evcxr) if !names.is_empty() => match evcxr.execute(&statements.join("\n")) {
                Ok(_) => names,
                Err(_) => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn complaint(
        &self,
        result: Result<(), Error>,
        run_time: Option<(Failed, String)>,
        asked: bool,
        code: &str,
    ) -> Option<Complaint> {
        let (name, lines) = match (result, run_time) {
            (Err(Error::CompilationErrors(_) | Error::Message(_)), _) if asked => {
                ("Stopped", vec!["stopped before the rest of the cell ran; the variables that it has bound so far are kept".into()])
            }
            (Err(Error::CompilationErrors(found)), _) => {
                ("CompileError", errors::compilation(&found, code, &self.names))
            }
            (Err(Error::SubprocessTerminated(message)), _) => ("Ended", errors::ended(&message, asked)),
            (Err(error), _) => ("CompileError", errors::of_evcxr(&error.to_string())),
            (Ok(()), Some((Failed::Error, text))) => ("Error", errors::run_time(&text)),
            (Ok(()), Some((Failed::Panic, text))) => ("Panic", errors::run_time(&text)),
            (Ok(()), None) if asked => (
                "Stopped",
                vec!["stopped; the cell's variables are kept, and a fit holds what it has fitted so far".into()],
            ),
            (Ok(()), None) => return None,
        };
        Some(Complaint { name, lines })
    }

    /// Answers the requests to run further cells that are waiting.
    fn abort(&mut self) {
        let post = &self.outputs.post;
        self.waiting.retain(|request| {
            let runs = request.kind() == "execute_request";
            if runs {
                self.control.answered();
                post.status(Some(request), "busy");
                post.reply(request, json!({"status": "aborted"}));
                post.status(Some(request), "idle");
            }
            !runs
        });
    }

    fn variables(&self) -> HashSet<String> {
        self.evcxr
            .iter()
            .flat_map(CommandContext::variables_and_types)
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// What answers questions about a cell, unless it is too deep to be parsed.
    fn analyser(&mut self, code: &str) -> Option<&mut CommandContext> {
        let evcxr = self.evcxr.as_mut().ok();
        evcxr.filter(|_| !cell::is_too_deep(code))
    }

    fn complete(&mut self, request: &Message) -> Value {
        let code = request.text("code");
        let cursor = request.content["cursor_pos"].as_u64().unwrap_or_default() as usize;
        let position = byte_position(code, cursor);
        if let Some((start, matches)) = paths::complete(&code[..position]) {
            return completions(
                code,
                (start, position),
                matches.into_iter().map(|path| (path.clone(), path, "path")),
            );
        }
        match self
            .analyser(code)
            .map(|evcxr| evcxr.completions(code, position))
        {
            Some(Ok(found)) => {
                let range = (found.start_offset, found.end_offset);
                let own = |name: &str| name.starts_with("evcxr_") || name.starts_with("Evcxr");
                let all = found
                    .completions
                    .into_iter()
                    .filter(|completion| !own(&completion.code));
                completions(
                    code,
                    range,
                    all.map(|completion| (completion.code, completion.label, completion.kind)),
                )
            }
            _ => completions(code, (position, position), std::iter::empty()),
        }
    }

    fn inspect(&mut self, request: &Message) -> Value {
        let code = request.text("code");
        let cursor = request.content["cursor_pos"].as_u64().unwrap_or_default() as usize;
        let found = match self
            .analyser(code)
            .map(|evcxr| evcxr.hover_at(code, byte_position(code, cursor)))
        {
            Some(Ok((plain, html))) if plain != "No documentation found" => {
                json!({"text/plain": help::plain(&plain), "text/html": help::html(&html)})
            }
            _ => json!({}),
        };
        json!({"status": "ok", "found": found != json!({}), "data": found, "metadata": {}})
    }
}

/// The reply to a request for completions: names, what a list shows for them, and their kinds.
fn completions<'a>(
    code: &str,
    (start, end): (usize, usize),
    all: impl Iterator<Item = (String, String, &'a str)>,
) -> Value {
    let characters = |position: usize| {
        code.get(..position)
            .map_or(0, |before| before.chars().count())
    };
    let (start, end) = (characters(start), characters(end));
    let (matches, types): (Vec<_>, Vec<_>) = all
        .map(|(name, label, kind)| {
            (
                name,
                json!({"text": label, "type": kind, "start": start, "end": end}),
            )
        })
        .unzip();
    json!({
        "status": "ok",
        "matches": matches,
        "cursor_start": start,
        "cursor_end": end,
        "metadata": {"_jupyter_types_experimental": types},
    })
}

/// The position in bytes of a position in characters.
fn byte_position(code: &str, characters: usize) -> usize {
    code.char_indices()
        .nth(characters)
        .map_or(code.len(), |(position, _)| position)
}

/// Tells evcxr of the library, and how cells are compiled.
fn give_library(evcxr: &mut CommandContext) -> Result<(), Error> {
    evcxr.execute(&compiler::commands()?)?;
    evcxr.execute(":load_config --quiet").map(drop)
}

/// Gives rust-analyzer the sources of the standard library (see `SOURCES` in the launcher's session.rs).
fn give_sources() -> std::io::Result<()> {
    let (std, sources) = ["std", "std-sources"]
        .map(|name| kernel_folder().join(name))
        .into();
    std::fs::rename(&std, std.with_extension("empty"))?;
    std::fs::rename(sources, std)
}

/// Everything that cells print arrives by the pipe; what arrives here was printed before the pipe was ready.
fn drain(outputs: EvalContextOutputs) {
    for channel in [outputs.stdout, outputs.stderr] {
        thread::spawn(move || channel.iter().for_each(|line| eprintln!("{line}")));
    }
}
