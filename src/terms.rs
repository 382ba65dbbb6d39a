//! The terms that the columns of counts stand for.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::display::{Card, count};
use crate::error::{Error, ErrorKind, Result};

/// Terms in the order of the columns of the counts. Cheap to clone.
///
/// ```
/// use topicbook::Terms;
/// let terms = Terms::new(vec!["spike".into(), "neuron".into()])?;
/// assert_eq!(terms.get(1), Some("neuron"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Terms {
    terms: Arc<[String]>,
}

impl Terms {
    /// Terms from a list.
    ///
    /// # Errors
    /// When there is none, or one is blank.
    pub fn new(terms: Vec<String>) -> Result<Self> {
        match terms.iter().position(|term| term.trim().is_empty()) {
            Some(blank) => Err(Error::new(ErrorKind::Value, "a term is blank")
                .at(format!("term {blank} (counted from 0)"))
                .fix("every column of the counts needs a term")),
            None if terms.is_empty() => Err(Error::new(ErrorKind::Value, "there are no terms")
                .fix("pass one term for each column of the counts")),
            None => Ok(Self {
                terms: terms.into(),
            }),
        }
    }

    /// Reads a text file (UTF-8) with one term a line, in the order of the columns.
    ///
    /// Space around a term is dropped.
    ///
    /// # Errors
    /// When the file cannot be read, is not UTF-8, holds no line or a blank one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::io("read", path, source))?;
        let text = String::from_utf8(bytes).map_err(|source| {
            let valid = &source.as_bytes()[..source.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
            Error::format(path, "is not UTF-8 text")
                .at(format!("line {line}"))
                .fix("save it as plain text in UTF-8, one term a line")
                .because(source)
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let terms: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
        if terms.is_empty() {
            return Err(Error::format(path, "is empty")
                .fix("write one term a line, in the order of the columns of the counts"));
        }
        if let Some(blank) = terms.iter().position(String::is_empty) {
            return Err(Error::format(path, "has a blank line")
                .at(format!("line {}", blank + 1))
                .fix("write one term a line, in the order of the columns of the counts"));
        }
        Self::new(terms)
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Always false: terms cannot be made from nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The term of a column, if there is one.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.terms.get(column).map(String::as_str)
    }

    /// All terms, in the order of the columns.
    pub fn as_slice(&self) -> &[String] {
        &self.terms
    }

    /// Terms that more than one column has, each once, in the order in which they repeat. They do no harm
    /// to a fit, but tables cannot tell such columns apart.
    pub fn duplicates(&self) -> Vec<String> {
        let mut seen: HashMap<&str, usize> = HashMap::with_capacity(self.len());
        let mut duplicates = Vec::new();
        for term in self.terms.iter() {
            let times = seen.entry(term).or_default();
            *times += 1;
            if *times == 2 {
                duplicates.push(term.clone());
            }
        }
        duplicates
    }

    /// Shows the number of terms and the first of them in a notebook cell.
    pub fn evcxr_display(&self) {
        const SHOWN: usize = 10;
        let mut first = self.terms[..self.len().min(SHOWN)].join(", ");
        if self.len() > SHOWN {
            first.push_str(", …");
        }
        let mut card = Card::new("Terms")
            .row("terms", count(self.len() as u64))
            .row("first", first);
        let duplicates = self.duplicates();
        if !duplicates.is_empty() {
            card = card.note(format!(
                "{} come more than once, the first is {}",
                count(duplicates.len() as u64),
                duplicates[0]
            ));
        }
        card.show();
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Terms: {}", count(self.len() as u64))
    }
}
