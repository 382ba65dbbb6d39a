//! Tables against a slow one, in threads, with gradients of Burn.

mod files;

use std::thread;

use testkit::Random;

use super::rule::{state_values, update_rule};
use super::*;
use crate::error::ErrorKind;
use crate::step::update::{Rule, rounding_key, with_rule};
use crate::system::{from_bf16, to_bf16};

const ROW_WISE: [Optimizer; 5] = [
    Optimizer::RowwiseAdagrad,
    Optimizer::RowwiseAdamW,
    Optimizer::RowwiseAdam,
    Optimizer::RowwiseRmsProp,
    Optimizer::RowwiseSgd,
];
const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::Bf16];

/// A table in a vector, entry by entry: for each row its values, then their state.
struct Slow {
    values: Vec<f32>,
    width: usize,
    tables: usize,
    optimizer: Optimizer,
    precision: Precision,
    steps: u64,
}

impl Slow {
    fn of(table: &RowTable) -> Self {
        let (rows, width) = table.shape();
        let tables = 1 + state_values(table.optimizer());
        let mut values = vec![0.0; rows * width * tables];
        let first = table.gather(0..rows).unwrap();
        for (row, all) in values.chunks_exact_mut(width * tables).enumerate() {
            all[..width].copy_from_slice(first.row(row));
        }
        Self {
            values,
            width,
            tables,
            optimizer: table.optimizer(),
            precision: table.precision(),
            steps: 0,
        }
    }

    fn row(&mut self, row: usize) -> &mut [f32] {
        let length = self.width * self.tables;
        &mut self.values[row * length..(row + 1) * length]
    }

    fn update(&mut self, rows: &[usize], gradients: &Matrix, learning_rate: f64) {
        let (width, precision, step) = (self.width, self.precision, self.steps);
        let mut distinct = rows.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let all = self.values.len() / (width * self.tables);
        let interval = all.div_ceil(distinct.len().max(1)) as u64;
        let rule = update_rule(self.optimizer, (self.steps + 1, interval), learning_rate);
        for row in distinct {
            let values = self.row(row);
            for entry in 0..width {
                let mut gradient = 0.0;
                for (at, _) in rows.iter().enumerate().filter(|(_, other)| **other == row) {
                    gradient += gradients.row(at)[entry];
                }
                with_rule!(rule, rule => step_one(rule, values, entry, width, gradient));
            }
            if precision == Precision::Bf16 {
                let key = rounding_key(2 * row as u64, step);
                let mut narrow = vec![0; values.len()];
                to_bf16(values, Some(key), &mut narrow);
                from_bf16(&narrow, values);
            }
        }
        self.steps += 1;
    }
}

fn step_one<const S: usize, R: Rule<S>>(
    rule: R,
    row: &mut [f32],
    entry: usize,
    width: usize,
    gradient: f32,
) {
    let mut state: [f32; S] = std::array::from_fn(|at| row[(1 + at) * width + entry]);
    row[entry] = rule.step(row[entry], gradient, &mut state);
    for (at, state) in state.into_iter().enumerate() {
        row[(1 + at) * width + entry] = state;
    }
}

fn numbers(random: &mut Random, rows: usize, columns: usize) -> Matrix {
    let values = (0..rows * columns).map(|_| random.uniform() as f32 - 0.5);
    Matrix::new(rows, columns, values.collect()).unwrap()
}

fn same(a: &RowTable, b: &RowTable) {
    let all = |table: &RowTable| table.gather(0..table.rows()).unwrap();
    assert_eq!(all(a), all(b));
    // The state is the same where the next step is.
    assert_eq!(a.steps(), b.steps());
}

#[test]
fn updates_are_those_of_a_slow_table() {
    let folder = tempfile::tempdir().unwrap();
    for optimizer in ROW_WISE {
        for precision in PRECISIONS {
            for in_file in [false, true] {
                let mut builder = RowTable::builder(700, 7)
                    .optimizer(optimizer)
                    .precision(precision)
                    .init_uniform(-0.5, 0.5)
                    .seed(3);
                if in_file {
                    builder = builder.file(folder.path().join(format!("{optimizer:?}{precision}")));
                }
                let table = builder.create().unwrap();
                let mut slow = Slow::of(&table);
                let mut random = Random::new(5);
                for step in 0..12 {
                    // From a row to several hundred, with many duplicates.
                    let count = [1, 3, 40, 900][step % 4];
                    let below = [700, 700, 9, 700][step % 4];
                    let rows: Vec<usize> = (0..count).map(|_| random.below(below)).collect();
                    let gradients = numbers(&mut random, count, 7);
                    table.update(&rows, &gradients, 0.05).unwrap();
                    slow.update(&rows, &gradients, 0.05);
                }
                let found = table.gather(0..700).unwrap();
                for row in 0..700 {
                    let expected = &slow.row(row)[..7];
                    assert_eq!(found.row(row), expected, "{table:?}, row {row}");
                }
                assert_eq!(table.steps(), 12);
            }
        }
    }
}

