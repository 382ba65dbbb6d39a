//! A fit on disk: one safetensors file with L, F, the settings, the history and the term names.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Fit;
use crate::beside::write_beside;
use crate::error::Result;
use crate::memory::Profile;
use crate::model::{Epoch, Settings, TopicModel};
use crate::tensor_file::{self, Kind, not_ours};
use crate::terms::Terms;

const FIT: Kind = Kind {
    key: "topicbook",
    writer: "Fit::save",
};

/// What is kept beside the two tables.
#[derive(Serialize, Deserialize)]
struct Notes {
    version: String,
    settings: Settings,
    device: String,
    history: Vec<Epoch>,
    terms: Option<Vec<String>>,
    #[serde(default)]
    memory: Option<Profile>,
}

impl Fit {
    /// Saves the fit as safetensors: `L` (documents x topics) and `F` (topics x terms) as f32, with settings, history and
    /// term names in the metadata. Written beside and renamed: never half a file under this name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let notes = Notes {
            version: env!("CARGO_PKG_VERSION").into(),
            settings: self.settings.clone(),
            device: self.device.clone(),
            history: self.history.clone(),
            terms: self.terms.as_ref().map(|terms| terms.as_slice().to_vec()),
            memory: self.memory.as_deref().cloned(),
        };
        let tables = [("L", &self.l), ("F", &self.f)];
        write_beside(path, |out| {
            tensor_file::write(out, path, &FIT, &notes, &tables)
        })
    }
}

impl TopicModel {
    /// Loads a fit that [`Fit::save`] wrote.
    ///
    /// # Errors
    /// When the file cannot be read or is not such a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Fit> {
        let path = path.as_ref();
        let (notes, [l, f]) = tensor_file::read::<Notes, 2>(path, &FIT, ["L", "F"])?;
        let terms = notes.terms.map(Terms::new).transpose()?;
        let fits = l.columns() == f.rows() && terms.as_ref().is_none_or(|t| t.len() == f.columns());
        if !fits {
            let what = "L, F and the term names do not belong together";
            return Err(not_ours(path, &FIT, &what));
        }
        Ok(Fit::new(
            notes.settings,
            l,
            f,
            terms,
            notes.history,
            notes.device,
            notes.memory,
        ))
    }
}
