//! The products against plain loops in double precision.

use super::*;
use crate::counts::Counts;
use crate::system::{LANES, sum};

/// Numbers in [0.1, 1.1) that differ from cell to cell.
fn numbers(length: usize, step: usize) -> Vec<f32> {
    let number = |at: usize| 0.1 + (at * step % 101) as f32 / 101.0;
    (0..length).map(number).collect()
}

fn assert_close(found: impl Into<f64>, expected: f64, what: &str) {
    let found = found.into();
    let error = (found - expected).abs() / expected.abs().max(1e-3);
    assert!(error < 2e-6, "{what}: {found} instead of {expected}");
}

#[test]
fn products_follow_plain_loops() {
    for (topics, terms, rows) in [
        (1, 5, 3),
        (3, 64, 16),
        (4, 100, 1),
        (20, 256, 16),
        (21, 300, 9),
        (34, 520, 16),
    ] {
        let what = format!("{topics} topics, {terms} terms, {rows} documents");
        let counts: Vec<u8> = (0..rows * terms)
            .map(|at| if at % 3 == 0 { (at % 7) as u8 } else { 0 })
            .collect();
        let f = numbers(terms * topics, 37);
        let mut weights = numbers(rows * topics, 53);
        weights.resize(DOCUMENTS * topics, 0.0);
        let mut tiled = vec![9.0; tiled_terms(terms) * topics];
        to_tiles(&f, topics, &mut tiled);
        let dense = Counts::dense(rows, terms, counts.clone()).unwrap();
        let rate = |document: usize, term: usize| -> f64 {
            let topics = (0..topics).map(|topic| {
                f64::from(weights[document * topics + topic]) * f64::from(f[term * topics + topic])
            });
            topics.sum()
        };
        let quotient = |document: usize, term: usize| -> f64 {
            f64::from(counts[document * terms + term]) / rate(document, term)
        };
        let (mut likelihood, mut l_sums) = (0.0, vec![[0.0; LANES]; DOCUMENTS * topics]);
        for tile in tiles(0..terms) {
            let f = &tiled[tile.terms.start * topics..][..tile.width * topics];
            let mut unpacked = vec![9.0; DOCUMENTS * tile.width];
            dense
                .with_view(|view| {
                    unpack(&view, terms, 0..rows, &tile, &mut unpacked);
                    Ok(())
                })
                .unwrap();
            let mut silent = unpacked.clone();
            quotients(
                &weights,
                f,
                topics,
                1e-30,
                &mut unpacked,
                Some(&mut likelihood),
            );
            quotients(&weights, f, topics, 1e-30, &mut silent, None);
            assert_eq!(unpacked, silent, "{what}");
            add_to_l(&unpacked, f, topics, &mut l_sums);
            let mut f_sums = vec![0.5; f.len()];
            add_to_f(&weights, &unpacked, topics, &mut f_sums);
            for (at, term) in tile.terms.clone().enumerate() {
                for topic in 0..topics {
                    let expected: f64 = (0..rows)
                        .map(|document| {
                            quotient(document, term) * f64::from(weights[document * topics + topic])
                        })
                        .sum();
                    assert_close(f_sums[topic * tile.width + at], expected + 0.5, &what);
                }
            }
        }
        let cells = (0..rows * terms).map(|at| (at / terms, at % terms));
        let expected: f64 = cells
            .map(|(document, term)| {
                f64::from(counts[document * terms + term]) * rate(document, term).ln()
            })
            .sum();
        assert_close(likelihood, expected, &what);
        for (at, lanes) in l_sums.iter().enumerate().take(rows * topics) {
            let (document, topic) = (at / topics, at % topics);
            let expected: f64 = (0..terms)
                .map(|term| quotient(document, term) * f64::from(f[term * topics + topic]))
                .sum();
            assert_close(sum(*lanes), expected, &what);
        }
    }
}
