//! A range of terms: its part of the table behind F, its part of a batch's loss and gradients, its update.

use super::adamw::{BETA1, BETA2, EPSILON, Rates};
use super::vector::{LANES, exp, ln, sum};
use crate::counts::{DenseRows, Element, View, with_values};
use crate::matrix::Matrix;
use crate::model::SMALLEST_RATE;
use crate::simd::simd_dispatch;

/// Topics worked on at once: four registers.
const WIDEST: usize = 4 * LANES;
/// Nonzero counts worked on at once.
const CHUNK: usize = 4 * LANES;
/// Terms in one turn of the update: its rows of `topics` values fill whole registers.
pub(super) const TURN: usize = LANES;

/// Terms `first..first + terms`. Tables are term by term, so that the topics of a term lie side by side.
pub(super) struct Shard {
    first: usize,
    terms: usize,
    topics: usize,
    free: Vec<f32>,
    moment1: Vec<f32>,
    moment2: Vec<f32>,
    /// exp(free - offset of the topic), and room to read past the end.
    exp: Vec<f32>,
    /// Gathered over a batch; zero in between. Rows are filled up to whole registers: a row that is stored must not
    /// overlap the next one that is loaded, or the processor waits for the store.
    gradient: Vec<f32>,
    /// documents x width: what this shard contributes to the gradients of the batch's weights.
    pub(super) weight_gradients: Vec<f32>,
    /// What this shard contributes to the batch's sum of x log rate.
    pub(super) likelihood: f64,
    /// Sums of `exp` over the shard's terms, per topic.
    pub(super) sums: Vec<f64>,
    /// Largest free value over the shard's terms, per topic.
    pub(super) largest: Vec<f32>,
    columns: Vec<u32>,
    counts: Vec<f32>,
}

/// The weights of a batch's documents, each row `width` long: a multiple of the vector width, filled up with zeros.
pub(super) struct Weights<'a> {
    /// The rows of the counts that the documents are.
    pub(super) rows: &'a [usize],
    pub(super) values: &'a [f32],
    pub(super) width: usize,
}

/// Per-topic numbers of an update, repeated for the terms of one turn.
pub(super) struct Turn {
    /// 1 / sum of exp, times the topic's total.
    pub(super) pull: Vec<f32>,
    pub(super) offset: Vec<f32>,
}

