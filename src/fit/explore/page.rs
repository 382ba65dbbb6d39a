//! The page: its data as JSON, inside its template.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use crate::charts::page_colours;
use crate::error::{Error, Result};
use crate::fit::topic_map::topic_map;
use crate::text::{escape, inside_script, one_line};

use super::terms::{STEPS, relevant_terms};
use super::{Explorer, Weights};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Shares of a term below one half percent are left out: the list of a term's topics would be long, and the page large.
const LEAST_SHARE: f64 = 0.005;

/// The data of the page's script.
#[derive(Serialize)]
struct Data<'a> {
    /// Whether frequencies are tokens; otherwise their sum is one.
    counted: bool,
    total: f64,
    terms_shown: usize,
    steps: usize,
    all_documents: usize,
    all_terms: usize,
    /// The part of the squared distances that the map shows.
    map_shown: f64,
    topics: Vec<Topic>,
    /// The terms that the page can show, in the order of the columns of F.
    terms: Vec<String>,
    /// How often each of them occurs, in the same order.
    frequencies: Vec<f64>,
    /// For each of them, topics that alternate with their shares of it in thousandths.
    term_topics: Vec<Vec<u64>>,
    /// The documents that the page shows, by their number.
    documents: BTreeMap<usize, Document<'a>>,
}

#[derive(Serialize)]
struct Topic {
    name: Option<String>,
    share: f64,
    /// The place on the map.
    x: f64,
    y: f64,
    /// Positions in the list of terms.
    terms: Vec<usize>,
    probabilities: Vec<f32>,
    documents: Vec<usize>,
    proportions: Vec<f32>,
}

#[derive(Serialize)]
struct Document<'a> {
    label: Option<&'a str>,
    text: Option<&'a str>,
}

/// The whole page.
pub(super) fn html(explorer: &Explorer) -> Result<String> {
    let k = explorer.fit.topics();
    let data = serde_json::to_string(&data(explorer))
        .map_err(|error| Error::value("the page cannot be written as JSON").because(error))?;
    let title = escape(&explorer.heading());
    let (light, dark) = (page_colours(k, false), page_colours(k, true));
    let style = fill(STYLE, &[("LIGHT", &light), ("DARK", &dark)]);
    let data = inside_script(&data);
    let parts = [
        ("TITLE", title.as_str()),
        ("STYLE", &style),
        ("DATA", &data),
        ("SCRIPT", SCRIPT),
    ];
    Ok(fill(TEMPLATE, &parts))
}

/// The template with each `/*NAME*/` replaced. Markers inside a value are not replaced.
fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    loop {
        let next = parts
            .iter()
            .filter_map(|(name, value)| {
                let marker = format!("/*{name}*/");
                rest.find(&marker).map(|at| (at, marker.len(), *value))
            })
            .min_by_key(|found| found.0);
        let Some((at, length, value)) = next else {
            return page + rest;
        };
        page.push_str(&rest[..at]);
        page.push_str(value);
        rest = &rest[at + length..];
    }
}

fn data(explorer: &Explorer) -> Data<'_> {
    let fit = &explorer.fit;
    let weights = explorer.weights();
    let map = topic_map(&fit.f);
    let terms_of_topics: Vec<Vec<usize>> = (0..fit.topics())
        .into_par_iter()
        .map(|topic| {
            let n = explorer.terms_shown;
            relevant_terms(fit.f.row(topic), &weights.terms, weights.total, n)
        })
        .collect();
    let shown: Vec<usize> = terms_of_topics
        .iter()
        .flatten()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let topics = terms_of_topics.iter().enumerate().map(|(topic, terms)| {
        let name = fit.names.get(topic).and_then(Option::as_deref);
        let (documents, proportions) = explorer.top_documents[topic].iter().copied().unzip();
        Topic {
            name: name.map(|name| one_line(name).into_owned()),
            share: weights.topics[topic],
            x: rounded(map.points[topic][0]),
            y: rounded(map.points[topic][1]),
            probabilities: terms.iter().map(|&term| fit.f.row(topic)[term]).collect(),
            // Every term of a topic is among those that are shown.
            terms: terms
                .iter()
                .filter_map(|term| shown.binary_search(term).ok())
                .collect(),
            documents,
            proportions,
        }
    });
    let numbers: BTreeSet<usize> = explorer
        .top_documents
        .iter()
        .flatten()
        .map(|pair| pair.0)
        .collect();
    Data {
        counted: explorer.counted.is_some(),
        total: weights.total,
        terms_shown: explorer.terms_shown,
        steps: STEPS,
        all_documents: fit.documents(),
        all_terms: fit.terms(),
        map_shown: rounded(map.shown),
        topics: topics.collect(),
        terms: shown
            .iter()
            .map(|&term| one_line(&fit.term_name(term)).into_owned())
            .collect(),
        frequencies: shown.iter().map(|&term| weights.terms[term]).collect(),
        term_topics: shown
            .iter()
            .map(|&term| topics_of_term(explorer, &weights, term))
            .collect(),
        documents: numbers
            .into_iter()
            .map(|number| {
                let document = Document {
                    label: explorer.labels.get(&number).map(String::as_str),
                    text: explorer.texts.get(&number).map(String::as_str),
                };
                (number, document)
            })
            .collect(),
    }
}

/// The topics of a term, the largest first, each followed by its share of the term's tokens in thousandths.
fn topics_of_term(explorer: &Explorer, weights: &Weights, term: usize) -> Vec<u64> {
    let fit = &explorer.fit;
    let from: Vec<f64> = (0..fit.topics())
        .map(|topic| weights.topics[topic] * f64::from(fit.f.row(topic)[term]))
        .collect();
    let all: f64 = from.iter().sum();
    let mut shares: Vec<(usize, f64)> = from
        .into_iter()
        .map(|tokens| tokens / all)
        .enumerate()
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
        .into_iter()
        .flat_map(|(topic, share)| [topic as u64, (1000.0 * share).round() as u64])
        .collect()
}

/// Five decimal places: less than a pixel of the map.
fn rounded(value: f64) -> f64 {
    (1e5 * value).round() / 1e5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script_or_fills_a_marker() {
        let hostile = "</script><!-- & /*SCRIPT*/ \u{2028}\u{2029}\u{7f}\u{80} \" \\ ]]>";
        let json = serde_json::to_string(hostile).unwrap();
        let escaped = inside_script(&json);
        for bad in ["<", ">", "&", "\u{2028}", "\u{2029}", "\u{7f}", "\u{80}"] {
            assert!(!escaped.contains(bad), "{escaped}");
        }
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), hostile);
        let page = fill(
            "a /*DATA*/ b /*SCRIPT*/ c",
            &[("SCRIPT", "s"), ("DATA", hostile)],
        );
        assert_eq!(page, format!("a {hostile} b s c"));
    }
}
