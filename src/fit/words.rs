//! Texts, each word with the topics that it comes from.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use polars::prelude::Column;

use crate::charts::{Chart, palette};
use crate::data::{Table, top_n};
use crate::error::{Error, Result};
use crate::text::{direction, escape, percent};
use crate::vectorizer::{LocatedTerm, TermFinder};

use super::Fit;
use super::which::NameOrNumber;

/// Bytes of HTML below a cell, and of the texts that are written into it.
const HTML_BYTES: usize = 1_000_000;
/// Opacity of the colour of a word that comes from one topic alone: words stay legible on light and dark pages.
const OPACITY: f32 = 0.6;
/// Words with a smaller share of the topic stay without its colour.
const LEAST_SHARE: f32 = 0.2;
/// Topics that are named above a text and at a word.
const NAMED: usize = 3;

/// Texts, each word with the topics that it comes from; [`Fit::words`], [`Fit::words_in`] and [`Fit::read`] make it. A cell shows
/// the texts with their words in the colours of the topics; [`table`](Self::table) has the numbers.
///
/// A word of term w in document d comes from topic k with probability L_dk F_kw / Σ_j L_dj F_jw: the responsibility that
/// expectation-maximisation gives the topic.
///
/// ```
/// use topicbook::{TopicModel, Vectorizer};
/// let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
/// let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?.name_topics(["brains", "machines"])?;
/// let words = fit.words(0)?;
/// assert_eq!(words.table().column_names(), ["document", "word", "term", "dominant", "proportion", "brains", "machines"]);
/// assert_eq!(words.to_string(), "document 0: spikes of neurons");
/// assert_eq!(fit.words_in("a neuron, a kernel")?.table().texts("word")?, ["kernel"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "words are shown by a cell"]
pub struct Words {
    texts: Arc<[WordsOfText]>,
    topics: Vec<String>,
    /// The colours of the topics.
    colours: Vec<String>,
    /// The topic whose words alone are coloured.
    of_topic: Option<usize>,
}

#[derive(Debug)]
struct WordsOfText {
    /// `document 3`, or its name.
    title: String,
    text: String,
    /// Its proportions of the topics.
    proportions: Vec<f32>,
    words: Vec<Word>,
}

/// A word of a term of the fit, or several.
#[derive(Debug)]
struct Word {
    bytes: Range<usize>,
    term: String,
    /// How probable it is that it comes from each topic.
    topics: Vec<f32>,
}

impl Fit {
    /// Shows the text of a document, each word in the colour of the topic that it comes from.
    ///
    /// A fit to texts (`fit(&docs)`) knows where they are, and reads this one again.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?;
    /// let words = fit.words(1)?;
    /// assert_eq!(words.table().texts("term")?, ["neurons", "spike"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such document; when the fit does not know the texts, or they cannot be read any more.
    ///
    /// # Cost
    /// One pass over the texts up to this one.
    #[doc(alias("visualize_approximate_distribution", "approximate_distribution"))]
    pub fn words(&self, document: impl NameOrNumber) -> Result<Words> {
        let document = self.document(document.which())?;
        self.words_of(&[document], None)
    }

    /// Shows a new text, each word in the colour of the topic that it comes from, with the proportions that
    /// [`transform`](Self::transform) gives it.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// # let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// # let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?;
    /// let words = fit.words_in("Neurons spike, and machines do not.")?;
    /// assert_eq!(words.table().height(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the fit has no [vectorizer](Self::vectorizer).
    pub fn words_in(&self, text: &str) -> Result<Words> {
        let vectorizer = self.vectorizer()?;
        let counted = vectorizer.transform([text])?;
        let l = self.transform(counted.counts())?;
        let finder = TermFinder::new(&vectorizer)?;
        let words = self.words_of_text("the text".into(), text.into(), l.row(0), &finder);
        Ok(self.coloured([words], None))
    }

    /// Shows the whole texts of the `n` documents with the largest proportions of a topic, and in its colour the words that
    /// come from it.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// # let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// # let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?.name_topics(["brains", "machines"])?;
    /// let read = fit.read("machines", 2)?;
    /// assert_eq!(read.to_string().lines().count(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such topic; when the fit does not know the texts, or they cannot be read any more.
    ///
    /// # Cost
    /// One pass over L, and one over the texts.
    #[doc(alias("findThoughts", "get_representative_docs"))]
    pub fn read(&self, topic: impl NameOrNumber, n: usize) -> Result<Words> {
        let topic = self.topic(topic.which())?;
        let largest = self.largest(topic, n);
        let documents: Vec<usize> = largest.iter().map(|&(document, _)| document).collect();
        self.words_of(&documents, Some(topic))
    }

