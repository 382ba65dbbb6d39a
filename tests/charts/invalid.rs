//! Invalid data is refused with an error; small and constant data are drawn.

use proptest::prelude::*;
use testkit::refused;
use topicbook::{Chart, ErrorKind, Matrix, Terms, side_by_side, sort_documents, stack};

use crate::pictures::{assert_well_formed, decode};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_data_makes_a_chart_panic(
        (rows, columns, values) in (0usize..5, 0usize..13).prop_flat_map(|(rows, columns)| {
            (Just(rows), Just(columns), prop::collection::vec(any::<f32>(), rows * columns))
        }),
        n in 0usize..20,
        series in prop::collection::vec(any::<f64>(), 0..30),
    ) {
        let matrix = Matrix::new(rows, columns, values).unwrap();
        sort_documents(&matrix);
        let charts = [
            Chart::structure(&matrix),
            Chart::top_terms(&matrix, None, n),
            Chart::loss(&series, &series),
            Chart::histogram(&series),
        ];
        for chart in charts {
            for outcome in [chart.to_png().map(|_| ()), chart.to_svg().map(|_| ())] {
                if let Err(error) = outcome {
                    prop_assert_eq!(error.kind(), ErrorKind::Drawing);
                    prop_assert!(error.remedy().is_some());
                }
            }
        }
    }
}

fn matrix(rows: usize, columns: usize, values: &[f32]) -> Matrix {
    Matrix::new(rows, columns, values.to_vec()).unwrap()
}

/// A chart, a part of the error's message, and the location that the error names.
type Case = (Chart, &'static str, Option<&'static str>);

