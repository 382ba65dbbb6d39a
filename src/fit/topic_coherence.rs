//! The coherence of the topics of a fit.

#[cfg(feature = "polars")]
use polars::prelude::Column;

#[cfg(feature = "polars")]
use crate::data::Table;

/// The coherence of the topics of a fit, made by [`Fit::coherence`](crate::Fit::coherence) and
/// [`Fit::coherence_in`](crate::Fit::coherence_in).
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(200, 60, 3).avg_doc_length(60).seed(1).generate()?.counts();
/// let coherence = TopicModel::new(3).quiet().fit(&counts)?.coherence(&counts, 10)?;
/// let best = coherence.topics().iter().max_by(|a, b| a.npmi.partial_cmp(&b.npmi).unwrap());
/// println!("{:?}", best.map(|topic| topic.terms.join(", ")));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[doc(alias = "CoherenceModel")]
pub struct Coherence {
    pub(super) topics: Vec<TopicCoherence>,
    pub(super) terms: usize,
    pub(super) documents: usize,
}

/// The coherence of one topic.
///
/// ```
/// # use topicbook::{Synthetic, TopicModel};
/// # let counts = Synthetic::new(200, 60, 3).avg_doc_length(60).seed(1).generate()?.counts();
/// let coherence = TopicModel::new(3).quiet().fit(&counts)?.coherence(&counts, 10)?;
/// let first = &coherence.topics()[0];
/// assert_eq!((first.topic, first.terms.len(), first.absent.len()), (0, 10, 0));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TopicCoherence {
    /// The topic, a row of F.
    pub topic: usize,
    /// Mean of ln((P(a, b) + 1e-12) / P(a)) over the pairs of terms, at most 0; `None` if fewer than two terms occur.
    pub u_mass: Option<f64>,
    /// Mean normalised pointwise mutual information of the pairs of terms, from -1 to 1; `None` if fewer than two terms occur.
    pub npmi: Option<f64>,
    /// The terms whose pairs were counted, the most probable first.
    pub terms: Vec<String>,
    /// Terms among the most probable that occur in no document. They were left out.
    pub absent: Vec<String>,
}

impl Coherence {
    /// The topics, in the order of the rows of F.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// assert!(coherence.topics().iter().all(|topic| topic.u_mass <= Some(0.0)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn topics(&self) -> &[TopicCoherence] {
        &self.topics
    }

    /// The mean NPMI of the topics, from -1 to 1. Higher is better. `None` if no topic has two terms that occur.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// assert!(coherence.npmi().is_some_and(|npmi| (-1.0..=1.0).contains(&npmi)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn npmi(&self) -> Option<f64> {
        mean(self.topics.iter().filter_map(|topic| topic.npmi))
    }

    /// The mean u_mass of the topics, at most 0. Higher is better. `None` if no topic has two terms that occur.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// assert!(coherence.u_mass().is_some_and(|u_mass| u_mass <= 0.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn u_mass(&self) -> Option<f64> {
        mean(self.topics.iter().filter_map(|topic| topic.u_mass))
    }

    /// The terms of all topics that occur in no document, each once. They were left out.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// assert!(coherence.absent().is_empty());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn absent(&self) -> Vec<String> {
        let mut absent: Vec<String> = Vec::new();
        for term in self.topics.iter().flat_map(|topic| &topic.absent) {
            if !absent.contains(term) {
                absent.push(term.clone());
            }
        }
        absent
    }

    /// Most probable terms of each topic that were examined, including terms that occur in no document.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(200, 60, 3).avg_doc_length(60).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(3).epochs(20).quiet().fit(&counts)?;
    /// assert_eq!(fit.coherence(&counts, 1_000)?.terms(), 60);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// Documents of the counts, empty ones included.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// assert_eq!(coherence.documents(), 60);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Table with one row for each topic: `topic`, `npmi`, `u_mass` (null if fewer than two terms occur), its `terms`, and the
    /// `absent` ones.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let coherence = fit.coherence(&counts, 10)?;
    /// let best = coherence.table().sort_by_desc("npmi")?.head(1);
    /// assert_eq!(best.shape(), (1, 5));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let topics = || self.topics.iter();
        let numbers: Vec<u32> = topics().map(|topic| topic.topic as u32).collect();
        let npmi: Vec<Option<f64>> = topics().map(|topic| topic.npmi).collect();
        let u_mass: Vec<Option<f64>> = topics().map(|topic| topic.u_mass).collect();
        let terms: Vec<String> = topics().map(|topic| topic.terms.join(", ")).collect();
        let absent: Vec<String> = topics().map(|topic| topic.absent.join(", ")).collect();
        Table::from_columns(vec![
            Column::new("topic".into(), numbers),
            Column::new("npmi".into(), npmi),
            Column::new("u_mass".into(), u_mass),
            Column::new("terms".into(), terms),
            Column::new("absent".into(), absent),
        ])
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, number) = values.fold((0.0, 0u64), |(sum, number), value| {
        (sum + value, number + 1)
    });
    (number > 0).then(|| sum / number as f64)
}
