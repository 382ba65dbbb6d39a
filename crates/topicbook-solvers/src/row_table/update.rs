//! Rows gathered, scattered and updated, after their arguments were checked.

use std::sync::RwLockReadGuard;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use crate::data::{Matrix, TopN, cosine};
use crate::error::{Error, Result};
use crate::step::update::{rounding_key, step_row};
use crate::system::memory::check_free;
use crate::text::count;

use super::Inner;
use super::rows::Layout;
use super::rule::update_rule;

/// Rows that a thread takes at once. A flush waits for them.
pub(super) const ROWS_AT_ONCE: usize = 64;

/// Bytes that are allocated without a check of the free memory, which takes a tenth of a millisecond.
const SMALL: u64 = 16 << 20;

/// The values of rows.
pub(super) fn gather(table: &Inner, rows: &[usize]) -> Result<Matrix> {
    check_rows(table, rows)?;
    let width = table.rows.layout().width;
    let bytes = (rows.len() as u64).saturating_mul(4 * width as u64);
    if bytes > SMALL {
        check_free(bytes, "the matrix of the gathered rows")
            .map_err(|error| error.fix("gather fewer rows at once, or free some memory"))?;
    }
    let mut values = vec![0.0; rows.len() * width];
    let parts = values.par_chunks_mut(ROWS_AT_ONCE * width);
    parts.zip(rows.par_chunks(ROWS_AT_ONCE)).for_each_init(
        || table.rows.scratch(),
        |scratch, (values, rows)| {
            table.rows.prefetch(rows.iter().copied(), 1);
            for (values, &row) in values.chunks_exact_mut(width).zip(rows) {
                table.rows.copy(row, values, scratch);
            }
        },
    );
    table.check_kept()?;
    Matrix::new(rows.len(), width, values)
}

/// The rows with the largest cosines with a row.
pub(super) fn nearest(table: &Inner, row: usize, n: usize) -> Result<Vec<(usize, f32)>> {
    let given = gather(table, &[row])?;
    let Layout { rows, width, .. } = table.rows.layout();
    let mut largest = TopN::new(n);
    let at_once = (SMALL as usize / (4 * width)).max(1);
    for first in (0..rows).step_by(at_once) {
        let numbers: Vec<usize> = (first..rows.min(first + at_once)).collect();
        let values = gather(table, &numbers)?;
        let cosines = values.values().par_chunks(width);
        let cosines = cosines.map(|other| cosine(given.row(0), other) as f32);
        let mut cosines: Vec<f32> = cosines.collect();
        if let Some(own) = row.checked_sub(first).and_then(|at| cosines.get_mut(at)) {
            // The last of all, and taken away below.
            *own = f32::NEG_INFINITY;
        }
        largest.add(first, &cosines);
    }
    let mut found = largest.sorted();
    found.retain(|&(other, _)| other != row);
    Ok(found)
}

/// Replaces the values of rows.
pub(super) fn scatter(table: &Inner, rows: &[usize], values: &Matrix) -> Result<()> {
    check_rows(table, rows)?;
    check_matrix(table, rows, values, "values")?;
    let groups = Groups::new(rows);
    groups.rows.par_chunks(ROWS_AT_ONCE).try_for_each_init(
        || table.rows.scratch(),
        |scratch, groups_of_rows| {
            let _writing = begin_write(table)?;
            for group in groups_of_rows {
                if let Some(&last) = groups.positions(group).last() {
                    table.rows.replace(group.row, values.row(last), scratch);
                }
            }
            Ok::<(), Error>(())
        },
    )?;
    table.check_kept()
}

/// Takes one step of the optimizer for rows.
pub(super) fn update(
    table: &Inner,
    rows: &[usize],
    gradients: &Matrix,
    learning_rate: f64,
) -> Result<()> {
    check_rows(table, rows)?;
    check_matrix(table, rows, gradients, "gradients")?;
    if !(learning_rate.is_finite() && learning_rate >= 0.0) {
        return Err(
            Error::setting(format!("a learning rate of {learning_rate}"))
                .fix("pass a finite learning rate of at least 0"),
        );
    }
    let groups = Groups::new(rows);
    check_sums(&groups, gradients)?;
    drop(begin_write(table)?);
    let step = table.steps.fetch_add(1, Ordering::AcqRel);
    let interval = table.rows.layout().rows.div_ceil(groups.rows.len().max(1));
    let time = (step.saturating_add(1), interval as u64);
    let rule = update_rule(table.optimizer, time, learning_rate);
    let buffers = || (table.rows.scratch(), vec![0.0; gradients.columns()]);
    groups.rows.par_chunks(ROWS_AT_ONCE).try_for_each_init(
        buffers,
        |(scratch, sum), groups_of_rows| {
            let _writing = begin_write(table)?;
            let rows = groups_of_rows.iter().map(|group| group.row);
            table.rows.prefetch(rows, table.rows.layout().tables);
            for group in groups_of_rows {
                let gradient = sum_gradients(groups.positions(group), gradients, sum);
                // A row changes once per step. The keys have the same numbers as for updates of L's rows.
                let key = rounding_key(2 * group.row as u64, step);
                table
                    .rows
                    .change(group.row, key, scratch, |row| step_row(row, gradient, rule));
            }
            Ok::<(), Error>(())
        },
    )?;
    table.check_kept()
}

