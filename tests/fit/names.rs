//! Names in the place of numbers, and what a fit knows of the counts that it was fitted to.

use topicbook::{Checkpoint, Documents, Fit, Table, Texts, TopicModel, Vectorizer};

use crate::explain::{counts, fit};

#[test]
fn dropped_topics_leave_proportions_that_sum_to_one() {
    let fit = fit(&counts()).name_topics([(3, "three")]).unwrap();
    let kept = fit.drop_topics([0, 2]).unwrap();
    assert_eq!(kept.topic_names(), ["topic 0", "three"]);
    assert_eq!((kept.topics(), kept.settings().topics), (2, 2));
    assert_eq!(kept.f().row(1), fit.f().row(3));
    let (before, after) = (fit.l(), kept.l());
    for document in 0..200 {
        let (before, after) = (before.row(document), after.row(document));
        let left = before[1] + before[3];
        assert!(
            (after[1] - before[3] / left).abs() < 1e-6 && (after[0] + after[1] - 1.0).abs() < 1e-6
        );
    }
}

#[test]
fn a_fit_to_the_counts_of_texts_knows_what_they_came_with() {
    let texts = [
        "spike neuron spike",
        "!?",
        "neuron spike cell",
        "kernel machine",
        "machine kernel learn",
        "kernel",
    ];
    let docs = Vectorizer::new().fit_transform(texts).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = TopicModel::new(2)
        .epochs(20)
        .checkpoint(folder.path().join("fit.ckpt"))
        .quiet();
    let fit = model.fit(&docs).unwrap();
    let resumed = Checkpoint::open(folder.path().join("fit.ckpt")).unwrap();
    fit.save(folder.path().join("fit")).unwrap();
    let plan = TopicModel::new(2).epochs(20).quiet().plan(&docs).unwrap();
    let fits = [
        fit.clone(),
        resumed.fit(&docs).unwrap(),
        plan.spawn().unwrap().join().unwrap(),
        Fit::load(folder.path().join("fit")).unwrap(),
    ];
    for fit in fits {
        assert_eq!(fit.term_names(), Some(docs.terms()));
        let fit = fit.name_topics(["one", "other"]).unwrap();
        // The document without a term has no topic, and is in no mean, count or list.
        let table = fit.doc_topics();
        let dominant = table.column("dominant").unwrap();
        assert_eq!(
            (dominant.null_count(), dominant.get(1).unwrap().is_null()),
            (1, true)
        );
        let counted: u64 = fit
            .topic_sizes()
            .column("documents")
            .unwrap()
            .u64()
            .unwrap()
            .iter()
            .flatten()
            .sum();
        assert_eq!(counted, 5);
        assert_eq!(fit.documents_of_topic("one", 9).unwrap().height(), 5);
        let groups = fit.by(["x", "y", "x", "z", "z", "z"]).unwrap();
        assert_eq!(groups.labels(), ["x", "z"]);
        // New texts are counted by the same terms.
        let new = fit
            .transform(["a new kernel machine", "", "neuron"])
            .unwrap();
        assert_eq!(
            new.column_names(),
            ["document", "dominant", "proportion", "one", "other"]
        );
        let dominant = new.column("dominant").unwrap().u32().unwrap();
        assert_eq!(dominant.get(1), None);
        assert_ne!(dominant.get(0), dominant.get(2));
    }
    let filled = docs.drop_empty().unwrap();
    assert_eq!(
        (filled.counts().documents(), filled.documents().len()),
        (5, 5)
    );
    // What the tables could not show is refused before training.
    let clashing = Documents::numbered(6)
        .unwrap()
        .with_labels("topic", texts)
        .unwrap();
    testkit::refused! { fit.with_documents(clashing), "`topic` is a column of the documents"; }
    for (label, is_taken) in [("topic 1", true), ("proportion", true), ("topic 7", false)] {
        let table = Table::new().with_column("text", texts).unwrap();
        let table = table.with_column(label, texts).unwrap();
        let labelled = Texts::from_frame(table, "text").unwrap();
        let labelled = Vectorizer::new().fit_transform(labelled).unwrap();
        let fit = TopicModel::new(2).quiet().fit(&labelled);
        assert_eq!(fit.is_err(), is_taken, "{label}");
    }
    let other = Vectorizer::new()
        .fit_transform(["a b cc", "dd ee ff gg hh ii"])
        .unwrap();
    assert!(fit.transform(&other).is_err());
}

#[test]
fn documents_are_found_by_their_names() {
    let fit = fit(&counts());
    testkit::refused! { fit.topics_of_document("R7"), "documents have no names"; }
    let mut names: Vec<String> = (0..200).map(|row| format!("R{row:05}")).collect();
    names[9] = names[8].clone();
    let fit = fit.with_documents(Documents::new(&names).unwrap()).unwrap();
    let by_number = fit.similar_documents(7, 3).unwrap();
    let by_name = fit.similar_documents("R00007", 3).unwrap();
    assert_eq!(
        by_name.texts("name").unwrap(),
        by_number.texts("name").unwrap()
    );
    for (name, expected) in [
        ("R00008", "documents 8 and 9 are both called `R00008`"),
        ("r00007", "the nearest are `R00007`"),
        ("no such document", "fit.document_names()"),
    ] {
        let error = fit.topics_of_document(name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = fit.topics_of_document(200).unwrap_err().to_string();
    testkit::assert_has(&error, ["document 200 of a fit to 200 documents"]);
}
