//! What explains the topics, against slow references: scores of terms, distinctive terms, merged topics, labels, updates.

use crate::{cosine, drawn};
use testkit::refused;
use topicbook::{Counts, ErrorKind, Fit, Matrix, Solver, Table, TermScore, Terms, TopicModel};

const TERMS: usize = 60;
const TOPICS: usize = 4;

pub fn counts() -> Counts {
    drawn([200, TERMS, TOPICS], 300, 5).counts()
}

pub fn fit(counts: &Counts) -> Fit {
    let terms = Terms::new((0..TERMS).map(|term| format!("word{term}"))).unwrap();
    let model = TopicModel::new(TOPICS)
        .solver(Solver::auto())
        .seed(1)
        .quiet();
    model.terms(terms).fit(counts).unwrap()
}

/// The scores of all terms of a topic, as they are defined.
fn slow_scores(fit: &Fit, topic: usize, score: TermScore) -> Vec<f64> {
    let (l, f) = (fit.l(), fit.f());
    let at = |topic: usize, term: usize| f64::from(f.row(topic)[term]);
    let share = |topic: usize| -> f64 {
        let sum: f64 = (0..l.rows()).map(|row| f64::from(l.row(row)[topic])).sum();
        sum / l.rows() as f64
    };
    let p = |term: usize| -> f64 { (0..TOPICS).map(|k| share(k) * at(k, term)).sum() };
    let exclusivity = |term: usize| at(topic, term) / (0..TOPICS).map(|k| at(k, term)).sum::<f64>();
    let rank = |value: &dyn Fn(usize) -> f64, term: usize| {
        (0..TERMS)
            .filter(|&other| value(other) <= value(term))
            .count() as f64
            / TERMS as f64
    };
    (0..TERMS)
        .map(|term| match score {
            TermScore::Lift => at(topic, term) / p(term),
            TermScore::Frex => {
                let frequency = rank(&|term| at(topic, term), term);
                1.0 / (0.5 / frequency + 0.5 / rank(&exclusivity, term))
            }
            TermScore::Relevance(lambda) => {
                let f = at(topic, term);
                lambda * f.ln() + (1.0 - lambda) * (f / p(term)).ln()
            }
            _ => at(topic, term),
        })
        .collect()
}

#[test]
fn terms_are_ranked_by_scores_as_they_are_defined() {
    let fit = fit(&counts());
    for score in [
        TermScore::Probability,
        TermScore::Lift,
        TermScore::Frex,
        TermScore::Relevance(0.6),
        TermScore::Relevance(0.0),
    ] {
        let table = fit.top_terms_by(9, score).unwrap();
        for topic in 0..TOPICS {
            let expected = slow_scores(&fit, topic, score);
            let one = fit.terms_of_topic_by(topic, 9, score).unwrap();
            let names = one.texts("term").unwrap();
            assert_eq!(names, table.texts(format!("topic {topic}")).unwrap());
            let column = one.column_names()[2].clone();
            let mut sorted = expected.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let values = one.numbers(&column).unwrap();
            for (rank, (name, value)) in names.iter().zip(values).enumerate() {
                let term: usize = name[4..].parse().unwrap();
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
                assert!(close(value, expected[term]), "{score:?} {name} {value}");
                assert!(close(value, sorted[rank]), "{score:?} {name} {value}");
            }
        }
    }
    refused! { fit.top_terms_by(3, TermScore::Relevance(2.0)) => Setting; }
    assert!(fit.terms_of_topic_by(TOPICS, 3, TermScore::Lift).is_err());
}

/// Rates of a term by expectation-maximisation over all documents, and the covariance of their logarithms.
fn slow_regression(fit: &Fit, lengths: &[f64], counts: &[f32]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let l = fit.l();
    let rows: Vec<Vec<f64>> = (0..l.rows())
        .map(|document| l.row(document).iter().map(|&p| f64::from(p)).collect())
        .collect();
    let mut tokens = vec![1.0; TOPICS];
    for (document, length) in lengths.iter().enumerate() {
        for (sum, p) in tokens.iter_mut().zip(&rows[document]) {
            *sum += length * p;
        }
    }
    let mut rates = vec![1.0 / TERMS as f64; TOPICS];
    let mut hessian = vec![vec![0.0; TOPICS]; TOPICS];
    for _ in 0..1_500 {
        let mut expected = [1.0; TOPICS];
        hessian = vec![vec![0.0; TOPICS]; TOPICS];
        for (document, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let shares: Vec<f64> = rows[document]
                .iter()
                .zip(&rates)
                .map(|(p, f)| p * f)
                .collect();
            let mean: f64 = shares.iter().sum();
            for a in 0..TOPICS {
                expected[a] += f64::from(count) * shares[a] / mean;
                for b in 0..TOPICS {
                    hessian[a][b] += f64::from(count) * shares[a] * shares[b] / (mean * mean);
                }
            }
        }
        rates = expected.iter().zip(&tokens).map(|(e, p)| e / p).collect();
    }
    (0..TOPICS).for_each(|k| hessian[k][k] += 1.0);
    (rates, inverse(hessian))
}

