//! The two passes of a vectorizer.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::counts::Counts;
use crate::counts::formats::{NewCounts, RowSink, write_rows};
use crate::data::{Documents, Terms};
use crate::error::{Error, ErrorKind, Result};
use crate::system::{DISK_FULL_REMEDY, write_atomic_sized};
use crate::text::counted;

use super::Vectorizer;
use super::document_texts::DocumentTexts;
use super::impossible;
use super::interner::Interner;
use super::pass::{PassProgress, for_each_batch};
use super::phrases;
use super::room::Room;
use super::rows::{RowCounter, Rows};
use super::scripts::Sample;
use super::term_counts::TermCounts;
use super::text_counts::{Dropped, TextCounts};
use super::texts::{Batch, BatchLabels, LabelColumns, Text, Texts};
use super::tokenizer::Tokenizer;

/// The result of the first pass.
struct First {
    vocabulary: Arc<Interner>,
    labels: LabelColumns,
    nonzeros: u64,
    largest: u32,
    dropped: Dropped,
    /// What the default pattern does to the texts.
    note: Option<String>,
}

pub(super) fn fit_transform(vectorizer: &Vectorizer, texts: &Texts) -> Result<TextCounts> {
    if let Some(error) = &vectorizer.refused {
        return Err(error.clone());
    }
    let room = Room::of(&vectorizer.budget)?;
    let mut words = vectorizer.words.clone();
    if let Some(rule) = vectorizer.phrases {
        let mut progress = PassProgress::new("looking for phrases in", texts);
        words.phrases = phrases::find(&words, rule, texts, &room, &mut progress)?;
    }
    let tokenizer = Tokenizer::new(&words)?;
    let mut notes = impossible::notes(&words, &tokenizer, vectorizer.vocabulary.as_deref())?;
    let mut progress = PassProgress::new("counting the terms of", texts);
    let first = match &vectorizer.vocabulary {
        None => count_terms(vectorizer, texts, &tokenizer, &room, &mut progress)?,
        Some(known) => count_nonzeros(known.clone(), texts, &tokenizer, &mut progress)?,
    };
    let new = NewCounts {
        documents: first.labels.documents(),
        terms: first.vocabulary.len(),
        nonzeros: first.nonzeros,
        largest: first.largest,
    };
    if new.documents == 0 {
        return Err(
            Error::new(ErrorKind::Value, format!("{texts} has no documents"))
                .fix("pass one text for each document"),
        );
    }
    if new.terms == 0 {
        return Err(no_terms(&first.dropped, new.documents, first.note));
    }
    notes.extend(first.note);
    let terms = Terms::new(first.vocabulary.iter())?;
    let documents = texts.documents(first.labels)?;
    documents.check_rows(new.documents, "the texts")?;
    let second = |sink: &mut dyn RowSink| -> Result<()> {
        for_each_batch(
            texts.reader()?,
            &mut progress,
            |batch| rows_of(batch, &tokenizer, &first.vocabulary, None),
            || Ok(()),
            |rows| {
                rows.iter()
                    .try_for_each(|(columns, counts)| sink.append(columns, counts))
            },
        )
    };
    let counts = match &vectorizer.out {
        Some(path) => write(path, new, &terms, &documents, second)?,
        None => in_memory(new, &room, second)?,
    };
    Ok(TextCounts {
        counts,
        terms,
        documents,
        vectorizer: Vectorizer {
            vocabulary: Some(first.vocabulary),
            words,
            phrases: None,
            out: None,
            ..vectorizer.clone()
        },
        dropped: first.dropped,
        notes,
        texts: DocumentTexts {
            texts: texts.clone(),
            rows: None,
        },
    })
}

