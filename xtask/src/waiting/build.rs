// The build script of the facade in a kernel that was started before the library was built. It makes the first cell
// wait until the library is built.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

fn main() {
    let folder = std::env::var("TOPICBOOK_KERNEL").expect("the launcher sets TOPICBOOK_KERNEL");
    let folder = Path::new(&folder);
    println!("cargo::rustc-check-cfg=cfg(topicbook_waits)");
    let library = folder.join("build").join("libtopicbook_dylib.so");
    // The kernel runs a cell of its own while it starts (prelude.rs), which must not wait: no output is shown yet.
    if !library.exists() && !folder.join("started").exists() {
        println!("cargo::rustc-cfg=topicbook_waits");
        // This file never exists, so that Cargo runs the script again next time.
        println!(
            "cargo::rerun-if-changed={}",
            folder.join("nothing").display()
        );
        return;
    }
    fs::write(folder.join("waiting"), "").expect("the kernel's folder is writable");
    let log = folder.join("build.log");
    while !library.exists() {
        // The process that builds the library holds the lock until it ends.
        if File::open(&log).is_ok_and(|log| log.try_lock().is_ok()) && !library.exists() {
            eprintln!("the library could not be built, or its sources have changed meanwhile; restart the kernel");
            eprintln!("{}", fs::read_to_string(&log).unwrap_or_default());
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("cargo::rerun-if-changed=build.rs");
}
