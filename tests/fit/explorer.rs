//! The page of a fit, and the inputs of pyLDAvis.

use serde_json::Value;
use testkit::refused;
use topicbook::{Counts, ErrorKind, Explorer, Fit, Synthetic, Terms, TopicModel};

const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "<!-- --> ]]>",
    "\"quotes\" & 'more' \\",
    "line\u{2028}and\u{2029}paragraph",
    "\u{1b}[31mred \u{0} zero",
    "/*DATA*/ /*SCRIPT*/ EVCXR_END_CONTENT",
];

fn counts() -> Counts {
    crate::drawn([40, 12, 3], 100, 1).counts()
}

fn hostile_fit() -> Fit {
    let terms = HOSTILE.into_iter().map(str::to_string);
    let terms = terms.chain((0..6).map(|i| format!("term {i}")));
    let model = TopicModel::new(3).terms(Terms::new(terms).unwrap());
    let fit = model.epochs(5).quiet().fit(counts()).unwrap();
    fit.name_topics([(1, HOSTILE[0])]).unwrap()
}

/// What the script of a page reads.
fn data(explorer: &Explorer) -> Value {
    let page = explorer.to_html().unwrap();
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let length = page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..start + length]).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn hostile_texts_stay_texts() {
    let texts = (0..40).map(|document| HOSTILE[document % 6]);
    let fit = hostile_fit();
    let explorer = fit
        .explore()
        .documents(texts.clone())
        .unwrap()
        .labels(texts)
        .unwrap()
        .title(HOSTILE[0]);
    let page = explorer.to_html().unwrap();
    // The template has two scripts and no comment.
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("<!--") && !page.contains("alert(1)</"));
    assert!(!page.contains(['\u{0}', '\u{1b}', '\u{2028}', '\u{2029}']));
    assert!(!page.contains("EVCXR_"));
    let data = data(&explorer);
    assert_eq!(data["terms"][0], HOSTILE[0]);
    assert_eq!(data["terms"][3], HOSTILE[3]);
    assert_eq!(data["terms"][4], "\\u{1b}[31mred \\u{0} zero");
    assert_eq!(data["topics"][1]["name"], HOSTILE[0]);
    assert_eq!(data["topics"][0]["name"], Value::Null);
    let document = data["topics"][0]["documents"][0].to_string();
    let number: usize = document.parse().unwrap();
    if number % 6 < 4 {
        assert_eq!(data["documents"][&document]["text"], HOSTILE[number % 6]);
        assert_eq!(data["documents"][&document]["label"], HOSTILE[number % 6]);
    }
}

#[test]
fn the_page_has_the_numbers_of_the_fit() {
    let (fit, counts) = (hostile_fit(), counts());
    let data = data(&fit.explore().counts(&counts).unwrap());
    let summary = counts.summary().unwrap();
    assert_eq!(data["total"], summary.total());
    // All 12 terms can be shown; none is empty.
    assert_eq!(numbers(&data["frequencies"]), counts.term_totals().unwrap());
    let mut shares = 0.0;
    for topic in 0..3 {
        let found = &data["topics"][topic];
        let tokens: f64 = (0..40)
            .map(|row| summary.document_lengths()[row] * f64::from(fit.l().row(row)[topic]))
            .sum();
        let share = found["share"].as_f64().unwrap();
        shares += share;
        assert!((share - tokens / summary.total()).abs() < 1e-6);
        let columns = numbers(&found["terms"]);
        for (column, probability) in columns.iter().zip(numbers(&found["probabilities"])) {
            assert_eq!(probability as f32, fit.f().row(topic)[*column as usize]);
        }
        let documents = numbers(&found["documents"]);
        assert_eq!(documents.len(), 10);
        let best = documents[0] as usize;
        assert!((0..40).all(|row| fit.l().row(row)[topic] <= fit.l().row(best)[topic]));
        for (axis, at) in ["x", "y"].into_iter().enumerate() {
            let expected = f64::from(fit.topic_map().row(topic)[axis]);
            assert!((found[at].as_f64().unwrap() - expected).abs() < 1e-5);
        }
    }
    assert!((shares - 1.0).abs() < 1e-9);
    for list in data["term_topics"].as_array().unwrap() {
        let thousandths: f64 = numbers(list).into_iter().skip(1).step_by(2).sum();
        assert!((985.0..=1002.0).contains(&thousandths), "{list}");
    }
}

