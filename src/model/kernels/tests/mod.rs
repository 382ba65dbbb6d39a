//! One table of cases through the formula in double precision, the CPU's passes, and the kernels: on a driver that needs
//! no card, and on CUDA where there is one.

mod bf16;
mod held;

use burn::backend::Autodiff;
use burn::tensor::{Tensor, TensorData};
use burn_cuda::Cuda;

use super::software::{self, Processor, SoftwareBackend};
use super::*;
use crate::counts::CountValue;
use crate::matrix::Matrix;
use crate::model::loss::Fused;
use crate::model::step::{State, Step, TensorStep, to_matrix};
use crate::model::{SMALLEST_RATE, Settings};
use crate::place::TablePlace;
use crate::plan::Placement;

/// How the counts of a case lie in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum As {
    U8,
    U16,
    U32,
    I32,
    I64,
    F32,
    F64,
    Csr,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    documents: usize,
    terms: usize,
    topics: usize,
    density: f64,
    largest: f64,
    stored: As,
}

/// Documents, terms, topics, density, largest count.
const CASES: [(usize, usize, usize, f64, f64, As); 26] = [
    (1, 1, 1, 1.0, 5.0, As::U8),
    (1, 700, 10, 0.5, 9.0, As::U8),
    (7, 13, 2, 0.7, 200.0, As::U8),
    (16, 517, 10, 0.3, 250.0, As::U8),
    (16, 514, 20, 1.0, 9.0, As::U8),
    (33, 1030, 20, 0.4, 60_000.0, As::U16),
    (9, 511, 33, 0.4, 60_000.0, As::U16),
    (19, 300, 64, 0.5, 60_000.0, As::U16),
    (12, 260, 33, 0.2, 4.0e9, As::U32),
    (12, 260, 20, 0.2, 2.0e9, As::I32),
    (12, 260, 10, 0.2, 3.0e9, As::I64),
    (12, 260, 10, 0.2, 3.0e9, As::F64),
    (65, 600, 100, 0.2, 30.0, As::F32),
    (21, 140, 128, 0.4, 30.0, As::U8),
    (23, 301, 129, 0.4, 30.0, As::U8),
    (17, 350, 188, 0.4, 30.0, As::U8),
    (18, 333, 300, 0.3, 30.0, As::U16),
    (5, 3000, 300, 0.1, 30.0, As::F32),
    (200, 90, 10, 0.1, 3.0, As::U8),
    (3, 40, 7, 0.0, 3.0, As::U8),
    (1, 1, 1, 1.0, 5.0, As::Csr),
    (40, 500, 10, 0.05, 30.0, As::Csr),
    (40, 500, 33, 0.02, 60_000.0, As::Csr),
    (16, 300, 188, 0.1, 30.0, As::Csr),
    (16, 310, 300, 0.1, 9.0, As::Csr),
    (3, 40, 7, 0.0, 3.0, As::Csr),
];

fn cases() -> impl Iterator<Item = Case> {
    CASES.into_iter().map(
        |(documents, terms, topics, density, largest, stored)| Case {
            documents,
            terms,
            topics,
            density,
            largest,
            stored,
        },
    )
}

/// Uniform numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Free values; `spread` says how far apart.
    fn table(&mut self, rows: usize, columns: usize, spread: f64) -> Matrix {
        let values = (0..rows * columns).map(|_| (self.next() * spread) as f32);
        Matrix::from_parts(rows, columns, values.collect())
    }
}

impl Case {
    /// Every fifth document is empty.
    fn counts(&self) -> Counts {
        let mut random = Random(self.documents as u64 * 31 + self.topics as u64);
        let terms = self.terms;
        let values: Vec<f64> = (0..self.documents * terms)
            .map(|cell| {
                let there = random.next() < self.density && cell / terms % 5 != 4;
                // Halves have the largest count, or nearly.
                let value = random.next();
                match there {
                    true => (if value < 0.5 {
                        value * self.largest
                    } else {
                        1.0
                    })
                    .ceil(),
                    false => 0.0,
                }
            })
            .collect();
        fn dense<T: CountValue>(documents: usize, values: &[f64]) -> Counts {
            let values: Vec<T> = values
                .iter()
                .map(|value| T::from_f64(*value).expect("the case's counts fit its dtype"))
                .collect();
            Counts::dense(documents, values.len() / documents, values).unwrap()
        }
        match self.stored {
            As::U8 => dense::<u8>(self.documents, &values),
            As::U16 => dense::<u16>(self.documents, &values),
            As::U32 => dense::<u32>(self.documents, &values),
            As::I32 => dense::<i32>(self.documents, &values),
            As::I64 => dense::<i64>(self.documents, &values),
            As::F32 => dense::<f32>(self.documents, &values),
            As::F64 => dense::<f64>(self.documents, &values),
            As::Csr => {
                let (mut starts, mut columns, mut stored) = (vec![0], Vec::new(), Vec::new());
                for row in values.chunks(terms) {
                    for (column, &value) in
                        row.iter().enumerate().filter(|(_, value)| **value > 0.0)
                    {
                        columns.push(column as u32);
                        stored.push(value as f32);
                    }
                    starts.push(columns.len() as u64);
                }
                Counts::csr(self.documents, terms, starts, columns, stored).unwrap()
            }
        }
    }
}

