//! The notebook kernel: evcxr compiles and runs the cells, this program speaks Jupyter's protocol.
//!
//! evcxr's own front end, evcxr_jupyter, kills the process of the cells when a person presses the stop button, and
//! reports a failed `?` as a success. It may print an error below the wrong cell, cannot update an output, and may
//! never answer (see `sockets`). This program uses the same library, evcxr, and differs in these five points.
//!
//! Three threads and two more processes:
//!
//! - `sockets`: one thread reads and writes all sockets of Jupyter;
//! - `evaluator`: one thread owns evcxr and runs cells, completions and help, in the order of the requests;
//! - `outputs`: one thread sends what the cells print, draw and report;
//! - `worker`: the process in which the cells run. It passes everything that they print to `outputs`;
//! - `compiler`: a wrapper of rustc, which Cargo starts for each cell.

mod cell;
mod comms;
mod compiler;
mod control;
mod dep;
mod errors;
mod evaluator;
mod help;
mod kernel_info;
mod message;
mod names;
mod outputs;
mod paths;
mod pipe;
mod say;
mod sockets;
mod speed;
mod waiting;
mod worker;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The folder that the launcher made for this kernel.
fn kernel_folder() -> PathBuf {
    PathBuf::from(env::var_os("TOPICBOOK_KERNEL").unwrap_or_default())
}

fn main() -> ExitCode {
    // evcxr starts this program again, with this variable, as the process that runs the cells.
    if env::var_os("EVCXR_IS_RUNTIME").is_some() {
        worker::run();
    }
    // Cargo starts this program as the compiler of a cell.
    if env::var_os(compiler::VARIABLE).is_some() {
        return compiler::run();
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [connection_file] => sockets::serve(Path::new(connection_file), None),
        ["--say", message, connection_file] => {
            sockets::serve(Path::new(connection_file), Some(message.to_owned()))
        }
        _ => Err("usage: topicbook-evcxr [--say <message>] <connection file>".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("topicbook: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The error of everything that only a broken installation or machine can cause.
type Failure = Box<dyn std::error::Error + Send + Sync>;