/// Finds the terms, and chooses among them.
fn count_terms(
    vectorizer: &Vectorizer,
    texts: &Texts,
    tokenizer: &Tokenizer,
    room: &Room,
    progress: &mut PassProgress,
) -> Result<First> {
    let mut sample = Sample::default();
    let is_default = vectorizer.words.is_default_pattern();
    let looked_at = is_default.then_some(&mut sample);
    let (counts, labels) = count_words(texts, tokenizer, room, progress, looked_at)?;
    let bounds = (vectorizer.min_df, vectorizer.max_df);
    let selected = counts.select(labels.documents(), bounds, vectorizer.max_terms);
    Ok(First {
        vocabulary: Arc::new(selected.vocabulary),
        labels,
        nonzeros: selected.nonzeros,
        largest: selected.largest,
        dropped: selected.dropped,
        note: sample.note(),
    })
}

/// How often each term occurs in the texts, and their labels; `sample` gets the beginning of each batch.
pub(super) fn count_words(
    texts: &Texts,
    tokenizer: &Tokenizer,
    room: &Room,
    progress: &mut PassProgress,
    mut sample: Option<&mut Sample>,
) -> Result<(TermCounts, LabelColumns)> {
    let counts = TermCounts::new();
    let mut labels = LabelColumns::default();
    let is_sampled = sample.is_some();
    for_each_batch(
        texts.reader()?,
        progress,
        |batch| {
            let (mut terms, mut labels) = (counts.batch(), BatchLabels::default());
            let mut sample = Sample::default();
            batch.for_each_text(Some(&mut labels), &mut |text| {
                if let (true, Text::Whole(text)) = (is_sampled, text) {
                    sample.add(text);
                }
                terms.add_document(tokenizer, text);
            })?;
            counts.add(&terms);
            Ok((labels, sample))
        },
        || counts.prune(room.vocabulary),
        |(batch, of_batch)| {
            if let Some(sample) = &mut sample {
                sample.join(&of_batch);
            }
            labels.add(batch)
        },
    )?;
    Ok((counts, labels))
}

/// Counts documents and nonzero counts of known terms, so that the sizes of the file are known.
fn count_nonzeros(
    vocabulary: Arc<Interner>,
    texts: &Texts,
    tokenizer: &Tokenizer,
    progress: &mut PassProgress,
) -> Result<First> {
    let mut labels = LabelColumns::default();
    let (mut nonzeros, mut largest) = (0, 0);
    for_each_batch(
        texts.reader()?,
        progress,
        |batch| {
            let mut labels = BatchLabels::default();
            let rows = rows_of(batch, tokenizer, &vocabulary, Some(&mut labels))?;
            let largest = rows.counts.iter().copied().max().unwrap_or(0);
            Ok((labels, rows.counts.len() as u64, largest))
        },
        || Ok(()),
        |(batch, found, most)| {
            nonzeros += found;
            largest = largest.max(most);
            labels.add(batch)
        },
    )?;
    Ok(First {
        vocabulary,
        labels,
        nonzeros,
        largest,
        dropped: Dropped::default(),
        note: None,
    })
}

fn rows_of(
    batch: &Batch,
    tokenizer: &Tokenizer,
    vocabulary: &Interner,
    labels: Option<&mut BatchLabels>,
) -> Result<Rows> {
    let (mut counter, mut rows) = (RowCounter::new(vocabulary), Rows::default());
    batch.for_each_text(labels, &mut |text| {
        counter.add_document(tokenizer, text, &mut rows);
    })?;
    Ok(rows)
}

fn no_terms(dropped: &Dropped, documents: usize, note: Option<String>) -> Error {
    let error = Error::new(ErrorKind::Value, "no term is left");
    match dropped.sentences().as_slice() {
        [] => error.fix(note.unwrap_or_else(|| {
            "the texts have no words: look at one, and at the token pattern".into()
        })),
        why => error
            .at(format!("{}, of {}", why.join("; "), counted(documents, "document")))
            .fix(
                "lower min_df, or raise max_df: a whole number counts documents, so that 1 is one document; a number with a \
                 point is a share, so that 1.0 is all of them",
            ),
    }
}

