//! Sums over a few nonzero counts, whose rows in a table may be anywhere: the vector lanes are topics. For a document, these are
//! rows of F; for a term, rows of L.

use crate::system::{LANES, Vector, ln, max_of_numbers, per_lane, sum};

use super::Floor;

/// Topics in a block: four registers.
pub const WIDEST: usize = 4 * LANES;

/// Evaluates an expression for a block of weights, with its number of registers as a constant.
macro_rules! with_registers {
    ($weights:expr, $R:ident => $body:expr) => {
        match $weights.len() / $crate::system::LANES {
            1 => {
                const $R: usize = 1;
                $body
            }
            2 => {
                const $R: usize = 2;
                $body
            }
            3 => {
                const $R: usize = 3;
                $body
            }
            _ => {
                const $R: usize = 4;
                $body
            }
        }
    };
}
pub(crate) use with_registers;

/// Writes the products of `weights` with `length` rows of a table; row i begins at `start(i)`. Rows are read in whole
/// registers, past their end into the next row: there the weights, which are padded to whole registers, are zero. The register
/// of the last product is filled up with zeros.
#[inline(always)]
pub fn rates<V: Vector>(
    weights: &[f32],
    table: &[f32],
    length: usize,
    start: impl Fn(usize) -> usize,
    rates: &mut [f32],
) {
    for (block, weights) in weights.chunks(WIDEST).enumerate() {
        with_registers!(weights, R => {
            let weights = registers::<V, R>(weights);
            for (group, rates) in rates.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let first = group * LANES;
                let mut products = [V::splat(0.0); LANES];
                let rows = LANES.min(length - first);
                for (i, products) in products[..rows].iter_mut().enumerate() {
                    *products = dot(&weights, &table[start(first + i) + block * WIDEST..]);
                }
                let sums = V::sums(products);
                match block {
                    0 => sums.store(rates),
                    _ => sums.mul_add(V::splat(1.0), V::load(rates)).store(rates),
                }
            }
        });
    }
}

/// The products of the weights with the first values of a row, lane by lane.
#[inline(always)]
fn dot<V: Vector, const R: usize>(weights: &[V; R], row: &[f32]) -> V {
    let (row, _) = row[..R * LANES].as_chunks::<LANES>();
    let mut products = V::splat(0.0);
    for (weights, values) in weights.iter().zip(row) {
        products = weights.mul_add(V::load(values), products);
    }
    products
}

/// Replaces rates by count / rate. Returns the sum of count times log rate, or 0 without `wants`. The rates are in whole
/// registers; their values past the last count do not matter.
#[inline(always)]
pub fn divide(counts: &[f32], rates: &mut [f32], floor: Floor, wants: bool) -> f64 {
    let mut total = 0.0;
    let (registers, rest) = counts.as_chunks::<LANES>();
    let (whole, last) = rates
        .as_chunks_mut::<LANES>()
        .0
        .split_at_mut(registers.len());
    for (counts, rates) in registers.iter().zip(whole) {
        total += divide_register(counts, rates, floor, wants);
    }
    if let Some(rates) = last.first_mut() {
        let mut padded = [0.0; LANES];
        for (padded, count) in padded.iter_mut().zip(rest) {
            *padded = *count;
        }
        total += divide_register(&padded, rates, floor, wants);
    }
    total
}

#[inline(always)]
fn divide_register(
    counts: &[f32; LANES],
    rates: &mut [f32; LANES],
    floor: Floor,
    wants: bool,
) -> f64 {
    let at_least = per_lane(|lane| max_of_numbers(rates[lane], floor.rate));
    let total = match wants {
        true => f64::from(sum(per_lane(|lane| counts[lane] * ln(at_least[lane])))),
        false => 0.0,
    };
    let is_zero = |rate: f32| floor.zero_below && rate < floor.rate;
    *rates = per_lane(|lane| match is_zero(rates[lane]) {
        true => 0.0,
        false => counts[lane] / at_least[lane],
    });
    total
}

/// Adds each ratio times its row to `sums`; row i begins at `start(i)`.
#[inline(always)]
pub fn add_rows<V: Vector>(
    ratios: &[f32],
    table: &[f32],
    start: impl Fn(usize) -> usize,
    sums: &mut [f32],
) {
    for (block, sums) in sums.chunks_mut(WIDEST).enumerate() {
        with_registers!(sums, R => {
            let mut totals = registers::<V, R>(sums);
            for (i, &ratio) in ratios.iter().enumerate() {
                add_row(&mut totals, V::splat(ratio), &table[start(i) + block * WIDEST..]);
            }
            store(&totals, sums);
        });
    }
}

/// Adds a factor times the first values of a row to the totals.
#[inline(always)]
fn add_row<V: Vector, const R: usize>(totals: &mut [V; R], factor: V, row: &[f32]) {
    let (row, _) = row[..R * LANES].as_chunks::<LANES>();
    for (total, values) in totals.iter_mut().zip(row) {
        *total = V::load(values).mul_add(factor, *total);
    }
}

/// The first values of a slice, as registers.
#[inline(always)]
pub fn registers<V: Vector, const R: usize>(values: &[f32]) -> [V; R] {
    let (values, _) = values[..R * LANES].as_chunks::<LANES>();
    let mut registers = [V::splat(0.0); R];
    for (register, values) in registers.iter_mut().zip(values) {
        *register = V::load(values);
    }
    registers
}

/// Writes registers to the first values of a slice.
#[inline(always)]
fn store<V: Vector, const R: usize>(registers: &[V; R], values: &mut [f32]) {
    let (values, _) = values[..R * LANES].as_chunks_mut::<LANES>();
    for (register, values) in registers.iter().zip(values) {
        register.store(values);
    }
}
