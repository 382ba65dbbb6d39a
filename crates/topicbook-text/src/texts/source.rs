//! What a vectorizer takes as texts.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

use super::{Kind, Texts};

/// Texts for a [`Vectorizer`](crate::Vectorizer): the path of a folder or file (a text, `Path` or `PathBuf`; see
/// [`Texts::open`]), a vector, array or slice of texts or of lists of tokens, a Polars `Column` or `Series` of them, or
/// [`Texts`].
///
/// ```
/// use topicbook::Vectorizer;
/// let counted = Vectorizer::new().fit_transform(["to be", "or not to be"])?;
/// assert_eq!(counted.counts().shape(), (2, 4));
/// let tokens: Vec<Vec<String>> = vec![vec!["to".into(), "be".into()]]; // divided by another program
/// assert_eq!(Vectorizer::new().fit_transform(tokens)?.counts().shape(), (1, 2));
/// assert!(Vectorizer::new().fit_transform("no-such-folder").is_err()); // a path
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a path nor a list of texts",
    label = "a path such as `\"letters/\"`, a list such as `[\"to be\", \"or not to be\"]`, or `Texts::from_frame(&table, \"review\")?` is expected",
    note = "for an iterator write `Texts::new(iterator)?`"
)]
pub trait TextSource {
    #[doc(hidden)]
    fn into_texts(self) -> Result<Texts>;
}

/// A text, or a list of its tokens: an element of the lists that a [`Vectorizer`](crate::Vectorizer) takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a text nor a list of tokens",
    label = "a `String`, a `&str`, or a `Vec` of them is expected"
)]
pub trait TextItem: Sized {
    #[doc(hidden)]
    fn collect_texts(items: impl Iterator<Item = Self>) -> Result<Texts>;
}

macro_rules! texts {
    ($($T:ty),*) => {$(
        impl TextItem for $T {
            fn collect_texts(items: impl Iterator<Item = Self>) -> Result<Texts> {
                let texts: Vec<String> = items.map(|text| text.to_string()).collect();
                in_memory(texts.is_empty(), Kind::Memory(texts))
            }
        }
    )*};
}

texts!(&str, &&str, &String, Cow<'_, str>, &Cow<'_, str>, Box<str>);

impl TextItem for String {
    fn collect_texts(items: impl Iterator<Item = Self>) -> Result<Texts> {
        let texts: Vec<String> = items.collect();
        in_memory(texts.is_empty(), Kind::Memory(texts))
    }
}

macro_rules! tokens {
    ($([$($N:tt)*] $T:ty),*) => {$(
        impl<S: AsRef<str>, $($N)*> TextItem for $T {
            fn collect_texts(items: impl Iterator<Item = Self>) -> Result<Texts> {
                let owned = |token: &S| token.as_ref().to_owned();
                let lists: Vec<Vec<String>> = items
                    .map(|tokens| tokens.iter().map(owned).collect())
                    .collect();
                in_memory(lists.is_empty(), Kind::Tokens(lists))
            }
        }
    )*};
}

tokens!([] Vec<S>, [] &Vec<S>, [] &[S], [const N: usize] [S; N], [const N: usize] &[S; N]);

pub(super) fn in_memory(is_empty: bool, texts: Kind) -> Result<Texts> {
    match is_empty {
        true => Err(Error::new(ErrorKind::Value, "there are no texts")
            .fix("pass one text for each document")),
        false => Ok(texts.into()),
    }
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

impl<T: TextItem> TextSource for Vec<T> {
    fn into_texts(self) -> Result<Texts> {
        T::collect_texts(self.into_iter())
    }
}

impl<T: TextItem, const N: usize> TextSource for [T; N] {
    fn into_texts(self) -> Result<Texts> {
        T::collect_texts(self.into_iter())
    }
}

impl<'a, T> TextSource for &'a [T]
where
    &'a T: TextItem,
{
    fn into_texts(self) -> Result<Texts> {
        TextItem::collect_texts(self.iter())
    }
}

impl<'a, T> TextSource for &'a Vec<T>
where
    &'a T: TextItem,
{
    fn into_texts(self) -> Result<Texts> {
        self.as_slice().into_texts()
    }
}

#[cfg(feature = "polars")]
mod columns {
    use polars::prelude::{Column, IntoColumn, Series};

    use crate::error::{Error, ErrorKind, Result};

    use super::super::column::TextColumn;
    use super::{TextSource, Texts, in_memory};

    impl TextSource for &Column {
        fn into_texts(self) -> Result<Texts> {
            let texts = TextColumn::of(self)
                .map_err(|what| Error::new(ErrorKind::Table, what).fix("pass a column of texts"))?;
            match texts.missing() {
                Some(row) => Err(Error::new(ErrorKind::Value, "a text is missing")
                    .at(format!("row {row} (counted from 0)"))
                    .fix("leave such rows out: table.drop_nulls(\"text\")")),
                None => in_memory(texts.len() == 0, texts.take(&mut 0, u64::MAX)),
            }
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
