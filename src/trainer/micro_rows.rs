//! How many rows of a batch fit a budget at once.

use crate::CountBatch;
use crate::batches::Batches;
use crate::error::{Error, ErrorKind, Result};
use crate::module::{Network, Parameter, Stepper};
use crate::text::{bytes, counted};

/// Shares of a batch that are measured.
const PROBES: [usize; 2] = [16, 8];
/// What the shares are of at least: 2 rows and 4. Of one row, Burn copies less, because a dimension of 1 can lie anywhere.
const LEAST: usize = 32;
/// Tables of the parameters' size: gradients, new values, and up to two of the optimizer's state. In a checkpoint, values, the best
/// ones, and the state.
pub(super) const TABLES: u64 = 4;

/// What the rows of a micro-batch take: bytes of any, and bytes of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slope {
    base: f64,
    row: f64,
}

impl Slope {
    /// Bytes of this number of rows.
    pub(super) fn of(self, rows: usize) -> u64 {
        (self.base + self.row * rows as f64).max(0.0) as u64
    }

    /// The rows that fit into these bytes.
    fn rows(self, room: u64) -> usize {
        let rows = (room as f64 - self.base) / self.row.max(1.0);
        rows.max(0.0) as usize
    }
}

/// Bytes of all parameters.
pub(super) fn parameter_bytes(parameters: &[Parameter]) -> u64 {
    let values: usize = parameters.iter().map(Parameter::count).sum();
    4 * values as u64
}

/// Measures two parts of a batch.
pub(super) fn slope(
    stepper: &mut Stepper,
    network: &dyn Network,
    batch: &CountBatch,
    seed: u64,
) -> Result<Slope> {
    let rows = batch.documents().len();
    let parts = PROBES.map(|share| (rows / share).max(LEAST / share).min(rows));
    // What a first call allocates for good, as threads do for products of this size, is not counted.
    stepper.measure(network, &batch.slice(0..parts[1]), seed)?;
    let mut points = [(0.0, 0.0); PROBES.len()];
    for (point, part) in points.iter_mut().zip(parts) {
        let peak = stepper
            .measure(network, &batch.slice(0..part), seed)?
            .memory
            .peak;
        *point = (part as f64, peak as f64);
    }
    let [(x, y), (x2, y2)] = points;
    let row = if x2 > x {
        ((y2 - y) / (x2 - x)).max(0.0)
    } else {
        y / x
    };
    Ok(Slope {
        base: (y - row * x).max(0.0),
        row,
    })
}

/// The first batch.
pub(super) fn first_batch(batches: &Batches) -> Result<CountBatch> {
    let mut batches = batches.epochs(1).start_at(0, 0);
    batches.next().unwrap_or_else(|| {
        Err(Error::setting("the batches have no row").fix("give batches of at least one row"))
    })
}

/// Rows of a micro-batch of a batch of `whole` rows within a budget, of which `fixed` bytes are in use or belong to the parameters;
/// and a note where the budget decided.
///
/// # Errors
/// When not even one row fits.
pub(super) fn choose(
    slope: Slope,
    whole: usize,
    (fixed, budget): (u64, u64),
) -> Result<(usize, Option<String>)> {
    let rows = slope.rows(budget.saturating_sub(fixed));
    if rows == 0 {
        let needed = fixed + slope.of(1);
        let what = format!(
            "one row takes {}, and the budget is {}: {} are in use or belong to the parameters",
            bytes(needed),
            bytes(budget),
            bytes(fixed)
        );
        return Err(Error::new(ErrorKind::Space, what).fix(format!(
            "use a budget of at least {}, checkpointing(Checkpointing::All), or a smaller module",
            bytes(needed + needed / 20)
        )));
    }
    let note = (rows < whole).then(|| {
        format!(
            "a batch of {} would take {}; micro-batches of {rows} keep within the budget of {}",
            counted(whole, "row"),
            bytes(fixed + slope.of(whole)),
            bytes(budget)
        )
    });
    Ok((rows.min(whole), note))
}
