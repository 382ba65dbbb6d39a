//! A fit's memory, watched: its phases, the card's allocator, and neighbours that take what was free.

use std::ops::ControlFlow;

use super::card::{Watch, allocator, troubles};
use super::observer::{EpochReport, Moment, Observer, Start};
use crate::device::Resolved;
use crate::display::bytes;
use crate::memory::{Goal, Handle, Monitor, Phase, process_memory};

/// What a fit is watched with, and what its plan says.
pub(crate) struct Watching {
    pub(crate) monitor: Monitor,
    pub(crate) ram: Goal,
    pub(crate) vram: Option<Goal>,
}

/// A chart shows no more phases than this.
const PHASES: usize = 100;
/// Steps in which the card's memory is watched closely: the first compiles kernels, the next ones run into each other.
const FIRST_STEPS: usize = 4;
/// Less than this is little, whatever a plan still needs.
const LITTLE: u64 = 64 << 20;

pub(crate) struct MemoryWatch {
    handle: Handle,
    ram: Goal,
    card: Option<usize>,
    /// The phase at hand.
    phase: Option<Phase>,
    epochs: usize,
    said: bool,
    /// While the first steps are made: after them everything has been allocated once.
    first: Option<(Watch, usize)>,
    /// How often something had gone wrong on the card before.
    troubles: usize,
}

impl MemoryWatch {
    pub(crate) fn new(watching: &Watching, device: Resolved) -> Self {
        let handle = watching.monitor.handle();
        Self {
            phase: Some(handle.phase("start")),
            handle,
            ram: watching.ram,
            card: match device {
                Resolved::Cuda(card) => Some(card),
                Resolved::Cpu => None,
            },
            epochs: 0,
            said: false,
            first: None,
            troubles: 0,
        }
    }

    fn begin(&mut self, name: String) {
        // The one before ends first.
        self.phase = None;
        self.phase = Some(self.handle.phase(name));
    }

    /// So many epochs share a phase.
    fn together(&self) -> usize {
        self.epochs.div_ceil(PHASES).max(1)
    }

    fn begin_epoch(&mut self, epoch: usize) {
        let last = epoch.next_multiple_of(self.together()).min(self.epochs);
        self.begin(match last == epoch {
            true => format!("epoch {epoch}"),
            false => format!("epochs {epoch}–{last}"),
        });
    }

    fn look_at_card(&mut self) {
        if let Some(card) = self.card
            && let Some((in_use, reserved)) = allocator(card)
        {
            self.handle.set_vram(in_use, reserved);
        }
    }

    fn first_steps_end(&mut self) {
        if let Some((in_use, reserved)) = self.first.take().and_then(|(watch, _)| watch.end()) {
            self.handle.set_vram(in_use, reserved);
        }
    }
}

impl Observer for MemoryWatch {
    fn started(&mut self, start: &Start) {
        self.epochs = start.epochs;
        self.begin_epoch(start.done.floor() as usize + 1);
        self.troubles = self.card.map_or(0, troubles);
        self.first = self.card.map(|card| (Watch::start(card), 0));
    }

    fn epoch_finished(&mut self, report: &EpochReport) {
        self.look_at_card();
        match report.epoch {
            last if last >= self.epochs => self.phase = None,
            epoch if epoch.is_multiple_of(self.together()) => self.begin_epoch(epoch + 1),
            _ => {}
        }
    }

    fn batch_finished(&mut self, at: &mut Moment) -> ControlFlow<()> {
        if let Some((_, steps)) = &mut self.first {
            *steps += 1;
            if *steps == FIRST_STEPS {
                self.first_steps_end();
            }
        }
        if !self.said
            && let Some(line) = shortage(self.ram, self.handle.free())
        {
            self.said = true;
            at.note(line);
        }
        if self.card.is_some_and(|card| troubles(card) > self.troubles) {
            // What the fit asks for next returns the error.
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn finished(&mut self, _at: &mut Moment) {
        self.first_steps_end();
        self.begin("end".into());
    }
}

/// A line about memory that is running out, which is others' doing: the fit keeps within its plan.
fn shortage(ram: Goal, free: u64) -> Option<String> {
    // Cheap enough to ask only once it is getting tight.
    if free >= LITTLE.max(ram.predicted) {
        return None;
    }
    let held = process_memory().anonymous;
    short(ram, held, free)
}

fn short(ram: Goal, held: u64, free: u64) -> Option<String> {
    let needed = ram.predicted.saturating_sub(held);
    (free < needed.max(LITTLE)).then(|| {
        format!(
            "memory is short: {} are free, others have taken the rest; this fit holds {} and keeps within its plan of {}",
            bytes(free),
            bytes(held),
            bytes(ram.predicted)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_noticed_when_it_matters() {
        let mib = |size: u64| size << 20;
        let ram = Goal {
            budget: mib(1000),
            predicted: mib(800),
        };
        // Enough for the rest of the plan.
        assert_eq!(short(ram, mib(300), mib(501)), None);
        assert_eq!(short(ram, mib(800), mib(65)), None);
        // The plan still counts on 500 MiB.
        let line = short(ram, mib(300), mib(400)).unwrap();
        assert!(line.contains("400 MiB are free") && line.contains("plan of 800 MiB"));
        // Everything is taken already, and next to nothing is left.
        assert!(short(ram, mib(900), mib(10)).is_some());
    }
}