/// Loss, slopes of L's rows and of F, and how large the sums are that they are differences of.
struct Exact {
    loss: f64,
    l: Vec<f64>,
    f: Vec<f64>,
    tokens: f64,
    longest: f64,
    largest_topic: f64,
}

fn exact(counts: &Counts, rows: &[usize], l: &Matrix, f: &Matrix) -> Exact {
    let softmax = |row: &[f32]| -> Vec<f64> {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let powers: Vec<f64> = row.iter().map(|x| f64::from(x - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|power| power / sum).collect()
    };
    let (topics, terms) = f.shape();
    let f: Vec<Vec<f64>> = (0..topics).map(|topic| softmax(f.row(topic))).collect();
    let mut row = vec![0.0; terms];
    let mut of_l = Vec::new();
    let mut sums = vec![vec![0.0; terms]; topics];
    let (mut loss, mut tokens, mut longest) = (0.0, 0.0, 0.0f64);
    for (number, &document) in rows.iter().enumerate() {
        counts.fill_rows(&[document], &mut row).unwrap();
        let weights = softmax(l.row(number));
        let mut shares = vec![0.0; topics];
        for (term, count) in row
            .iter()
            .enumerate()
            .map(|(term, x)| (term, f64::from(*x)))
        {
            let rate: f64 = (0..topics)
                .map(|topic| weights[topic] * f[topic][term])
                .sum();
            loss += rate - count * rate.max(SMALLEST_RATE).ln();
            let share = if rate < SMALLEST_RATE {
                0.0
            } else {
                count / rate
            };
            for topic in 0..topics {
                shares[topic] += share * f[topic][term];
                sums[topic][term] += share * weights[topic];
            }
        }
        let all: f64 = (0..topics)
            .map(|topic| weights[topic] * shares[topic])
            .sum();
        of_l.extend((0..topics).map(|topic| weights[topic] * (all - shares[topic])));
        let length: f64 = row.iter().map(|x| f64::from(*x)).sum();
        (tokens, longest) = (tokens + length, longest.max(length));
    }
    let mut largest_topic = 0.0f64;
    let mut of_f = Vec::new();
    for topic in 0..topics {
        let total: f64 = (0..terms)
            .map(|term| f[topic][term] * sums[topic][term])
            .sum();
        largest_topic = largest_topic.max(total);
        of_f.extend((0..terms).map(|term| f[topic][term] * (total - sums[topic][term])));
    }
    Exact {
        loss,
        l: of_l,
        f: of_f,
        tokens,
        longest,
        largest_topic,
    }
}

/// The largest difference as a part of the sums that the slopes are differences of.
fn error(ours: &[f32], exact: &[f64], sums: f64) -> f64 {
    assert_eq!(ours.len(), exact.len());
    let differences = ours
        .iter()
        .zip(exact)
        .map(|(a, b)| (f64::from(*a) - b).abs());
    differences.fold(0.0, |largest, error| {
        if error > largest || error.is_nan() {
            error
        } else {
            largest
        }
    }) / sums.max(1.0)
}

fn check(what: &str, case: &Case, exact: &Exact, (loss, l, f): (f64, &[f32], &[f32])) {
    let errors = [
        (loss - exact.loss).abs() / (1.0 + exact.tokens),
        error(l, &exact.l, exact.longest),
        error(f, &exact.f, exact.largest_topic),
    ];
    assert!(
        errors.iter().all(|error| *error < 1e-5),
        "{what}, {case:?}: errors of loss, L and F {errors:?}"
    );
}

/// The kernels' loss and slopes.
fn slopes<B: Slopes>(
    device: &B::Device,
    (counts, rows): (&Counts, &[usize]),
    l: &Matrix,
    f: &Matrix,
    held: Option<&B::Held>,
    precision: Precision,
) -> (f64, Vec<f32>, Vec<f32>) {
    let to = |table: &Matrix| {
        let (rows, columns) = table.shape();
        let data = TensorData::new(table.values().to_vec(), [rows, columns]);
        Tensor::<B, 2>::from_data(data, device)
            .into_primitive()
            .tensor()
    };
    let batch = Batch {
        view: counts.view().unwrap(),
        rows,
        documents: rows,
    };
    let slopes = B::slopes(to(l), to(f), &batch, held, precision).unwrap();
    let loss = tensor::<B, 1>(slopes.loss)
        .into_data()
        .to_vec::<f32>()
        .unwrap();
    let back = |table| to_matrix(tensor::<B, 2>(table)).unwrap().values().to_vec();
    (f64::from(loss[0]), back(slopes.l), back(slopes.f))
}

fn table_through<B: Slopes>(what: &str, device: &B::Device) {
    for case in cases() {
        let counts = case.counts();
        let mut random = Random(9);
        // In another order, and not all of them.
        let mut rows: Vec<usize> = (0..case.documents).rev().collect();
        rows.truncate(case.documents.div_ceil(2).max(3).min(case.documents));
        rows.rotate_left(1);
        let l = random.table(rows.len(), case.topics, 3.0);
        let f = random.table(case.topics, case.terms, 3.0);
        let exact = exact(&counts, &rows, &l, &f);
        let read = |held| slopes::<B>(device, (&counts, &rows), &l, &f, held, Precision::F32);
        let ours = read(None);
        check(what, &case, &exact, (ours.0, &ours.1, &ours.2));
        let again = read(None);
        assert!(
            ours == again,
            "{what}, {case:?}: other bits the second time"
        );
        let held = B::hold(&counts, device).unwrap();
        assert!(
            ours == read(Some(&held)),
            "{what}, {case:?}: other bits from counts on the device"
        );
    }
}

#[test]
fn the_passes_on_the_cpu_follow_the_formula() {
    table_through::<burn::backend::Flex>("CPU", &Default::default());
}

#[test]
fn the_kernels_follow_the_formula() {
    if software::there() {
        table_through::<SoftwareBackend>("kernels", &Processor);
    }
}

#[test]
fn the_kernels_follow_the_formula_on_a_card() {
    if let Some(card) = software::card() {
        table_through::<Cuda>("kernels on a card", &card);
    }
}

/// What a short fit with one operation for the loss comes to: losses, L and F.
fn fit<B: Slopes>(
    device: &B::Device,
    counts: &Counts,
    (k, batch, part): (usize, usize, usize),
    hold: bool,
) -> (Vec<f64>, Matrix, Matrix) {
    let (documents, terms) = counts.shape();
    let settings = Settings {
        batch_size: batch,
        ..Settings::new(k)
    };
    let placement = Placement {
        micro_batch: part,
        resident: hold,
        l_on_host: false,
    };
    let mut random = Random(4);
    let (l, f) = (random.table(documents, k, 0.1), random.table(k, terms, 0.1));
    let state = State::new(l, f, &TablePlace::Memory).unwrap();
    let device = device.clone();
    let mut step = TensorStep::<_, Fused<Autodiff<B>>>::new(&settings, placement, state, device);
    if hold {
        step.hold(counts).unwrap();
    }
    let mut order: Vec<usize> = (0..documents).collect();
    for epoch in 0..4 {
        order.rotate_left(epoch + 3);
        for rows in order.chunks(batch) {
            let batch = Batch {
                view: counts.view().unwrap(),
                rows,
                documents: rows,
            };
            step.step(&batch, 0.05).unwrap();
        }
    }
    let (l, f) = step.topics().unwrap();
    (step.take_losses().unwrap(), l, f)
}

/// The same fit on the CPU and on another device, batches sent or there already, whole or in parts.
fn fits_agree<B: Slopes>(device: &B::Device) {
    let dense = crate::Synthetic::new(60, 130, 4)
        .avg_doc_length(400)
        .seed(8);
    let dense = dense.generate().unwrap().counts();
    let sparse = Case {
        documents: 60,
        terms: 130,
        topics: 4,
        density: 0.2,
        largest: 20.0,
        stored: As::Csr,
    };
    let sparse = sparse.counts();
    for (counts, sizes, hold) in [
        (&dense, (4, 16, 16), false),
        (&dense, (4, 16, 7), false),
        (&dense, (4, 16, 7), true),
        (&sparse, (4, 16, 16), false),
        (&sparse, (4, 16, 5), false),
        (&sparse, (4, 16, 7), true),
    ] {
        let tokens = counts.summary().unwrap().total();
        let (ours, l, f) = fit::<B>(device, counts, sizes, hold);
        let (theirs, their_l, their_f) =
            fit::<burn::backend::Flex>(&Default::default(), counts, sizes, false);
        for (a, b) in ours.iter().zip(&theirs) {
            let error = (a - b).abs() / tokens;
            assert!(
                error < 1e-6,
                "{counts}, {sizes:?}, {hold}: loss {a} against {b}"
            );
        }
        for (ours, theirs) in [(l, their_l), (f, their_f)] {
            for (a, b) in ours.values().iter().zip(theirs.values()) {
                assert!(
                    (a - b).abs() < 1e-4,
                    "{counts}, {sizes:?}, {hold}: {a} against {b}"
                );
            }
        }
    }
}

#[test]
fn a_fit_by_the_kernels_is_that_on_the_cpu() {
    if software::there() {
        fits_agree::<SoftwareBackend>(&Processor);
    }
}

#[test]
fn a_fit_on_a_card_is_that_on_the_cpu() {
    if let Some(card) = software::card() {
        fits_agree::<Cuda>(&card);
    }
}