#[track_caller]
fn assert_refused(cases: impl IntoIterator<Item = Case>) {
    for (chart, fragment, location) in cases {
        for error in [chart.to_png().unwrap_err(), chart.to_svg().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Drawing, "{error}");
            assert!(error.to_string().contains(fragment), "{fragment}: {error}");
            assert_eq!(error.place(), location, "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
        // A cell shows the error as text.
        chart.evcxr_display();
    }
}

#[test]
#[rustfmt::skip] // one case a line
fn structure_plots_of_invalid_matrices_are_refused() {
    let structure = |rows, columns, values: &[f32]| Chart::structure(&matrix(rows, columns, values));
    assert_refused([
        (structure(0, 0, &[]), "0 documents and 0 topics", None),
        (structure(2, 0, &[]), "2 documents and 0 topics", None),
        (structure(1, 2, &[0.5, f32::NAN]), "NaN", Some("document 0, topic 1")),
        (structure(2, 1, &[1.0, -0.5]), "-0.5", Some("document 1, topic 0")),
        (structure(2, 1, &[1.0, f32::INFINITY]), "inf", Some("document 1, topic 0")),
        (structure(2, 2, &[0.5, 0.5, 0.0, 0.0]), "sum", Some("document 1")),
    ]);
}

#[test]
#[rustfmt::skip] // one case a line
fn top_terms_of_invalid_matrices_are_refused() {
    let names = Terms::new(["one"; 3]).unwrap();
    let top_terms = |rows, columns, values: &[f32], n| Chart::top_terms(&matrix(rows, columns, values), None, n);
    assert_refused([
        (top_terms(0, 3, &[], 5), "0 topics", None),
        (top_terms(3, 0, &[], 5), "0 terms", None),
        (top_terms(1, 3, &[0.1; 3], 0), "zero terms", None),
        (Chart::top_terms(&matrix(1, 2, &[0.1; 2]), Some(&names), 2), "3 names for 2 terms", None),
        (top_terms(1, 3, &[0.1, f32::NAN, 0.2], 1), "NaN", Some("topic 0, term 1")),
        (top_terms(1, 3, &[-1.0; 3], 1), "-1", Some("topic 0, term 0")),
        (top_terms(1, 5_000, &[0.1; 5_000], 5_000), "pixels high", None),
    ]);
}

#[test]
#[rustfmt::skip] // one case a line
fn curves_and_histograms_of_invalid_values_are_refused() {
    let histogram = |values: &[f64]| Chart::histogram(values);
    assert_refused([
        (Chart::loss(&[], &[]), "no epochs", None),
        (Chart::loss(&[1.0], &[]), "1 value of the loss and 0", None),
        (Chart::loss(&[1.0, f64::NAN], &[0.0, 0.0]), "NaN", Some("epoch 2")),
        (Chart::loss(&[1.0], &[f64::NEG_INFINITY]), "log-likelihood is -inf", Some("epoch 1")),
        (histogram(&[]), "without values", None),
        (histogram(&[1.0, f64::NAN]), "NaN", Some("index 1")),
    ]);
}

#[test]
fn empty_and_too_high_compositions_are_refused() {
    let one = || Chart::structure(&matrix(1, 1, &[1.0]));
    assert_refused([
        (side_by_side([]), "no charts", None),
        (stack([]), "no charts", None),
        (stack([side_by_side([])]), "no charts", None),
        (stack((0..100).map(|_| one())), "pixels high", None),
    ]);
}

#[test]
fn small_and_constant_data_are_drawn() {
    let one = Matrix::new(1, 1, vec![1.0]).unwrap();
    let zeros = Matrix::new(2, 3, vec![0.0; 6]).unwrap();
    let charts = [
        Chart::structure(&one),
        Chart::top_terms(&one, None, 10),
        Chart::top_terms(&zeros, None, 2),
        Chart::loss(&[5.0], &[-7.0]),
        Chart::loss(&[5.0, 4.0], &[-7.0, -6.0]),
        Chart::loss(&[5.0; 300], &[0.0; 300]),
        Chart::loss(&[0.0; 12], &[-1e-300; 12]),
        Chart::histogram([3.0]),
        Chart::histogram([3.0; 100]),
        Chart::histogram([-1e300, 1e300]),
    ];
    for chart in charts {
        assert!(
            decode(&chart.to_png().unwrap())
                .2
                .iter()
                .any(|pixel| *pixel != [255; 3]),
            "{chart:?}"
        );
        assert_well_formed(&chart.to_svg().unwrap());
    }
}

#[test]
fn texts_as_long_as_files_are_drawn() {
    let long = |length: usize| "spike ".repeat(length / 6);
    let names = [long(40_000), "a".repeat(40_000), long(1_000_000)];
    let f = matrix(2, 3, &[0.5, 0.3, 0.2, 0.1, 0.2, 0.7]);
    let terms = Terms::new(names.clone()).unwrap();
    let chart = Chart::top_terms(&f, Some(&terms), 3);
    let charts = [
        chart.title(&names[2]).x_label(&names[2]),
        Chart::histogram([1.0, 2.0]).title(&names[2]),
        Chart::bars([1.0, 2.0, 3.0]).x(names.clone()),
    ];
    for chart in charts {
        let began = std::time::Instant::now();
        decode(&chart.to_png().unwrap());
        assert_well_formed(&chart.to_svg().unwrap());
        // Letter by letter, 40,000 of them take 47 seconds.
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }
}

#[test]
fn compositions_inside_each_other_are_bounded() {
    let nested = |depth: usize| {
        let chart = Chart::histogram([1.0, 2.0]);
        (0..depth).fold(chart, |chart, level| match level % 2 {
            0 => stack([chart]),
            _ => side_by_side([chart]),
        })
    };
    decode(&nested(16).to_png().unwrap());
    for depth in [17, 2_000, 100_000] {
        refused! {
            nested(depth).to_png() => Drawing, "16 compositions";
            nested(depth).to_svg() => Drawing, "16 compositions";
        }
    }
}

#[test]
fn control_characters_leave_a_picture_well_formed() {
    let odd = "a\u{0}b\u{8}\u{1b}[31m<&>\"'\u{FFFF}\r\n\t\u{85}";
    let f = matrix(2, 2, &[0.5, 0.5, 0.1, 0.9]);
    let terms = Terms::new([odd, "b"]).unwrap();
    let charts = [
        Chart::top_terms(&f, Some(&terms), 2).title(odd),
        Chart::bars([1.0, 2.0])
            .x([odd, "b"])
            .x_label(odd)
            .y_label(odd),
    ];
    for chart in charts {
        decode(&chart.to_png().unwrap());
        let svg = chart.to_svg().unwrap();
        assert_well_formed(&svg);
        let forbidden = |c: char| (c < ' ' && !"\t\r\n".contains(c)) || c == '\u{FFFF}';
        assert!(!svg.contains(forbidden), "{svg:?}");
    }
}
