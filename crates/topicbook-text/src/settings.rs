//! How a text becomes terms: the part of the settings that a saved vocabulary needs, and their setters.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::{StopWords, Vectorizer, languages, tokenizer};

/// Settings of the words, as plain data. Fields have scikit-learn's names where it has the setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordSettings {
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    /// Sorted, each once.
    pub(super) stop_words: Vec<String>,
    /// The language of the stemmer.
    pub(super) stem: Option<String>,
    pub(super) ngram_range: (usize, usize),
    /// `None`: the default pattern.
    pub(super) token_pattern: Option<String>,
    /// The language by whose rules words are found, instead of a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) language: Option<String>,
    /// Pairs of words that are one term, with a space between them; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) phrases: Vec<String>,
    /// A function that finds words, which no file can hold.
    #[serde(skip)]
    pub(super) tokenizer: Option<OwnTokenizer>,
}

/// A function from a text to its words.
type WordFunction = dyn Fn(&str) -> Vec<String> + Send + Sync;

/// A function of the user's.
#[derive(Clone)]
pub struct OwnTokenizer(pub(super) Arc<WordFunction>);

impl fmt::Debug for OwnTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

impl PartialEq for OwnTokenizer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for WordSettings {
    fn default() -> Self {
        Self {
            lowercase: true,
            strip_accents: false,
            stop_words: Vec::new(),
            stem: None,
            ngram_range: (1, 1),
            token_pattern: None,
            language: None,
            phrases: Vec::new(),
            tokenizer: None,
        }
    }
}

impl WordSettings {
    pub(super) fn add_stop_words<T: Into<String>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.stop_words.extend(words.into_iter().map(Into::into));
        self.stop_words.sort_unstable();
        self.stop_words.dedup();
    }

    /// Whether words are found by the default pattern.
    pub(super) fn is_default_pattern(&self) -> bool {
        self.token_pattern.is_none() && self.language.is_none() && self.tokenizer.is_none()
    }

    /// # Errors
    /// When the words are found by a function.
    pub fn check_saved(&self) -> Result<()> {
        match self.tokenizer {
            None => Ok(()),
            Some(_) => Err(
                Error::setting("a function of tokenizer(..) cannot be saved").fix(
                    "save the terms, counted.terms().save(\"terms.txt\")?, and count by \
                 Vectorizer::new().tokenizer(words).vocabulary(Terms::open(\"terms.txt\")?)",
                ),
            ),
        }
    }
}

