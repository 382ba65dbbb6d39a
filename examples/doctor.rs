//! `cargo xtask doctor`: what this machine offers a fit, and whether it works.

use std::process::ExitCode;

fn main() -> ExitCode {
    let doctor = topicbook::doctor();
    print!("{doctor}");
    if doctor.is_well() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
