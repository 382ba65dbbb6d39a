//! `cargo xtask fuzz TARGET SECONDS` runs this under libFuzzer; the target's name is in `TOPICBOOK_FUZZ`.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("TOPICBOOK_FUZZ").expect("TOPICBOOK_FUZZ names a target");
        let found = fuzz::TARGETS.iter().find(|(known, _)| *known == name);
        found.expect("a target of that name").1
    });
    target(data);
});
