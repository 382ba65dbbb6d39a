//! The topic model: settings in, a fit out.

mod background;
mod card;
mod checkpoint;
mod exchange;
mod fused;
mod history;
mod hosted;
mod iterate;
mod kernels;
mod loss;
mod network;
mod observer;
mod operation;
mod optimizer;
mod position;
mod precision;
mod progress;
mod reading;
#[doc(hidden)]
pub mod replay;
mod resume;
mod schedule;
mod settings;
mod slopes;
mod start;
mod step;
pub(crate) mod tensor_memory;
mod torch;
mod train;
mod watching;

use std::borrow::Borrow;
use std::path::PathBuf;

use burn::backend::Autodiff;
use burn_cuda::{Cuda, CudaDevice};

pub use background::Training;
pub use optimizer::Optimizer;
pub use precision::Precision;
pub use resume::Checkpoint;
pub use settings::Settings;

pub(crate) use card::has_context;
pub(crate) use exchange::Exchange;
pub(crate) use fused::{FusedStep, vector};
pub(crate) use history::{Epoch, loss_chart};
#[cfg(test)]
pub(crate) use kernels::software;
pub(crate) use kernels::{Stay, buffers, bytes_of_batch, bytes_of_counts, bytes_pinned};
pub(crate) use network::{SMALLEST_RATE, to_tensor};
pub(crate) use observer::Observer;
pub(crate) use slopes::{Sums, tensor};
pub(crate) use step::{Losses, to_matrix};
pub(crate) use tensor_memory::{PINNED, sums, table_bytes};
pub(crate) use watching::Watching;

use crate::budget::Budget;
use crate::counts::Counts;
use crate::device::{Device, Resolved};
use crate::display::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::matrix::Matrix;
use crate::memory::{Handle, Profile};
use crate::plan::Placement;
use crate::terms::Terms;

use checkpoint::{Earlier, Fingerprint, Keeper};
use history::Recorder;
use hosted::HostedStep;
use loss::Fused;
use position::Position;
use progress::Progress;
use start::initial_tables;
use step::TensorStep;
use step::{State, Step};
use watching::MemoryWatch;

/// A topic model of `k` topics, to be fitted to counts: tinytopics' neural Poisson NMF.
///
/// Counts X (documents x terms) are modelled as Poisson with rates L F, where L (documents x topics) is the softmax
/// over topics of a free table and F (topics x terms) the softmax over terms of another. The loss is the Poisson
/// negative log-likelihood, the sum of rate - x log max(rate, 1e-10); it is minimised by AdamW over random batches of
/// documents, with a learning rate that falls along a cosine and restarts. Model, loss and defaults are those of the
/// Python package tinytopics 0.9 (Xiao 2025).
///
/// One epoch costs O(documents x terms x k) operations.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let fit = TopicModel::new(3).epochs(5).seed(1).quiet().fit(corpus.counts())?;
/// assert_eq!(fit.l().shape(), (60, 3));
/// assert_eq!(fit.f().shape(), (3, 30));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TopicModel {
    settings: Settings,
    terms: Option<Terms>,
    quiet: bool,
    checkpoint: Option<PathBuf>,
    pub(crate) budget: Budget,
}

/// Where a fit takes up its work: at the first batch, or where an earlier process left it.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    state: State,
    position: Position,
    pub(crate) history: Vec<Epoch>,
    earlier: Earlier,
}

impl TopicModel {
    /// A model of `k` topics with the defaults of [`Settings`].
    pub fn new(k: usize) -> Self {
        Self {
            settings: Settings::new(k),
            terms: None,
            quiet: false,
            checkpoint: None,
            budget: Budget::new(),
        }
    }