/// The inverse, by Gauss-Jordan elimination.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut inverse: Vec<Vec<f64>> = (0..n)
        .map(|a| (0..n).map(|b| f64::from(u8::from(a == b))).collect())
        .collect();
    for pivot in 0..n {
        let scale = matrix[pivot][pivot];
        for column in 0..n {
            matrix[pivot][column] /= scale;
            inverse[pivot][column] /= scale;
        }
        for row in (0..n).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            for column in 0..n {
                matrix[row][column] -= factor * matrix[pivot][column];
                inverse[row][column] -= factor * inverse[pivot][column];
            }
        }
    }
    inverse
}

#[test]
fn distinctive_terms_are_those_of_a_slow_regression_for_any_source_of_counts() {
    let counts = counts();
    let fit = fit(&counts);
    let found = fit.distinctive(&counts).unwrap();
    let lengths = counts.summary().unwrap().document_lengths().to_vec();
    let mut dense = vec![0.0; 200 * TERMS];
    counts
        .fill_rows(&(0..200).collect::<Vec<_>>(), &mut dense)
        .unwrap();
    for term in (0..TERMS).step_by(7) {
        let column: Vec<f32> = (0..200).map(|row| dense[row * TERMS + term]).collect();
        let (rates, covariance) = slow_regression(&fit, &lengths, &column);
        for topic in 0..TOPICS {
            let change = |other: usize| (rates[topic] / rates[other]).log2();
            let next = (0..TOPICS)
                .filter(|&other| other != topic)
                .min_by(|&a, &b| change(a).abs().total_cmp(&change(b).abs()))
                .unwrap();
            let variance =
                covariance[topic][topic] + covariance[next][next] - 2.0 * covariance[topic][next];
            let pairs = [
                (found.log_fold_changes(), change(next)),
                (found.standard_errors(), variance.sqrt() / 2f64.ln()),
            ];
            for (matrix, expected) in pairs {
                let value = f64::from(matrix.row(topic)[term]);
                assert!(
                    (value - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{value} {expected}"
                );
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for other in [
        counts.write_npz(folder.path().join("X.npz")).unwrap(),
        counts.write_npy(folder.path().join("X.npy")).unwrap(),
    ] {
        let again = fit.distinctive(&other).unwrap();
        assert_eq!(again.log_fold_changes(), found.log_fold_changes());
        assert_eq!(again.standard_errors(), found.standard_errors());
    }
    // Some of the documents: `transform` then computes L.
    let some = counts.select(0..120).unwrap();
    assert_eq!(
        fit.distinctive(&some).unwrap().log_fold_changes().shape(),
        (TOPICS, TERMS)
    );
    let table = found.terms_of_topic(1, 5).unwrap();
    assert_eq!(table.width(), 8);
    assert_eq!(
        found.top_terms(5).texts("topic 1").unwrap(),
        table.texts("term").unwrap()
    );
    assert!(found.terms_of_topic(TOPICS, 5).is_err());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let counts = counts();
    let fit = fit(&counts);
    let labels: Vec<usize> = (0..200).map(|document| document % 3).collect();
    let run = || {
        let distinctive = fit.distinctive(&counts).unwrap();
        let table = fit.by(&labels).unwrap().table();
        (
            distinctive.log_fold_changes(),
            distinctive.standard_errors(),
            table.numbers("lower").unwrap(),
            fit.document_map(),
            fit.update(&counts).unwrap().fit().f(),
        )
    };
    let expected = run();
    for threads in [1, 5] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        assert!(pool.install(run) == expected, "{threads} threads");
    }
}

#[test]
fn merged_topics_are_sums_of_columns_and_means_of_rows() {
    let counts = counts();
    let fit = fit(&counts)
        .name_topics([(3, "three"), (2, "two")])
        .unwrap();
    let merged = fit.merge_topics([3, 1]).unwrap();
    assert_eq!(merged.topic_names(), ["topic 0", "three", "two"]);
    assert_eq!((merged.topics(), merged.settings().topics), (3, 3));
    let (l, f) = (fit.l(), fit.f());
    let share = |topic: usize| -> f64 { (0..200).map(|row| f64::from(l.row(row)[topic])).sum() };
    for document in 0..200 {
        let row = l.row(document);
        assert_eq!(merged.l().row(document), [row[0], row[1] + row[3], row[2]]);
    }
    for term in 0..TERMS {
        let [one, three] = [1, 3].map(|topic| f64::from(f.row(topic)[term]));
        let mean = (share(1) * one + share(3) * three) / (share(1) + share(3));
        assert!((f64::from(merged.f().row(1)[term]) - mean).abs() < 1e-7);
        assert_eq!(merged.f().row(2)[term], f.row(2)[term]);
    }
    // It is still a fit to these counts, and worse than before.
    assert!(merged.score(&counts).unwrap() < fit.score(&counts).unwrap());
    assert_eq!((merged.loss(), merged.epochs().len()), (None, 0));
    let folder = tempfile::tempdir().unwrap();
    merged.save(folder.path().join("fit")).unwrap();
    assert_eq!(
        Fit::load(folder.path().join("fit")).unwrap().f(),
        merged.f()
    );
    refused! {
        fit.merge_topics([1]) => Value, "1 topic to merge";
        fit.merge_topics([1, 1]) => Value, "topic 1 comes twice";
        fit.merge_topics([1, 4]) => Shape, "topic 4 of a fit with 4 topics";
        fit.reorder_topics([0, 1, 2]) => Value, "topic 3 is missing";
        fit.reorder_topics([0, 1, 2, 2]) => Value, "topic 2 comes twice";
        fit.reorder_topics([0, 1, 2, 4]) => Shape, "topic 4 of a fit";
        fit.merge_topics(["two", "tree"]) => Value, "no topic is called `tree`\n  to do: the nearest is `three`";
        fit.drop_topics(0..4) => Value, "no topic would be left";
        fit.drop_topics(["two", "two"]) => Value, "topic 2 comes twice";
    }
}

#[test]
fn topics_are_reordered_with_their_names() {
    let fit = fit(&counts()).name_topics([(3, "three")]).unwrap();
    let reordered = fit.reorder_topics([3, 1, 0, 2]).unwrap();
    assert_eq!(
        reordered.topic_names(),
        ["three", "topic 1", "topic 2", "topic 3"]
    );
    assert_eq!(reordered.l(), fit.l().select_columns([3, 1, 0, 2]).unwrap());
    let mut order = fit.topic_order();
    let sorted = fit.reorder_topics(&order).unwrap();
    assert_eq!(sorted.f().row(0), fit.f().row(order[0]));
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn labels_give_means_and_intervals_of_the_size_that_theory_says() {
    let fit = fit(&counts());
    let years: Vec<u32> = (0..200)
        .map(|document| [1999, 1987][document % 2])
        .collect();
    let by = fit.by(&years).unwrap();
    assert_eq!(by.labels(), ["1987", "1999"]);
    let table = by.table();
    for (row, label) in [1987, 1999].into_iter().enumerate() {
        for topic in 0..TOPICS {
            let members = (0..200).filter(|&document| years[document] == label);
            let values: Vec<f64> = members.map(|d| f64::from(fit.l().row(d)[topic])).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            let half = 1.96 * (variance / n).sqrt();
            let at = row * TOPICS + topic;
            let [found, lower, upper] =
                ["mean", "lower", "upper"].map(|column| table.numbers(column).unwrap()[at]);
            assert!((found - mean).abs() < 1e-6);
            assert!((f64::from(by.means().row(row)[topic]) - mean).abs() < 1e-6);
            // The standard error of such quantiles of 1,000 resamples is about 4% of the half width.
            assert!(
                ((mean - lower) / half - 1.0).abs() < 0.25,
                "{lower} {mean} {half}"
            );
            assert!(
                ((upper - mean) / half - 1.0).abs() < 0.25,
                "{upper} {mean} {half}"
            );
        }
    }
    assert_eq!(table.numbers("documents").unwrap()[0], 100.0);
    // A column of a table, with documents that have no label, and one document of its own.
    let labels: Vec<Option<&str>> = (0..200)
        .map(|document| match document {
            0 => Some("alone"),
            1..=9 => None,
            _ => Some(["b", "a"][document % 2]),
        })
        .collect();
    let documents = Table::new().with_column("book", labels).unwrap();
    let by = fit.by(documents.column("book").unwrap()).unwrap();
    assert_eq!(by.labels(), ["alone", "b", "a"]);
    let table = by.table();
    assert_eq!(
        table.numbers("documents").unwrap().iter().sum::<f64>(),
        191.0 * 4.0
    );
    // A single document has a mean, and no interval.
    for (column, missing) in [("mean", 0), ("lower", TOPICS), ("upper", TOPICS)] {
        assert_eq!(table.column(column).unwrap().null_count(), missing);
    }
    assert!(table.numbers("lower").unwrap()[0].is_nan() && table.to_string().contains('–'));
    // Months are in their own order, not in the order of the documents.
    let months: Vec<&str> = (0..200)
        .map(|document| ["2024-11", "2023-10", "2023-08"][document % 3])
        .collect();
    let by = fit.by(&months).unwrap();
    assert_eq!(by.labels(), ["2023-08", "2023-10", "2024-11"]);
    assert_eq!(by.table().texts("label").unwrap()[0], "2023-08");
    assert_eq!(by.table().numbers("documents").unwrap()[0], 66.0);
    assert!(by.plot().to_svg().unwrap().contains("polygon"));
    let svg = fit.plot_structure().by(&months).to_svg().unwrap();
    let at = |month: &str| svg.find(month).unwrap();
    assert!(at("2023-08") < at("2023-10") && at("2023-10") < at("2024-11"));
    refused! {
        fit.by([1, 2]) => Shape, "2 labels for 200 documents";
        fit.by(vec!["a"; 200]) => Value, "`a` is the label of all documents";
        fit.by(vec![None::<f64>; 200]) => Value, "all 200 labels are missing";
    }
}

#[test]
fn an_update_starts_from_the_topics_and_says_how_far_they_moved() {
    let counts = counts();
    let (old, new) = counts.split(0.5, 3).unwrap();
    let fit = fit(&old).name_topics(["a", "b", "c", "d"]).unwrap();
    let update = fit.update(&new).unwrap();
    let updated = update.fit();
    assert_eq!(updated.topic_names(), ["a", "b", "c", "d"]);
    assert_eq!(updated.term_names(), fit.term_names());
    assert_eq!(updated.documents(), 100);
    assert!(updated.score(&new).unwrap() > fit.score(&new).unwrap());
    let table = update.table();
    for topic in 0..TOPICS {
        let (f, g) = (fit.f(), updated.f());
        let (p, q) = (f.row(topic), g.row(topic));
        let divergence: f64 = p
            .iter()
            .zip(q)
            .map(|(&p, &q)| {
                let (p, q) = (f64::from(p), f64::from(q));
                let half = |x: f64| {
                    if x > 0.0 {
                        x * (2.0 * x / (p + q)).log2() / 2.0
                    } else {
                        0.0
                    }
                };
                half(p) + half(q)
            })
            .sum();
        assert!((update.distances()[topic] - divergence.sqrt()).abs() < 1e-6);
        assert!((table.numbers("cosine").unwrap()[topic] - cosine(p, q)).abs() < 1e-9);
        // Each topic is still nearest to itself.
        let nearest =
            (0..TOPICS).max_by(|&a, &b| cosine(f.row(a), q).total_cmp(&cosine(f.row(b), q)));
        assert_eq!(nearest, Some(topic));
        let gained = table.texts("gained").unwrap()[topic].clone();
        let most = (0..TERMS)
            .max_by(|&a, &b| (q[a] - p[a]).total_cmp(&(q[b] - p[b])))
            .unwrap();
        assert!(
            gained.starts_with(&format!("word{most}")),
            "{gained} {most}"
        );
    }
    // From the maximum of the same counts, nothing moves.
    let same = fit.update(&old).unwrap();
    assert!(
        same.distances().iter().all(|&distance| distance < 0.05),
        "{:?}",
        same.distances()
    );
    // A term that no document of the first fit had gets a probability.
    let mut values = vec![0.0; 100 * TERMS];
    old.fill_rows(&(0..100).collect::<Vec<_>>(), &mut values)
        .unwrap();
    values
        .iter_mut()
        .step_by(TERMS)
        .for_each(|count| *count = 0.0);
    let without = Counts::dense(100, TERMS, values).unwrap();
    let first = TopicModel::new(TOPICS)
        .solver(Solver::em())
        .quiet()
        .fit(&without)
        .unwrap();
    let gained = first.update(&old).unwrap().fit();
    let total = |f: Matrix| -> f32 { (0..TOPICS).map(|topic| f.row(topic)[0]).sum() };
    assert!(total(first.f()) < 1e-6 && total(gained.f()) > 1e-3);
    let few = counts.select(0..3).unwrap();
    refused! {
        fit.update(&few) => Shape, "3 documents do not determine 4 topics";
        fit.update(Counts::dense(9, 2, vec![1u8; 18]).unwrap()) => Shape, "counts of 2 terms";
    }
}
