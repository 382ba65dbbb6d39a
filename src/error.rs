//! One error type, written for the person who reads it below a cell: what, where, what to do.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

use crate::display::{escape, show};

/// What every fallible function here returns.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, where, and what to do about it.
///
/// Its `Debug` form is its `Display` form, because that is what evcxr prints below a cell when a `?` fails.
///
/// ```
/// let error = topicbook::Counts::open("no-such-file.npy").unwrap_err();
/// assert_eq!(error.kind(), topicbook::ErrorKind::Io);
/// assert!(error.to_string().contains("no-such-file.npy"));
/// ```
pub struct Error {
    kind: ErrorKind,
    what: String,
    place: Option<String>,
    remedy: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kind of an [`Error`], to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be opened, read or written.
    Io,
    /// A file is not what its name says: truncated, wrong magic, unsupported layout or dtype.
    Format,
    /// A value is not a count: negative, NaN, infinite, fractional, or too large for the dtype asked for.
    Value,
    /// Two things that belong together have different shapes.
    Shape,
    /// A setting is out of its range.
    Setting,
    /// A device (CUDA) was asked for by name and cannot be used.
    Device,
    /// A table could not be made or written.
    Table,
    /// A chart could not be drawn.
    Drawing,
    /// Memory or disk space does not suffice.
    Space,
    /// A computation on another thread ended in a panic.
    Panic,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            place: None,
            remedy: None,
            source: None,
        }
    }

    /// An I/O error: `action` is a verb such as "open", "read", "write".
    pub(crate) fn io(action: &str, path: &Path, source: std::io::Error) -> Self {
        let remedy = match source.kind() {
            std::io::ErrorKind::NotFound => {
                let folder = std::env::current_dir()
                    .map(|folder| folder.display().to_string())
                    .unwrap_or_else(|_| "an unknown folder".into());
                format!("check the path; relative paths start at {folder}")
            }
            std::io::ErrorKind::PermissionDenied => {
                "check the permissions of the file and its folder".into()
            }
            std::io::ErrorKind::StorageFull => "free some disk space, or write elsewhere".into(),
            _ => "check that the disk is healthy and the file is not in use".into(),
        };
        Self::new(
            ErrorKind::Io,
            format!("cannot {action} {}: {source}", path.display()),
        )
        .fix(remedy)
        .because(source)
    }

    /// A malformed or unsupported file.
    pub(crate) fn format(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Format, format!("{}: {what}", path.display()))
    }

    /// A setting out of its range.
    pub(crate) fn setting(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Setting, what)
    }

    /// Adds the place: row, column, entry, byte.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds what to do about it.
    pub(crate) fn fix(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds the error of the library underneath.
    pub(crate) fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// What went wrong, in one line.
    pub(crate) fn headline(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }

    /// The kind, to match on.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where: a row, a column, an entry of an archive, a byte.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// What to do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// Shows the message below a cell, for an error that was kept in a variable.
    pub fn evcxr_display(&self) {
        let text = self.to_string();
        show(&format!("<pre>{}</pre>", escape(&text)), &text);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(place) = &self.place {
            write!(f, "\n  where: {place}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  to do: {remedy}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
