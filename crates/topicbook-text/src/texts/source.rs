//! What a vectorizer takes as texts.

use std::path::{Path, PathBuf};

use crate::error::Result;

use super::Texts;

/// Texts for a [`Vectorizer`](crate::Vectorizer): the path of a folder or file (a text, `Path` or `PathBuf`; see
/// [`Texts::open`]), a vector, array or slice of texts, a Polars `Column` or `Series` of them, or [`Texts`].
///
/// ```
/// use topicbook::Vectorizer;
/// let counted = Vectorizer::new().fit_transform(["to be", "or not to be"])?;
/// assert_eq!(counted.counts().shape(), (2, 4));
/// assert!(Vectorizer::new().fit_transform("no-such-folder").is_err()); // a path
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a path nor a list of texts",
    label = "a path such as `\"letters/\"` or a list such as `[\"to be\", \"or not to be\"]` is expected",
    note = "for an iterator write `Texts::new(iterator)?`"
)]
pub trait TextSource {
    #[doc(hidden)]
    fn into_texts(self) -> Result<Texts>;
}

macro_rules! paths {
    ($($T:ty),*) => {$(
        impl TextSource for $T {
            fn into_texts(self) -> Result<Texts> {
                Texts::open(self)
            }
        }
    )*};
}

paths!(&str, String, &String, &Path, PathBuf, &PathBuf);

impl TextSource for Texts {
    fn into_texts(self) -> Result<Texts> {
        Ok(self)
    }
}

impl TextSource for &Texts {
    fn into_texts(self) -> Result<Texts> {
        Ok(self.clone())
    }
}

impl<T: Into<String>> TextSource for Vec<T> {
    fn into_texts(self) -> Result<Texts> {
        Texts::in_memory(self.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>, const N: usize> TextSource for [T; N] {
    fn into_texts(self) -> Result<Texts> {
        Texts::in_memory(self.into_iter().map(Into::into).collect())
    }
}

impl<T: AsRef<str>> TextSource for &[T] {
    fn into_texts(self) -> Result<Texts> {
        Texts::in_memory(self.iter().map(|text| text.as_ref().to_owned()).collect())
    }
}

impl<T: AsRef<str>> TextSource for &Vec<T> {
    fn into_texts(self) -> Result<Texts> {
        self.as_slice().into_texts()
    }
}

#[cfg(feature = "polars")]
mod columns {
    use polars::prelude::{Column, IntoColumn, Series};

    use crate::error::{Error, ErrorKind, Result};

    use super::{TextSource, Texts};

    impl TextSource for &Column {
        fn into_texts(self) -> Result<Texts> {
            let texts = self.str().map_err(|source| {
                let what = format!(
                    "column {:?} has type {}, not text",
                    self.name(),
                    self.dtype()
                );
                Error::new(ErrorKind::Table, what)
                    .fix("pass a column of texts")
                    .because(source)
            })?;
            let texts = texts.iter().enumerate().map(|(row, text)| {
                text.map(str::to_owned).ok_or_else(|| {
                    Error::new(ErrorKind::Value, "a text is missing")
                        .at(format!("row {row} (counted from 0)"))
                        .fix("leave such rows out: table.drop_nulls(\"text\")")
                })
            });
            Texts::in_memory(texts.collect::<Result<_>>()?)
        }
    }

    impl TextSource for Column {
        fn into_texts(self) -> Result<Texts> {
            (&self).into_texts()
        }
    }

    impl TextSource for Series {
        fn into_texts(self) -> Result<Texts> {
            self.into_column().into_texts()
        }
    }

    impl TextSource for &Series {
        fn into_texts(self) -> Result<Texts> {
            self.clone().into_column().into_texts()
        }
    }
}
