//! What people draw: numbers of any type, in vectors, slices, arrays, ranges, iterators and matrices.

use std::ops::Deref;
use std::time::Duration;

use crate::data::MatrixRow;

use super::frame::Positions;

/// A number that can be drawn: any integer or floating-point number, `Option` of one (`None` leaves a gap), and durations,
/// in seconds.
///
/// ```
/// use topicbook::Chart;
/// let mixed = Chart::lines([Some(1.5f32), None, Some(2.0)]);
/// assert!(mixed.to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that a chart can draw",
    note = "charts draw integers, floating-point numbers, `Option`s of them, and durations"
)]
pub trait Number {
    /// The number as `f64`; NaN for a missing one.
    fn to_f64(&self) -> f64;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Number for $number {
            fn to_f64(&self) -> f64 {
                *self as f64
            }
        })*
    };
}

numbers!(f32, f64, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl Number for Duration {
    fn to_f64(&self) -> f64 {
        self.as_secs_f64()
    }
}

impl<T: Number> Number for Option<T> {
    fn to_f64(&self) -> f64 {
        self.as_ref().map_or(f64::NAN, Number::to_f64)
    }
}

impl<T: Number> Number for &T {
    fn to_f64(&self) -> f64 {
        (*self).to_f64()
    }
}

/// The numbers of one series, for the pairs of a name and its numbers that [`Chart::lines`](crate::Chart::lines) and
/// [`Chart::bars`](crate::Chart::bars) take: a vector, slice or array, or a single number.
///
/// ```
/// use topicbook::Chart;
/// let (train, test) = (vec![1.0, 2.0], [1.5f32, 1.8]);
/// let chart = Chart::lines([("train", train.as_slice()), ("test", &[1.5, 1.8])]);
/// let sizes = Chart::bars([("small", 3), ("large", 10)]);
/// assert!(chart.to_svg()?.contains("train"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a chart cannot draw `{Self}`",
    note = "pass a vector, a slice, an array or a single number"
)]
pub trait Numbers {
    /// The numbers as `f64`, in their order.
    fn to_numbers(&self) -> Vec<f64>;
}

impl<T: Number> Numbers for T {
    fn to_numbers(&self) -> Vec<f64> {
        vec![self.to_f64()]
    }
}

impl<T: Number> Numbers for [T] {
    fn to_numbers(&self) -> Vec<f64> {
        self.iter().map(Number::to_f64).collect()
    }
}

impl<T: Number> Numbers for &[T] {
    fn to_numbers(&self) -> Vec<f64> {
        (**self).to_numbers()
    }
}

impl<T: Number, const N: usize> Numbers for [T; N] {
    fn to_numbers(&self) -> Vec<f64> {
        self.as_slice().to_numbers()
    }
}

impl<T: Number, const N: usize> Numbers for &[T; N] {
    fn to_numbers(&self) -> Vec<f64> {
        self.as_slice().to_numbers()
    }
}

impl<T: Number> Numbers for Vec<T> {
    fn to_numbers(&self) -> Vec<f64> {
        self.as_slice().to_numbers()
    }
}

impl<T: Number> Numbers for &Vec<T> {
    fn to_numbers(&self) -> Vec<f64> {
        self.as_slice().to_numbers()
    }
}

impl Numbers for MatrixRow {
    fn to_numbers(&self) -> Vec<f64> {
        self.deref().to_numbers()
    }
}

/// One line of a chart, or one colour of bars.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    pub values: Vec<f64>,
}

/// An element of what [`IntoSeries`] is implemented for.
pub trait Entry {
    #[doc(hidden)]
    fn add(self, series: &mut Vec<Series>);
}

/// A bare number belongs to the only series, which has no name.
impl<T: Number> Entry for T {
    fn add(self, series: &mut Vec<Series>) {
        match series.last_mut() {
            Some(last) => last.values.push(self.to_f64()),
            None => series.push(Series {
                name: String::new(),
                values: vec![self.to_f64()],
            }),
        }
    }
}

impl<N: ToString, V: Numbers> Entry for (N, V) {
    fn add(self, series: &mut Vec<Series>) {
        (&self).add(series);
    }
}

