//! A fit in a file: safetensors with L, F, the settings, the history, and the names of terms and topics.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::Settings;
use crate::counts::Fingerprint;
use crate::data::{
    Documents, Epoch, FileKind, NamedTable, SavedDocuments, Terms, invalid_file, tensor_file,
};
use crate::error::Result;
use crate::system::write_atomic;
use crate::vectorizer::WordSettings;

use super::Fit;
use super::memory_profile::MemoryProfile;

const FIT: FileKind = FileKind {
    key: "topicbook",
    writer: "Fit::save",
    format: 1,
};

/// Everything in the file except L and F.
#[derive(Serialize, Deserialize)]
struct Metadata {
    version: String,
    settings: Settings,
    device: String,
    history: Vec<Epoch>,
    terms: Option<Vec<String>>,
    #[serde(default)]
    memory: Option<MemoryProfile>,
    /// `None` in files that say nothing about the contents of the counts.
    #[serde(default)]
    fitted_to: Option<Fingerprint>,
    /// Empty if no topic has a name.
    #[serde(default)]
    topic_names: Vec<Option<String>>,
    #[serde(default)]
    documents: Option<SavedDocuments>,
    #[serde(default)]
    words: Option<WordSettings>,
    /// Rising.
    #[serde(default)]
    empty_documents: Vec<usize>,
}

impl Fit {
    /// Loads a fit that [`save`](Self::save) wrote.
    ///
    /// ```
    /// use topicbook::{Fit, Synthetic, TopicModel};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// fit.save("fit.safetensors")?;
    /// let loaded = Fit::load("fit.safetensors")?;
    /// assert!(loaded.l() == fit.l() && loaded.f() == fit.f());
    /// assert_eq!(loaded.epochs(), fit.epochs());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be read, is truncated or damaged, or does not contain a fit; when the shapes of L, F and
    /// the term names do not belong together.
    ///
    /// # Cost
    /// Reads 4 bytes x k x (documents + terms) into memory.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (metadata, [l, f], _) =
            tensor_file::read::<Metadata, 2>(path, &FIT, ["L", "F"], |_| Vec::new(), |_, _| false)?;
        let terms = metadata.terms.map(Terms::new).transpose()?;
        let documents = metadata.documents.map(Documents::from_saved).transpose()?;
        let fits = l.columns() == f.rows()
            && terms.as_ref().is_none_or(|t| t.len() == f.columns())
            && documents.as_ref().is_none_or(|d| d.len() == l.rows())
            && [0, f.rows()].contains(&metadata.topic_names.len())
            && metadata.empty_documents.is_sorted()
            && metadata
                .empty_documents
                .last()
                .is_none_or(|&last| last < l.rows());
        if !fits {
            let what = "L, F and the names of documents, terms and topics do not belong together";
            return Err(invalid_file(path, &FIT, &what));
        }
        let mut fit = Fit::new(
            metadata.settings,
            l,
            f,
            terms,
            metadata.history,
            metadata.device,
            metadata.memory,
        )
        .fitted_to(metadata.fitted_to)
        .with_empty(&metadata.empty_documents);
        fit.names = metadata.topic_names.into();
        fit.documents = documents;
        fit.words = metadata.words;
        fit.check_names()?;
        Ok(fit)
    }

    /// Saves the fit as safetensors: `L` (documents x topics) and `F` (topics x terms) as f32, with settings, history
    /// and the names of topics, terms and documents in the metadata. The write is atomic (temporary file + rename), so `path` never contains half a
    /// file.
    ///
    /// ```
    /// use topicbook::{Fit, Synthetic, TopicModel};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// TopicModel::new(3).epochs(5).quiet().fit(&counts)?.save("fit.safetensors")?;
    /// assert_eq!(Fit::load("fit.safetensors")?.epochs().len(), 5); // safetensors.numpy.load_file reads L and F
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written: the folder does not exist, or the disk is full.
    ///
    /// # Cost
    /// 4 bytes x k x (documents + terms) on disk, and the metadata.
    #[doc(alias = "dump")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let metadata = Metadata {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            device: self.device.clone(),
            history: self.history.clone(),
            terms: self.terms.as_ref().map(|terms| terms.as_slice().to_vec()),
            memory: self.memory.as_deref().cloned(),
            fitted_to: self.counts.clone(),
            topic_names: self.names.to_vec(),
            documents: self.documents.as_ref().map(Documents::to_saved),
            words: self
                .words
                .clone()
                .filter(|words| words.check_saved().is_ok()),
            empty_documents: self.empty.to_vec(),
        };
        let tables = [NamedTable::of("L", &self.l), NamedTable::of("F", &self.f)];
        write_atomic(path, |out| {
            tensor_file::write(out, path, &FIT, &metadata, &tables)
        })
    }
}
