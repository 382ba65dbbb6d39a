//! Runs of a cluster that another process has started.

use std::path::Path;
use std::sync::Arc;

use crate::cluster::{RunFolder, Started};
use crate::config::Recipe;
use crate::data::Terms;
use crate::error::Result;
use crate::plan::Plan;
use crate::training::{ExistingFile, ResumeState, Training};

use super::TopicModel;

impl TopicModel {
    /// Finds the fit on a cluster that a process has left: a kernel that has died or was restarted. `folder` is the one that
    /// [`Cluster::folder`](crate::Cluster::folder) had, or the folder of the run itself (`topicbook-run-...` in it).
    ///
    /// The ranks have gone on meanwhile, or have ended. The handle is that of [`spawn`](Self::spawn): it shows all passes,
    /// [`stop`](crate::Training::stop) ends the ranks, and [`join`](crate::Training::join) returns the fit, with the bits that it
    /// would have had without the loss, and removes the run. A handle that is dropped before that leaves the run as it is. A job that has lost a rank is started again as often as
    /// [`Cluster::retries`](crate::Cluster::retries) says, as if its process had lived. A function of
    /// [`on_epoch`](Self::on_epoch) has died with its process.
    ///
    /// ```
    /// use topicbook::TopicModel;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::create_dir("runs").unwrap();
    /// // No fit has been started here.
    /// let error = TopicModel::attach("runs").unwrap_err();
    /// assert!(error.to_string().contains("no run of a cluster in runs"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no run is in the folder, or more than one that no process follows; when the process that follows it is alive; when
    /// another version of this crate has started it; when the counts' files have gone, or have another shape.
    ///
    /// # Cost
    /// The counts are not read: the ranks have checked them. Memory is that of L and F, 4 bytes x k x (documents + terms), twice at
    /// the end.
    #[doc(alias = "reconnect")]
    pub fn attach(folder: impl AsRef<Path>) -> Result<Training> {
        let folder = RunFolder::find(folder.as_ref())?;
        let (started, counts) = Started::read(&folder)?;
        let mut recipe = Recipe::from_settings(started.settings);
        recipe.terms = started.terms.map(Terms::new).transpose()?;
        recipe.cluster = Some(started.cluster);
        let plan = Plan::new(&recipe, &counts, true)?;
        let run = plan.begin(ExistingFile::None)?;
        let folder = Arc::new(folder);
        let training = run.spawn(ResumeState::of_run(folder.clone()))?;
        Ok(training.of_run(folder))
    }
}
