//! Mean proportions of the topics in groups of documents, with bootstrap intervals.

use polars::prelude::Column;
use rand::RngExt;
use rayon::prelude::*;

use crate::data::{ColumnValues, Labels, Matrix, Table};
use crate::error::Result;
use crate::system::{Purpose, stream};

use super::Fit;

/// Resamples of the documents of a group.
const RESAMPLES: usize = 1_000;
/// The quantiles that are the ends of the intervals.
const QUANTILES: [f64; 2] = [0.025, 0.975];

/// Mean proportions of the topics in groups of documents; [`Fit::by`] makes it. Cheap to clone.
///
/// ```
/// # let (_, fit) = topicbook::example_fit()?;
/// let years: Vec<u32> = (0..60).map(|document| 1990 + document / 20).collect();
/// let by_year = fit.by(&years)?;
/// assert_eq!(by_year.labels(), ["1990", "1991", "1992"]);
/// assert!(by_year.plot().to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ByLabel {
    labels: Vec<String>,
    /// Whether the labels are numbers, dates or months.
    ordered: bool,
    topic_names: Vec<String>,
    /// Documents of each label, and documents without one.
    documents: Vec<usize>,
    unlabelled: usize,
    /// Labels x topics.
    means: Matrix,
    lower: Matrix,
    upper: Matrix,
}

impl Fit {
    /// The mean proportion of each topic in the documents of each label, such as a year, an author or a cell type, with 95%
    /// bootstrap intervals.
    ///
    /// The labels are a vector, array or slice of texts, numbers or `Option`s of them, or a column of a table: one per
    /// document, in the order of L's rows. They can also be the name of a column of the documents, where the fit [has
    /// them](Self::with_documents), or an expression of their columns. Several names, such as `["category", "country"]`, make
    /// a group of each combination that occurs: "Books, DE". Numbers and dates are in rising order, and so are texts that are
    /// all numbers, ISO dates (`2023-08`) or English names of months; other texts are in the order in which they first occur.
    /// Documents without a label (null, NaN, or a blank text) are left out. L and F stay as they are: topic 3 is the same topic
    /// in every year.
    ///
    /// An interval goes from the 2.5% to the 97.5% quantile of the means of 1,000 resamples of the label's documents (Efron's
    /// percentile interval). It says how much the mean would vary with other documents of the kind, not how certain L is. The
    /// same labels give the same intervals on every machine. A single document has no interval: its ends are missing.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::Table;
    /// let documents = Table::new().with_column("book", [["Letters"; 40].as_slice(), &["Poems"; 20]].concat())?;
    /// let table = fit.by(documents.column("book")?)?.table();
    /// assert_eq!(table.shape(), (6, 6)); // two books of three topics
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The months of dates are the first seven characters of their texts, and the years the first four:
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::{Documents, prelude::*};
    /// let documents = Documents::numbered(60)?
    ///     .with_dates("date", (0..60).map(|document| format!("2024-{:02}-20", 1 + document % 2)))?
    ///     .with_labels("book", (0..60).map(|document| if document < 30 { "Letters" } else { "Poems" }))?;
    /// let fit = fit.with_documents(&documents)?;
    /// let months = fit.by(col("date").cast(DataType::String).str().head(lit(7)))?;
    /// assert_eq!(months.labels(), ["2024-01", "2024-02"]);
    /// assert_eq!(fit.by(["book", "date"])?.labels()[3], "Poems, 2024-02-20");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one label per document, all are missing, or all documents have the same one.
    ///
    /// # Cost
    /// 1,000 means of L's rows, on all cores: 1 to 3 seconds for 100,000 documents of 10 topics on two cores.
    #[doc(alias = "estimateEffect")]
    #[doc(alias = "topics_per_class")]
    #[doc(alias = "topics_over_time")]
    #[doc(alias = "group_by")]
    pub fn by(&self, labels: impl ColumnValues) -> Result<ByLabel> {
        let labels = Labels::new(labels, self.documents.as_ref())?;
        labels.check(self.documents(), "document")?;
        let labels = labels.without(&self.empty);
        let (groups, mut unlabelled) = labels.documents();
        unlabelled.retain(|&document| !self.has_no_counts(document));
        let k = self.topics();
        let mut tables: [Vec<f32>; 3] = Default::default();
        for (group, documents) in groups.iter().enumerate() {
            let mean = self.mean_of(documents.iter().copied(), documents.len());
            let resamples: Vec<Vec<f64>> = (0..RESAMPLES)
                .into_par_iter()
                .map(|resample| {
                    let index = (group * RESAMPLES + resample) as u64;
                    let mut random = stream(0, Purpose::Bootstrap, index);
                    let drawn = (0..documents.len())
                        .map(|_| documents[random.random_range(0..documents.len())]);
                    self.mean_of(drawn, documents.len())
                })
                .collect();
            for topic in 0..k {
                // NaN is a missing end.
                let ends = match documents.len() {
                    1 => [f64::NAN; 2],
                    _ => interval(resamples.iter().map(|means| means[topic])),
                };
                let values = [mean[topic], ends[0], ends[1]];
                for (table, value) in tables.iter_mut().zip(values) {
                    table.push(value as f32);
                }
            }
        }
        let [means, lower, upper] =
            tables.map(|values| Matrix::from_parts(groups.len(), k, values));
        Ok(ByLabel {
            labels: labels.names,
            ordered: labels.ordered,
            topic_names: self.topic_names(),
            documents: groups.iter().map(Vec::len).collect(),
            unlabelled: unlabelled.len(),
            means,
            lower,
            upper,
        })
    }

