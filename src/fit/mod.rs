//! A fitted model: L and F, with their tables, charts, scores and transformations.

mod align;
#[cfg(feature = "polars")]
mod by_label;
mod coherence;
mod completion;
mod consensus;
mod correlation;
mod described;
mod distinctive;
mod distinctness;
mod document_map;
#[cfg(feature = "polars")]
mod documents;
#[cfg(feature = "polars")]
mod effects;
mod eigen;
mod evaluate;
mod evaluation;
#[cfg(feature = "charts")]
mod explore;
mod file;
mod given;
mod history;
mod memory;
mod memory_phases;
mod memory_profile;
mod movement;
mod names;
#[cfg(feature = "charts")]
mod plots;
#[cfg(feature = "polars")]
mod ranks;
mod rearrange;
mod recommend;
mod score;
#[cfg(feature = "polars")]
mod tables;
mod term_scores;
mod topic_coherence;
mod topic_map;
mod topic_tree;
#[cfg(feature = "polars")]
mod topics;
mod transform;
mod which;
#[cfg(all(feature = "charts", feature = "polars"))]
mod words;

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

pub(crate) use align::mean_cosine;
#[cfg(feature = "polars")]
pub use by_label::ByLabel;
pub(crate) use consensus::CONSENSUS;
pub use consensus::Consensus;
pub use described::CountNames;
pub use distinctive::Distinctive;
#[cfg(feature = "polars")]
pub use effects::Effects;
pub(crate) use evaluate::{evaluation_bytes, result_bytes};
pub use evaluation::{Evaluation, ScoreDifference};
#[cfg(feature = "charts")]
pub use explore::Explorer;
pub(crate) use given::GIVEN;
#[cfg(feature = "charts")]
pub(crate) use history::loss_chart;
pub(crate) use memory_profile::MemoryProfile;
pub(crate) use movement::Movement;
pub use names::TopicName;
pub use recommend::RankingEvaluation;
pub use term_scores::TermScore;
pub use topic_coherence::{Coherence, TopicCoherence};
pub use transform::NewDocuments;
pub use which::NameOrNumber;
#[cfg(all(feature = "charts", feature = "polars"))]
pub use words::Words;

use crate::cluster::PassLine;
use crate::config::Settings;
use crate::counts::Fingerprint;
use crate::data::{Documents, Epoch, Matrix, Terms, sort_documents, top_n};
use crate::system::hold;
use crate::text::count;
use crate::vectorizer::{DocumentTexts, WordSettings};