impl Vectorizer {
    /// Whether texts are converted to lower case first; they are by default.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().lowercase(false).fit_transform(["Be", "be"])?;
    /// assert_eq!(counted.terms().as_slice(), ["Be", "be"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn lowercase(&self, lowercase: bool) -> Self {
        self.with(|changed| changed.words.lowercase = lowercase)
    }

    /// Whether accents and other marks are removed (Unicode's decomposition NFKD, then its combining characters), as
    /// scikit-learn's `strip_accents="unicode"` does; they are kept by default.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().strip_accents(true).fit_transform(["café", "Cafe"])?;
    /// assert_eq!(counted.terms().as_slice(), ["cafe"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn strip_accents(&self, strip: bool) -> Self {
        self.with(|changed| changed.words.strip_accents = strip)
    }

    /// Leaves out the stop words of a language, such as "the" and "of" in English, or the words of a list; none by default.
    /// Further calls add words. The lists of languages are NLTK's, for 20 languages; the error for another language names them.
    /// There is none for Chinese, Japanese, Thai and Hindi, where [`max_df`](Self::max_df) leaves out what is in most documents.
    ///
    /// The words are compared as the words of the texts are: in lower case unless [`lowercase`](Self::lowercase) is off, and
    /// without accents where [`strip_accents`](Self::strip_accents) is on. The card of the counts names those of a list that the
    /// token pattern divides, such as `isn't`, so that they leave nothing out.
    ///
    /// ```
    /// let vectorizer = topicbook::Vectorizer::new().stop_words("english").stop_words(["chapter", "page"]);
    /// let counted = vectorizer.fit_transform(["The end of chapter one, page one"])?;
    /// assert_eq!(counted.terms().as_slice(), ["end", "one"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "stopwords")]
    #[doc(alias = "stop_word_list")]
    pub fn stop_words(&self, words: impl StopWords) -> Self {
        self.try_with(|changed| {
            changed.words.add_stop_words(words.list()?);
            Ok(())
        })
    }

    /// All words that are left out, in alphabetical order.
    ///
    /// ```
    /// let vectorizer = topicbook::Vectorizer::new().stop_words(["page", "chapter"]);
    /// assert_eq!(vectorizer.stop_words_list(), ["chapter", "page"]);
    /// ```
    #[doc(alias = "get_stop_words")]
    pub fn stop_words_list(&self) -> Vec<String> {
        self.words.stop_words.clone()
    }

    /// Counts words by their stems in a language, by Snowball's stemmer ("runs" and "running" as "run"); none by default. Stop
    /// words are left out before.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().stem("english").fit_transform(["She runs", "Running"])?;
    /// assert_eq!(counted.terms().as_slice(), ["run", "she"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "stemmer")]
    pub fn stem(&self, language: &str) -> Self {
        self.try_with(|changed| {
            languages::stemmer(language)?;
            changed.words.stem = Some(language.to_owned());
            Ok(())
        })
    }

    /// Counts runs of `shortest` to `longest` words as terms, after stop words are left out: (1, 2) for words and pairs. (1, 1)
    /// by default; from 1 to 10.
    ///
    /// ```
    /// let counted = topicbook::Vectorizer::new().ngram_range(1, 2).fit_transform(["new york city"])?;
    /// assert_eq!(counted.terms().as_slice(), ["city", "new", "new york", "york", "york city"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "ngrams")]
    #[doc(alias = "bigrams")]
    pub fn ngram_range(&self, shortest: usize, longest: usize) -> Self {
        self.with(|changed| changed.words.ngram_range = (shortest, longest))
    }

    /// Takes the matches of this pattern as words, in the syntax of the crate `regex`; where it has a group in parentheses, the
    /// group. By default runs of two or more characters that Python's `\w` matches, which is scikit-learn's pattern
    /// `(?u)\b\w\w+\b`. Rust's `\w` matches combining marks as well.
    ///
    /// ```
    /// let vectorizer = topicbook::Vectorizer::new().token_pattern("[a-z]{3,20}");
    /// let counted = vectorizer.fit_transform(["It is 12 o'clock"])?;
    /// assert_eq!(counted.terms().as_slice(), ["clock"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "regex")]
    pub fn token_pattern(&self, pattern: &str) -> Self {
        let given = Some(pattern.to_owned()).filter(|given| given != tokenizer::DEFAULT_PATTERN);
        self.with(|changed| changed.words.token_pattern = given)
    }

    /// Finds the words of a language, by the rules of its script. All languages share these rules, so that texts in several
    /// languages need one call:
    ///
    /// | Script | Words |
    /// |---|---|
    /// | Chinese characters and kana, Thai, Lao, Khmer, Burmese | those of the cheapest path through ICU's dictionaries; one character can be a word, and letters in a row that no word covers are one (feature `languages`) |
    /// | all others | runs of two or more letters, digits and underscores, with the marks that belong to them |
    ///
    /// The default pattern is scikit-learn's, in which a mark ends a word: it cuts Hindi, Tamil and other languages of India to
    /// pieces, and takes a clause of Chinese for a word. The card of the counts says so where it happens.
    ///
    /// Stop words and stems are separate settings ([`stop_words`](Self::stop_words), [`stem`](Self::stem)): without a list for a
    /// language, [`max_df`](Self::max_df) leaves out its most frequent words. Korean is written with spaces: particles stay
    /// attached to its words, as `서울은` and `서울이`. Japanese words are divided less well than by a morphological analyser,
    /// which [`tokenizer`](Self::tokenizer) takes.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// let hindi = Vectorizer::new().language("hindi").fit_transform(["हिन्दी भारत की भाषा है"])?;
    /// assert_eq!(hindi.terms().as_slice(), ["की", "भारत", "भाषा", "हिन्दी", "है"]);
    /// # #[cfg(feature = "languages")] {
    /// let chinese = Vectorizer::new().language("chinese").fit_transform(["我们在日本学习", "我们去公园散步"])?;
    /// assert_eq!(chinese.terms().as_slice(), ["公园", "去", "在", "学习", "我们", "散步", "日本"]);
    /// # }
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// Some 15 MB of Chinese a second and core.
    #[doc(alias = "jieba")]
    #[doc(alias = "segmentation")]
    pub fn language(&self, language: &str) -> Self {
        self.try_with(|changed| {
            changed.words.language = Some(languages::language(language)?);
            Ok(())
        })
    }

    /// Finds words by this function: a text, in lower case and without accents where these settings say so, gives its words in
    /// their order. Stop words, stems and n-grams follow, as for the other words; blank words are left out. All cores call the
    /// function at once. [`save`](Self::save) refuses a vectorizer with a function, which no file can hold.
    ///
    /// ```
    /// fn letters(text: &str) -> Vec<String> {
    ///     text.chars().map(String::from).collect()
    /// }
    /// let counted = topicbook::Vectorizer::new().tokenizer(letters).fit_transform(["ACGA", "TA"])?;
    /// assert_eq!(counted.terms().as_slice(), ["a", "c", "g", "t"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "analyzer")]
    pub fn tokenizer(&self, words: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.with(|changed| changed.words.tokenizer = Some(OwnTokenizer(Arc::new(words))))
    }
}