    fn words_of(&self, documents: &[usize], of_topic: Option<usize>) -> Result<Words> {
        let Some(texts) = &self.texts else {
            return Err(Error::value("the fit does not know the texts of its documents").fix(
                "fit what the vectorizer returned, or give it to a fit that was loaded: fit.with_texts(&docs)?; \
                 fit.words_in(text)? takes a text",
            ));
        };
        let finder = TermFinder::new(&self.vectorizer()?)?;
        let texts = texts.read(documents.iter().copied())?;
        let words = documents.iter().zip(texts).map(|(&document, text)| {
            let number = || format!("document {document}");
            let title = self.document_name(document).unwrap_or_else(number);
            self.words_of_text(title, text, self.l.row(document), &finder)
        });
        Ok(self.coloured(words, of_topic))
    }

    fn coloured(
        &self,
        texts: impl IntoIterator<Item = WordsOfText>,
        of_topic: Option<usize>,
    ) -> Words {
        Words {
            texts: texts.into_iter().collect(),
            topics: self.topic_names(),
            colours: palette(self.topics()),
            of_topic,
        }
    }

    fn words_of_text(
        &self,
        title: String,
        text: String,
        proportions: &[f32],
        finder: &TermFinder,
    ) -> WordsOfText {
        let word = |LocatedTerm { column, bytes }: LocatedTerm| {
            let rates =
                (0..self.topics()).map(|topic| proportions[topic] * self.f.row(topic)[column]);
            let mut topics: Vec<f32> = rates.collect();
            let sum: f32 = topics.iter().sum();
            if sum > 0.0 {
                topics.iter_mut().for_each(|rate| *rate /= sum);
            }
            Word {
                bytes,
                term: self.term_name(column),
                topics,
            }
        };
        WordsOfText {
            words: finder.find(&text).into_iter().map(word).collect(),
            title,
            text,
            proportions: proportions.to_vec(),
        }
    }
}

