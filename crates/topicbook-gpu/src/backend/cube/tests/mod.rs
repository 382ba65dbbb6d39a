//! One table of cases for the CPU's passes and for the kernels (on lavapipe, and on CUDA if there is a GPU), compared
//! with the formula in double precision.

mod bf16;
mod resident;

use burn::tensor::{Tensor, TensorData};
use burn_cuda::Cuda;

use crate::config::SMALLEST_RATE;
use crate::counts::CountValue;
use crate::data::Matrix;

use super::lavapipe::{Processor, SoftwareBackend};
use super::{lavapipe, *};

/// Layout and dtype of the counts of a case.
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

/// Documents, terms, topics, density, largest count, layout and dtype.
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
    (5, 3000, 300, 0.1, 60_000.0, As::F32),
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

/// Uniform numbers from a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Logits between 0 and `range`.
    fn table(&mut self, rows: usize, columns: usize, range: f64) -> Matrix {
        let values = (0..rows * columns).map(|_| (self.next() * range) as f32);
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
                let nonzero = random.next() < self.density && cell / terms % 5 != 4;
                // Half of the nonzero counts are 1, the others are uniform up to half of the largest count.
                let value = random.next();
                match nonzero {
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

/// Loss and gradients, and the magnitude of the sums of which they are differences.
struct Exact {
    loss: f64,
    l: Vec<f64>,
    f: Vec<f64>,
    /// Of the batch: the scale of the loss.
    tokens: f64,
    /// Tokens of the longest document: the scale of L's gradient.
    longest: f64,
    /// Expected tokens of the largest topic: the scale of F's gradient.
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
    let mut l_gradient = Vec::new();
    let mut term_sums = vec![vec![0.0; terms]; topics];
    let (mut loss, mut tokens, mut longest) = (0.0, 0.0, 0.0f64);
    for (number, &document) in rows.iter().enumerate() {
        counts.fill_rows(&[document], &mut row).unwrap();
        let weights = softmax(l.row(number));
        let mut document_sums = vec![0.0; topics];
        for (term, count) in row
            .iter()
            .enumerate()
            .map(|(term, x)| (term, f64::from(*x)))
        {
            let rate: f64 = (0..topics)
                .map(|topic| weights[topic] * f[topic][term])
                .sum();
            loss += rate - count * rate.max(SMALLEST_RATE).ln();
            let ratio = if rate < SMALLEST_RATE {
                0.0
            } else {
                count / rate
            };
            for topic in 0..topics {
                document_sums[topic] += ratio * f[topic][term];
                term_sums[topic][term] += ratio * weights[topic];
            }
        }
        let all: f64 = (0..topics)
            .map(|topic| weights[topic] * document_sums[topic])
            .sum();
        l_gradient.extend((0..topics).map(|topic| weights[topic] * (all - document_sums[topic])));
        let length: f64 = row.iter().map(|x| f64::from(*x)).sum();
        (tokens, longest) = (tokens + length, longest.max(length));
    }
    let mut largest_topic = 0.0f64;
    let mut f_gradient = Vec::new();
    for topic in 0..topics {
        let total: f64 = (0..terms)
            .map(|term| f[topic][term] * term_sums[topic][term])
            .sum();
        largest_topic = largest_topic.max(total);
        f_gradient.extend((0..terms).map(|term| f[topic][term] * (total - term_sums[topic][term])));
    }
    Exact {
        loss,
        l: l_gradient,
        f: f_gradient,
        tokens,
        longest,
        largest_topic,
    }
}

/// The largest difference, relative to the scale of the sums.
fn error(ours: &[f32], exact: &[f64], scale: f64) -> f64 {
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
    }) / scale.max(1.0)
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

/// Loss and gradients of the backend under test.
fn gradients<B: Gradients>(
    device: &B::Device,
    (counts, rows): (&Counts, &[usize]),
    l: &Matrix,
    f: &Matrix,
    resident: Option<&B::Resident>,
    precision: Precision,
) -> (f64, Vec<f32>, Vec<f32>) {
    let upload = |table: &Matrix| {
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
        largest: counts.largest_known(),
    };
    let gradients = B::gradients(upload(l), upload(f), &batch, resident, precision).unwrap();
    let loss = tensor::<B, 1>(gradients.loss)
        .into_data()
        .to_vec::<f32>()
        .unwrap();
    let download = |table| {
        Matrix::from_tensor(tensor::<B, 2>(table))
            .unwrap()
            .values()
            .to_vec()
    };
    (
        f64::from(loss[0]),
        download(gradients.l),
        download(gradients.f),
    )
}

fn check_all_cases<B: Gradients>(what: &str, device: &B::Device) {
    for case in cases() {
        let counts = case.counts();
        let mut random = Random(9);
        // A subset of the documents in another order.
        let mut rows: Vec<usize> = (0..case.documents).rev().collect();
        rows.truncate(case.documents.div_ceil(2).max(3).min(case.documents));
        rows.rotate_left(1);
        let l = random.table(rows.len(), case.topics, 3.0);
        let f = random.table(case.topics, case.terms, 3.0);
        let exact = exact(&counts, &rows, &l, &f);
        let read =
            |resident| gradients::<B>(device, (&counts, &rows), &l, &f, resident, Precision::F32);
        let ours = read(None);
        check(what, &case, &exact, (ours.0, &ours.1, &ours.2));
        let again = read(None);
        assert!(
            ours == again,
            "{what}, {case:?}: different bits the second time"
        );
        let resident = B::make_resident(&counts, device).unwrap();
        assert!(
            ours == read(Some(&resident)),
            "{what}, {case:?}: different bits from resident counts"
        );
        // Where the largest count is known, counts are narrowed.
        counts.summary().unwrap();
        let resident = B::make_resident(&counts, device).unwrap();
        assert!(
            ours == read(None) && ours == read(Some(&resident)),
            "{what}, {case:?}: different bits from narrowed counts"
        );
    }
}

#[test]
fn cpu_passes_match_the_formula() {
    check_all_cases::<burn::backend::Flex>("CPU", &Default::default());
}

#[test]
fn kernels_match_the_formula_on_lavapipe() {
    if lavapipe::has_lavapipe() {
        check_all_cases::<SoftwareBackend>("kernels", &Processor);
    }
}

#[test]
fn kernels_match_the_formula_on_a_gpu() {
    if let Some(gpu) = lavapipe::gpu() {
        check_all_cases::<Cuda>("kernels on a GPU", &gpu);
    }
}