#[test]
fn without_counts_every_document_weighs_alike() {
    let fit = hostile_fit();
    let data = data(&fit.explore());
    assert_eq!(data["counted"], false);
    let share = data["topics"][2]["share"].as_f64().unwrap();
    let mean: f64 = (0..40)
        .map(|row| f64::from(fit.l().row(row)[2]))
        .sum::<f64>()
        / 40.0;
    assert!((share - mean).abs() < 1e-6);
    let frequencies = numbers(&data["frequencies"]);
    assert!((frequencies.iter().sum::<f64>() - 1.0).abs() < 1e-5);
    assert_eq!(
        data["documents"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()["text"],
        Value::Null
    );
}

#[test]
fn fits_of_one_topic_and_of_few_documents_have_a_page() {
    let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0]).unwrap();
    let fit = TopicModel::new(1).epochs(3).quiet().fit(&counts).unwrap();
    let data = data(&fit.explore().counts(&counts).unwrap());
    assert_eq!(data["map_shown"], 1.0);
    // The empty term has no relevance.
    assert_eq!(data["terms"], serde_json::json!(["0", "2"]));
    // Nor is the document without counts about the topic.
    assert_eq!(data["topics"][0]["documents"].as_array().unwrap().len(), 1);
}

#[test]
fn what_does_not_fit_the_fit_is_refused() {
    let fit = hostile_fit();
    let explorer = fit.explore();
    let other = Synthetic::new(40, 12, 3).seed(2).generate().unwrap();
    let few = counts().select(0..39).unwrap();
    let folder = tempfile::tempdir().unwrap();
    refused! {
        explorer.documents(["a"; 39]) => Shape, "39 texts for 40 documents";
        explorer.labels([1; 41]) => Shape, "41 labels for 40 documents";
        explorer.counts(&few) => Shape, "39 documents and 12 terms";
        explorer.counts(other.counts()) => Shape, "are not those";
        explorer.terms_shown(0) => Value, "0 terms";
        explorer.write_pyldavis_json("x") => Value, "lengths of the documents";
        explorer.save_html(folder.path().join("no/page.html")) => Io;
    }
    assert!(!std::path::Path::new("x").exists());
}

#[test]
fn pyldavis_gets_its_five_inputs() {
    let (fit, counts) = (hostile_fit(), counts());
    let (_folder, path) = testkit::temp_path("pyldavis.json");
    fit.explore()
        .counts(&counts)
        .unwrap()
        .write_pyldavis_json(&path)
        .unwrap();
    let inputs: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let inputs = inputs.as_object().unwrap();
    let mut names: Vec<&str> = inputs.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "doc_lengths",
            "doc_topic_dists",
            "term_frequency",
            "topic_term_dists",
            "vocab"
        ]
    );
    for (name, matrix) in [("topic_term_dists", fit.f()), ("doc_topic_dists", fit.l())] {
        let rows = inputs[name].as_array().unwrap();
        assert_eq!(rows.len(), matrix.rows());
        for (row, values) in rows.iter().enumerate() {
            let values: Vec<f32> = numbers(values)
                .into_iter()
                .map(|value| value as f32)
                .collect();
            assert_eq!(values, matrix.row(row));
        }
    }
    let lengths = numbers(&inputs["doc_lengths"]);
    assert_eq!(lengths, counts.summary().unwrap().document_lengths());
    assert_eq!(
        numbers(&inputs["term_frequency"]),
        counts.term_totals().unwrap()
    );
    assert_eq!(inputs["vocab"][0], HOSTILE[0]);
}
