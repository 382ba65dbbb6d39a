//! `cargo xtask fuzz <target> [seconds]` runs this under libFuzzer; the target's name is in `TOPICBOOK_FUZZ`.

#![no_main]

use std::sync::OnceLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<&Target> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("TOPICBOOK_FUZZ").expect("TOPICBOOK_FUZZ names a target");
        fuzz::target(&name).expect("a target of that name")
    });
    target.read(data);
});
