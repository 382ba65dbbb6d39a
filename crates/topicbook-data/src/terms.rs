//! The terms, which name the columns of counts.

use std::collections::HashMap;
use std::fmt;
use std::ops::Index;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::read_whole;
use crate::text::count;

use crate::or_ref;

/// The names of the columns of counts, in their order. Cheap to clone.
///
/// ```
/// use topicbook::Terms;
/// let terms = Terms::new(["spike", "neuron"])?;
/// assert_eq!(terms.get(1), Some("neuron"));
/// assert_eq!(&terms[0], "spike");
/// assert_eq!(terms.iter().map(str::len).sum::<usize>(), 11);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[doc(alias("vocabulary", "feature_names"))]
pub struct Terms {
    terms: Arc<[String]>,
}

impl Terms {
    /// Terms from a list: an array, a vector or any iterator of texts.
    ///
    /// ```
    /// use topicbook::Terms;
    /// let from_vector = Terms::new(vec!["spike".to_string(), "neuron".to_string()])?;
    /// assert_eq!(from_vector, Terms::new(["spike", "neuron"])?);
    /// assert!(Terms::new(["spike", ""]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the list is empty, or a term is empty or only white space.
    pub fn new<I>(terms: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let terms: Vec<String> = terms.into_iter().map(Into::into).collect();
        match terms.iter().position(|term| term.trim().is_empty()) {
            Some(blank) => Err(Error::value("a term is blank")
                .at(format!("term {blank} (counted from 0)"))
                .fix("every column of the counts needs a term")),
            None if terms.is_empty() => Err(Error::value("there are no terms")
                .fix("pass one term for each column of the counts")),
            None => Ok(Self {
                terms: terms.into(),
            }),
        }
    }

    /// Reads a text file (UTF-8) with one term per line, in the order of the columns.
    ///
    /// Space around a term and a byte order mark are removed.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("terms.txt", "spike\nneuron\n").unwrap();
    /// assert_eq!(topicbook::Terms::open("terms.txt")?.as_slice(), ["spike", "neuron"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read, is not UTF-8, is empty, has a blank line or does not fit into the free memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        /// Upper bound of a term's memory without its text: in the list, in the one that it grows from, and on the heap.
        const TERM: u64 = 112;
        let bytes = read_whole(path, 1)?;
        let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        check_free(TERM * lines, &format!("{} terms", count(lines)))?;
        let text = String::from_utf8(bytes).map_err(|source| {
            let valid = &source.as_bytes()[..source.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
            Error::format(path, "is not UTF-8 text")
                .at(format!("line {line}"))
                .fix("save it as plain text in UTF-8, one term per line")
                .because(source)
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let terms: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
        if terms.is_empty() {
            return Err(Error::format(path, "is empty")
                .fix("write one term per line, in the order of the columns of the counts"));
        }
        if let Some(blank) = terms.iter().position(String::is_empty) {
            return Err(Error::format(path, "has a blank line")
                .at(format!("line {}", blank + 1))
                .fix("write one term per line, in the order of the columns of the counts"));
        }
        Self::new(terms)
    }

    /// Number of terms.
    ///
    /// ```
    /// assert_eq!(topicbook::Terms::new(["spike", "neuron"])?.len(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Always false: there is at least one term.
    ///
    /// ```
    /// assert!(!topicbook::Terms::new(["spike"])?.is_empty());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The term of a column, if there is one.
    ///
    /// ```
    /// let terms = topicbook::Terms::new(["spike"])?;
    /// assert_eq!((terms.get(0), terms.get(1)), (Some("spike"), None));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn get(&self, column: usize) -> Option<&str> {
        self.terms.get(column).map(String::as_str)
    }

    /// All terms, in the order of the columns.
    ///
    /// ```
    /// assert_eq!(topicbook::Terms::new(["spike", "neuron"])?.as_slice(), ["spike", "neuron"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn as_slice(&self) -> &[String] {
        &self.terms
    }

    /// The terms one after the other, in the order of the columns.
    ///
    /// ```
    /// let terms = topicbook::Terms::new(["spike", "neuron"])?;
    /// assert_eq!(terms.iter().position(|term| term == "neuron"), Some(1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(String::as_str)
    }

    /// Terms of more than one column, each once, in the order of their second columns.
    ///
    /// A fit does not use the terms, but in tables such columns cannot be distinguished.
    ///
    /// ```
    /// let terms = topicbook::Terms::new(["spike", "neuron", "spike"])?;
    /// assert_eq!(terms.duplicates(), ["spike"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
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
}

or_ref!(Terms);

/// The term of a column.
///
/// # Panics
/// When there is no such column, as for a slice.
impl Index<usize> for Terms {
    type Output = str;

    fn index(&self, column: usize) -> &str {
        &self.terms[column]
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} terms", count(self.len() as u64))
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terms")
            .field("len", &self.len())
            .field("first", &self.get(0))
            .finish_non_exhaustive()
    }
}