    /// Passes over the documents; 200 by default.
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.settings.epochs = epochs;
        self
    }

    /// Documents in a batch; 16 by default. Larger batches use a card better.
    ///
    /// The learning rates that go with them depend on the steps of an epoch, documents / batch size. With 64 steps or
    /// more the default rates hold, whatever the batch. With fewer, multiply [`max_lr`](Self::max_lr) and
    /// [`base_lr`](Self::base_lr) by √(64 / steps), at most by 8: a row of L is in one batch of an epoch, and AdamW moves
    /// it by about the rate times √steps for that. [`Optimizer::RowwiseAdamW`] wants twice as much (2 with 64 steps or
    /// more), and at most 8 as well. [`t_0`](Self::t_0) may stay. On 2,483 NIPS papers, k = 10, 200 epochs:
    ///
    /// | batch size | steps | factor | max_lr, base_lr | score | with the default rates |
    /// |---|---|---|---|---|---|
    /// | 16 | 156 | 1 | 0.05, 0.01 | -24,877,000 | -24,877,000 |
    /// | 64 | 39 | 1.3 | 0.064, 0.013 | -24,884,300 | -24,893,500 |
    /// | 256 | 10 | 2.5 | 0.126, 0.025 | -24,878,500 | -24,895,500 |
    /// | 1,024 | 3 | 4.6 | 0.23, 0.046 | -24,892,300 | -24,963,600 |
    /// | 2,483 | 1 | 8 | 0.4, 0.08 | -24,923,700 | -25,107,600 |
    ///
    /// Scores ([`Fit::score`], higher is better) are means of three seeds, which lie 7,000 to 41,000 apart. With few steps an
    /// epoch it takes more epochs to learn as much: with 600 of them, batch 1,024 reaches -24,878,700 and all documents at
    /// once -24,888,800. In drawn counts of 20,000 documents topics are further from the true ones after 40 epochs at batch
    /// 1,024 than at 16 (0.11 and 0.06, in total variation), and as near after 120 (`cargo xtask bench batches`).
    pub fn batch_size(mut self, documents: usize) -> Self {
        self.settings.batch_size = documents;
        self
    }

    /// The learning rate at the end of every period; 0.01 by default. For large batches see
    /// [`batch_size`](Self::batch_size).
    pub fn base_lr(mut self, rate: f64) -> Self {
        self.settings.base_lr = rate;
        self
    }

    /// The learning rate at the start of every period; 0.05 by default. For large batches see
    /// [`batch_size`](Self::batch_size).
    pub fn max_lr(mut self, rate: f64) -> Self {
        self.settings.max_lr = rate;
        self
    }

    /// Epochs in the first period of the learning rate (tinytopics' `T_0`); 20 by default.
    pub fn t_0(mut self, epochs: usize) -> Self {
        self.settings.t_0 = epochs;
        self
    }

    /// How many times longer each period is than the one before (tinytopics' `T_mult`); 1 by default.
    pub fn t_mult(mut self, factor: usize) -> Self {
        self.settings.t_mult = factor;
        self
    }

    /// AdamW's decoupled weight decay; 1e-5 by default.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.settings.weight_decay = weight_decay;
        self
    }

    /// The seed of the starting point and of the order of the batches; 0 by default. On the CPU the same seed gives
    /// the same fit, bit for bit, and starts where tinytopics with PyTorch on the CPU starts with it and meets the same
    /// batches. Only its lower 32 bits matter, as there.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Where to train; [`Device::Auto`] by default.
    pub fn device(mut self, device: Device) -> Self {
        self.settings.device = device;
        self
    }

    /// The names of the terms, for tables and charts; one for every column of the counts.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = Some(terms);
        self
    }

    /// No progress lines.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Keeps what the fit has learned in a file as it goes, for [`resume`](Self::resume) after an interrupt or a crash.
    ///
    /// The last two checkpoints are kept, the one before the newest as `path` with `.previous` after it; a new fit
    /// replaces those of an older one. Each takes 12 bytes x k x (documents + terms), and while it is written as much
    /// memory. They are written after 49 times the time that the last one took (and at least a second), so that they
    /// take at most 2% of a long fit's time, and once more when the fit ends or is stopped. A full disk does not
    /// end the fit: it is said in one line, and the checkpoint before is kept.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// The settings as they stand.
    pub fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// Fits the model to counts (documents x terms): makes a [`plan`](Self::plan) and carries it out.
    ///
    /// Prints about 20 lines of progress, unless [`quiet`](Self::quiet). Memory: the counts stay where they are; the
    /// plan says what the rest takes, and keeps it within the [`budget`](Self::budget).
    ///
    /// # Errors
    /// When a setting is out of its range, the counts hold something that is not a count, there are fewer documents or
    /// terms than topics, the term names do not match the counts, the device cannot be used, or memory does not
    /// suffice. All of it is checked before training starts.
    pub fn fit(&self, counts: impl Borrow<Counts>) -> Result<Fit> {
        self.plan(counts)?.fit()
    }

    /// The same fit on a thread of its own, without progress lines: the notebook stays free, and the handle shows how
    /// far the fit is.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and likewise before training starts.
    pub fn spawn(&self, counts: impl Borrow<Counts>) -> Result<Training> {
        self.plan(counts)?.spawn()
    }

    pub(crate) fn keeps_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// Refuses a place where checkpoints of a new fit cannot be written.
    pub(crate) fn check_checkpoint(&self) -> Result<()> {
        self.checkpoint
            .as_deref()
            .map_or(Ok(()), checkpoint::check_place)
    }

    /// The start of a new fit.
    pub(crate) fn beginning(&self, counts: &Counts) -> Result<Beginning> {
        let (documents, terms) = counts.shape();
        let (l, f) = initial_tables(&self.settings, documents, terms)?;
        Ok(Beginning {
            state: State::new(l, f, &self.settings.table_place)?,
            position: Position::default(),
            history: Vec::new(),
            earlier: Earlier::Foreign,
        })
    }

    pub(crate) fn train(
        &self,
        counts: &Counts,
        device: Resolved,
        placement: Placement,
        beginning: Beginning,
        watching: Watching,
        watch: Option<&mut dyn Observer>,
    ) -> Result<Fit> {
        let settings = &self.settings;
        let mut keeper = match &self.checkpoint {
            Some(path) => Some(Keeper::new(
                path,
                settings,
                self.terms.as_ref(),
                device.to_string(),
                Fingerprint::of(counts)?,
                &beginning,
                watching.monitor.handle(),
            )),
            None => None,
        };
        let mut recorder = Recorder {
            epochs: beginning.history,
        };
        let mut progress = Progress::default();
        let mut memory = MemoryWatch::new(&watching, device);
        let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder, &mut memory];
        if !self.quiet {
            observers.push(&mut progress);
        }
        if let Some(keeper) = &mut keeper {
            observers.push(keeper);
        }
        if let Some(watch) = watch {
            observers.push(watch);
        }
        let (l, f) = if settings.solver.iterates() {
            let (state, position) = (beginning.state, beginning.position);
            threads()?.install(|| {
                let monitor = watching.monitor.handle();
                guarded(device, || {
                    iterate::iterate(
                        settings,
                        counts,
                        (device, placement),
                        state,
                        position,
                        &mut observers,
                        &monitor,
                    )
                })
            })?
        } else {
            self.run(
                counts,
                (device, placement),
                beginning.state,
                beginning.position,
                &mut observers,
                &watching.monitor.handle(),
            )?
        };
        drop(memory);
        let profile = Profile::new(watching.monitor.log(), watching.ram, watching.vram);
        Ok(Fit::new(
            settings.clone(),
            l,
            f,
            self.terms.clone(),
            recorder.epochs,
            device.to_string(),
            Some(profile),
        ))
    }

    /// Everything that can be refused without a look at the counts themselves.
    pub(crate) fn check(&self, counts: &Counts) -> Result<Resolved> {
        self.settings.check()?;
        let (documents, terms) = counts.shape();
        let k = self.settings.topics;
        if k > documents || k > terms {
            return Err(Error::setting(format!(
                "{k} topics are more than the counts hold ({documents} documents x {terms} terms)"
            ))
            .fix("use fewer topics: at most as many as documents and as terms"));
        }
        if i32::try_from(documents).is_err() {
            return Err(Error::setting(format!("{documents} documents in one fit"))
                .fix("fit at most 2,147,483,647 documents at once"));
        }
        if let Some(names) = &self.terms
            && names.len() != terms
        {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("{} term names for {terms} terms", names.len()),
            )
            .fix("pass one name for every column of the counts, in their order"));
        }
        let device = self.settings.place()?;
        let on_cards = [Optimizer::AdamW, Optimizer::RowwiseAdamW];
        let steps = !self.settings.solver.iterates();
        if steps && device != Resolved::Cpu && !on_cards.contains(&self.settings.optimizer) {
            return Err(Error::setting(format!(
                "{} on {device}: only AdamW moves F there",
                self.settings.optimizer
            ))
            .fix("use Optimizer::RowwiseAdamW or Optimizer::AdamW, or Device::Cpu"));
        }
        Ok(device)
    }

    /// Reads and checks all counts, unless that has been done.
    pub(crate) fn check_counts(&self, counts: &Counts, streamed: bool) -> Result<()> {
        if counts.summary_by(streamed)?.total() == 0.0 {
            return Err(Error::new(ErrorKind::Value, "all counts are zero")
                .fix("check that the file holds counts of terms in documents"));
        }
        Ok(())
    }

    fn run(
        &self,
        counts: &Counts,
        (device, placement): (Resolved, Placement),
        state: State,
        position: Position,
        observers: &mut [&mut dyn Observer],
        monitor: &Handle,
    ) -> Result<(Matrix, Matrix)> {
        let settings = &self.settings;
        let mut source = self.source(settings, counts)?;
        let train = |step: &mut dyn Step| {
            let device = device.to_string();
            let source_now = &mut *source;
            train::train(
                settings, counts, device, step, position, source_now, observers,
            )?;
            // A stream's buffers go before L and F come.
            drop(source);
            let topics = step.topics();
            monitor.look();
            topics
        };
        match device {
            Resolved::Cpu => {
                threads()?.install(|| train(&mut FusedStep::new(settings, placement, state)?))
            }
            Resolved::Cuda(card) => guarded(device, || {
                let card = CudaDevice::new(card);
                if placement.l_on_host {
                    let mut step = HostedStep::<Cuda>::new(settings, placement, state, card)?;
                    if placement.resident {
                        step.hold(counts)?;
                    }
                    // Rows catch up and move here, by the thread that leads the fit: all calls to the card are its own.
                    return train(&mut step);
                }
                let mut step =
                    TensorStep::<_, Fused<Autodiff<Cuda>>>::new(settings, placement, state, card);
                if placement.resident {
                    step.hold(counts)?;
                }
                train(&mut step)
            }),
        }
    }

    /// Shows the settings below a cell.
    pub fn evcxr_display(&self) {
        settings_card(
            &format!("Topic model, k = {}", self.settings.topics),
            &self.settings,
        )
        .show();
    }
}