#[test]
fn the_last_values_of_a_row_are_scattered_and_state_stays() {
    let table = RowTable::builder(10, 2).create().unwrap();
    let ones = |rows: usize| Matrix::new(rows, 2, vec![1.0; 2 * rows]).unwrap();
    table.update([4], ones(1), 0.1).unwrap();
    let values = Matrix::new(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    table.scatter([4, 9, 4], values).unwrap();
    assert_eq!(table.gather([4, 9]).unwrap().values(), [5.0, 6.0, 3.0, 4.0]);
    // The second step of Adagrad has the size 0.1 / sqrt(2).
    table.update([4], ones(1), 0.1).unwrap();
    let moved = 5.0 - table.gather([4]).unwrap().row(0)[0];
    assert!((moved - 0.070_71).abs() < 1e-5, "{moved}");
    let none: [usize; 0] = [];
    assert_eq!(table.gather(none).unwrap().shape(), (0, 2));
    table.update(none, ones(0), 0.1).unwrap();
}

#[test]
fn rows_in_bf16_are_correct_on_average() {
    // Each step is a hundredth of the distance of neighbours near 1: rounded to the nearest, rows would not move.
    let table = RowTable::builder(4_000, 8)
        .precision(Precision::Bf16)
        .optimizer(Optimizer::RowwiseAdagrad)
        .create()
        .unwrap();
    let ones = Matrix::new(4_000, 8, vec![1.0; 32_000]).unwrap();
    table.scatter(0..4_000, &ones).unwrap();
    for _ in 0..10 {
        table.update(0..4_000, &ones, 1e-4).unwrap();
    }
    let exact = 1.0 - 1e-4 * (1..=10).map(|t| 1.0 / f64::from(t).sqrt()).sum::<f64>();
    let all = table.gather(0..4_000).unwrap();
    let mean = all
        .values()
        .iter()
        .map(|value| f64::from(*value))
        .sum::<f64>()
        / 32_000.0;
    assert!((mean - exact).abs() < 5e-5, "{mean} {exact}");
}

#[test]
fn threads_share_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let builder = RowTable::builder(800, 16).init_uniform(-1.0, 1.0);
    for (name, builder) in [
        ("memory", builder.clone()),
        ("file", builder.file(folder.path().join("rows"))),
    ] {
        let table = builder.create().unwrap();
        let serial = RowTable::builder(800, 16)
            .init_uniform(-1.0, 1.0)
            .create()
            .unwrap();
        let gradients = |number: usize| numbers(&mut Random::new(number as u64), 160, 16);
        // Rows 0 to 639: each thread has its own. Rows 640 to 719: all threads, with the same gradients.
        let rows = |thread: usize| -> Vec<usize> {
            (0..80).map(|i| i * 8 + thread).chain(640..720).collect()
        };
        let batch = |thread: usize, step: usize| {
            let mut values = gradients(step * 8 + thread).values()[..80 * 16].to_vec();
            values.extend(vec![0.25; 80 * 16]);
            Matrix::new(160, 16, values).unwrap()
        };
        thread::scope(|scope| {
            for thread in 0..8 {
                let table = table.clone();
                scope.spawn(move || {
                    for step in 0..20 {
                        table
                            .update(rows(thread), batch(thread, step), 0.1)
                            .unwrap();
                        if step % 7 == 0 {
                            table.flush().unwrap();
                        }
                    }
                });
            }
            // Whole rows are read: all entries of these have the same gradient, so they keep their differences.
            let first = table.gather(640..720).unwrap();
            for _ in 0..50 {
                let now = table.gather(640..720).unwrap();
                for row in 0..80 {
                    let moved = first.row(row)[0] - now.row(row)[0];
                    for (a, b) in first.row(row).iter().zip(now.row(row)) {
                        assert!((a - b - moved).abs() < 1e-4, "{name}, row {row}");
                    }
                }
            }
        });
        for step in 0..20 {
            for thread in 0..8 {
                serial
                    .update(rows(thread), batch(thread, step), 0.1)
                    .unwrap();
            }
        }
        same(&table, &serial);
    }
}

