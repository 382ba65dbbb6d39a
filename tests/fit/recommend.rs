//! Recommendations of a fit: how it ranks what documents have next.

use topicbook::{Counts, Fit, Solver, Synthetic, TopicModel};

fn fit(k: usize, counts: &Counts) -> Fit {
    let model = TopicModel::new(k).solver(Solver::auto()).seed(1).quiet();
    model.fit(counts).unwrap()
}

/// Users x items: two parts of which one in `every` interactions is in the second. A count of several tokens stays whole.
fn split_interactions(counts: &Counts, every: usize) -> (Counts, Counts) {
    let (documents, terms) = counts.shape();
    let mut all = vec![0.0; documents * terms];
    let rows: Vec<usize> = (0..documents).collect();
    counts.fill_rows(&rows, &mut all).unwrap();
    let mut held = vec![0.0; all.len()];
    let cells = all
        .iter_mut()
        .zip(&mut held)
        .filter(|(count, _)| **count > 0.0);
    for (number, (count, held)) in cells.enumerate() {
        if number * 7919 % every == 0 {
            std::mem::swap(count, held);
        }
    }
    let parts = [all, held].map(|part| Counts::dense(documents, terms, part).unwrap());
    parts.into()
}

fn interactions() -> Counts {
    let synthetic = Synthetic::new(400, 150, 5).avg_doc_length(40).seed(3);
    synthetic.generate().unwrap().counts()
}

#[test]
fn topics_rank_better_than_popularity_does() {
    let all = interactions();
    let cases = [
        ("tokens", all.split_tokens(1).unwrap()),
        ("interactions", split_interactions(&all, 5)),
    ];
    for (what, (counts, held_out)) in cases {
        let fit = fit(5, &counts);
        let ranking = fit.evaluate_ranking(&counts, &held_out, 20).unwrap();
        let error = ranking.recall_error().unwrap();
        let gain = ranking.recall() - ranking.popularity_recall();
        assert!(gain > 3.0 * error, "{what}: {gain} ± {error}");
        assert!(
            ranking.ndcg() > ranking.popularity_ndcg(),
            "{what}: {ranking}"
        );
        // Whole interactions are new.
        assert_eq!(ranking.left_out() == 0, what == "interactions");
    }
}

#[test]
fn users_whom_the_fit_has_not_seen_are_ranked_as_well() {
    let (train, new) = interactions().split(0.7, 1).unwrap();
    let fit = fit(5, &train);
    let (counts, held_out) = new.split_tokens(2).unwrap();
    let ranking = fit.evaluate_ranking(&counts, &held_out, 20).unwrap();
    assert!(ranking.recall() > ranking.popularity_recall(), "{ranking}");
    assert_eq!(ranking.documents(), new.documents());
}

#[test]
fn a_model_of_one_topic_ranks_alike_for_all() {
    let (counts, held_out) = interactions().split_tokens(1).unwrap();
    let one = fit(1, &counts)
        .evaluate_ranking(&counts, &held_out, 20)
        .unwrap();
    // It ranks terms by tokens, popularity by documents: almost the same.
    assert!(
        (one.recall() - one.popularity_recall()).abs() < 0.02,
        "{one}"
    );
    let five = fit(5, &counts)
        .evaluate_ranking(&counts, &held_out, 20)
        .unwrap();
    assert!(
        five.recall() > one.recall() && five.ndcg() > one.ndcg(),
        "{five}"
    );
}
