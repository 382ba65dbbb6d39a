//! The quotation marks of CSV: one opens a quoted value only where the value begins.

/// Longest value in quotes, in bytes: a longer one means that the quotes were not closed.
pub const LONGEST_QUOTED: usize = 64 << 20;

/// What a byte of a CSV file is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CsvByte {
    /// Part of a value.
    Value,
    /// A quotation mark that opens or closes a quoted value, or the first of two that stand for one.
    Quote,
    /// Part of a value that has quotation marks where none can open or close it, as in `3" nail`.
    Stray,
    /// A separator or the end of a line: the end of a value.
    End,
}

/// Where the bytes so far have ended.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark in a quoted value.
    Closed,
}

/// Takes a file byte by byte.
pub struct CsvQuotes {
    separator: u8,
    at: At,
}

impl CsvQuotes {
    /// At the start of a file.
    pub fn new(separator: u8) -> Self {
        Self {
            separator,
            at: At::Start,
        }
    }

    /// Whether the bytes so far end inside of a quoted value.
    pub fn is_open(&self) -> bool {
        self.at == At::Quoted
    }

    /// What the next byte is.
    pub fn step(&mut self, byte: u8) -> CsvByte {
        let (at, is) = match (self.at, byte) {
            (At::Quoted, b'"') => (At::Closed, CsvByte::Quote),
            (At::Quoted, _) => (At::Quoted, CsvByte::Value),
            (At::Start, b'"') => (At::Quoted, CsvByte::Quote),
            (At::Closed, b'"') => (At::Quoted, CsvByte::Value),
            (_, byte) if byte == b'\n' || byte == self.separator => (At::Start, CsvByte::End),
            // The line may end with both.
            (At::Closed, b'\r') => (At::Closed, CsvByte::Value),
            (At::Closed, _) | (At::Plain, b'"') => (At::Plain, CsvByte::Stray),
            _ => (At::Plain, CsvByte::Value),
        };
        self.at = at;
        is
    }
}
