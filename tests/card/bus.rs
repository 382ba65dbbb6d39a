//! The schedule on a simulated bus: what a step sends is on its way while the next is made ready. Not the speed of any
//! card.

use cardless::report;
use topicbook::{Budget, Counts, Device, Fit, Optimizer, TopicModel};

use crate::fits::{dense, model};
use crate::machine::Machine;

/// Bytes a second each way: slow beside a processor that copies memory, even a busy one.
const BUS: f64 = 0.1e9;
const EPOCHS: usize = 4;

/// The quickest of the epochs after the first.
fn seconds(fit: &Fit) -> f64 {
    let history = fit.history();
    let seconds = history.column("seconds").unwrap().f64().unwrap();
    seconds.into_no_null_iter().skip(1).fold(f64::MAX, f64::min)
}

/// An epoch's time over that in which its bytes only cross the bus, the way that has more of them.
fn over_the_bus(name: &str, model: &TopicModel, counts: &Counts) {
    let before = report().unwrap();
    let fit = model.fit(counts).unwrap();
    let after = report().unwrap();
    let to = after.to_card_bytes - before.to_card_bytes;
    let from = after.from_card_bytes - before.from_card_bytes;
    let bytes = to.max(from) as f64 / EPOCHS as f64;
    let steps = (EPOCHS * counts.documents().div_ceil(1_024)) as u64;
    let each = |all: u64| all as f64 / steps as f64;
    let over = seconds(&fit) / (bytes / BUS);
    println!(
        "{name}: {over:.2} of the simulated bus; a step has {:.1} launches, {:.1} copies to the card, {:.1} from it, {:.1} synchronisations, {:.1} of which wait",
        each(after.launches - before.launches),
        each(after.to_card - before.to_card),
        each(after.from_card - before.from_card),
        each(after.synchronisations - before.synchronisations),
        each(after.waits - before.waits),
    );
    assert!(over < 1.3, "{name}: {over}");
}

#[test]
fn an_epoch_takes_as_long_as_its_bytes() {
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::an_epoch_takes_as_long_as_its_bytes", || {
        let model = model().epochs(EPOCHS).batch_size(1_024);
        let sent = model.clone().budget(Budget::new().vram("70 MiB"));
        over_the_bus("X sent", &sent, &dense(8_000, 2_000, f32::from));
        let beside = TopicModel::new(128)
            .epochs(EPOCHS)
            .batch_size(1_024)
            .quiet();
        let beside = beside
            .device(Device::Cuda(0))
            .optimizer(Optimizer::RowwiseAdamW);
        over_the_bus(
            "L beside the card",
            &beside,
            &dense(40_000, 200, |value| value),
        );
    });
}
