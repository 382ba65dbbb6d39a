//! What happened, in numbers.

use std::fmt::Write;
use std::path::Path;

macro_rules! report {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What a driver has seen. Bytes, and how often.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Report {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Report {
            /// One line for each number.
            pub fn text(&self) -> String {
                let mut text = String::new();
                $(let _ = writeln!(text, "{} {}", stringify!($field), self.$field);)*
                text
            }

            /// What a process wrote into the file that `CARDLESS_REPORT` named, when it ended.
            pub fn read(path: &Path) -> Option<Self> {
                let text = std::fs::read_to_string(path).ok()?;
                let value = |name: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
                    line.parse().ok()
                };
                Some(Self { $($field: value(stringify!($field))?,)* })
            }
        }
    };
}

report! {
    /// The card's memory that is allocated, and the most that ever was.
    memory,
    memory_peak,
    allocations,
    /// Allocations that were refused because the card was full.
    refused,
    /// Pinned memory of the host that is allocated, and the most that ever was.
    pinned,
    pinned_peak,
    /// Copies to the card; those from memory that is not pinned are counted again.
    to_card,
    to_card_bytes,
    to_card_plain,
    to_card_plain_bytes,
    from_card,
    from_card_bytes,
    from_card_plain,
    on_card_bytes,
    /// Kernels that were loaded.
    kernels,
    launches,
    /// Waits of the host for a stream or an event; those that really had to; and their time in microseconds.
    synchronisations,
    waits,
    waited_microseconds,
    /// Calls with a pointer to nothing, or beyond the end.
    wrong,
    /// Copies from pinned memory out of which an earlier copy had not ended: what it still had to read was overwritten.
    overwritten,
}