#[test]
fn wrong_arguments_are_located_and_change_nothing() {
    let table = RowTable::builder(10, 2)
        .init_uniform(0.0, 1.0)
        .create()
        .unwrap();
    let before = table.gather(0..10).unwrap();
    let matrix = |values: Vec<f32>| Matrix::new(values.len() / 2, 2, values).unwrap();
    let ones = matrix(vec![1.0; 4]);
    let wide = Matrix::new(2, 3, vec![1.0; 6]).unwrap();
    let nan = matrix(vec![1.0, 1.0, 1.0, f32::NAN]);
    let huge = matrix(vec![3e38; 4]);
    let entry = "where: entry 1 of the list of rows (counted from 0)";
    let cell = "where: row 1, column 1 of the gradients (counted from 0)";
    testkit::refused! {
        table.gather([0, 10]) => Shape, "row 10 of a table with 10 rows", entry;
        table.scatter([0, 10], &ones) => Shape, "row 10 of a table with 10 rows", entry;
        table.update([0, 10], &ones, 0.1) => Shape, "row 10 of a table with 10 rows", entry;
        table.update([0], &ones, 0.1) => Shape, "shape 2 × 2, expected 1 × 2";
        table.update([0, 1], &wide, 0.1) => Shape, "shape 2 × 3, expected 2 × 2";
        table.update([0, 5], &nan, 0.1) => Value, "NaN among the gradients of row 5", cell;
        table.scatter([0, 5], &nan) => Value, "NaN among the values of row 5", "row 1, column 1 of the values (counted";
        table.update([5, 5], &huge, 0.1) => Value, "sum of the gradients of row 5", "where: column 0 (counted from 0)";
        table.update([0, 1], &ones, f64::NAN) => Setting, "learning rate of NaN";
        table.update([0, 1], &ones, -1.0) => Setting, "learning rate of -1";
    }
    assert_eq!(table.gather(0..10).unwrap(), before);
    assert_eq!(table.steps(), 0);
}

#[test]
fn wrong_settings_are_refused() {
    let (folder, path) = testkit::temp_path("rows");
    let builder = RowTable::builder(10, 2).file(&path);
    let in_file = |rows, width| RowTable::builder(rows, width).file(&path);
    testkit::refused! {
        in_file(0, 2).create() => Setting, "0 rows";
        in_file(2, 0).create() => Setting, "x 0 values";
        in_file(usize::MAX, 9).create() => Space, "more than can be addressed";
        RowTable::builder(1 << 50, 9).create() => Space, "are free";
        in_file(1 << 50, 9).create() => Space, "free on its disk";
        builder.optimizer(Optimizer::AdamW).create() => Setting, "AdamW changes all rows";
        builder.init_uniform(1.0, 0.0).create() => Setting, "between 1 and 0";
        builder.init_uniform(0.0, f32::INFINITY).create() => Setting, "between 0 and inf";
        builder.file(folder.path()).create() => Io, "exists already";
        builder.file(folder.path().join("no/folder")).create() => Io, "No such file";
    }
    assert!(!path.exists());
}

#[test]
fn tables_can_be_sent_and_shared() {
    fn check<T: Clone + Send + Sync + 'static>() {}
    check::<RowTable>();
    check::<RowTableBuilder>();
}

#[test]
fn nearest_rows_are_those_of_a_full_sort() {
    for precision in PRECISIONS {
        let table = RowTable::builder(50, 3)
            .precision(precision)
            .init_uniform(-1.0, 1.0);
        let table = table.seed(2).create().unwrap();
        table
            .scatter([4], Matrix::new(1, 3, vec![0.0; 3]).unwrap())
            .unwrap();
        let rows = table.gather(0..50).unwrap();
        for row in [0, 4, 49] {
            let of = |other: usize| {
                let dot = |a: usize, b: usize| -> f64 {
                    let pairs = rows.row(a).iter().zip(rows.row(b));
                    pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
                };
                let norms = (dot(row, row) * dot(other, other)).sqrt();
                if norms == 0.0 {
                    0.0
                } else {
                    (dot(row, other) / norms) as f32
                }
            };
            let mut expected: Vec<(usize, f32)> = (0..50)
                .filter(|&other| other != row)
                .map(|other| (other, of(other)))
                .collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1));
            for n in [0, 7, 49, 60] {
                assert_eq!(table.nearest(row, n).unwrap(), expected[..n.min(49)]);
            }
        }
        testkit::assert_has(table.nearest(50, 1).unwrap_err(), ["row 50"]);
    }
}