    /// The mean of `number` rows of L.
    fn mean_of(&self, documents: impl Iterator<Item = usize>, number: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.topics()];
        for document in documents {
            for (sum, &proportion) in sums.iter_mut().zip(self.l.row(document)) {
                *sum += f64::from(proportion);
            }
        }
        sums.iter().map(|sum| sum / number as f64).collect()
    }
}

/// The ends of the 95% interval of drawn values.
pub(super) fn interval(drawn: impl Iterator<Item = f64>) -> [f64; 2] {
    let mut drawn: Vec<f64> = drawn.collect();
    drawn.sort_by(f64::total_cmp);
    QUANTILES.map(|at| quantile(&drawn, at))
}

/// A quantile of sorted values, interpolated as NumPy does by default.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let position = at * (sorted.len() - 1) as f64;
    let low = position.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (position - low as f64) * (sorted[high] - sorted[low])
}

impl ByLabel {
    /// The labels, in the order of the rows of [`means`](Self::means).
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let halves: Vec<&str> = (0..60).map(|document| if document < 30 { "old" } else { "new" }).collect();
    /// assert_eq!(fit.by(&halves)?.labels(), ["old", "new"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }

    /// The mean proportions (labels x topics), from 0 to 1; each row sums to one.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let halves: Vec<&str> = (0..60).map(|document| if document < 30 { "old" } else { "new" }).collect();
    /// assert_eq!(fit.by(&halves)?.means().shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn means(&self) -> Matrix {
        self.means.clone()
    }

    /// Table with one row per label and topic: `label`, `documents` (how many have it), `topic` (its name), `mean`, and `lower`
    /// and `upper`, the ends of the 95% interval, null where a label has one document. [`Table::pivot`] makes it wide.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let halves: Vec<&str> = (0..60).map(|document| if document < 30 { "old" } else { "new" }).collect();
    /// let table = fit.by(&halves)?.table();
    /// let (lower, mean) = (table.numbers("lower")?, table.numbers("mean")?);
    /// assert!(lower.iter().zip(&mean).all(|(lower, mean)| lower <= mean));
    /// assert_eq!(table.pivot("label", "topic", "mean")?.shape(), (2, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let k = self.topic_names.len();
        let rows = 0..self.labels.len() * k;
        let labels: Vec<&str> = rows
            .clone()
            .map(|at| self.labels[at / k].as_str())
            .collect();
        let documents: Vec<u64> = rows
            .clone()
            .map(|at| self.documents[at / k] as u64)
            .collect();
        let topics: Vec<&str> = rows.map(|at| self.topic_names[at % k].as_str()).collect();
        let ends = |matrix: &Matrix| -> Vec<Option<f32>> {
            let ends = matrix.values().iter();
            ends.map(|end| Some(*end).filter(|end| !end.is_nan()))
                .collect()
        };
        Table::from_columns(vec![
            Column::new("label".into(), labels),
            Column::new("documents".into(), documents),
            Column::new("topic".into(), topics),
            Column::new("mean".into(), self.means.values()),
            Column::new("lower".into(), ends(&self.lower)),
            Column::new("upper".into(), ends(&self.upper)),
        ])
    }

    /// The number of documents of each label.
    pub(crate) fn documents(&self) -> &[usize] {
        &self.documents
    }

    /// The number of documents without a label.
    pub(crate) fn unlabelled(&self) -> usize {
        self.unlabelled
    }

    pub(crate) fn topic_names(&self) -> &[String] {
        &self.topic_names
    }
}

#[cfg(feature = "charts")]
impl ByLabel {
    /// Plots the means. Labels that are numbers, dates or months give lines with their intervals as bands, one small chart per
    /// topic. Others, also texts that are numbers, give a heat map of labels and topics.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let halves: Vec<&str> = (0..60).map(|document| if document < 30 { "old" } else { "new" }).collect();
    /// assert!(fit.by(&halves)?.plot().to_svg()?.contains("old"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn plot(&self) -> crate::charts::Chart {
        use crate::charts::{Chart, side_by_side};
        if !self.ordered {
            return Chart::heatmap(&self.means)
                .x(&self.topic_names)
                .y(&self.labels)
                .title("Mean topic proportions");
        }
        let column = |matrix: &Matrix, topic: usize| -> Vec<f32> {
            (0..self.labels.len())
                .map(|row| matrix.row(row)[topic])
                .collect()
        };
        let topics = self.topic_names.iter().enumerate();
        side_by_side(topics.map(|(topic, name)| {
            Chart::lines(column(&self.means, topic))
                .bands(column(&self.lower, topic), column(&self.upper, topic))
                .x(&self.labels)
                .title(name)
                .size(280, 190)
        }))
        .title("Mean topic proportions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [1.0, 2.0, 4.0, 8.0];
        // numpy.quantile([1, 2, 4, 8], [0, 0.025, 0.5, 0.9, 1])
        for (at, expected) in [
            (0.0, 1.0),
            (0.025, 1.075),
            (0.5, 3.0),
            (0.9, 6.8),
            (1.0, 8.0),
        ] {
            assert!((quantile(&values, at) - expected).abs() < 1e-12);
        }
    }
}