impl Shard {
    pub(super) fn new(range: std::ops::Range<usize>, free: &Matrix, moments: [&Matrix; 2]) -> Self {
        let topics = free.rows();
        let part = |table: &Matrix| -> Vec<f32> {
            range
                .clone()
                .flat_map(|term| {
                    (0..topics).map(move |topic| table.values()[topic * table.columns() + term])
                })
                .collect()
        };
        let size = range.len() * topics;
        Self {
            first: range.start,
            terms: range.len(),
            topics,
            free: part(free),
            moment1: part(moments[0]),
            moment2: part(moments[1]),
            exp: vec![0.0; size + WIDEST],
            gradient: vec![0.0; range.len() * topics.next_multiple_of(LANES)],
            weight_gradients: Vec::new(),
            likelihood: 0.0,
            sums: vec![0.0; topics],
            largest: vec![0.0; topics],
            columns: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// The largest free value of every topic.
    pub(super) fn find_largest(&mut self) {
        self.largest.fill(f32::MIN);
        for row in self.free.chunks(self.topics) {
            for (largest, value) in self.largest.iter_mut().zip(row) {
                *largest = largest.max(*value);
            }
        }
    }

    /// Computes `exp` and its sums afresh.
    pub(super) fn refresh(&mut self, offsets: &[f32]) {
        self.sums.fill(0.0);
        for (row, exps) in self
            .free
            .chunks(self.topics)
            .zip(self.exp.chunks_mut(self.topics))
        {
            for (topic, (value, power)) in row.iter().zip(exps).enumerate() {
                *power = exp(value - offsets[topic]);
                self.sums[topic] += f64::from(*power);
            }
        }
    }

    /// Loss and gradients of a batch, as far as they come from this shard's terms.
    pub(super) fn gather(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let width = weights.width;
        let mut gradients = std::mem::take(&mut self.weight_gradients);
        gradients.clear();
        gradients.resize(weights.rows.len() * width, 0.0);
        self.likelihood = 0.0;
        let last = self.first + self.terms;
        let tables = weights
            .values
            .chunks(width)
            .zip(gradients.chunks_mut(width));
        for (&row, (weights, gradients)) in weights.rows.iter().zip(tables) {
            match counts {
                View::Csr(csr) => {
                    let (columns, values) = csr.row(row);
                    let start = columns.partition_point(|&column| (column as usize) < self.first);
                    let end = columns.partition_point(|&column| (column as usize) < last);
                    self.document(
                        weights,
                        gradients,
                        &columns[start..end],
                        &values[start..end],
                    );
                }
                View::Dense(rows) => {
                    let (mut columns, mut values) = (
                        std::mem::take(&mut self.columns),
                        std::mem::take(&mut self.counts),
                    );
                    let range = row * all_terms + self.first..row * all_terms + last;
                    with_values!(DenseRows, rows, all => {
                        find_nonzeros(&all[range], self.first, &mut columns, &mut values);
                    });
                    self.document(weights, gradients, &columns, &values);
                    (self.columns, self.counts) = (columns, values);
                }
            }
        }
        self.weight_gradients = gradients;
    }

    fn document(
        &mut self,
        weights: &[f32],
        gradients: &mut [f32],
        columns: &[u32],
        counts: &[f32],
    ) {
        gather_document(
            weights,
            gradients,
            columns,
            counts,
            self.first as u32,
            self.topics,
            &self.exp,
            &mut self.gradient,
            &mut self.likelihood,
        );
    }

    /// AdamW on the shard's free values, and the next `exp` with its sums.
    pub(super) fn update(&mut self, turn: &Turn, rates: Rates) {
        let size = turn.pull.len();
        let mut sums = vec![0.0; size];
        let mut largest = vec![f32::MIN; size];
        let used = self.terms * self.topics;
        update_table(
            &mut self.free,
            &mut self.moment1,
            &mut self.moment2,
            &mut self.exp[..used],
            &mut self.gradient,
            turn,
            rates,
            &mut sums,
            &mut largest,
        );
        self.sums.fill(0.0);
        self.largest.fill(f32::MIN);
        for index in 0..size {
            let topic = index % self.topics;
            self.sums[topic] += f64::from(sums[index]);
            self.largest[topic] = self.largest[topic].max(largest[index]);
        }
    }

    /// Copies the shard's part into tables of topics x `all_terms`: free values and moments.
    pub(super) fn copy_tables(&self, all_terms: usize, tables: &mut [Vec<f32>; 3]) {
        for (table, part) in tables
            .iter_mut()
            .zip([&self.free, &self.moment1, &self.moment2])
        {
            for (term, row) in part.chunks(self.topics).enumerate() {
                for (topic, value) in row.iter().enumerate() {
                    table[topic * all_terms + self.first + term] = *value;
                }
            }
        }
    }
}

impl Shard {
    /// Copies the shard's part into F (topics x `all_terms`).
    pub(super) fn copy_probabilities(&self, all_terms: usize, scales: &[f64], f: &mut [f32]) {
        for (term, row) in self.exp.chunks(self.topics).take(self.terms).enumerate() {
            for (topic, value) in row.iter().enumerate() {
                f[topic * all_terms + self.first + term] =
                    (f64::from(*value) * scales[topic]) as f32;
            }
        }
    }
}

fn find_nonzeros<T: Element>(
    row: &[T],
    first: usize,
    columns: &mut Vec<u32>,
    counts: &mut Vec<f32>,
) {
    columns.clear();
    counts.clear();
    for (column, value) in row.iter().enumerate() {
        let count = value.to_f32();
        if count != 0.0 {
            columns.push((first + column) as u32);
            counts.push(count);
        }
    }
}

simd_dispatch! {
    /// One document's terms in a shard: adds x log rate to `likelihood`, x / rate times the term's row to `gradients`,
    /// and x / rate times the weights to the rows of `table_gradient`.
    #[allow(clippy::too_many_arguments)]
    fn gather_document(
        weights: &[f32],
        gradients: &mut [f32],
        columns: &[u32],
        counts: &[f32],
        first: u32,
        topics: usize,
        exps: &[f32],
        table_gradient: &mut [f32],
        likelihood: &mut f64,
    ) {
        let mut total = [0.0f64; LANES];
        let strides = (topics, weights.len());
        for (columns, counts) in columns.chunks(CHUNK).zip(counts.chunks(CHUNK)) {
            let mut rows = [0usize; CHUNK];
            for (row, column) in rows.iter_mut().zip(columns) {
                *row = (column - first) as usize;
            }
            let rows = &rows[..columns.len()];
            // Rates of 1 and counts of 0 fill the chunk up: they change nothing.
            let (mut rates, mut shares) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
            rates[columns.len()..].fill(1.0);
            shares[..columns.len()].copy_from_slice(counts);
            for (block, weights) in weights.chunks(WIDEST).enumerate() {
                let at = block * WIDEST;
                match weights.len() / LANES {
                    1 => add_rates::<1>(weights, &exps[at..], rows, topics, &mut rates),
                    2 => add_rates::<2>(weights, &exps[at..], rows, topics, &mut rates),
                    3 => add_rates::<3>(weights, &exps[at..], rows, topics, &mut rates),
                    _ => add_rates::<4>(weights, &exps[at..], rows, topics, &mut rates),
                }
            }
            let mut logarithms = [0.0f32; CHUNK];
            for lane in 0..CHUNK {
                let (rate, count) = (rates[lane], shares[lane]);
                let held = rate.max(SMALLEST_RATE as f32);
                logarithms[lane] = count * ln(held);
                // The logarithm is cut off below, and its slope with it.
                let cut = rate < SMALLEST_RATE as f32;
                shares[lane] = if cut { 0.0 } else { count / held };
            }
            for logarithms in logarithms.chunks_exact(LANES) {
                for (total, logarithm) in total.iter_mut().zip(logarithms) {
                    *total += f64::from(*logarithm);
                }
            }
            let blocks = weights.chunks(WIDEST).zip(gradients.chunks_mut(WIDEST));
            for (block, (weights, gradients)) in blocks.enumerate() {
                let at = block * WIDEST;
                let (exps, table) = (&exps[at..], &mut table_gradient[at..]);
                match weights.len() / LANES {
                    1 => spread::<1>(weights, gradients, exps, table, rows, strides, &shares),
                    2 => spread::<2>(weights, gradients, exps, table, rows, strides, &shares),
                    3 => spread::<3>(weights, gradients, exps, table, rows, strides, &shares),
                    _ => spread::<4>(weights, gradients, exps, table, rows, strides, &shares),
                }
            }
        }
        *likelihood += total.iter().sum::<f64>();
    }
}

/// Adds the product of the weights with each term's row to its rate. Rows are read past their end into the next one's;
/// the weights there are zero.
#[inline(always)]
fn add_rates<const REGISTERS: usize>(
    weights: &[f32],
    exps: &[f32],
    rows: &[usize],
    topics: usize,
    rates: &mut [f32; CHUNK],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    for (rate, &row) in rates.iter_mut().zip(rows) {
        let (row, _) = exps[row * topics..][..REGISTERS * LANES].as_chunks::<LANES>();
        let mut products = [0.0f32; LANES];
        for (weights, values) in weights.iter().zip(row) {
            for lane in 0..LANES {
                products[lane] += weights[lane] * values[lane];
            }
        }
        *rate += sum(products);
    }
}

/// Adds each share times its term's row to the gradients of the weights, and times the weights to the row's gradient.
#[inline(always)]
fn spread<const REGISTERS: usize>(
    weights: &[f32],
    gradients: &mut [f32],
    exps: &[f32],
    table_gradient: &mut [f32],
    rows: &[usize],
    (topics, width): (usize, usize),
    shares: &[f32; CHUNK],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    let mut totals = [[0.0f32; LANES]; REGISTERS];
    for (&row, &share) in rows.iter().zip(shares) {
        let out = &mut table_gradient[row * width..][..REGISTERS * LANES];
        let row = &exps[row * topics..][..REGISTERS * LANES];
        for r in 0..REGISTERS {
            for lane in 0..LANES {
                totals[r][lane] += share * row[r * LANES + lane];
                out[r * LANES + lane] += share * weights[r][lane];
            }
        }
    }
    for (gradient, total) in gradients.iter_mut().zip(totals.as_flattened()) {
        *gradient += total;
    }
}

simd_dispatch! {
    /// One pass over a shard's table: gradient through the softmax, AdamW, exp of the result.
    #[allow(clippy::too_many_arguments)]
    fn update_table(
        free: &mut [f32],
        moment1: &mut [f32],
        moment2: &mut [f32],
        exps: &mut [f32],
        gradient: &mut [f32],
        turn: &Turn,
        rates: Rates,
        sums: &mut [f32],
        largest: &mut [f32],
    ) {
        let (beta1, rest1) = (BETA1 as f32, (1.0 - BETA1) as f32);
        let (beta2, rest2) = (BETA2 as f32, (1.0 - BETA2) as f32);
        let (decay, size) = (rates.decay as f32, rates.size as f32);
        let (root, epsilon) = (rates.root as f32, EPSILON as f32);
        let length = turn.pull.len();
        let topics = length / TURN;
        let width = topics.next_multiple_of(LANES);
        let mut packed = vec![0.0; length];
        let tables = free
            .chunks_mut(length)
            .zip(moment1.chunks_mut(length))
            .zip(moment2.chunks_mut(length))
            .zip(exps.chunks_mut(length))
            .zip(gradient.chunks_mut(TURN * width));
        for ((((free, moment1), moment2), exps), gradient) in tables {
            for (packed, row) in packed.chunks_mut(topics).zip(gradient.chunks(width)) {
                packed.copy_from_slice(&row[..topics]);
            }
            gradient.fill(0.0);
            // Equal lengths that the compiler can see.
            let length = free.len();
            let (moment1, moment2) = (&mut moment1[..length], &mut moment2[..length]);
            let (exps, gradient) = (&mut exps[..length], &packed[..length]);
            let (pull, offset) = (&turn.pull[..length], &turn.offset[..length]);
            let (sums, largest) = (&mut sums[..length], &mut largest[..length]);
            for i in 0..length {
                let g = exps[i] * (pull[i] - gradient[i]);
                let m = beta1 * moment1[i] + rest1 * g;
                let v = beta2 * moment2[i] + rest2 * g * g;
                let value = free[i] * decay - size * m / (v.sqrt() * root + epsilon);
                let power = exp(value - offset[i]);
                moment1[i] = m;
                moment2[i] = v;
                free[i] = value;
                exps[i] = power;
                sums[i] += power;
                largest[i] = largest[i].max(value);
            }
        }
    }
}
