//! Topic models for count matrices that do not fit in memory, in evcxr notebooks and in plain programs.
//!
//! A corpus is a matrix of counts, documents x terms. A topic model writes it as a product of two smaller ones: L
//! (documents x topics) says what each document is about, F (topics x terms) which terms a topic uses. This crate fits the
//! model of the Python package tinytopics, and others of the same likelihood, to counts that are larger than the memory of
//! the GPU, that are streamed from a disk, or that are larger than RAM. Before it starts, it says what will be where and
//! how much memory that takes.
//!
//! ```
//! use topicbook::prelude::*;
//!
//! # fn main() -> topicbook::Result<()> {
//! let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(42).generate()?;
//! let fit = TopicModel::new(3).epochs(20).seed(42).quiet().fit(corpus.counts())?;
//! assert_eq!(fit.l().shape(), (60, 3));
//! assert_eq!(fit.f().shape(), (3, 30));
//! let new = fit.transform(corpus.counts())?; // proportions of documents, with F fixed
//! assert_eq!(new.shape(), (60, 3));
//! # Ok(())
//! # }
//! ```
//!
//! # The types, in the order of the data
//!
//! | Step | Types |
//! |---|---|
//! | counts | [`Counts`] (opened, or from your own arrays), the [`Vectorizer`] of [`Texts`] and its [`TextCounts`], [`Synthetic`] and its [`Corpus`], [`Terms`], [`Documents`], [`Summary`], [`Resample`]; files of single cells as [`Cells`], tables with names as [`CountTable`]; written by a [`CountsWriter`]; [`Batches`] of them, each a [`CountBatch`], for a loop of one's own |
//! | settings | [`TopicModel`], its [`Solver`], [`Optimizer`], [`GradientStep`], [`Precision`], [`Device`], [`Reading`], [`TableStorage`]; saved as [`Settings`] |
//! | memory | [`Budget`] and [`ByteSize`]; the [`Plan`] of a fit, and an [`Estimate`] without counts |
//! | fitting | [`TopicModel::fit`], or by the ranks of a [`Cluster`]; with several numbers of topics a [`Sweep`], its [`SweepPlan`] and [`SweepFits`], and the [`Consensus`] of several seeds; in the background a [`Training`]; interrupted and resumed a [`Checkpoint`]; one [`Epoch`] a pass |
//! | results | a [`Fit`]: its [`Evaluation`] on held-out documents, its [`RankingEvaluation`] as a recommender, its [`Coherence`], [`Matrix`] values, [`Table`s](Fit::top_terms) and [`Chart`s](Fit::plot_structure); an [`Explorer`] shows it as a page |
//! | embeddings | a [`RowTable`] of any number of rows, in memory or in a mapped file: rows gathered, updated with gradients and flushed |
//! | this machine | [`doctor`] says which device fits, and what is missing |
//!
//! # File formats
//!
//! [`Counts::open`] reads `.npy` (in place), SciPy's `.npz` (row by row), `.safetensors`, `.h5ad` and 10x `.h5` (row by row),
//! `.mtx(.gz)`, UCI's bags of words, and with the feature `polars` tables of triplets, as [`Table::open`] opens them:
//! `.csv`, `.tsv`, `.jsonl`, `.parquet` and `.arrow`. [`Counts::write_npy`], [`Counts::write_npz`] and the methods beside them write
//! in bounded memory. A fit is saved by [`Fit::save`] and read by [`Fit::load`]; its file is in the safetensors format, so
//! that Python reads L and F from it.
//!
//! # Memory
//!
//! Every fit is planned first. [`TopicModel::plan`] returns the [`Plan`]: where counts, L and F live, the bytes of each, the
//! predicted peak of RAM and VRAM, and what does not fit and why. [`TopicModel::budget`] limits both. Counts in a file are
//! mapped, or streamed in blocks through two reused buffers where they are larger than half of the free memory; on the GPU
//! they stay resident or are uploaded batch by batch; L and its optimizer state can leave the GPU for RAM, or RAM for a
//! folder of [`Budget::spill_dir`]. [`Fit::memory`] compares the plan with what was measured.
//!
//! # In a plain program
//!
//! Nothing needs a notebook: `cargo run --example quickstart` is the program above, and `examples/` has more (from a CSV
//! file, larger than RAM, resume, solvers compared, new documents, GPU). Fits print nothing there unless
//! [`show_progress`]`(true)` is called; [`TopicModel::on_epoch`] hands every [`Epoch`] to a closure.
//!
//! # Features
//!
//! All but the last are on by default.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `cuda` | fits on an NVIDIA GPU, found at run time; builds on machines without one |
//! | `polars` | [`Table`] with its [`GroupBy`], and counts from Parquet and CSV files |
//! | `charts` | [`Chart`] as PNG and SVG |
//! | `languages` | [`Vectorizer::language`] divides Chinese, Japanese, Thai, Lao, Khmer and Burmese, by 3 MB of dictionaries |
//! | `notebook` | values show themselves below an evcxr cell; includes `charts` and `polars` |
//! | `bench-hooks` | functions for this repository's own tests and benchmarks; no part of the API |
//!
//! `default-features = false` leaves counts, synthetic data, all solvers on the CPU, plans, checkpoints and fits, with some
//! 90 crates to compile instead of 300.
//!
//! # Notebooks
//!
//! `notebooks/` in the repository is a course, in this order: `00_rust_in_ten_lines` (for people who know Python),
//! `01_quick_start`, `02_real_text`, `03_larger_than_vram`, `04_streamed_from_disk`, `05_larger_than_ram`, `06_working_with_a_fit`,
//! `07_what_each_technique_saves`, `08_what_is_in_these_texts`, `09_what_is_in_these_cells`, `10_more_rows_than_memory`,
//! `11_more_than_one_machine`, `12_a_model_of_your_own` and `13_deep_networks_in_little_memory`. `cargo xtask lab` opens JupyterLab
//! with a kernel in which the first cell answers at once; `notebooks/executed` has the notebooks as they ran.
//!
//! # Files
//!
//! A file is written under a temporary name in the same folder and then renamed, so that a file of its name is replaced as a
//! whole, with its permissions, or left as it is. A symbolic link stays, and its target is replaced. A read-only file
//! (`chmod a-w`) is refused. Charts, tables and fits can be written to a character device or a FIFO; what is read is a file.
//!
//! Counts are read where they lie in their file (`mmap`). If another program cuts that file meanwhile, the system sends
//! SIGBUS, which would end the process. So the first mapped file installs **a process-wide handler for SIGBUS**, which turns
//! such a read into an [`Error`]; a fault outside of our mappings goes to the handler that was there before.
//!
//! # Platform
//!
//! Linux. Memory is measured in `/proc` and in control groups, files are read through `mmap` and `pread`.

