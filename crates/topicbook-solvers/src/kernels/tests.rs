//! The products against plain loops in double precision.

use super::*;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::system::{LANES, sum};

const FLOOR: Floor = Floor {
    rate: 1e-30,
    zero_below: false,
};

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
        let shape = TableShape::packed(0..terms, topics, TermLayout::Tiles);
        let tiled = shape.cut(&Matrix::from_parts(terms, topics, f.clone()).transposed());
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
        let mut likelihoods = [0.0; DOCUMENTS];
        let mut l_sums = vec![[0.0; LANES]; DOCUMENTS * topics];
        for (tile, at) in shape.tiles() {
            let f = &tiled[at];
            let mut rates = vec![9.0; DOCUMENTS * tile.width];
            tile_rates(&weights, f, topics, &mut rates);
            for (document, rates) in rates.chunks(tile.width).enumerate() {
                for (at, &found) in rates.iter().enumerate() {
                    let expected = match tile.terms.start + at {
                        term if term < tile.terms.end => rate(document, term),
                        // Terms that fill the tile.
                        _ => 0.0,
                    };
                    assert_close(found, expected, &what);
                }
            }
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
                FLOOR,
                &mut unpacked,
                Some(&mut likelihoods),
            );
            quotients(&weights, f, topics, FLOOR, &mut silent, None);
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
        for (document, likelihood) in likelihoods.into_iter().enumerate() {
            let counts = |term: usize| match document < rows {
                true => f64::from(counts[document * terms + term]),
                false => 0.0,
            };
            let cells = (0..terms).filter(|term| counts(*term) > 0.0);
            let expected: f64 = cells
                .map(|term| counts(term) * rate(document, term).ln())
                .sum();
            assert_close(likelihood, expected, &what);
        }
        for (at, lanes) in l_sums.iter().enumerate().take(rows * topics) {
            let (document, topic) = (at / topics, at % topics);
            let expected: f64 = (0..terms)
                .map(|term| quotient(document, term) * f64::from(f[term * topics + topic]))
                .sum();
            assert_close(sum(*lanes), expected, &what);
        }
    }
}

#[test]
fn quotients_of_rates_below_the_floor_are_zero_on_request() {
    let (topics, terms) = (2, BLOCK_TERMS);
    let mut weights = vec![0.5; DOCUMENTS * topics];
    // The second document has rates below the floor.
    weights[topics..2 * topics].fill(1e-12);
    let f = vec![1.0; topics * terms];
    let floor = |zero_below| Floor {
        rate: 1e-10,
        zero_below,
    };
    let quotients_of = |zero_below| {
        let (mut counts, mut likelihoods) = (vec![3.0; DOCUMENTS * terms], [0.0; DOCUMENTS]);
        let sums = Some(&mut likelihoods[..]);
        quotients(&weights, &f, topics, floor(zero_below), &mut counts, sums);
        let expected = 3.0 * terms as f64 * f64::from(1e-10f32).ln();
        assert_close(likelihoods.iter().sum::<f64>(), expected, "likelihood");
        (counts[0], counts[terms])
    };
    assert_eq!(quotients_of(true), (3.0, 0.0));
    assert_eq!(quotients_of(false), (3.0, 3.0 / 1e-10));
}

#[test]
fn every_value_has_a_place_of_its_own() {
    for (terms, topics) in [(1, 1), (63, 3), (256, 2), (300, 5), (700, 17)] {
        let table = Matrix::from_parts(topics, 9 + terms, numbers(topics * (9 + terms), 37));
        let range = 7..7 + terms;
        let shapes = [
            TableShape::packed(range.clone(), topics, TermLayout::Rows),
            TableShape::padded(range.clone(), topics, TermLayout::Rows),
            TableShape::packed(range, topics, TermLayout::Tiles),
        ];
        for shape in &shapes {
            let values = shape.cut(&table);
            let mut padding = values.to_vec();
            for term in 0..terms {
                for (topic, at) in shape.row(term).enumerate() {
                    assert_eq!(at, shape.at(term, topic));
                    assert_eq!(padding[at], table.row(topic)[7 + term]);
                    // Zero, if another term or topic has the same place.
                    padding[at] = 0.0;
                }
            }
            assert!(padding.iter().all(|value| *value == 0.0));
            for to in &shapes {
                assert_eq!(shape.convert(&values, to), to.cut(&table));
            }
        }
    }
}