impl<N: ToString, V: Numbers> Entry for &(N, V) {
    fn add(self, series: &mut Vec<Series>) {
        series.push(Series {
            name: self.0.to_string(),
            values: self.1.to_numbers(),
        });
    }
}

/// The columns of a matrix are series.
impl Entry for MatrixRow {
    fn add(self, series: &mut Vec<Series>) {
        let picked = self.matrix().picked_columns();
        for (column, &value) in self.iter().enumerate() {
            if series.len() == column {
                // A column that was selected has its number in the matrix from which it was.
                let number = picked.map_or(column, |picked| picked.numbers[column]);
                series.push(Series {
                    name: number.to_string(),
                    values: Vec::new(),
                });
            }
            series[column].values.push(value.into());
        }
    }
}

/// What [`Chart::lines`](crate::Chart::lines) and [`Chart::bars`](crate::Chart::bars) draw: numbers, pairs of a name and its
/// numbers, or a [`Matrix`](crate::Matrix), whose columns are series.
///
/// Vectors, slices, arrays, ranges and iterators of [`Number`]s or of pairs are all accepted, by value or by reference.
///
/// ```
/// use topicbook::Chart;
/// let losses = vec![9.0, 7.0, 6.0];
/// let charts = [Chart::lines(&losses), Chart::lines(0..10), Chart::lines([("a", &losses), ("b", &losses)])];
/// assert!(charts[2].to_svg()?.contains("b"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a chart cannot draw `{Self}`",
    note = "pass numbers, as in `Chart::lines(&values)`, or pairs of a name and its numbers, as in \
            `Chart::lines([(\"a\", &a), (\"b\", &b)])`"
)]
pub trait IntoSeries {
    /// The series, in their order.
    #[doc(hidden)]
    fn into_series(self) -> Vec<Series>;
}

impl<I> IntoSeries for I
where
    I: IntoIterator,
    I::Item: Entry,
{
    fn into_series(self) -> Vec<Series> {
        let mut series = Vec::new();
        for entry in self {
            entry.add(&mut series);
        }
        series
    }
}

/// What [`Chart::scatter`](crate::Chart::scatter) takes along the horizontal axis: [`Numbers`], or a vector, slice or array of
/// texts that are dates of ISO 8601, such as `Table::texts` makes of a column of dates.
///
/// ```
/// use topicbook::Chart;
/// let chart = Chart::scatter(["2024-03", "2024-04-15", "2024-06-01"], [0.2, 0.5, 0.4]);
/// assert!(chart.to_svg()?.contains(">2024-04-01<"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "points cannot lie at `{Self}`",
    note = "pass numbers, or dates as texts, in a vector, a slice or an array"
)]
pub trait IntoPositions {
    #[doc(hidden)]
    fn into_positions(self) -> Positions;
}

impl<T: Numbers> IntoPositions for T {
    fn into_positions(self) -> Positions {
        Positions {
            numbers: self.to_numbers(),
            ..Positions::default()
        }
    }
}

macro_rules! texts {
    ($([$($generic:tt)*] $texts:ty),*) => {$(
        impl<$($generic)*> IntoPositions for $texts {
            fn into_positions(self) -> Positions {
                let texts: Vec<String> = self.iter().map(ToString::to_string).collect();
                Positions::of_texts(&texts)
            }
        }
    )*};
}

texts!(
    [] Vec<String>, [] &Vec<String>, [] &[String], [const N: usize] [String; N], [const N: usize] &[String; N],
    [] Vec<&str>, [] &Vec<&str>, [] &[&str], [const N: usize] [&str; N], [const N: usize] &[&str; N]
);

/// The rows of a heat map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table of numbers",
    note = "pass a matrix, as in `Chart::heatmap(&fit.l())`, or rows of numbers, as in `Chart::heatmap([[1.0, 0.2], [0.2, 1.0]])`"
)]
pub trait IntoRows {
    #[doc(hidden)]
    fn into_rows(self) -> Vec<Vec<f64>>;
}

impl<I> IntoRows for I
where
    I: IntoIterator,
    I::Item: Numbers,
{
    fn into_rows(self) -> Vec<Vec<f64>> {
        self.into_iter().map(|row| row.to_numbers()).collect()
    }
}