/// Marks the table's file as being written. A flush waits until the guard is dropped.
fn begin_write(table: &Inner) -> Result<Option<RwLockReadGuard<'_, bool>>> {
    table.check_kept()?;
    let file = table.file.as_ref();
    file.map(|file| file.begin_write(table.steps.load(Ordering::Acquire)))
        .transpose()
}

/// The distinct rows of a list, in ascending order, with their positions in the list.
struct Groups {
    rows: Vec<Group>,
    /// The positions of the first row, then of the second, and so on, each in ascending order.
    positions: Vec<usize>,
}

struct Group {
    row: usize,
    /// The range of its positions in [`Groups::positions`].
    first: usize,
    end: usize,
}

impl Groups {
    fn new(list: &[usize]) -> Self {
        let mut positions: Vec<usize> = (0..list.len()).collect();
        positions.sort_by_key(|&position| list[position]);
        let mut rows: Vec<Group> = Vec::with_capacity(list.len());
        for (at, &position) in positions.iter().enumerate() {
            let row = list[position];
            match rows.last_mut() {
                Some(group) if group.row == row => group.end = at + 1,
                _ => rows.push(Group {
                    row,
                    first: at,
                    end: at + 1,
                }),
            }
        }
        Self { rows, positions }
    }

    fn positions(&self, group: &Group) -> &[usize] {
        &self.positions[group.first..group.end]
    }
}

/// The sum of the gradients at these positions, in `sum` where there are several.
fn sum_gradients<'a>(positions: &[usize], gradients: &'a Matrix, sum: &'a mut [f32]) -> &'a [f32] {
    match positions {
        &[position] => gradients.row(position),
        positions => {
            sum.fill(0.0);
            for &position in positions {
                for (sum, gradient) in sum.iter_mut().zip(gradients.row(position)) {
                    *sum += gradient;
                }
            }
            sum
        }
    }
}

/// Fails on a row that the table does not have.
fn check_rows(table: &Inner, rows: &[usize]) -> Result<()> {
    let available = table.rows.layout().rows;
    match rows.iter().position(|&row| row >= available) {
        None => table.check_kept(),
        Some(position) => Err(Error::shape(format!(
            "row {} of a table with {} rows",
            count(rows[position] as u64),
            count(available as u64)
        ))
        .at(format!(
            "entry {position} of the list of rows (counted from 0)"
        ))
        .fix("rows are counted from 0")),
    }
}

/// Fails if a matrix does not have a row of finite values for each of these rows.
fn check_matrix(table: &Inner, rows: &[usize], matrix: &Matrix, what: &str) -> Result<()> {
    let expected = (rows.len(), table.rows.layout().width);
    if matrix.shape() != expected {
        let (found_rows, found_columns) = matrix.shape();
        return Err(Error::shape(format!(
            "{what} of shape {found_rows} × {found_columns}, expected {} × {}",
            expected.0, expected.1
        ))
        .fix("pass a row for each row in the list, as wide as the table"));
    }
    match matrix
        .values()
        .par_iter()
        .position_first(|value| !value.is_finite())
    {
        None => Ok(()),
        Some(at) => {
            let (row, column) = (at / expected.1, at % expected.1);
            let value = matrix.values()[at];
            Err(Error::value(format!(
                "{value} among the {what} of row {} of the table",
                rows[row]
            ))
            .at(format!(
                "row {row}, column {column} of the {what} (counted from 0)"
            ))
            .fix(
                "nothing was written; look for a division by zero, or use a smaller learning rate",
            ))
        }
    }
}

/// Fails if gradients of the same row are finite, but not their sum.
fn check_sums(groups: &Groups, gradients: &Matrix) -> Result<()> {
    let mut sum = vec![0.0; gradients.columns()];
    let repeated = |group: &&Group| group.end - group.first > 1;
    for group in groups.rows.iter().filter(repeated) {
        let sum = sum_gradients(groups.positions(group), gradients, &mut sum);
        if let Some(column) = sum.iter().position(|value| !value.is_finite()) {
            let what = format!("the sum of the gradients of row {} is infinite", group.row);
            return Err(Error::value(what)
                .at(format!("column {column} (counted from 0)"))
                .fix("nothing was written; clip the gradients"));
        }
    }
    Ok(())
}
