//! What the kernel tells a front end about itself.

use serde_json::{Value, json};

pub fn kernel_info() -> Value {
    json!({
        "status": "ok",
        "protocol_version": "5.3",
        "implementation": "topicbook",
        "implementation_version": env!("CARGO_PKG_VERSION"),
        "language_info": {
            "name": "rust",
            "version": "",
            "mimetype": "text/rust",
            "file_extension": ".rs",
            "pygments_lexer": "rust",
            "codemirror_mode": "rust",
        },
        "banner": "topicbook: Rust in cells, compiled by evcxr",
        "help_links": [
            {"text": "Rust's standard library", "url": "https://doc.rust-lang.org/stable/std/"},
        ],
    })
}
