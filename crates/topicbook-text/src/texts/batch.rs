//! Batches of texts, and the passes that read them.

use serde_json::Value;

use crate::data::{CsvRows, JsonLine};
use crate::error::Result;
use crate::text::quoted_list;

use super::labels::BatchLabels;
use super::records::{RecordReader, Records, Split};
use super::{BATCH_BYTES, Kind, Texts, files};

/// A pass over texts.
pub enum Reader {
    /// Texts in memory, or files, each of which is read by the thread that counts its terms.
    InMemory {
        texts: Texts,
        next: usize,
    },
    Records(Box<RecordReader>),
    #[cfg(feature = "polars")]
    Table(super::table::TableTexts),
}

/// Texts that one thread processes.
pub struct Batch {
    /// Bytes that were read, or will be, for the progress.
    pub bytes: u64,
    content: Content,
}

enum Content {
    /// A range of the files, or of the texts in memory.
    Range(Texts, std::ops::Range<usize>),
    Records(Records),
}

/// The text of a document.
#[derive(Clone, Copy)]
pub enum Text<'a> {
    Whole(&'a str),
    /// Its words, which another program has found.
    Tokens(&'a [String]),
}

impl Text<'_> {
    /// The first characters.
    pub fn beginning(self, characters: usize) -> String {
        match self {
            Self::Whole(text) => text.chars().take(characters).collect(),
            Self::Tokens(tokens) => tokens.join(" ").chars().take(characters).collect(),
        }
    }
}

impl Reader {
    /// The next batch; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Batch>> {
        match self {
            Self::InMemory { texts, next } => Ok(next_range(texts, next)),
            Self::Records(reader) => Ok(reader.next()?.map(|records| Batch {
                bytes: records.read,
                content: Content::Records(records),
            })),
            #[cfg(feature = "polars")]
            Self::Table(reader) => {
                let texts = reader.next()?;
                Ok(texts.and_then(|texts| next_range(&texts, &mut 0)))
            }
        }
    }

    /// Fails if the file was changed since the pass began.
    pub fn check_unchanged(&self) -> Result<()> {
        match self {
            Self::InMemory { .. } => Ok(()),
            Self::Records(reader) => reader.check_unchanged(),
            #[cfg(feature = "polars")]
            Self::Table(reader) => reader.check_unchanged(),
        }
    }
}

fn next_range(texts: &Texts, next: &mut usize) -> Option<Batch> {
    let length = |at: usize| match texts.kind.as_ref() {
        Kind::Files { files, .. } => files.get(at).map(|file| file.1),
        Kind::Memory(texts) => texts.get(at).map(|text| text.len() as u64),
        Kind::Tokens(lists) => lists.get(at).map(|list| super::token_bytes(list)),
        _ => None,
    };
    let (first, mut bytes) = (*next, 0);
    while let Some(more) = length(*next).filter(|_| bytes < BATCH_BYTES) {
        bytes += more;
        *next += 1;
    }
    (*next > first).then(|| Batch {
        bytes,
        content: Content::Range(texts.clone(), first..*next),
    })
}

impl Batch {
    /// Calls `visit` with each text; adds the other columns and fields to `labels`, if it is given.
    pub fn for_each_text(
        &self,
        mut labels: Option<&mut BatchLabels>,
        visit: &mut dyn FnMut(Text<'_>),
    ) -> Result<()> {
        let mut visit = |text: Text<'_>, labels: &mut Option<&mut BatchLabels>| {
            visit(text);
            if let Some(labels) = labels {
                labels.end_document();
            }
        };
        match &self.content {
            Content::Range(texts, range) => {
                for at in range.clone() {
                    match texts.kind.as_ref() {
                        Kind::Files { files, .. } => {
                            let text = files::read(&files[at].0, &texts.format, &texts.remarks)?;
                            visit(Text::Whole(&text), &mut labels);
                        }
                        Kind::Memory(texts) => visit(Text::Whole(&texts[at]), &mut labels),
                        Kind::Tokens(lists) => visit(Text::Tokens(&lists[at]), &mut labels),
                        _ => {}
                    }
                }
                Ok(())
            }
            Content::Records(records) => match &records.split {
                Split::Lines => {
                    for line in records.text()?.lines() {
                        visit(Text::Whole(line), &mut labels);
                    }
                    Ok(())
                }
                Split::Json(field) => records.for_each_object(field, labels, &mut visit),
                Split::Csv(..) => records.for_each_row(labels, &mut visit),
            },
        }
    }
}

/// The function that is called with each text of records.
type Visit<'v> = dyn FnMut(Text<'_>, &mut Option<&mut BatchLabels>) + 'v;

impl Records {
    fn for_each_object(
        &self,
        field: &str,
        mut labels: Option<&mut BatchLabels>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        for (line, number) in self.text()?.lines().zip(self.line..) {
            let Some(object) = JsonLine::parse(&self.path, line, number)? else {
                continue;
            };
            let Some(Value::String(text)) = object.get(field) else {
                let fields: Vec<&str> = object.0.iter().map(|(name, _)| name.as_str()).collect();
                let what = match object.get(field) {
                    None => format!("a line has no field {field:?}"),
                    Some(_) => format!("the field {field:?} is no text"),
                };
                return Err(self.wrong_line(number, what).fix(format!(
                    "name the field that has the text of every line, as Texts::open({:?})?.column(\"...\"); the line has \
                     {}",
                    self.shown_path(),
                    quoted_list(&fields, 30)
                )));
            };
            if let Some(labels) = &mut labels {
                for (name, value) in object.0.iter().filter(|(name, _)| name != field) {
                    match value {
                        Value::String(text) => labels.add(name, text),
                        Value::Number(number) => labels.add(name, &number.to_string()),
                        Value::Bool(value) => labels.add(name, &value.to_string()),
                        Value::Null | Value::Array(_) | Value::Object(_) => {}
                    }
                }
            }
            visit(Text::Whole(text), &mut labels);
        }
        Ok(())
    }

    fn for_each_row(
        &self,
        mut labels: Option<&mut BatchLabels>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let Split::Csv(header, text_column) = &self.split else {
            return Ok(());
        };
        let names = &header.names;
        if let Some(labels) = &mut labels {
            labels.has_other_separator = header.separator != b',';
        }
        let mut rows = CsvRows::new(header.separator, self.text()?.as_bytes());
        let mut is_header = self.offset == header.start as u64;
        while let Some(row) = rows.next() {
            if std::mem::take(&mut is_header) {
                continue;
            }
            if row.len() != names.len() {
                let what = format!(
                    "a row has {} values, and the header has {} names",
                    row.len(),
                    names.len()
                );
                return Err(self.wrong_line(self.line + row.line - 1, what).fix(
                    "give each row as many values as the header has names, and put values that contain the separator \
                     in quotation marks",
                ));
            }
            let mut text = "";
            for (column, (name, value)) in names.iter().zip(row.iter()).enumerate() {
                match &mut labels {
                    _ if column == *text_column => text = value,
                    Some(labels) => labels.add(name, value),
                    None => {}
                }
            }
            visit(Text::Whole(text), &mut labels);
        }
        Ok(())
    }
}
