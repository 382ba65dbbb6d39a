//! Plans of fits to counts that do not exist yet.

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::config::Recipe;
use crate::counts::{Counts, Dtype, Layout};
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::data::With;
#[cfg(feature = "polars")]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
use crate::plan::Plan;

use super::TopicModel;

/// A question before there are data: what would a fit to counts of this size take? Made by [`TopicModel::estimate`].
///
/// ```
/// use topicbook::{Budget, Dtype, TopicModel};
/// // The larger size of tinytopics' article on a machine with 64 GB of RAM and a GPU of 24 GB.
/// let machine = Budget::new().ram("64 GB")?.vram("24 GB")?;
/// let model = TopicModel::new(20).batch_size(256).budget(machine);
/// let plan = model.estimate(500_000, 100_000).density(0.47).dtype(Dtype::U8).plan()?;
/// assert!(plan.peak_ram() < 64_000_000_000);
/// assert!(plan.peak_vram() < Some(24_000_000_000));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "an estimate says nothing before `plan` is called, or a cell shows it"]
pub struct Estimate {
    recipe: Recipe,
    documents: usize,
    terms: usize,
    density: f64,
    dtype: Dtype,
    layout: Layout,
}

impl TopicModel {
    /// An estimate of a fit to counts of `documents` x `terms` that do not exist yet: dense `u8` in a `.npy` file with no
    /// count zero, unless [`Estimate::density`], [`Estimate::dtype`] and [`Estimate::layout`] say otherwise. Its
    /// [`plan`](Estimate::plan) shows and refuses like any other, but cannot be carried out; a cell shows it without being
    /// asked to.
    ///
    /// The [`budget`](Self::budget) describes the machine. With a budget of VRAM the plan is that of a fit on a GPU with as
    /// much, whether or not this machine has one.
    ///
    /// ```
    /// use topicbook::{Budget, TopicModel};
    /// let machine = Budget::new().ram("4 GB")?;
    /// let model = TopicModel::new(20).budget(machine);
    /// let plan = model.estimate(100_000, 100_000).plan()?;
    /// assert!(plan.peak_ram() < 4_000_000_000); // of 10 GB in the file
    /// assert!(plan.fit().unwrap_err().to_string().contains("no counts"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "dry_run")]
    pub fn estimate(&self, documents: usize, terms: usize) -> Estimate {
        Estimate {
            recipe: self.recipe.clone(),
            documents,
            terms,
            density: 1.0,
            dtype: Dtype::U8,
            layout: Layout::Dense,
        }
    }
}

impl Estimate {
    /// The part of all counts that are not zero, above 0 and at most 1; 1 by default. A text has about 0.01, the counts of
    /// tinytopics' article have 0.47.
    ///
    /// ```
    /// use topicbook::TopicModel;
    /// let model = TopicModel::new(10);
    /// assert!(model.estimate(5_000, 1_000).density(0.01).plan().is_ok());
    /// assert!(model.estimate(5_000, 1_000).density(47.0).plan().is_err()); // not in percent
    /// ```
    pub fn density(&self, density: f64) -> Self {
        self.with(|changed| changed.density = density)
    }

    /// The type of dense counts in their file; [`Dtype::U8`] by default. Sparse counts are `f32` in memory, whatever it is.
    ///
    /// ```
    /// use topicbook::{Dtype, TopicModel};
    /// let estimate = TopicModel::new(10).estimate(5_000, 1_000).dtype(Dtype::F32);
    /// assert!(estimate.plan()?.to_string().contains("19.1 MiB")); // 20 million bytes
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn dtype(&self, dtype: Dtype) -> Self {
        self.with(|changed| changed.dtype = dtype)
    }

    /// Whether the file is a `.npy` of all counts ([`Layout::Dense`], the default) or a `.npz` of those that are not zero
    /// ([`Layout::Csr`], uncompressed).
    ///
    /// ```
    /// use topicbook::{Layout, TopicModel};
    /// let estimate = TopicModel::new(10).estimate(19_000, 56_000).density(0.002).layout(Layout::Csr);
    /// assert!(estimate.plan().is_ok());
    /// ```
    pub fn layout(&self, layout: Layout) -> Self {
        self.with(|changed| changed.layout = layout)
    }

    /// The plan of the fit.
    ///
    /// ```
    /// use topicbook::{Budget, TopicModel};
    /// let model = TopicModel::new(20).budget(Budget::new().ram("100 MB")?);
    /// let error = model.estimate(500_000, 100_000).plan().unwrap_err();
    /// assert!(error.to_string().contains("give a budget of at least"), "{error}");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`TopicModel::plan`]; and when the density is not between 0 and 1.
    pub fn plan(&self) -> Result<Plan> {
        // Written so that NaN is refused as well.
        if !(self.density > 0.0 && self.density <= 1.0) {
            return Err(Error::setting(format!("density is {}", self.density))
                .fix("it is the part of all counts that are not zero: 0.01 is one in a hundred"));
        }
        let dtype = match self.layout {
            Layout::Dense => self.dtype,
            Layout::Csr => Dtype::F32,
        };
        let cells = self.documents as f64 * self.terms as f64;
        let nonzeros = (cells * self.density).ceil() as u64;
        let shape = (self.documents, self.terms);
        let counts = Counts::expected(shape, dtype, self.layout, nonzeros)?;
        Plan::estimate(&self.recipe, &counts)
    }

    /// The plans of all pairs of a number of topics and a batch size, a row for each: `topics`, `batch_size`, `verdict` (fits,
    /// with what the plan had to do for it, or refused), and the peaks `ram` and `vram` in bytes, which a refused fit lacks.
    ///
    /// ```
    /// use topicbook::{Budget, TopicModel};
    /// let machine = Budget::new().ram("8 GB")?.vram("100 MB")?;
    /// let table = TopicModel::new(20).budget(machine).estimate(500_000, 100_000).table([10, 100], [16, 256])?;
    /// let verdicts: Vec<_> = table.column("verdict")?.str()?.iter().flatten().map(String::from).collect();
    /// assert_eq!(verdicts.len(), 4);
    /// assert!(verdicts[0].starts_with("fits"));
    /// assert_eq!(verdicts[3], "refused");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan) but that memory does not suffice.
    #[cfg(feature = "polars")]
    pub fn table(
        &self,
        topics: impl IntoIterator<Item = usize>,
        batch_sizes: impl IntoIterator<Item = usize>,
    ) -> Result<Table> {
        let batch_sizes: Vec<usize> = batch_sizes.into_iter().collect();
        let (mut k, mut batch, mut verdict) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ram, mut vram) = (Vec::new(), Vec::new());
        for topics in topics {
            for &batch_size in &batch_sizes {
                let mut estimate = self.clone();
                estimate.recipe.settings.topics = topics;
                estimate.recipe.set_batch_size(batch_size);
                let plan = match estimate.plan() {
                    Err(error) if error.kind() != ErrorKind::Space => return Err(error),
                    plan => plan.ok(),
                };
                k.push(topics as u64);
                batch.push(batch_size as u64);
                verdict.push(plan.as_ref().map_or("refused".into(), Plan::verdict));
                ram.push(plan.as_ref().map(Plan::peak_ram));
                vram.push(plan.as_ref().and_then(Plan::peak_vram));
            }
        }
        let mut columns = vec![
            Column::new("topics".into(), k),
            Column::new("batch_size".into(), batch),
            Column::new("verdict".into(), verdict),
            Column::new("ram".into(), ram),
        ];
        if self.recipe.budget.vram_bytes().is_some() {
            columns.push(Column::new("vram".into(), vram));
        }
        Ok(Table::from_columns(columns))
    }
}
