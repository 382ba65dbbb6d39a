//! Words that are left out: those of a language, or a list.

use crate::error::Result;

use super::languages;

/// Words that [`Vectorizer::stop_words`](crate::Vectorizer::stop_words) leaves out: the name of a language (a text), or a
/// vector, array or slice of the words themselves.
///
/// ```
/// let counted = topicbook::Vectorizer::new().stop_words(["page", "one"]).fit_transform(["Page one of two"])?;
/// assert_eq!(counted.terms().as_slice(), ["of", "two"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a language nor a list of words",
    label = "a language such as `\"english\"`, or a list such as `[\"page\", \"chapter\"]`, is expected"
)]
pub trait StopWords {
    #[doc(hidden)]
    fn list(self) -> Result<Vec<String>>;
}

macro_rules! languages {
    ($($T:ty),*) => {$(
        impl StopWords for $T {
            fn list(self) -> Result<Vec<String>> {
                let words = languages::stop_words(self.as_ref())?.iter();
                Ok(words.map(ToString::to_string).collect())
            }
        }
    )*};
}

languages!(&str, String, &String);

macro_rules! lists {
    ($([$($N:tt)*] $T:ty),*) => {$(
        impl<S: AsRef<str>, $($N)*> StopWords for $T {
            fn list(self) -> Result<Vec<String>> {
                Ok(self.iter().map(|word| word.as_ref().to_owned()).collect())
            }
        }
    )*};
}

lists!([] Vec<S>, [] &Vec<S>, [] &[S], [const N: usize] [S; N], [const N: usize] &[S; N]);
