//! Lines of text that are objects of JSON.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::number_text::is_wide;
use crate::system::memory::check_free;
use crate::system::parsed_json;
use crate::text::shown_path;

/// From this memory of a line's values on, it is compared with the free memory, which takes a tenth of a millisecond.
const CHECKED_BYTES: u64 = 16 << 20;

/// The fields of an object, in its order. Of fields with one name, the last has the value. A whole number beyond 2^63 is a text.
pub struct JsonLine(pub Vec<(String, Value)>);

impl<'de> Deserialize<'de> for JsonLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = JsonLine;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut object: A,
            ) -> std::result::Result<JsonLine, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = object.next_entry()? {
                    fields.push(field);
                }
                Ok(JsonLine(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl JsonLine {
    /// The object in a line of a file, the lines counted from 1; `None` in a blank one.
    ///
    /// # Errors
    /// When the line is no object, or its values need more memory than is free.
    pub fn parse(path: &Path, line: &str, number: u64) -> Result<Option<Self>> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let needed = parsed_json(line.as_bytes());
        if needed > CHECKED_BYTES {
            let what = format!("the object in line {number} of {}", shown_path(path));
            check_free(needed, &what)?;
        }
        if line.trim_start().starts_with('[') {
            return Err(
                other_layout(path, "is one list of JSON, not a line for each row")
                    .at(format!("line {number}")),
            );
        }
        let parsed = |line: &str| -> Result<Self> {
            serde_json::from_str(line).map_err(|source| {
                Error::format(path, format!("a line is no object of JSON: {source}"))
                    .at(format!("line {number}"))
                    .fix("write one object per line: {\"text\": \"...\", \"year\": 1987}")
                    .because(source)
            })
        };
        match with_wide_numbers_quoted(line) {
            None => parsed(line),
            // Quotation marks make JSON of some lines that are none, such as `{12345678901234567890: 1}`.
            Some(quoted) => parsed(line).and_then(|_| parsed(&quoted)),
        }
        .map(Some)
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().rfind(|(field, _)| field == name);
        found.map(|(_, value)| value)
    }
}

/// The error for JSON of another layout, which pandas reads.
pub fn other_layout(path: &Path, what: &str) -> Error {
    let file = shown_path(path);
    Error::format(path, what).fix(format!(
        "convert it: python3 -c \"import pandas; pandas.read_json('{file}').to_json('table.jsonl', orient='records', lines=True)\""
    ))
}

/// A line of JSON with quotation marks around whole numbers that [`is_wide`], which would lose digits as numbers; `None` if it
/// has none.
fn with_wide_numbers_quoted(line: &str) -> Option<String> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let bytes = line.as_bytes();
    // A wide number has 19 digits, so one of its bytes is among every 19th.
    let mut every = bytes.iter().skip(18).step_by(19);
    if !every.any(u8::is_ascii_digit) {
        return None;
    }
    let (mut quoted, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'"' => text_length(rest),
            byte if is_part(&byte) => rest.iter().take_while(|byte| is_part(byte)).count(),
            _ => 1,
        };
        if rest[0] != b'"' && length > 18 && is_wide(&line[at..at + length]) {
            quoted += &format!("{}\"{}\"", &line[copied..at], &line[at..at + length]);
            copied = at + length;
        }
        at += length;
    }
    (copied > 0).then(|| quoted + &line[copied..])
}

/// Bytes of the text in quotation marks that a line goes on with.
fn text_length(line: &[u8]) -> usize {
    let mut is_escaped = true;
    let end = line.iter().position(|&byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(line.len(), |end| end + 1)
}