/// Rows in memory.
struct MemoryRows {
    row_starts: Vec<u64>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl RowSink for MemoryRows {
    fn append(&mut self, columns: &[u32], counts: &[u32]) -> Result<()> {
        self.columns.extend_from_slice(columns);
        self.values.extend(counts.iter().map(|&count| count as f32));
        self.row_starts.push(self.columns.len() as u64);
        Ok(())
    }
}

fn in_memory(
    new: NewCounts,
    room: &Room,
    fill: impl FnOnce(&mut dyn RowSink) -> Result<()>,
) -> Result<Counts> {
    room.check_counts(8 * (new.nonzeros + new.documents as u64 + 1))?;
    let nonzeros = new.nonzeros as usize;
    let mut rows = MemoryRows {
        row_starts: Vec::with_capacity(new.documents + 1),
        columns: Vec::with_capacity(nonzeros),
        values: Vec::with_capacity(nonzeros),
    };
    rows.row_starts.push(0);
    fill(&mut rows)?;
    Counts::csr(
        new.documents,
        new.terms,
        rows.row_starts,
        rows.columns,
        rows.values,
    )
}

/// Writes counts, terms and documents. The three files get their names at the end, when all are complete.
fn write(
    path: &Path,
    new: NewCounts,
    terms: &Terms,
    documents: &Documents,
    fill: impl FnOnce(&mut dyn RowSink) -> Result<()>,
) -> Result<Counts> {
    let broken = |term: &&str| term.contains(['\n', '\r']) || term.trim() != *term;
    if let Some(term) = terms.iter().find(broken) {
        return Err(Error::new(
            ErrorKind::Value,
            format!("the term {term:?} cannot be a line of a file of terms"),
        )
        .fix("use a token pattern that matches no white space at the ends of a word"));
    }
    let terms_path = beside(path, "_terms.txt");
    let text_bytes: usize = terms.iter().map(|term| term.len() + 1).sum();
    write_atomic_sized(&terms_path, text_bytes as u64, DISK_FULL_REMEDY, |out| {
        for term in terms.iter() {
            writeln!(out, "{term}").map_err(|source| Error::io("write", &terms_path, source))?;
        }
        if !documents.has_names() && documents.column_names().is_empty() {
            return write_rows(path, new, fill);
        }
        let documents_path = beside(path, "_documents.csv");
        let counts = write_atomic_sized(&documents_path, 0, DISK_FULL_REMEDY, |out| {
            write_documents(documents, out)
                .map_err(|source| Error::io("write", &documents_path, source))?;
            write_rows(path, new, fill)
        })?;
        Ok(counts)
    })
}

/// `letters_terms.txt` for `letters.npz` or `letters.tbc`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}{ending}"))
}

/// Writes names and columns as CSV.
fn write_documents(documents: &Documents, out: &mut impl Write) -> std::io::Result<()> {
    let columns = documents.text_columns();
    let header = columns.iter().map(|(name, _)| quoted(name));
    write_line(out, std::iter::once("document".into()).chain(header))?;
    for row in 0..documents.len() {
        let name = documents.name(row).unwrap_or_default();
        let values = columns.iter();
        let values = values.map(|(_, texts)| quoted(texts[row].as_deref().unwrap_or_default()));
        write_line(out, std::iter::once(quoted(&name)).chain(values))?;
    }
    Ok(())
}

fn write_line<'a>(
    out: &mut impl Write,
    values: impl Iterator<Item = Cow<'a, str>>,
) -> std::io::Result<()> {
    let values: Vec<Cow<'a, str>> = values.collect();
    writeln!(out, "{}", values.join(","))
}

/// A value of CSV, in quotation marks where it needs them.
fn quoted(value: &str) -> Cow<'_, str> {
    match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")).into(),
        false => value.into(),
    }
}