// A build without a feature keeps the helpers that only the feature calls: one list of them for every combination of
// features would be longer than they are.
#![cfg_attr(
    not(all(feature = "cuda", feature = "notebook")),
    allow(dead_code, unused_imports)
)]

// Stand-ins for the crate `topicbook-gpu`.
#[cfg(not(feature = "cuda"))]
mod absent;
// They compare with Burn's tensors, which come with CUDA.
#[cfg(all(feature = "bench-hooks", feature = "cuda"))]
#[doc(hidden)]
pub mod bench_hooks;
mod doctor;
mod fit;
mod model;
#[cfg(feature = "notebook")]
mod notebook;
mod plan;
#[cfg(all(feature = "cuda", feature = "charts", feature = "polars"))]
mod trainer;
mod training;

// The crates below, by the names of their subjects.
#[cfg(feature = "notebook")]
use topicbook_base::evcxr;
use topicbook_base::{error, system, text};
#[cfg(feature = "charts")]
use topicbook_charts as charts;
use topicbook_cluster as cluster;
use topicbook_counts::{self as counts, batches, synthetic};
use topicbook_data as data;
#[cfg(feature = "cuda")]
use topicbook_module as module;
#[cfg(feature = "polars")]
use topicbook_solvers::cholesky;
use topicbook_solvers::{config, cost, kernels};
use topicbook_text as vectorizer;

#[cfg(not(feature = "cuda"))]
use absent::{backend, solvers, step};
#[cfg(feature = "cuda")]
use topicbook_gpu::{backend, solvers, step};

