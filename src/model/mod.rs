//! The topic model: settings in, a fit out.

mod background;
mod checkpoint;
mod fused;
mod history;
mod iterate;
mod network;
mod observer;
mod position;
mod progress;
#[doc(hidden)]
pub mod replay;
mod resume;
mod schedule;
mod settings;
mod start;
mod step;
mod train;

use std::borrow::Borrow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use burn::backend::Autodiff;
use burn_cuda::{Cuda, CudaDevice};

pub use background::Training;
pub use resume::Checkpoint;
pub use settings::Settings;

pub(crate) use fused::vector;
pub(crate) use history::{Epoch, loss_chart};
pub(crate) use network::SMALLEST_RATE;

use crate::counts::Counts;
use crate::device::{Device, Resolved};
use crate::display::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::fit::Fit;
use crate::loader;
use crate::matrix::Matrix;
use crate::memory;
use crate::solver;
use crate::terms::Terms;

use background::panic_text;
use checkpoint::{Earlier, Fingerprint, Keeper};
use fused::FusedStep;
use history::Recorder;
use observer::Observer;
use position::Position;
use progress::Progress;
use start::initial_tables;
use step::{State, Step, TensorStep};

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
}

/// Where a fit takes up its work: at the first batch, or where an earlier process left it.
#[derive(Debug, Clone)]
struct Beginning {
    state: State,
    position: Position,
    history: Vec<Epoch>,
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
        }
    }

    /// Passes over the documents; 200 by default.
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.settings.epochs = epochs;
        self
    }

    /// Documents in a batch; 16 by default.
    pub fn batch_size(mut self, documents: usize) -> Self {
        self.settings.batch_size = documents;
        self
    }

    /// The learning rate at the end of every period; 0.01 by default.
    pub fn base_lr(mut self, rate: f64) -> Self {
        self.settings.base_lr = rate;
        self
    }

    /// The learning rate at the start of every period; 0.05 by default.
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
    /// the same fit, bit for bit.
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

    /// Fits the model to counts (documents x terms).
    ///
    /// Prints about 20 lines of progress, unless [`quiet`](Self::quiet). Memory: the counts stay where they are; the
    /// tables L and F, their gradients and AdamW's moments take about 28 bytes x k x (documents + terms), a batch
    /// about 24 bytes x batch size x terms.
    ///
    /// # Errors
    /// When a setting is out of its range, the counts hold something that is not a count, there are fewer documents or
    /// terms than topics, the term names do not match the counts, the device cannot be used, or memory does not
    /// suffice. All of it is checked before training starts.
    pub fn fit(&self, counts: impl Borrow<Counts>) -> Result<Fit> {
        let counts = counts.borrow();
        let device = self.check(counts)?;
        self.train(counts, device, self.beginning(counts)?, None)
    }

    /// The same fit on a thread of its own, without progress lines: the notebook stays free, and the handle shows how
    /// far the fit is.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and likewise before training starts.
    pub fn spawn(&self, counts: impl Borrow<Counts>) -> Result<Training> {
        let counts = counts.borrow();
        let device = self.check(counts)?;
        self.train_behind(counts, device, self.beginning(counts)?)
    }

    fn train_behind(
        &self,
        counts: &Counts,
        device: Resolved,
        beginning: Beginning,
    ) -> Result<Training> {
        let counts = counts.clone();
        let model = self.clone().quiet();
        Training::start(beginning.history.clone(), move |watch| {
            model.train(&counts, device, beginning, Some(watch))
        })
    }

    /// The start of a new fit.
    fn beginning(&self, counts: &Counts) -> Result<Beginning> {
        if let Some(path) = &self.checkpoint {
            checkpoint::check_place(path)?;
        }
        let (documents, terms) = counts.shape();
        let (l, f) = initial_tables(&self.settings, documents, terms);
        Ok(Beginning {
            state: State::new(l, f),
            position: Position::default(),
            history: Vec::new(),
            earlier: Earlier::Foreign,
        })
    }

    fn train(
        &self,
        counts: &Counts,
        device: Resolved,
        beginning: Beginning,
        watch: Option<&mut dyn Observer>,
    ) -> Result<Fit> {
        let (documents, seed) = (counts.documents(), self.settings.seed);
        let mut order = |epoch| loader::shuffled(documents, seed, epoch);
        let mut keeper = match &self.checkpoint {
            Some(path) => Some(Keeper::new(
                path,
                &self.settings,
                self.terms.as_ref(),
                device.to_string(),
                Fingerprint::of(counts)?,
                &beginning,
            )),
            None => None,
        };
        let mut recorder = Recorder {
            epochs: beginning.history,
        };
        let mut progress = Progress::default();
        let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder];
        if !self.quiet {
            observers.push(&mut progress);
        }
        if let Some(keeper) = &mut keeper {
            observers.push(keeper);
        }
        if let Some(watch) = watch {
            observers.push(watch);
        }
        let (l, f) = self.run(
            counts,
            device,
            beginning.state,
            beginning.position,
            &mut order,
            &mut observers,
        )?;
        Ok(Fit::new(
            self.settings.clone(),
            l,
            f,
            self.terms.clone(),
            recorder.epochs,
            device.to_string(),
        ))
    }

    /// Everything that can be refused is refused here, before memory is taken.
    fn check(&self, counts: &Counts) -> Result<Resolved> {
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
        if device == Resolved::Cpu {
            memory::check_free(self.training_bytes(counts)?, "this fit")?;
        }
        if counts.summary()?.total() == 0.0 {
            return Err(Error::new(ErrorKind::Value, "all counts are zero")
                .fix("check that the file holds counts of terms in documents"));
        }
        Ok(device)
    }

    /// Tables, gradients, moments and one spare copy of each; a batch's counts, rates and what autodiff keeps of them;
    /// the state that goes into a checkpoint.
    fn training_bytes(&self, counts: &Counts) -> Result<u64> {
        let (documents, terms) = counts.shape();
        let k = self.settings.topics as u64;
        if self.settings.solver.iterates() {
            let start = 8 * k * (documents + terms) as u64;
            return Ok(
                start + solver::bytes_needed(self.settings.solver, counts, self.settings.topics)?
            );
        }
        let batch = self.settings.batch_size.min(documents) as u64;
        let per_entry = if self.checkpoint.is_some() { 44 } else { 28 };
        Ok(per_entry * k * (documents + terms) as u64 + 24 * batch * terms as u64)
    }

    fn run(
        &self,
        counts: &Counts,
        device: Resolved,
        state: State,
        position: Position,
        order: &mut (dyn FnMut(usize) -> Vec<usize> + Send),
        observers: &mut [&mut dyn Observer],
    ) -> Result<(Matrix, Matrix)> {
        let settings = &self.settings;
        let name = device.to_string();
        if settings.solver.iterates() {
            return threads()?
                .install(|| iterate::iterate(settings, counts, name, state, position, observers));
        }
        let mut train = |step: &mut dyn Step| {
            let device = name.clone();
            train::train(settings, counts, device, step, position, order, observers)?;
            step.topics()
        };
        match device {
            Resolved::Cpu => threads()?.install(|| train(&mut FusedStep::new(settings, state))),
            // The CUDA runtime reports exhausted memory and lost devices by panicking.
            Resolved::Cuda(card) => catch_unwind(AssertUnwindSafe(|| {
                train(&mut TensorStep::<Autodiff<Cuda>>::new(
                    settings,
                    state,
                    CudaDevice::new(card),
                ))
            }))
            .unwrap_or_else(|panic| Err(cuda_error(card, panic.as_ref()))),
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
    Card::new(title)
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
        .row("weight decay", settings.weight_decay.to_string())
        .row("seed", settings.seed.to_string())
}

fn cuda_error(card: usize, panic: &(dyn std::any::Any + Send)) -> Error {
    Error::new(
        ErrorKind::Device,
        format!("CUDA card {card} stopped: {}", panic_text(panic)),
    )
    .fix("use a smaller batch size or fewer topics if its memory is full, or Device::Cpu")
}
