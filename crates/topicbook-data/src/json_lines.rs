//! Lines of text that are objects of JSON.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::parsed_json;
use crate::text::shown_path;

/// From this memory of a line's values on, it is compared with the free memory, which takes a tenth of a millisecond.
const CHECKED_BYTES: u64 = 16 << 20;

/// The fields of an object, in its order. Of fields with one name, the last has the value.
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
        let object = serde_json::from_str(line).map_err(|source| {
            Error::format(path, format!("a line is no object of JSON: {source}"))
                .at(format!("line {number}"))
                .fix("write one object per line: {\"text\": \"...\", \"year\": 1987}")
                .because(source)
        })?;
        Ok(Some(object))
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().rfind(|(field, _)| field == name);
        found.map(|(_, value)| value)
    }
}