/// The threads of one fit. The loop runs inside the threads that share its work: none of them has to be woken at every
/// step. They belong to this fit alone, so that fits side by side do not wait for each other.
fn threads() -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .build()
        .map_err(|error| {
            Error::new(ErrorKind::Space, "the threads of the fit cannot be started")
                .fix("free some memory, or raise the limit of threads of this process")
                .because(error)
        })
}

/// A card with the settings of a model or a fit.
pub(crate) fn settings_card(title: &str, settings: &Settings) -> Card {
    if settings.solver.iterates() {
        return Card::new(title)
            .row("solver", settings.solver.to_string())
            .row("iterations", format!("at most {}", settings.epochs))
            .row("tolerance", format!("{:e}", settings.tolerance))
            .row("seed", settings.seed.to_string());
    }
    let card = Card::new(title)
        .row("epochs", settings.epochs.to_string())
        .row("batch size", format!("{} documents", settings.batch_size))
        .row(
            "learning rate",
            format!(
                "{} to {}, restart every {} epochs{}",
                settings.max_lr,
                settings.base_lr,
                settings.t_0,
                match settings.t_mult {
                    1 => String::new(),
                    factor => format!(", then {factor} times longer each"),
                }
            ),
        )
        .row("optimizer", settings.optimizer.to_string())
        .row("the table behind L", settings.table_place.to_string())
        .row("weight decay", settings.weight_decay.to_string())
        .row("seed", settings.seed.to_string());
    match settings.precision {
        Precision::F32 => card,
        other => card.row("tables on a card", other.to_string()),
    }
}

/// Does something on a device.
fn guarded<T>(device: Resolved, work: impl FnOnce() -> Result<T>) -> Result<T> {
    match device {
        Resolved::Cpu => work(),
        Resolved::Cuda(card) => card::on_card(card, work),
    }
}
