//! Effects against numpy and statsmodels, and weighted regressions against the normal equations.

use rand::RngExt;

use super::*;
use crate::data::{Documents, Matrix};
use crate::error::ErrorKind;
use crate::system::{Purpose, stream};

/// Proportions of 24 documents in three topics, as the script of the golden values draws them.
fn fit() -> Fit {
    let mut state = 2024u64;
    let mut draw = || {
        state = (1_103_515_245 * state + 12_345) % (1 << 31);
        state as f64 / f64::from(1u32 << 31)
    };
    let rows = (0..24).flat_map(|_| {
        let row = [draw(), draw(), draw()];
        let sum: f64 = row.iter().sum();
        row.map(|value| (value / sum) as f32)
    });
    let l = Matrix::new(24, 3, rows.collect()).unwrap();
    let f = Matrix::new(3, 3, vec![0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.5, 0.0, 0.5]).unwrap();
    let documents = Documents::numbered(24).unwrap();
    let party = |document: usize| ["D", "R", "I"][document * 7 / 2 % 3];
    let documents = documents
        .with_numbers("year", (0..24).map(|document| 1990 + document / 3))
        .unwrap()
        .with_labels("party", (0..24).map(party))
        .unwrap();
    let fit = Fit::from_matrices(l, f).unwrap();
    fit.with_documents(documents).unwrap()
}

fn described(change: impl Fn(Documents) -> crate::Result<Documents>) -> Fit {
    let documents = fit().document_names().unwrap();
    fit().with_documents(change(documents).unwrap()).unwrap()
}

#[test]
fn estimates_are_those_of_statsmodels() {
    // statsmodels.api.OLS(l[:, topic], x).fit(): the rows are coefficients, the columns topics.
    let golden: [(&str, &[[f64; 3]]); 2] = [
        (
            "year + party",
            &[
                [-1.151045329e1, 2.399062993e1, -1.148017761e1],
                [5.939105526e-3, -1.186388715e-2, 5.924782120e-3],
                [3.874486312e-2, 5.027805220e-2, -8.902292529e-2],
                [3.666665684e-2, -5.749435192e-2, 2.082768282e-2],
            ],
        ),
        (
            "year * party",
            &[
                [-5.924077880, 2.769703556e1, -2.077295140e1],
                [3.136107326e-3, -1.372359896e-2, 1.058748849e-2],
                [5.461870521e1, -2.634758759e1, -2.827112459e1],
                [-7.432938488e1, 1.635984363e1, 5.796952642e1],
                [-2.737825877e-2, 1.324243567e-2, 1.413582659e-2],
                [3.729631621e-2, -8.232436446e-3, -2.906387234e-2],
            ],
        ),
    ];
    let fit = fit();
    for (formula, expected) in golden {
        let found = fit.effects(formula).unwrap();
        assert_eq!(found.estimates.len(), 3 * expected.len());
        for (found, expected) in found.estimates.iter().zip(expected.as_flattened()) {
            let error = (found / expected - 1.0).abs();
            assert!(error < 1e-5, "{formula}: {found} {expected}");
        }
    }
    let terms = fit.effects("year * party").unwrap().terms();
    assert_eq!(
        terms[3..],
        ["party = I", "year * party = R", "year * party = I"]
    );
}

#[test]
fn weights_solve_the_normal_equations() {
    let fit = fit();
    let rows: Vec<usize> = (0..24).collect();
    let documents = fit.document_names().unwrap();
    let design = Design::new("year + party", &documents, |_| true).unwrap();
    let drawn = Regression::new(&fit.l, &rows, &design.columns)
        .unwrap()
        .draws(2);
    for (draw, found) in drawn.iter().enumerate() {
        let mut random = stream(0, Purpose::Bootstrap, draw as u64);
        let weights: Vec<f64> = rows
            .iter()
            .map(|_| -(1.0 - random.random::<f64>()).ln())
            .collect();
        // The weighted residuals are orthogonal to each column.
        for (column, topic) in (0..4).flat_map(|column| (0..3).map(move |topic| (column, topic))) {
            let products = rows.iter().map(|&row| {
                let fitted: f64 = (0..4)
                    .map(|c| design.columns[c][row] * found[c * 3 + topic])
                    .sum();
                let residual = f64::from(fit.l.row(row)[topic]) - fitted;
                weights[row] * design.columns[column][row] * residual
            });
            let sum: f64 = products.sum();
            assert!(sum.abs() < 1e-5, "{draw}, {column}, {topic}: {sum}");
        }
    }
}