impl Words {
    /// Table with one row for each word of a term that the fit knows, in the order of the text: `document` (its name, or
    /// `document 3`), `word` (as it stands in the text), `term`, the `dominant` topic, its `proportion`, and the
    /// probabilities of all topics, from 0 to 1, in columns called by their names.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// # let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// # let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?;
    /// assert_eq!(fit.words(2)?.table().height(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let all = || {
            self.texts
                .iter()
                .flat_map(|text| text.words.iter().map(move |word| (text, word)))
        };
        let texts = |of: fn(&WordsOfText, &Word) -> String| -> Vec<String> {
            all().map(|(text, word)| of(text, word)).collect()
        };
        let best: Vec<usize> = all().map(|(_, word)| top_n(&word.topics, 1)[0]).collect();
        let dominant: Vec<u32> = best.iter().map(|&topic| topic as u32).collect();
        let proportion: Vec<f32> = all()
            .zip(&best)
            .map(|((_, word), &topic)| word.topics[topic])
            .collect();
        let mut columns = vec![
            Column::new("document".into(), texts(|text, _| text.title.clone())),
            Column::new(
                "word".into(),
                texts(|text, word| text.text[word.bytes.clone()].into()),
            ),
            Column::new("term".into(), texts(|_, word| word.term.clone())),
            Column::new("dominant".into(), dominant),
            Column::new("proportion".into(), proportion),
        ];
        for (topic, name) in self.topics.iter().enumerate() {
            let values: Vec<f32> = all().map(|(_, word)| word.topics[topic]).collect();
            columns.push(Column::new(name.as_str().into(), values));
        }
        Table::from_columns(columns)
    }

    /// Plots how the topics change along the texts: the mean of each topic over a twentieth of the words, at least ten, around
    /// each word. Of more than five topics, those with the largest shares.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// # let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// # let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?;
    /// assert!(fit.words(0)?.plot().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: for texts without a word of the fit's terms.
    pub fn plot(&self) -> Chart {
        let words: Vec<&[f32]> = self
            .texts
            .iter()
            .flat_map(|text| &text.words)
            .map(|word| &word.topics[..])
            .collect();
        let half = (words.len() / 40).max(5);
        let shares: Vec<f32> = (0..self.topics.len())
            .map(|topic| words.iter().map(|word| word[topic]).sum())
            .collect();
        let shown = top_n(&shares, 5);
        let around = |topic: usize, at: usize| {
            let near = &words[at.saturating_sub(half)..words.len().min(at + half + 1)];
            near.iter().map(|word| f64::from(word[topic])).sum::<f64>() / near.len() as f64
        };
        let lines = shown.iter().map(|&topic| {
            let line = (0..words.len()).map(|at| around(topic, at));
            (self.topics[topic].clone(), line.collect::<Vec<f64>>())
        });
        Chart::lines(lines.collect::<Vec<_>>())
            .colors(shown.iter().map(|&topic| self.colours[topic].clone()))
            .x_label("word")
            .y_label("share of the topic")
    }

    /// The texts as HTML, as a cell shows them: a part of a page, whose colours suit light and dark ones. Screen readers hear
    /// the topic where it changes. At most a million bytes; what is left out is said.
    ///
    /// ```
    /// # use topicbook::{TopicModel, Vectorizer};
    /// # let docs = Vectorizer::new().fit_transform(["spikes of neurons", "neurons spike", "kernel machines", "a kernel"])?;
    /// # let fit = TopicModel::new(2).epochs(50).quiet().fit(&docs)?;
    /// assert!(fit.words_in("<b>kernel</b>")?.to_html().contains("&lt;b&gt;"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn to_html(&self) -> String {
        let mut html = String::new();
        for (at, text) in self.texts.iter().enumerate() {
            if html.len() > HTML_BYTES {
                let rest = self.texts.len() - at;
                html.push_str(&format!(
                    "<p>and {rest} more: ask for fewer documents at once</p>\n"
                ));
                break;
            }
            self.text_html(text, &mut html);
        }
        html
    }

    fn text_html(&self, text: &WordsOfText, html: &mut String) {
        let named = match self.of_topic {
            Some(topic) => vec![topic],
            None => top_n(&text.proportions, NAMED),
        };
        let named: String = named
            .into_iter()
            .map(|topic| {
                let what = format!(
                    "{} {}",
                    self.topics[topic],
                    percent(f64::from(text.proportions[topic]))
                );
                format!(
                    " <span style=\"{}\">{}</span>",
                    self.colour(topic, 1.0),
                    escape(&what)
                )
            })
            .collect();
        html.push_str(&format!(
            "<p><strong>{}</strong>{named}</p>\n",
            escape(&text.title)
        ));
        html.push_str(&format!(
            "<p{} style=\"white-space:pre-wrap;max-width:60em\">",
            direction(&text.text)
        ));
        let mut before = None;
        let end = html.len() + HTML_BYTES;
        for (bytes, topics) in text.pieces() {
            if html.len() > end {
                let rest = text.text.len() - bytes.start;
                html.push_str(&format!(" … and {rest} bytes more"));
                break;
            }
            let piece = escape(&text.text[bytes]);
            let topic = self
                .of_topic
                .or_else(|| Some(*top_n(topics.as_deref()?, 1).first()?));
            let share = topic
                .zip(topics.as_ref())
                .map_or(0.0, |(topic, topics)| topics[topic]);
            let (Some(topic), Some(topics), true) = (topic, &topics, share >= LEAST_SHARE) else {
                html.push_str(&piece);
                continue;
            };
            if before.replace(topic) != Some(topic) {
                html.push_str(&format!(
                    "<span style=\"position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)\">[{}] </span>",
                    escape(&self.topics[topic])
                ));
            }
            let shares: Vec<String> = top_n(topics, NAMED)
                .into_iter()
                .filter(|&topic| topics[topic] >= 0.005)
                .map(|topic| {
                    format!(
                        "{} {}",
                        self.topics[topic],
                        percent(f64::from(topics[topic]))
                    )
                })
                .collect();
            html.push_str(&format!(
                "<span style=\"{}\" title=\"{}\">{piece}</span>",
                self.colour(topic, share),
                escape(&shares.join(", "))
            ));
        }
        html.push_str("</p>\n");
    }

    /// The background of a word of which this share comes from a topic.
    fn colour(&self, topic: usize, share: f32) -> String {
        let colour = &self.colours[topic];
        let alpha = (OPACITY * share * 255.0) as u8;
        format!("background:{colour}{alpha:02x};border-radius:3px")
    }
}

impl WordsOfText {
    /// The text in pieces: what no word stands for, and words with the mean of the topics of the terms that stand there.
    fn pieces(&self) -> Vec<(Range<usize>, Option<Vec<f32>>)> {
        let ends = self
            .words
            .iter()
            .flat_map(|word| [word.bytes.start, word.bytes.end]);
        let mut ends: Vec<usize> = ends.chain([0, self.text.len()]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut words: Vec<&Word> = self.words.iter().collect();
        words.sort_by_key(|word| word.bytes.start);
        let (mut next, mut here) = (0, Vec::<&Word>::new());
        let piece = |ends: &[usize]| {
            let (start, end) = (ends[0], ends[1]);
            here.retain(|word| word.bytes.end > start);
            while let Some(word) = words.get(next).filter(|word| word.bytes.start <= start) {
                if word.bytes.end > start {
                    here.push(word);
                }
                next += 1;
            }
            let mean = |topic: usize| {
                here.iter().map(|word| word.topics[topic]).sum::<f32>() / here.len() as f32
            };
            let topics = (0..self.proportions.len()).map(mean).collect();
            (start..end, (!here.is_empty()).then_some(topics))
        };
        ends.windows(2).map(piece).collect()
    }
}

/// Writes each title and text.
impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, text) in self.texts.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(f, "{line}{}: {}", text.title, text.text)?;
        }
        Ok(())
    }
}
