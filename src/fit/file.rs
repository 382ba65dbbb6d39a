//! A fit on disk: one safetensors file with L, F, the settings, the history and the term names.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use super::Fit;
use crate::beside::write_beside;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::{Epoch, Settings, TopicModel};
use crate::terms::Terms;

/// The key of our entry in the file's metadata.
const KEY: &str = "topicbook";

/// What is kept beside the two tables.
#[derive(Serialize, Deserialize)]
struct Notes {
    version: String,
    settings: Settings,
    device: String,
    history: Vec<Epoch>,
    terms: Option<Vec<String>>,
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
        };
        let failed = |what: String| Error::format(path, format!("cannot be written: {what}"));
        let notes = serde_json::to_string(&notes).map_err(|error| failed(error.to_string()))?;
        let (l, f) = (to_bytes(&self.l), to_bytes(&self.f));
        let view = |matrix: &Matrix, bytes| {
            TensorView::new(Dtype::F32, vec![matrix.rows(), matrix.columns()], bytes)
                .map_err(|error| failed(error.to_string()))
        };
        let tensors = [("L", view(&self.l, &l)?), ("F", view(&self.f, &f)?)];
        let file = serialize(tensors, Some(HashMap::from([(KEY.into(), notes)])))
            .map_err(|error| failed(error.to_string()))?;
        write_beside(path, |target| {
            target
                .write_all(&file)
                .map_err(|error| Error::io("write", path, error))
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
        let file = fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let not_ours = |what: String| {
            Error::format(path, what)
                .fix("load a file that Fit::save wrote, complete and unchanged")
        };
        let (_, metadata) =
            SafeTensors::read_metadata(&file).map_err(|error| not_ours(error.to_string()))?;
        let notes = metadata
            .metadata()
            .as_ref()
            .and_then(|entries| entries.get(KEY))
            .ok_or_else(|| not_ours("a safetensors file without topicbook's settings".into()))?;
        let notes: Notes = serde_json::from_str(notes)
            .map_err(|error| not_ours(format!("settings that cannot be read: {error}")))?;
        let tensors =
            SafeTensors::deserialize(&file).map_err(|error| not_ours(error.to_string()))?;
        let table = |name: &str| -> Result<Matrix> {
            let tensor = tensors
                .tensor(name)
                .map_err(|error| not_ours(error.to_string()))?;
            match (tensor.dtype(), tensor.shape()) {
                (Dtype::F32, &[rows, columns]) => {
                    Matrix::new(rows, columns, from_bytes(tensor.data()))
                }
                (dtype, shape) => Err(not_ours(format!(
                    "{name} is {dtype:?} of shape {shape:?}, expected F32 with two dimensions"
                ))),
            }
        };
        let (l, f) = (table("L")?, table("F")?);
        let terms = notes.terms.map(Terms::new).transpose()?;
        let fits = l.columns() == f.rows() && terms.as_ref().is_none_or(|t| t.len() == f.columns());
        if !fits {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "{}: L, F and the term names do not belong together",
                    path.display()
                ),
            )
            .fix("load a file that Fit::save wrote, complete and unchanged"));
        }
        Ok(Fit::new(
            notes.settings,
            l,
            f,
            terms,
            notes.history,
            notes.device,
        ))
    }
}

fn to_bytes(matrix: &Matrix) -> Vec<u8> {
    matrix
        .values()
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect()
}
