//! Runs a fit: registers the observers, runs the training loop of the solver and assembles the result.

use crate::backend::with_gpu;
use crate::config::{Recipe, Resolved, Settings};
use crate::cost::Placement;
use crate::counts::{Counts, Fingerprint};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::fit::{Fit, MemoryProfile};
use crate::step::{self, Step};
use crate::system::memory::Handle;

use super::callback::Callback;
use super::checkpoint::CheckpointWriter;
use super::checkpoint_files::CheckpointFiles;
use super::init::ResumeState;
use super::memory_watch::{FitMonitor, MemoryObserver, watch_steps};
use super::observer::Observer;
use super::position::Position;
use super::progress::FitProgress;
use super::recorder::Recorder;
use super::smoothing::smoothed;
use super::state::StartState;
use super::stop::StopObserver;
use super::{cluster, full_pass, minibatch};

/// Trains from `start` to the end of the fit, or until an observer stops it, with checkpoints to `files`. `observer` is
/// registered after the
/// built-in ones; a fit without one runs while the cell waits, and listens to the notebook's stop button.
pub(crate) fn train(
    recipe: &Recipe,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    start: ResumeState,
    files: Option<CheckpointFiles>,
    fit_monitor: FitMonitor,
    observer: Option<&mut dyn Observer>,
) -> Result<Fit> {
    let settings = &recipe.settings;
    let mut writer = match files {
        Some(files) => {
            let writer = CheckpointWriter::new(
                files,
                (settings, recipe.terms.as_ref()),
                device.to_string(),
                Fingerprint::of(counts)?,
                &start,
                fit_monitor.monitor.handle(),
            );
            // A fit in the background shows its notes itself.
            Some(writer.print_failure(recipe.quiet && observer.is_none()))
        }
        None => None,
    };
    let mut recorder = Recorder {
        epochs: start.history,
    };
    let mut progress = FitProgress::new(fit_monitor.monitor.handle(), device);
    let mut callback = recipe.on_epoch.clone().map(Callback::new);
    let mut memory = MemoryObserver::new(&fit_monitor, device);
    let mut observers: Vec<&mut dyn Observer> = vec![&mut recorder, &mut memory];
    if !recipe.quiet {
        observers.push(&mut progress);
    }
    if let Some(writer) = &mut writer {
        observers.push(writer);
    }
    if let Some(callback) = &mut callback {
        observers.push(callback);
    }
    let mut stop = None;
    match observer {
        Some(observer) => observers.push(observer),
        None => stop = StopObserver::listen(),
    }
    if let Some(stop) = &mut stop {
        observers.push(stop);
    }
    if let Some(note) = &start.note {
        for observer in &mut observers {
            observer.noted(note);
        }
    }
    let start = (device, placement, start.state, start.position);
    let monitor = fit_monitor.monitor.handle();
    let (mut passes, mut failures) = (Vec::new(), None);
    let (l, f) = match (&recipe.cluster, settings.solver.is_full_pass()) {
        (Some(cluster), _) => {
            let (_, _, state, _) = start;
            let fitted = cluster::fit(
                (recipe, cluster, fit_monitor.rank),
                counts,
                state,
                &mut observers,
            )?;
            (passes, failures) = (fitted.passes, fitted.failures);
            (fitted.l, fitted.f)
        }
        (None, true) => run_full_passes(settings, counts, start, &mut observers, &monitor)?,
        (None, false) => run_minibatches(settings, counts, start, &mut observers, &monitor)?,
    };
    let f = smoothed(f, &l, counts, settings.smoothing)?;
    drop(memory);
    let log = fit_monitor.monitor.log();
    let (ram, vram) = (fit_monitor.ram, fit_monitor.vram);
    let profile = MemoryProfile::new(log, ram, vram, &fit_monitor.items);
    Ok(Fit::new(
        settings.clone(),
        l,
        f,
        recipe.terms.clone(),
        recorder.epochs,
        match &recipe.cluster {
            Some(cluster) => cluster.to_string(),
            None => device.to_string(),
        },
        Some(profile),
    )
    .fitted_to(Some(Fingerprint::of(counts)?))
    .by_ranks(passes)
    .noted(failures)
    .noted(writer.and_then(CheckpointWriter::into_failure)))
}

/// What a training loop starts from.
type Start = (Resolved, Placement, StartState, Position);

/// Fits with a solver that passes over all documents in each iteration; returns L and F.
fn run_full_passes(
    settings: &Settings,
    counts: &Counts,
    (device, placement, state, position): Start,
    observers: &mut [&mut dyn Observer],
    monitor: &Handle,
) -> Result<(Matrix, Matrix)> {
    step::threads()?.install(|| {
        catch_device_errors(device, || {
            full_pass::iterate(
                settings,
                counts,
                (device, placement),
                state,
                position,
                observers,
                monitor,
            )
        })
    })
}

/// Fits by gradient steps over minibatches; returns L and F.
fn run_minibatches(
    settings: &Settings,
    counts: &Counts,
    (device, placement, state, position): Start,
    observers: &mut [&mut dyn Observer],
    monitor: &Handle,
) -> Result<(Matrix, Matrix)> {
    let StartState::Logits(state) = state else {
        return Err(Error::setting("gradient steps resume from logits"));
    };
    let mut source = step::source(settings, counts)?;
    let train = |step: &mut dyn Step| {
        step.watch(watch_steps(monitor.clone(), device));
        let device = device.to_string();
        let batches = &mut *source;
        minibatch::train(settings, counts, device, step, position, batches, observers)?;
        // Frees a stream's buffers before L and F are allocated.
        drop(source);
        let topics = step.topics();
        monitor.sample();
        topics
    };
    step::with_step(settings, counts, (device, placement), state, train)
}

/// Runs `work` on a device; failures of a GPU become errors.
pub(crate) fn catch_device_errors<T>(
    device: Resolved,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match device {
        Resolved::Cpu => work(),
        Resolved::Cuda(gpu) => with_gpu(gpu, work),
    }
}