#[test]
fn intervals_are_as_wide_as_the_classical_ones_where_these_hold() {
    let n = 2000;
    let mut random = stream(3, Purpose::Counts, 0);
    let label: Vec<f64> = (0..n).map(|_| random.random::<f64>()).collect();
    let first: Vec<f64> = label
        .iter()
        .map(|x| 0.3 + 0.2 * x + 0.2 * random.random::<f64>())
        .collect();
    let l = first
        .iter()
        .flat_map(|&p| [p as f32, 1.0 - p as f32])
        .collect();
    let fit = Fit::from_matrices(
        Matrix::new(n, 2, l).unwrap(),
        Matrix::new(2, 2, vec![1.0, 0.0, 0.0, 1.0]).unwrap(),
    );
    let documents = Documents::numbered(n)
        .unwrap()
        .with_numbers("x", label)
        .unwrap();
    let effects = fit
        .unwrap()
        .with_documents(documents)
        .unwrap()
        .effects("x")
        .unwrap();
    let at = 2; // of `x`, the first topic
    let (low, high) = (effects.ends[0][at], effects.ends[1][at]);
    // The standard error: the deviation 0.2 / sqrt(12) of the noise over that of the label, 1 / sqrt(12), and sqrt(n).
    let expected = 2.0 * 1.96 * 0.2 / (n as f64).sqrt();
    assert!(
        ((high - low) / expected - 1.0).abs() < 0.1,
        "{low} {high} {expected}"
    );
    assert!(low < 0.2 && 0.2 < high && low < effects.estimates[at] && effects.estimates[at] < high);
}

#[test]
fn documents_without_a_label_are_left_out_and_dates_are_years() {
    let dates =
        (0..24).map(|document| (document != 5).then(|| format!("{}-01-01", 1990 + document / 3)));
    let dated = described(|documents| documents.with_dates("date", dates.clone()));
    let effects = dated.effects("date").unwrap();
    assert_eq!(effects.of(), ("date", [23, 1]));
    let years = described(|documents| {
        documents.with_numbers(
            "year",
            (0..24).map(|document| match document {
                5 => f64::NAN,
                _ => f64::from(1990 + document / 3),
            }),
        )
    });
    let by_year = years.effects("year").unwrap();
    // A year is 365 or 366 days, and not 365.2425.
    for (a, b) in effects.estimates[3..].iter().zip(&by_year.estimates[3..]) {
        assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
    }
}

#[test]
fn formulas_that_cannot_be_fitted_are_refused_by_name() {
    let fit = fit();
    let constant = described(|documents| documents.with_numbers("one", [1; 24]));
    let nested =
        described(|documents| documents.with_numbers("age", (0..24).map(|document| document / 3)));
    let alone = described(|documents| {
        documents.with_labels(
            "party",
            (0..24).map(|document| if document == 3 { "X" } else { "D" }),
        )
    });
    let unlabelled = fit
        .with_documents(Documents::numbered(24).unwrap())
        .unwrap();
    let mut unknown = fit.clone();
    unknown.documents = None;
    let wrong_date = fit
        .document_names()
        .unwrap()
        .with_dates("date", ["soon"; 24]);
    testkit::refused! {
        fit.effects("yaer + party") => Value, "no label `yaer`";
        fit.effects("year +") => Value, "a place without a label";
        fit.effects("a * b * c * d") => Value, "interaction of 4 labels";
        constant.effects("year + one") => Value, "`one` is 1 in all documents";
        nested.effects("year + age") => Value, "`age` has no value of its own";
        alone.effects("party") => Value, "`X` is the `party` of one document";
        unlabelled.effects("year") => Value, "no label `year`";
        unknown.effects("year") => Value, "does not know its documents";
        wrong_date => Value, "no ISO 8601 date";
    }
    let remedy = fit.effects("yaer").unwrap_err();
    assert!(remedy.remedy().unwrap().contains("`year`"), "{remedy}");
}
