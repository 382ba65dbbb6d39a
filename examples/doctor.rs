//! `cargo xtask doctor`: prints the devices of this machine that fits can use, and whether they work.

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
