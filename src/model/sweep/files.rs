//! Fits of a sweep in a folder, from which it goes on.

use std::path::{Path, PathBuf};

use crate::batches::Reading;
use crate::config::{Device, Settings};
use crate::counts::{Counts, Fingerprint};
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::model::TopicModel;
use crate::text::shown_path;

/// The folder of a sweep's fits.
pub(super) struct Files<'a> {
    folder: &'a Path,
    counts: Fingerprint,
}

impl<'a> Files<'a> {
    /// Makes the folder if it does not exist.
    pub(super) fn open(folder: &'a Path, counts: &Counts) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::io("make", folder, error))?;
        Ok(Self {
            folder,
            counts: Fingerprint::of(counts)?,
        })
    }

    fn path(&self, settings: &Settings) -> PathBuf {
        let Settings { topics, seed, .. } = settings;
        self.folder
            .join(format!("k{topics}_seed{seed}.safetensors"))
    }

    /// The fit of a model, if it is there.
    ///
    /// # Errors
    /// When the file cannot be read, or its fit is of other counts, settings or term names.
    pub(super) fn load(&self, model: &TopicModel) -> Result<Option<Fit>> {
        let path = self.path(&model.recipe.settings);
        if !path.exists() {
            return Ok(None);
        }
        let fit = Fit::load(&path)?;
        let what = if fit.counts.as_ref() != Some(&self.counts) {
            "other counts"
        } else if comparable(&fit.settings) != comparable(&model.recipe.settings) {
            "other settings"
        } else if fit.terms != model.recipe.terms {
            "other term names"
        } else {
            return Ok(Some(fit));
        };
        Err(Error::new(
            ErrorKind::Setting,
            format!("{} is a fit with {what}", shown_path(&path)),
        )
        .fix("name another folder for this sweep, or remove the fit"))
    }

    pub(super) fn save(&self, fit: &Fit) -> Result<()> {
        fit.save(self.path(&fit.settings))
    }
}

/// Settings without those that the machine decides: a fit says which device and which reading it used.
fn comparable(settings: &Settings) -> Settings {
    Settings {
        device: Device::Auto,
        reading: Reading::Auto,
        ..settings.clone()
    }
}
