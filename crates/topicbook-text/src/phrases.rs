//! Phrases: pairs of words that come together more often than their frequencies explain.

use crate::counts::npmi;
use crate::error::{Error, Result};

use super::Vectorizer;
use super::pass::PassProgress;
use super::room::Room;
use super::run::count_words;
use super::settings::WordSettings;
use super::texts::Texts;
use super::tokenizer::Tokenizer;

/// Stands between the two words while pairs are counted: words can contain spaces.
const BETWEEN: char = '\u{1f}';

/// Which pairs are phrases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PhraseRule {
    pub(super) min_count: usize,
    pub(super) threshold: f64,
}

impl Vectorizer {
    /// Counts pairs of words that belong together as one term with an underscore, such as `new_york`. A pair is two words in a
    /// row, after stop words are left out, that occurs at least `min_count` times and whose NPMI is above `threshold`, from -1
    /// (never together) through 0 (independent) to 1 (only together); 5 and 0.5 are usual. With P the share of the words, NPMI
    /// is ln(P(a, b) / (P(a) P(b))) / -ln P(a, b), as in gensim's `Phrases(scoring="npmi")`. From the left of a text, each word
    /// is joined once. The words of a phrase are not counted where they are joined; [`ngram_range`](Self::ngram_range) counts
    /// all pairs, and the words too.
    ///
    /// ```
    /// use topicbook::Vectorizer;
    /// let texts = ["new york is new", "he left new york", "a new house", "york has a house"];
    /// let counted = Vectorizer::new().phrases(2, 0.3).fit_transform(texts)?;
    /// assert_eq!(counted.terms().as_slice(), ["has", "he", "house", "is", "left", "new", "new_york", "york"]);
    /// let again = counted.vectorizer().transform(["New York, New York"])?; // the phrases are known
    /// assert_eq!(again.counts().summary()?.total(), 2.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One more pass over the texts, in [`fit_transform`](Self::fit_transform), with the memory of `ngram_range(1, 2)`.
    #[doc(alias = "collocations")]
    #[doc(alias = "bigrams")]
    pub fn phrases(&self, min_count: usize, threshold: f64) -> Self {
        self.try_with(|changed| {
            changed.phrases = Some(PhraseRule {
                min_count,
                threshold,
            });
            match min_count > 0 && (-1.0..1.0).contains(&threshold) {
                true => Ok(()),
                false => Err(Error::setting(format!(
                    "phrases that occur {min_count} times, with an NPMI above {threshold}"
                ))
                .fix("write at least 1, and a number from -1 to 1, as phrases(5, 0.5)")),
            }
        })
    }
}

/// The phrases of texts, with a space between their words, in alphabetical order.
pub(super) fn find(
    words: &WordSettings,
    rule: PhraseRule,
    texts: &Texts,
    room: &Room,
    progress: &mut PassProgress,
) -> Result<Vec<String>> {
    let pairs = WordSettings {
        ngram_range: (1, 2),
        phrases: Vec::new(),
        ..words.clone()
    };
    let tokenizer = Tokenizer::new(&pairs)?.with_between(BETWEEN);
    let counts = count_words(texts, &tokenizer, room, progress, None)?.0;
    let (mut all, mut frequent) = (0, Vec::new());
    counts.for_each_total(|term, total| match term.split_once(BETWEEN) {
        None => all += total,
        Some((first, second)) if total >= rule.min_count as u64 => {
            frequent.push((first.to_owned(), second.to_owned(), total));
        }
        Some(_) => {}
    });
    let share = |count: u64| count as f64 / all as f64;
    let mut phrases: Vec<String> = frequent
        .into_iter()
        .filter(|(first, second, both)| {
            let [first, second] = [first, second].map(|word| share(counts.total(word)));
            npmi(share(*both), first, second) > rule.threshold
        })
        .map(|(first, second, _)| format!("{first} {second}"))
        .collect();
    phrases.sort_unstable();
    Ok(phrases)
}