pub use doctor::{Doctor, doctor};
#[cfg(feature = "charts")]
pub use fit::Explorer;
#[cfg(all(feature = "charts", feature = "polars"))]
pub use fit::Words;
#[cfg(feature = "polars")]
pub use fit::{ByLabel, Effects};
pub use fit::{
    Coherence, Consensus, Distinctive, Evaluation, Fit, NameOrNumber, NewDocuments,
    RankingEvaluation, ScoreDifference, TermScore, TopicCoherence, TopicName,
};
pub use model::{
    Checkpoint, CountSource, Estimate, Sweep, SweepFits, SweepPlan, SweepRun, TopicModel, Update,
};
#[doc(hidden)]
pub use model::{ExampleFolder, example_checkpoint, example_fit, example_folder, example_halves};
#[cfg(feature = "notebook")]
pub use notebook::{
    Control, GpuNow, Interact, InteractOutput, MemoryNow, MemoryScope, Released, Shown, html,
    interact, live, markdown, memory, memory_scope, release,
};
pub use plan::Plan;
#[doc(inline)]
pub use topicbook_base::{Error, ErrorKind, Result, show_progress};
#[cfg(feature = "charts")]
#[doc(inline)]
pub use topicbook_charts::{
    Chart, IntoPositions, IntoRows, IntoSeries, Number, Numbers, palette, side_by_side, stack,
};
#[cfg(feature = "polars")]
#[doc(inline)]
pub use topicbook_counts::CountTable;
#[doc(inline)]
pub use topicbook_counts::{
    Batches, Cells, Corpus, CountBatch, CountValue, Counts, CountsWriter, DocumentFrequency, Dtype,
    Layout, Location, Reading, Resample, Summary, Synthetic,
};
#[doc(inline)]
pub use topicbook_data::{
    Budget, ByteSize, Documents, Epoch, Indices, LabelValue, Matrix, MatrixRow, MatrixRows, OrRef,
    Terms, TextFormat, sort_documents,
};
#[cfg(feature = "polars")]
#[doc(inline)]
pub use topicbook_data::{ColumnValues, Columns, Condition, GroupBy, JoinKeys, Table, TableValue};
#[cfg(feature = "cuda")]
#[doc(inline)]
pub use topicbook_module::{
    Checkpointing, Cpu, LossScale, ModuleOptimizer, NeuralPoissonNmf, checkpointed,
    poisson_nmf_loss,
};
#[doc(inline)]
pub use topicbook_solvers::{
    Cluster, Device, FullPass, GradientStep, MiniBatch, Optimizer, Precision, RowTable,
    RowTableBuilder, Settings, Solver, TableStorage,
};
#[doc(inline)]
pub use topicbook_text::{Dropped, StopWords, TextCounts, TextItem, TextSource, Texts, Vectorizer};
#[cfg(all(feature = "cuda", feature = "charts", feature = "polars"))]
pub use trainer::{Trained, Trainer, TrainingEstimate};
#[cfg(all(feature = "cuda", feature = "charts", feature = "polars"))]
#[doc(hidden)]
pub use trainer::{example_loss, example_trainer};
pub use training::Training;

/// The names that a notebook's first cell brings in. `Result` is not among them: it would hide that of the standard
/// library, so that `Result<u32, String>` and `?` on another crate's error would fail in a cell.
///
/// ```
/// use topicbook::prelude::*;
/// let model = TopicModel::new(10).seed(42);
/// let checked: Result<u32, String> = Ok(3);
/// ```
pub mod prelude {
    pub use crate::{
        Batches, Budget, ByteSize, Cells, Checkpoint, Cluster, Coherence, Consensus, Corpus,
        CountBatch, CountValue, Counts, CountsWriter, Device, Distinctive, Doctor, Documents,
        Dtype, Epoch, Error, ErrorKind, Estimate, Evaluation, Fit, GradientStep, Layout, Location,
        Matrix, Optimizer, Plan, Precision, RankingEvaluation, Reading, Resample, RowTable,
        Settings, Solver, Summary, Sweep, SweepFits, SweepPlan, Synthetic, TableStorage, TermScore,
        Terms, TextCounts, TextFormat, Texts, TopicModel, Training, Update, Vectorizer, doctor,
        show_progress,
    };
    #[cfg(feature = "polars")]
    pub use crate::{ByLabel, CountTable, Effects, Table};
    #[cfg(feature = "charts")]
    pub use crate::{Chart, Explorer, palette, side_by_side, stack};
    #[cfg(feature = "cuda")]
    pub use crate::{
        Checkpointing, Cpu, LossScale, ModuleOptimizer, NeuralPoissonNmf, burn, checkpointed,
        poisson_nmf_loss,
    };
    #[cfg(feature = "notebook")]
    pub use crate::{
        Interact, MemoryScope, Shown, html, interact, live, markdown, memory, memory_scope, release,
    };
    #[cfg(all(feature = "cuda", feature = "charts", feature = "polars"))]
    pub use crate::{Trained, Trainer, TrainingEstimate};
    /// What expressions of Polars begin with, as [`Table::filter`](crate::Table::filter) takes them, and its types of columns.
    #[cfg(feature = "polars")]
    pub use ::polars::prelude::{DataType, StrptimeOptions, col, len, lit, when};
}

#[cfg(feature = "cuda")]
#[doc(inline)]
pub use topicbook_data::burn;
#[cfg(feature = "polars")]
#[doc(inline)]
pub use topicbook_data::polars;
