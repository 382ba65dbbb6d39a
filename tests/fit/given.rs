//! Fits of factors that were computed elsewhere.

use topicbook::{ErrorKind, Fit, Matrix, Synthetic, Terms, TopicModel};

#[test]
fn factors_on_any_scale_are_the_fit_that_they_are_from() {
    let corpus = Synthetic::new(80, 40, 3).seed(2).generate().unwrap();
    let fit = TopicModel::new(3).epochs(20).quiet().fit(corpus.counts());
    let fit = fit.unwrap();
    // Topic 1 of F ten times as large, its column of L a tenth, and documents as long as they are.
    let scaled = |matrix: Matrix, factor: &dyn Fn(usize, usize) -> f32| {
        let (rows, columns) = matrix.shape();
        let values = (0..rows * columns).map(|at| {
            let (row, column) = (at / columns, at % columns);
            matrix.row(row)[column] * factor(row, column)
        });
        Matrix::new(rows, columns, values.collect()).unwrap()
    };
    let l = scaled(fit.l(), &|document, topic| {
        (1 + document) as f32 * if topic == 1 { 0.1 } else { 1.0 }
    });
    let f = scaled(fit.f(), &|topic, _| if topic == 1 { 10.0 } else { 1.0 });
    let given = Fit::from_matrices(l, f).unwrap();
    for (ours, theirs) in [(given.l(), fit.l()), (given.f(), fit.f())] {
        let pairs = ours.values().iter().zip(theirs.values());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-6));
    }
    let [ours, theirs] = [&given, &fit].map(|fit| fit.score(corpus.counts()).unwrap());
    assert!(
        (ours - theirs).abs() < 1e-3 * theirs.abs(),
        "{ours} {theirs}"
    );
    assert!(given.epochs().is_empty() && given.loss().is_none());
    let named = given.with_terms(Terms::new((0..40).map(|term| format!("t{term}"))).unwrap());
    assert_eq!(named.unwrap().term_names().unwrap().len(), 40);
    assert!(given.with_terms(Terms::new(["one"]).unwrap()).is_err());
    let folder = tempfile::tempdir().unwrap();
    given.save(folder.path().join("given.safetensors")).unwrap();
    let loaded = Fit::load(folder.path().join("given.safetensors")).unwrap();
    assert!(loaded.l() == given.l() && loaded.f() == given.f());
}

#[test]
fn what_is_no_factor_is_refused_with_its_place() {
    let matrix =
        |rows, columns, values: &[f32]| Matrix::new(rows, columns, values.to_vec()).unwrap();
    let l = matrix(1, 2, &[1.0, 1.0]);
    let f = matrix(2, 2, &[1.0, 1.0, 1.0, 1.0]);
    for (l, f, kind, words) in [
        (&f, &l, ErrorKind::Shape, "a column for each row of F"),
        (
            &l,
            &matrix(2, 2, &[1.0, -1.0, 1.0, 1.0]),
            ErrorKind::Value,
            "F has -1 in row 0, column 1",
        ),
        (
            &matrix(1, 2, &[1.0, f32::NAN]),
            &f,
            ErrorKind::Value,
            "L has NaN in row 0, column 1",
        ),
        (
            &l,
            &matrix(2, 2, &[1.0, 1.0, 0.0, 0.0]),
            ErrorKind::Shape,
            "row 1 of F is zero",
        ),
    ] {
        let error = Fit::from_matrices(l, f).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