/// A fitted topic model: L, F, how it came about, and what can be asked of it.
///
/// Cheap to clone. No method changes the fit; those that transform it return a new one.
///
/// | To | use |
/// |---|---|
/// | read the factors | [`l`](Self::l), [`f`](Self::f), [`term_names`](Self::term_names) |
/// | see the topics | [`top_terms`](Self::top_terms), [`top_documents`](Self::top_documents), [`topic_sizes`](Self::topic_sizes), [`doc_topics`](Self::doc_topics), [`plot_top_terms`](Self::plot_top_terms), [`plot_structure`](Self::plot_structure) |
/// | look into one | [`terms_of_topic`](Self::terms_of_topic), [`documents_of_topic`](Self::documents_of_topic), [`topics_of_document`](Self::topics_of_document), [`topics_of_term`](Self::topics_of_term) |
/// | show them to others | [`explore`](Self::explore) |
/// | see what is typical of each | [`top_terms_by`](Self::top_terms_by), [`terms_of_topic_by`](Self::terms_of_topic_by), [`distinctive`](Self::distinctive) |
/// | see what goes together | [`similar_documents`](Self::similar_documents), [`topic_correlation`](Self::topic_correlation), [`topic_map`](Self::topic_map), [`topic_distances`](Self::topic_distances), [`document_map`](Self::document_map), [`plot_topic_map`](Self::plot_topic_map), [`plot_topic_network`](Self::plot_topic_network), [`plot_topic_tree`](Self::plot_topic_tree), [`plot_document_map`](Self::plot_document_map) |
/// | see what depends on labels | [`by`](Self::by), [`effects`](Self::effects), [`Chart::by`](crate::Chart::by) of [`plot_structure`](Self::plot_structure) |
/// | name the topics | [`name_topics`](Self::name_topics), [`topic_name`](Self::topic_name), [`topic_names`](Self::topic_names) |
/// | know its documents and texts | [`with_documents`](Self::with_documents), [`document_names`](Self::document_names), [`with_texts`](Self::with_texts), [`vectorizer`](Self::vectorizer), [`words`](Self::words), [`words_in`](Self::words_in), [`read`](Self::read) |
/// | see the training | [`epochs`](Self::epochs), [`history`](Self::history), [`plot_loss`](Self::plot_loss), [`ranks`](Self::ranks), [`memory`](Self::memory), [`memory_by_phase`](Self::memory_by_phase), [`plot_memory`](Self::plot_memory) |
/// | judge the fit | [`evaluate`](Self::evaluate), [`coherence`](Self::coherence), [`diversity`](Self::diversity), [`exclusivity`](Self::exclusivity), [`score`](Self::score), [`perplexity`](Self::perplexity), [`log_likelihood_per_token`](Self::log_likelihood_per_token) |
/// | recommend terms to documents, items to users | [`recommend`](Self::recommend), [`recommend_all`](Self::recommend_all), [`evaluate_ranking`](Self::evaluate_ranking) |
/// | order, merge and drop topics | [`align_to`](Self::align_to), [`reorder_topics`](Self::reorder_topics), [`topic_order`](Self::topic_order), [`merge_topics`](Self::merge_topics), [`drop_topics`](Self::drop_topics) |
/// | have one of factors from elsewhere | [`from_matrices`](Self::from_matrices), [`with_terms`](Self::with_terms) |
/// | use it | [`transform`](Self::transform), [`transform_on`](Self::transform_on) and [`score_on`](Self::score_on) a cluster, [`update`](Self::update), [`save`](Self::save), [`load`](Self::load) |
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let fit = TopicModel::new(3).epochs(20).quiet().fit(corpus.counts())?;
/// assert_eq!((fit.documents(), fit.topics(), fit.terms()), (60, 3, 30));
/// let new_documents = corpus.counts().select([0, 1])?;
/// assert_eq!(fit.transform(&new_documents)?.shape(), (2, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
pub struct Fit {
    pub(crate) settings: Settings,
    pub(crate) l: Matrix,
    pub(crate) f: Matrix,
    pub(crate) terms: Option<Terms>,
    pub(crate) history: Vec<Epoch>,
    pub(crate) device: String,
    pub(crate) memory: Option<Arc<MemoryProfile>>,
    /// The counts it was fitted to; `None` for a file that does not say.
    pub(crate) counts: Option<Fingerprint>,
    /// What the ranks of a cluster reported of each pass.
    passes: Arc<[PassLine]>,
    /// What went wrong without ending the fit.
    note: Option<String>,
    names: names::Names,
    /// Names and labels of the rows of L.
    documents: Option<Documents>,
    /// The documents without counts, in rising order: what their rows of L say is not of them.
    empty: Arc<[usize]>,
    /// How texts become the terms.
    words: Option<WordSettings>,
    /// Where the texts of the documents are; no file keeps that.
    texts: Option<DocumentTexts>,
    /// Listed among the values that the process holds, as long as a copy of the fit exists.
    _held: Arc<()>,
}

