//! Vectorizers with their vocabulary, in files.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::Terms;
use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::{parsed_json, read_whole, write_atomic};
use crate::text::shown_path;

use super::Vectorizer;
use super::settings::WordSettings;

/// The version of the file's contents. Those of version 1 have no language and no phrases.
const VERSION: u32 = 2;

/// The contents of a file.
#[derive(Serialize, Deserialize)]
struct Saved {
    topicbook_vectorizer: u32,
    words: WordSettings,
    terms: Vec<String>,
}

impl Vectorizer {
    /// Saves how texts become terms, and the vocabulary, to a JSON file, for [`open`](Self::open). `min_df`, `max_df` and
    /// `max_terms` are not saved: they have done their work.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let fitted = Vectorizer::new().ngram_range(1, 2).fit_transform(["new york"])?.vectorizer();
    /// fitted.save("words.json")?;
    /// let counted = Vectorizer::open("words.json")?.transform(["new york, new york"])?;
    /// assert_eq!(counted.counts().summary()?.total(), 6.0); // new, york, new york: twice each
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no vocabulary yet, the words are found by a function, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.words.check_saved()?;
        let is_old = self.words.language.is_none() && self.words.phrases.is_empty();
        let saved = Saved {
            topicbook_vectorizer: if is_old { 1 } else { VERSION },
            words: self.words.clone(),
            terms: self.known_vocabulary()?.iter().map(str::to_owned).collect(),
        };
        write_atomic(path, |out| {
            serde_json::to_writer(&mut *out, &saved)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(out))
                .map_err(|source| Error::io("write", path, source))
        })
    }

    /// Opens a vectorizer that [`save`](Self::save) wrote, to count new texts by [`transform`](Self::transform).
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// use topicbook::Vectorizer;
    /// Vectorizer::new().fit_transform(["to be"])?.vectorizer().save("words.json")?;
    /// assert_eq!(Vectorizer::open("words.json")?.transform(["to do"])?.terms().as_slice(), ["be", "to"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read, or no vectorizer is in it.
    #[doc(alias = "load")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_whole(path, 0)?;
        let what = format!("the vocabulary of {}", shown_path(path));
        check_free(parsed_json(&bytes), &what)?;
        let saved: Saved = serde_json::from_slice(&bytes).map_err(|source| {
            Error::format(path, format!("is no saved vectorizer: {source}"))
                .fix("name a file that Vectorizer::save has written")
                .because(source)
        })?;
        if !(1..=VERSION).contains(&saved.topicbook_vectorizer) {
            let version = saved.topicbook_vectorizer;
            let what = format!("was saved in version {version}, and version {VERSION} is read");
            return Err(
                Error::format(path, what).fix("use the topicbook that saved it, or a newer one")
            );
        }
        let damaged = |error: Error| {
            Error::format(path, format!("is damaged: {}", error.headline()))
                .fix("save the vectorizer again")
        };
        let terms = Terms::new(saved.terms).map_err(damaged)?;
        Self::with_words(saved.words, &terms).map_err(damaged)
    }
}
