use std::path::Path;
use std::time::Instant;

use super::*;
use crate::config::Settings;
use crate::counts::Fingerprint;
use crate::error::ErrorKind;

#[test]
fn topics_are_compared_with_the_nearest_one() {
    let covariance = [0.04, 0.0, 0.01, 0.0, 0.25, 0.0, 0.01, 0.0, 0.09];
    let found = compare(&[8.0, 1.0, 2.0], &covariance);
    let next: Vec<u32> = found.iter().map(|comparison| comparison.next).collect();
    assert_eq!(next, [2, 2, 1]);
    let changes: Vec<f32> = found.iter().map(|one| one.log_fold_change).collect();
    assert_eq!(changes, [2.0, -1.0, 1.0]);
    let expected = (0.04f64 + 0.09 - 0.02).sqrt() / 2f64.ln();
    assert!((f64::from(found[0].standard_error) - expected).abs() < 1e-7);
}

const DATA: &str = "../shared/data";

/// A matrix as fastTopics published it, in single precision.
fn published(name: &str) -> Matrix {
    let data = std::fs::read(Path::new(DATA).join(name)).unwrap();
    let length = u64::from_le_bytes(data[..8].try_into().unwrap()) as usize;
    let (header, values) = data[8..].split_at(length);
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let mut entries = header.as_object().unwrap().iter();
    let (_, entry) = entries.find(|(name, _)| *name != "__metadata__").unwrap();
    let shape: Vec<usize> = serde_json::from_value(entry["shape"].clone()).unwrap();
    let values: Vec<f32> = match entry["dtype"].as_str() {
        Some("F64") => values
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes) as f32)
            .collect(),
        _ => values
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect(),
    };
    Matrix::new(shape[0], shape[1], values).unwrap()
}

/// fastTopics' fit to the NIPS papers, and the papers; `None` where they are absent.
fn nips() -> Option<(Fit, Counts)> {
    if !Path::new(DATA).join("L_fastTopics.safetensors").exists() {
        println!("SKIPPED: {DATA}/L_fastTopics.safetensors does not exist");
        return None;
    }
    let counts = Counts::open(Path::new(DATA).join("nips.npz")).unwrap();
    let (l, f) = (
        published("L_fastTopics.safetensors"),
        published("F_fastTopics.safetensors"),
    );
    let terms = Terms::open(Path::new(DATA).join("nips_terms.txt")).unwrap();
    let settings = Settings::new(f.rows());
    let fit = Fit::new(settings, l, f, Some(terms), Vec::new(), "R".into(), None);
    let fingerprint = Fingerprint::of(&counts).unwrap();
    Some((fit.fitted_to(Some(fingerprint)), counts))
}

/// `tests/data/make_distinctive.py` finds the maxima with SciPy, from all documents and pseudo-documents.
#[test]
fn changes_in_the_nips_papers_are_those_of_an_independent_implementation() {
    let Some((fit, counts)) = nips() else { return };
    let golden = include_str!("../../../tests/data/distinctive_nips.json");
    let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
    assert_eq!(golden["pseudocount"], PSEUDOCOUNT);
    counts.summary().unwrap();
    let began = Instant::now();
    let found = fit.distinctive(&counts).unwrap();
    println!("{:.2} s", began.elapsed().as_secs_f64());
    let mut largest = [0.0f64; 2];
    for entry in golden["terms"].as_array().unwrap() {
        let term = entry["term"].as_u64().unwrap() as usize;
        for (topic, row) in entry["topics"].as_array().unwrap().iter().enumerate() {
            let values = [
                found.log_fold_changes.row(topic)[term],
                found.standard_errors.row(topic)[term],
            ];
            for (index, value) in values.into_iter().enumerate() {
                let expected = row[index].as_f64().unwrap();
                let error = (f64::from(value) - expected).abs() / (1.0 + expected.abs());
                largest[index] = largest[index].max(error);
                assert!(error < 1e-5, "{entry}, topic {topic}: {value}");
            }
            let next = found.next[topic * fit.terms() + term];
            assert_eq!(Some(u64::from(next)), row[2].as_u64(), "{entry} {topic}");
        }
    }
    println!(
        "largest difference: changes {:.1e}, errors {:.1e}",
        largest[0], largest[1]
    );
    // "policy" belongs to reinforcement learning, and nowhere else.
    let policy = fit.term_names().unwrap().find("policy").unwrap();
    let best = (0..10).max_by(|&a, &b| fit.f.row(a)[policy].total_cmp(&fit.f.row(b)[policy]));
    assert!(
        found
            .best_names(best.unwrap(), 10)
            .contains(&"policy".to_string())
    );
}

/// With fastTopics' own pseudo-count, the rates for its L are its F.
#[test]
fn rates_in_the_nips_papers_are_those_that_fasttopics_published() {
    let Some((fit, counts)) = nips() else { return };
    let tokens = topic_tokens(&fit.l, counts.summary().unwrap().document_lengths());
    let rates = TermRates {
        l: fit.l.values(),
        tokens: tokens.clone(),
        pseudocount: 0.01,
    };
    let mut differences = Vec::new();
    for_each_term_block(&counts, 1 << 30, &mut |block| {
        let mut found = TermFit::default();
        for term in 0..block.len() {
            // Starts from the same rate in each topic, so that F is found and not given.
            let start = (0..fit.topics()).map(|_| 1e-4);
            rates.fit(block.term(term), start, &mut found);
            for (topic, rate) in found.rates.iter().enumerate() {
                if rate * tokens[topic] >= 100.0 {
                    differences.push((rate / f64::from(fit.f.row(topic)[term]) - 1.0).abs());
                }
            }
        }
        Ok(())
    })
    .unwrap();
    differences.sort_by(f64::total_cmp);
    let at = |part: f64| differences[((differences.len() - 1) as f64 * part) as usize];
    println!(
        "{} rates with 100 tokens or more: median difference {:.1e}, 99% below {:.1e}, largest {:.1e}",
        differences.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    assert!(differences.len() > 1_000 && at(0.5) < 1e-3 && at(0.99) < 0.02);
}

#[test]
fn a_fit_with_one_topic_and_counts_of_other_terms_are_refused() {
    let fit = |topics: usize, terms: usize| {
        let even = |rows: usize, columns: usize| {
            Matrix::from_parts(rows, columns, vec![1.0 / columns as f32; rows * columns])
        };
        let (l, f) = (even(2, topics), even(topics, terms));
        Fit::new(
            Settings::new(topics),
            l,
            f,
            None,
            Vec::new(),
            String::new(),
            None,
        )
    };
    let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 3, 1, 0]).unwrap();
    testkit::refused! {
        fit(1, 3).distinctive(&counts) => Value, "a fit with one topic";
        fit(2, 4).distinctive(&counts) => Shape, "counts of 3 terms with a fit of 4 terms";
    }
    assert!(fit(2, 3).distinctive(&counts).is_ok());
}
