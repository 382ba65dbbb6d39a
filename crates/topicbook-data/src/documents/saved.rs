//! Documents as plain data, for the file of a fit.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::Documents;
use super::columns::Values;

/// Names and columns.
#[derive(Serialize, Deserialize)]
pub struct SavedDocuments {
    len: usize,
    names: Option<Vec<String>>,
    columns: Vec<(String, SavedValues)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedValues {
    Labels {
        categories: Vec<String>,
        /// `None` for a missing label.
        codes: Vec<Option<u32>>,
    },
    /// As texts, which keep every bit of a number.
    Numbers(Vec<Option<String>>),
    Dates(Vec<Option<String>>),
}

impl Documents {
    #[doc(hidden)]
    pub fn to_saved(&self) -> SavedDocuments {
        let columns = self.columns.iter().map(|(name, values)| {
            let saved = match values {
                Values::Labels(labels) => {
                    let (categories, codes) = labels.parts();
                    SavedValues::Labels { categories, codes }
                }
                Values::Numbers(_) => SavedValues::Numbers(values.texts()),
                Values::Dates(_) => SavedValues::Dates(values.texts()),
            };
            (name.clone(), saved)
        });
        SavedDocuments {
            len: self.len,
            names: self.names.as_ref().map(|names| names.to_vec()),
            columns: columns.collect(),
        }
    }

    /// # Errors
    /// When names, columns and codes do not belong together.
    #[doc(hidden)]
    pub fn from_saved(saved: SavedDocuments) -> Result<Self> {
        let mut documents = match saved.names {
            Some(names) => Self::named(names)?,
            None => Self::numbered(saved.len)?,
        };
        for (name, values) in saved.columns {
            documents = match values {
                SavedValues::Labels { categories, codes } => {
                    documents.with_categories(&name, categories, codes.into_iter())?
                }
                SavedValues::Numbers(texts) => {
                    documents.with_numbers(&name, numbers(&name, &texts)?)?
                }
                SavedValues::Dates(texts) => documents.with_dates(&name, texts)?,
            };
        }
        Ok(documents)
    }
}

fn numbers(name: &str, texts: &[Option<String>]) -> Result<Vec<f64>> {
    let number = |text: &Option<String>| match text {
        None => Ok(f64::NAN),
        Some(text) => text.parse().map_err(|_| {
            Error::value(format!("column {name:?} has {text:?} among its numbers"))
                .fix("the file was damaged: save the fit again")
        }),
    };
    texts.iter().map(number).collect()
}