/// Its sizes and what it has reached: the tables and the epochs would be thousands of lines.
impl fmt::Debug for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fit")
            .field("documents", &self.documents())
            .field("topics", &self.topics())
            .field("terms", &self.terms())
            .field("solver", &self.settings.solver.to_string())
            .field("epochs", &self.history.len())
            .field("loss", &self.loss())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Fit {
    pub(crate) fn new(
        settings: Settings,
        l: Matrix,
        f: Matrix,
        terms: Option<Terms>,
        history: Vec<Epoch>,
        device: String,
        memory: Option<MemoryProfile>,
    ) -> Self {
        let held = Arc::new(());
        let [(l_address, l_bytes), (f_address, f_bytes)] = [l.as_part(), f.as_part()];
        let what = format!(
            "{} × {}, k = {}",
            count(l.rows() as u64),
            count(f.columns() as u64),
            f.rows()
        );
        let parts = vec![l_address, f_address];
        hold(&held, ("fit", what, l_bytes + f_bytes), parts);
        Self {
            _held: held,
            settings,
            l,
            f,
            terms,
            history,
            device,
            memory: memory.map(Arc::new),
            counts: None,
            passes: Arc::default(),
            note: None,
            names: Arc::default(),
            documents: None,
            empty: Arc::default(),
            words: None,
            texts: None,
        }
    }

    /// The fit with what identifies the counts that it was fitted to.
    pub(crate) fn fitted_to(mut self, counts: Option<Fingerprint>) -> Self {
        self.counts = counts;
        self
    }

    /// The fit with the documents that have no counts, in rising order.
    pub(crate) fn with_empty(mut self, documents: &[usize]) -> Self {
        self.empty = documents.into();
        self
    }

    /// Whether a document has no counts.
    fn has_no_counts(&self, document: usize) -> bool {
        self.empty.binary_search(&document).is_ok()
    }

    /// Number of documents that have counts.
    fn with_counts(&self) -> usize {
        self.documents() - self.empty.len()
    }

    /// The largest topic of a document; `None` without counts.
    fn dominant_topic(&self, document: usize) -> Option<usize> {
        (!self.has_no_counts(document)).then(|| top_n(self.l.row(document), 1)[0])
    }

    /// The fit with what the ranks of a cluster reported.
    pub(crate) fn by_ranks(mut self, passes: Vec<PassLine>) -> Self {
        self.passes = passes.into();
        self
    }

    /// The fit with what else went wrong without ending it.
    pub(crate) fn noted(mut self, note: Option<String>) -> Self {
        self.note = match (self.note.take(), note) {
            (Some(first), Some(second)) => Some(format!("{first}\n{second}")),
            (first, second) => first.or(second),
        };
        self
    }

    /// What went wrong without ending the fit, a line each: a GPU that [`Device::Auto`](crate::Device::Auto) has found and
    /// that failed its self-check, so that the CPU was used; a checkpoint that could not be written. `None` for a fit that
    /// was loaded.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let _folder = topicbook::example_folder()?;
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).checkpoint("fit.ckpt").quiet().fit(&counts)?;
    /// assert_eq!(fit.note(), None);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// L (documents x topics): the proportions of the topics in each document. Rows sum to one. A handle, not a copy.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let l = fit.l();
    /// assert_eq!(l.shape(), (60, 3));
    /// assert!((l.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("theta", "doc_topic", "loadings", "document_topic", "W"))]
    pub fn l(&self) -> Matrix {
        self.l.clone()
    }

    /// F (topics x terms): the probabilities of the terms in each topic. Rows sum to one. A handle, not a copy.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let f = fit.f();
    /// assert_eq!(f.shape(), (3, 30));
    /// assert!((f.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias(
        "phi",
        "beta",
        "components",
        "components_",
        "topic_word",
        "factors",
        "H"
    ))]
    pub fn f(&self) -> Matrix {
        self.f.clone()
    }

    /// Number of documents.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.documents(), 60);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "n_samples")]
    pub fn documents(&self) -> usize {
        self.l.rows()
    }

    /// Number of topics.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.topics(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "n_components")]
    pub fn topics(&self) -> usize {
        self.f.rows()
    }

    /// Number of terms.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.terms(), 30);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "n_features")]
    pub fn terms(&self) -> usize {
        self.f.columns()
    }

    /// The settings with which the model was fitted, with the [`Reading`](crate::Reading) that was chosen;
    /// [`TopicModel::from_settings`](crate::TopicModel::from_settings) makes a model of them again.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.settings().epochs, 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "get_params")]
    pub fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// The names of the terms that the model was given, in the order of F's columns; `None` without names.
    ///
    /// ```
    /// use topicbook::{Counts, Terms, TopicModel};
    /// let counts = Counts::dense(2, 3, vec![3u8, 1, 0, 0, 1, 4])?;
    /// let model = TopicModel::new(2).epochs(3).quiet();
    /// assert_eq!(model.fit(&counts)?.term_names(), None);
    /// let terms = Terms::new(["apple", "pear", "plum"])?;
    /// assert_eq!(model.terms(terms.clone()).fit(&counts)?.term_names(), Some(terms));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("get_feature_names_out", "vocabulary"))]
    pub fn term_names(&self) -> Option<Terms> {
        self.terms.clone()
    }

    /// The order of the documents in the structure plot, as row numbers of L: grouped by dominant topic, by falling
    /// proportion in each group.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// let order = fit.sort_documents();
    /// let sorted = fit.l().select_rows(&order)?;
    /// let dominant = |row: &[f32]| row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(topic, _)| topic);
    /// assert!((1..60).all(|document| dominant(sorted.row(document - 1)) <= dominant(sorted.row(document))));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn sort_documents(&self) -> Vec<usize> {
        sort_documents(&self.l)
    }

    /// The `n` documents with the largest proportion of a topic, and the proportions.
    fn largest(&self, topic: usize, n: usize) -> Vec<(usize, f32)> {
        let proportions: Vec<f32> = (0..self.documents())
            .into_par_iter()
            .map(|document| match self.has_no_counts(document) {
                // Comes last in every order.
                true => f32::NEG_INFINITY,
                false => self.l.row(document)[topic],
            })
            .collect();
        let documents = top_n(&proportions, n.min(self.with_counts())).into_iter();
        documents
            .map(|document| (document, proportions[document]))
            .collect()
    }

    /// The name of a term, or its number if the model has no names.
    fn term_name(&self, term: usize) -> String {
        term_name(self.terms.as_ref(), term)
    }
}

/// The name of a term, or its number without names.
fn term_name(terms: Option<&Terms>, term: usize) -> String {
    match terms.and_then(|terms| terms.get(term)) {
        Some(name) => name.to_string(),
        None => term.to_string(),
    }
}
