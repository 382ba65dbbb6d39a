//! Output of a notebook cell that is updated in place.
//!
//! topicbook's kernel takes lines of the form `TOPICBOOK_UPDATE {"id": ..., "data": {MIME type: content}}` from standard
//! output. The first line with an id shows a new output below the cell. Each later line replaces its content, also after the
//! cell has ended. The kernel sets a variable, so that other programs and kernels never get such lines.

use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

static KERNEL: LazyLock<bool> = LazyLock::new(|| std::env::var_os("TOPICBOOK_UPDATES").is_some());

/// Whether the process runs the cells of topicbook's own kernel, which updates outputs and passes on its stop button.
pub fn in_own_kernel() -> bool {
    *KERNEL
}

/// An output that can be shown again with new content.
pub struct LiveOutput {
    id: String,
}

impl LiveOutput {
    /// `None` where outputs cannot be updated. Nothing is shown before [`show`](Self::show).
    pub fn new() -> Option<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        in_own_kernel().then(|| Self {
            id: format!(
                "topicbook-{}-{}",
                std::process::id(),
                MADE.fetch_add(1, Ordering::Relaxed)
            ),
        })
    }

    /// Replaces the content, by MIME type.
    pub fn show(&self, contents: &[(&str, &str)]) {
        let data: Map<String, Value> = contents
            .iter()
            .map(|&(mime, content)| (mime.to_owned(), content.into()))
            .collect();
        let mut out = std::io::stdout().lock();
        // A closed standard output must not end the computation.
        let _ = writeln!(
            out,
            "TOPICBOOK_UPDATE {}",
            json!({"id": self.id, "data": data})
        );
    }
}
