//! The error type. Its text is for the reader of a notebook cell: what went wrong, where, and what to do about it.

use std::any::Any;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::text::{printable, shown_path};

/// Result of the fallible functions of this crate.
///
/// ```
/// use topicbook::{Counts, Result};
/// fn tokens(path: &str) -> Result<f64> {
///     Ok(Counts::open(path)?.summary()?.total())
/// }
/// assert!(tokens("no-such-file.npy").is_err());
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// An error: what went wrong, where, and what to do about it.
///
/// `Debug` (`{:?}`) prints the same text as `Display`, because evcxr prints the `Debug` form below a cell when a `?` fails.
/// The alternate form (`{:#?}`) prints the fields. The text contains the message of the underlying error, such as an error of
/// the operating system, so [`source`](std::error::Error::source) returns the cause of the underlying error.
///
/// ```
/// let error = topicbook::Counts::open("no-such-file.npy").unwrap_err();
/// assert_eq!(error.kind(), topicbook::ErrorKind::Io);
/// assert!(error.to_string().contains("no-such-file.npy"));
/// assert!(format!("{error:#?}").starts_with("Error {"));
/// ```
#[derive(Clone)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    place: Option<String>,
    remedy: Option<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The kind of an [`Error`], to match on.
///
/// ```
/// use topicbook::{Counts, ErrorKind};
/// let counts = Counts::dense(2, 2, vec![1.0, 0.0, 2.5, 3.0])?;
/// match counts.summary().unwrap_err().kind() {
///     ErrorKind::Value => {} // 2.5 is not a count
///     kind => panic!("{kind:?}"),
/// }
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file could not be opened, read or written.
    Io,
    /// A file is malformed or unsupported: truncated, wrong magic number, unsupported layout or dtype.
    Format,
    /// A value is not a count: negative, NaN, infinite, fractional, or too large for the requested dtype. Or a term is not
    /// among the terms, or blank.
    Value,
    /// Shapes do not fit each other, such as the shapes of a fit and of counts.
    Shape,
    /// A setting is out of its range.
    Setting,
    /// A requested device (CUDA) cannot be used, or failed.
    Device,
    /// A table could not be built or written.
    Table,
    /// A chart could not be drawn.
    Drawing,
    /// There is too little memory or disk space.
    Space,
    /// The notebook's stop button was pressed.
    Interrupted,
    /// A computation on another thread panicked.
    Panic,
    /// A rank of a cluster has ended, hangs or sees other counts, or its job cannot be started.
    Cluster,
}

impl Error {
    #[doc(hidden)]
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            place: None,
            remedy: None,
            source: None,
        }
    }

    /// An I/O error: `action` is a verb such as "open", "read", "write".
    #[doc(hidden)]
    pub fn io(action: &str, path: &Path, source: std::io::Error) -> Self {
        let remedy = match source.kind() {
            std::io::ErrorKind::NotFound => {
                let folder = std::env::current_dir()
                    .map(|folder| shown_path(&folder))
                    .unwrap_or_else(|_| "an unknown folder".into());
                format!("check the path; relative paths start at {folder}")
            }
            std::io::ErrorKind::PermissionDenied => {
                "check the permissions of the file and its folder".into()
            }
            std::io::ErrorKind::InvalidFilename => {
                "use a shorter name, of at most 255 bytes".into()
            }
            std::io::ErrorKind::ReadOnlyFilesystem => "name a folder on another disk".into(),
            std::io::ErrorKind::StorageFull => "free some disk space, or write elsewhere".into(),
            _ => "check that the disk is healthy and the file is not in use".into(),
        };
        Self::new(
            ErrorKind::Io,
            format!("cannot {action} {}: {source}", shown_path(path)),
        )
        .fix(remedy)
        .because(source)
    }

    /// A malformed or unsupported file.
    #[doc(hidden)]
    pub fn format(path: &Path, what: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Format, format!("{}: {what}", shown_path(path)))
    }

    /// Sets the place: row, column, entry, byte.
    #[doc(hidden)]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Sets the remedy: what to do about it.
    #[doc(hidden)]
    pub fn fix(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Sets the error that caused this one.
    #[doc(hidden)]
    pub fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The first line of the message, without place and remedy.
    #[doc(hidden)]
    pub fn headline(&self) -> &str {
        self.what.lines().next().unwrap_or_default()
    }

    /// The kind of the error, to match on.
    ///
    /// ```
    /// use topicbook::{Counts, ErrorKind};
    /// let error = Counts::open("no-such-file.npy").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where it went wrong: a row, a column, an entry of an archive, a byte; `None` where the message says it.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 2, vec![1.0, 0.0, 2.5, 3.0])?;
    /// assert_eq!(counts.summary().unwrap_err().place(), Some("row 1, column 0 (counted from 0)"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// What to do about the error, where there is something to do.
    ///
    /// ```
    /// let error = topicbook::Counts::open("no-such-file.npy").unwrap_err();
    /// assert!(error.remedy().is_some_and(|remedy| remedy.contains("check the path")));
    /// ```
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }
}

/// Functions that make errors of a kind.
macro_rules! of_kind {
    ($($name:ident $Kind:ident),*) => {
        impl Error {
            $(#[doc(hidden)]
            pub fn $name(what: impl Into<String>) -> Self {
                Self::new(ErrorKind::$Kind, what)
            })*
        }
    };
}

of_kind!(
    setting Setting, shape Shape, value Value, drawing Drawing, space Space, table Table, cluster Cluster, device Device
);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names from files may contain line breaks: lines that do not belong to the form of the message are indented.
        let text = |text: &str| printable(text).replace('\n', "\n    ");
        f.write_str(&text(&self.what))?;
        if let Some(place) = &self.place {
            write!(f, "\n  where: {}", text(place))?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  to do: {}", text(remedy))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            false => fmt::Display::fmt(self, f),
            true => f
                .debug_struct("Error")
                .field("kind", &self.kind)
                .field("what", &self.what)
                .field("place", &self.place)
                .field("remedy", &self.remedy)
                .field("source", &self.source)
                .finish(),
        }
    }
}

impl StdError for Error {
    /// The cause of the error whose message this one's text contains.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().and_then(StdError::source)
    }
}

/// An infallible conversion where a fallible one is expected: `Budget::ram(1u64 << 30)`.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()))
        .unwrap_or_else(|| "no message".into())
}
