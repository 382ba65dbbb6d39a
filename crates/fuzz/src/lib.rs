//! Fuzz targets: bytes in the place of a file, of a setting or of a text. A target must return, whatever the bytes are;
//! whether they are read or refused does not matter.
//!
//! Two things feed them. The program `fuzz` is a coverage-guided engine for one target; its build needs a C++ compiler. A
//! [round](round::Round) gives a fixed number of mutants to every target, in processes (`worker`) whose memory is limited; the
//! tests run a short one.

pub mod corpus;
pub mod mutate;
mod outcome;
mod pages;
mod parsers;
mod probes;
mod readers;
pub mod round;
pub mod worker;

pub use outcome::{Outcome, Values};
pub use probes::PROBES;

use mutate::Structured;

/// Something that takes bytes from outside.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, which is also the name of its corpus folder and the extension of its files.
    pub name: &'static str,
    /// Whether a package of Python reads the same files, so that the values can be compared.
    pub has_peer: bool,
    /// Does with the bytes what a notebook does with a file of this extension.
    read: fn(&str, &[u8]) -> Outcome,
    /// Changes what has a meaning in the format, and makes lengths and checksums right again.
    structured: Structured,
}

impl Target {
    /// Gives it the bytes.
    pub fn read(&self, data: &[u8]) -> Outcome {
        (self.read)(self.name, data)
    }
}

#[rustfmt::skip] // one target a line
pub const TARGETS: [Target; 21] = [
    Target { name: "npy", has_peer: true, read: readers::counts, structured: mutate::npy },
    Target { name: "npz", has_peer: true, read: readers::counts, structured: mutate::npz },
    Target { name: "tbc", has_peer: true, read: readers::counts, structured: mutate::packed },
    Target { name: "safetensors", has_peer: true, read: readers::counts, structured: mutate::safetensors },
    Target { name: "csv", has_peer: true, read: readers::counts, structured: mutate::number },
    Target { name: "parquet", has_peer: true, read: readers::counts, structured: mutate::parquet },
    Target { name: "arrow", has_peer: true, read: readers::counts, structured: mutate::number },
    Target { name: "xlsx", has_peer: false, read: readers::counts, structured: mutate::xlsx },
    Target { name: "pt", has_peer: false, read: readers::counts, structured: mutate::number },
    Target { name: "h5ad", has_peer: false, read: readers::cells, structured: mutate::number },
    Target { name: "h5", has_peer: false, read: readers::cells, structured: mutate::number },
    Target { name: "mtx", has_peer: false, read: readers::counts, structured: mutate::number },
    Target { name: "txt", has_peer: false, read: readers::counts, structured: mutate::number },
    Target { name: "jsonl", has_peer: false, read: readers::texts, structured: mutate::json },
    Target { name: "html", has_peer: false, read: readers::texts, structured: mutate::markup },
    Target { name: "terms", has_peer: false, read: readers::terms, structured: mutate::markup },
    Target { name: "checkpoint", has_peer: false, read: readers::checkpoint, structured: mutate::saved },
    Target { name: "fit", has_peer: false, read: readers::fit, structured: mutate::saved },
    Target { name: "byte-size", has_peer: false, read: parsers::byte_size, structured: mutate::number },
    Target { name: "settings", has_peer: false, read: parsers::settings, structured: mutate::json },
    Target { name: "pages", has_peer: false, read: pages::shown, structured: mutate::markup },
];

/// The target of a name, probes included.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS
        .iter()
        .chain(&PROBES)
        .find(|target| target.name == name)
}
