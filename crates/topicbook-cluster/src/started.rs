//! What another process needs to follow a run, and to return its fit.

use serde::{Deserialize, Serialize};

use crate::config::{Cluster, Settings};
use crate::counts::{Counts, Totals};
use crate::data::Terms;
use crate::error::{Error, Result};

use super::job::Job;
use super::run_folder::{RunFolder, read_json, write_json};
use super::state::read_at;

/// A run that was started: its model and cluster, and the totals of its counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub settings: Settings,
    pub terms: Option<Vec<String>>,
    pub cluster: Cluster,
    totals: Totals,
}

impl Started {
    pub fn new(
        settings: &Settings,
        terms: Option<&Terms>,
        cluster: &Cluster,
        counts: &Counts,
    ) -> Result<Self> {
        Ok(Self {
            settings: settings.clone(),
            terms: terms.map(|terms| terms.iter().map(String::from).collect()),
            cluster: cluster.with_absolute_paths()?,
            totals: counts.summary()?.totals(),
        })
    }

    pub fn write(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.started(), self)
    }

    /// Records that the ranks are started on another cluster from now on.
    pub fn move_to(cluster: &Cluster, folder: &RunFolder) -> Result<()> {
        let mut started: Self = read_json(&folder.started())?;
        started.cluster = cluster.clone();
        started.write(folder)
    }

    /// Reads what was started, and opens its counts. The counts are not read, because the ranks have checked them.
    pub fn read(folder: &RunFolder) -> Result<(Self, Counts)> {
        let job: Job = read_json(&folder.job())?;
        let version = env!("CARGO_PKG_VERSION");
        if job.version != version {
            return Err(Error::cluster(format!(
                "the run was started by topicbook {}, and this is {version}",
                job.version
            ))
            .fix("attach to it with that version"));
        }
        let started: Self = read_json(&folder.started())?;
        let counts = job.open_counts()?;
        let documents = job.fingerprint.documents;
        let lengths = read_at(&folder.lengths(), 0..documents, f64::from_le_bytes)?;
        counts.know_summary(&started.totals, lengths);
        Ok((started, counts))
    }
}
