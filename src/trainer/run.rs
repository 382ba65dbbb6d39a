//! One training of a module: registers the observers, runs the training loop and collects what was seen.

use crate::batches::Batches;
use crate::config::Resolved;
use crate::cost::Limit;
use crate::error::{Error, Result};
use crate::fit::MemoryProfile;
use crate::module::{Network, Stepper};
use crate::system::memory::{Monitor, phase, process_memory};
use crate::training::{
    CheckpointFiles, CheckpointWriter, ExistingFile, Loop, Observer, Observers, Position, Stages,
    watch_steps,
};

use super::learner::ModuleSteps;
use super::micro_rows::{TABLES, choose, first_batch, parameter_bytes, slope};
use super::record::{Record, Times, module_rows, typical};
use super::resume::{self, MODULE_CHECKPOINT, ModuleContents, Resumed};
use super::settings::TrainerSettings;

/// Batches to train on, and batches to validate on.
#[derive(Clone, Copy)]
pub(super) struct Data<'a> {
    pub(super) batches: &'a Batches,
    pub(super) validation: Option<&'a Batches>,
}

/// Where a training starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Start {
    New,
    /// From the checkpoint of the settings.
    Resume,
}

/// Trains the network. `observer` is registered after the built-in ones; a training without one listens to the stop button.
pub(super) fn train(
    settings: &TrainerSettings,
    network: &mut dyn Network,
    data: Data,
    start: Start,
    observer: Option<&mut dyn Observer>,
) -> Result<Record> {
    let _fitting = phase("fit");
    let Prepared {
        parameter_bytes,
        resumed,
        files,
        existing,
    } = prepare(settings, network, data, start)?;

    let monitor = Monitor::start();
    let handle = monitor.handle();
    let used = process_memory().anonymous;
    let budget = settings.budget.ram_bytes(used);
    let mut stepper = settings.stepper(usize::MAX, Box::new(|_| {}));
    let room = settings.budget.gives_ram().then_some((used, budget));
    let fixed = used + TABLES * parameter_bytes;
    let (micro_rows, note) = match (settings.micro_batch, room) {
        (Some(rows), _) => (rows, None),
        (None, None) => (usize::MAX, None),
        (None, Some(_)) => {
            let batch = first_batch(data.batches)?;
            let slope = slope(&mut stepper, network, &batch, settings.seed)?;
            choose(slope, batch.documents().len(), (fixed, budget))?
        }
    };
    (stepper.micro_rows, stepper.watch) =
        (micro_rows, watch_steps(monitor.handle(), Resolved::Cpu));
    let mut steps = first_steps(settings, network, stepper, data, room);
    let (position, history, lost) = go_on(&mut steps, resumed)?;

    let prints = settings.quiet && observer.is_none();
    let writer = files.as_ref().map(|files| {
        let contents = (&ModuleContents as _, TABLES * parameter_bytes);
        CheckpointWriter::new(
            contents,
            files,
            handle.clone(),
            (existing, position),
            prints,
        )
    });
    let limit = Limit {
        budget,
        predicted: fixed,
    };
    let mut observers = Observers::new(
        handle,
        (limit, Resolved::Cpu),
        (settings.quiet, settings.on_epoch.clone()),
        writer,
        observer.is_none(),
    );
    let mut all = observers.all(observer);
    let shape = (
        settings.epochs,
        data.batches.rows(),
        data.batches.batches_per_epoch(),
    );
    let mut training = Loop::new(shape, &mut all);
    (training.position, training.history) = (position, history);
    let mut notes: Vec<String> = note.into_iter().chain(lost).collect();
    for note in &notes {
        training.note(note);
    }
    let stages = match data.validation {
        Some(_) => Stages::Validation,
        None => Stages::Module,
    };
    training.start("the CPU".into(), stages, 0);
    training.run(&mut steps)?;

    let history = training.history;
    notes.extend(observers.end());
    let memory = MemoryProfile::new(monitor.log(), limit, None, &[]);
    let best_epoch = steps.restore_best(history.len());
    Ok(Record {
        settings: settings.to_string(),
        history,
        memory,
        step: typical(&steps.memory),
        parameter_bytes,
        modules: module_rows(&steps.network.parameters(), &steps.calls),
        times: steps.times,
        skipped: steps.skipped,
        best_epoch,
        notes,
    })
}

/// What is known before the first step.
struct Prepared {
    parameter_bytes: u64,
    resumed: Option<Resumed>,
    files: Option<CheckpointFiles>,
    existing: ExistingFile,
}

/// Checks the settings and the module, reads the checkpoint to resume from, and claims the files of the next ones.
fn prepare(
    settings: &TrainerSettings,
    network: &dyn Network,
    data: Data,
    start: Start,
) -> Result<Prepared> {
    settings.check(data.validation.is_some())?;
    let parameters = network.parameters();
    if !parameters.iter().any(|parameter| parameter.is_trained) {
        return Err(
            Error::setting("the module has no parameter that is trained")
                .fix("derive Module for the struct, and keep parameters in its fields"),
        );
    }
    let parameter_bytes = parameter_bytes(&parameters);
    drop(parameters);
    let resumed = match (start, &settings.checkpoint) {
        (Start::New, _) => None,
        (Start::Resume, Some(path)) => Some(resume::read(path)?),
        (Start::Resume, None) => {
            return Err(Error::setting("nothing to resume from")
                .fix("name the file of the interrupted training: checkpoint(\"net.ckpt\")"));
        }
    };
    let existing = resumed
        .as_ref()
        .map_or(ExistingFile::None, |resumed| resumed.existing);
    let bytes = TABLES * parameter_bytes;
    let claim = |path: &std::path::PathBuf| {
        CheckpointFiles::claim(path, existing, &MODULE_CHECKPOINT, bytes)
    };
    let files = settings.checkpoint.as_ref().map(claim).transpose()?;
    Ok(Prepared {
        parameter_bytes,
        resumed,
        files,
        existing,
    })
}

/// The module before its first step.
fn first_steps<'a>(
    settings: &'a TrainerSettings,
    network: &'a mut dyn Network,
    stepper: Stepper,
    data: Data<'a>,
    room: Option<(u64, u64)>,
) -> ModuleSteps<'a> {
    ModuleSteps {
        settings,
        network,
        stepper,
        batches: data.batches.epochs(settings.epochs).start_at(0, 0),
        validation: data.validation,
        rates: match &settings.schedule {
            Some(schedule) => schedule(),
            None => {
                let rate = settings.learning_rate;
                Box::new(move || rate)
            }
        },
        rate: settings.learning_rate,
        epochs_done: 0,
        best: None,
        memory: Vec::new(),
        times: Times::default(),
        calls: Vec::new(),
        skipped: 0,
        room,
    }
}

/// Goes to where an interrupted training was. Returns its position and history, and a note.
fn go_on(
    steps: &mut ModuleSteps,
    resumed: Option<Resumed>,
) -> Result<(Position, Vec<crate::data::Epoch>, Option<String>)> {
    let Some(resumed) = resumed else {
        return Ok((Position::default(), Vec::new(), None));
    };
    let path = steps.settings.checkpoint.clone().unwrap_or_default();
    resumed.saved.restore(&path, steps)?;
    let position = resumed.position;
    steps.batches = steps.batches.start_at(position.epoch, position.batches);
    steps.epochs_done = position.epoch;
    for _ in 0..position.epoch * steps.batches.batches_per_epoch() + position.batches {
        steps.rate = (steps.rates)();
    }
    Ok((position, resumed.history, resumed.note))
}
