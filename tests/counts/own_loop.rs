//! Batches for a training loop of one's own.

use topicbook::{Batches, CountBatch, Counts, Reading, Synthetic};

fn all(batches: Batches) -> Vec<CountBatch> {
    batches.map(Result::unwrap).collect()
}

fn documents(batches: &[CountBatch]) -> Vec<usize> {
    batches.iter().flat_map(CountBatch::documents).collect()
}

/// Each document once an epoch, with its own counts, and the same again from any batch on.
fn check(counts: &Counts, batches: &Batches) {
    let whole = all(batches.start_at(0, 0));
    assert_eq!(whole.len(), 3 * batches.batches_per_epoch());
    for epoch in whole.chunks(batches.batches_per_epoch()) {
        let mut seen = documents(epoch);
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..counts.documents()));
        let last: Vec<bool> = epoch.iter().map(CountBatch::is_last).collect();
        assert!(last.iter().rev().skip(1).all(|is_last| !is_last) && last[last.len() - 1]);
    }
    for (at, batch) in whole.iter().enumerate() {
        let mut rows = vec![0.0; batch.documents().len() * counts.terms()];
        counts.fill_rows(&batch.documents(), &mut rows).unwrap();
        let size = batch.documents().len();
        for (batch, rows) in [
            (batch, &rows[..]),
            (&batch.slice(1..size), &rows[counts.terms()..]),
        ] {
            let (starts, terms, values) = batch.nonzeros();
            let shape = (batch.documents().len(), counts.terms());
            let nonzeros = Counts::csr(shape.0, shape.1, starts, terms, values).unwrap();
            let mut filled = vec![-1.0; rows.len()];
            let order: Vec<usize> = (0..shape.0).collect();
            nonzeros.fill_rows(&order, &mut filled).unwrap();
            assert_eq!(filled, rows);
            assert_eq!(batch.rows().values(), rows);
        }
        let per_epoch = batches.batches_per_epoch();
        assert_eq!(at, batch.epoch() * per_epoch + batch.batch());
        let rest = all(batches.start_at(batch.epoch(), batch.batch()));
        assert_eq!(documents(&rest), documents(&whole[at..]));
    }
}

#[test]
fn batches_are_those_of_a_fit_in_place_and_as_a_stream() {
    let (folder, path) = testkit::temp_path("X.npy");
    let counts = Synthetic::new(53, 20, 3)
        .seed(4)
        .write_npy(&path)
        .unwrap()
        .counts();
    let sparse = counts.write_npz(folder.path().join("X.npz")).unwrap();
    let packed = counts.write_packed(folder.path().join("X.tbc")).unwrap();
    for counts in [&counts, &sparse, &packed] {
        let batches = counts.batches(8).unwrap().epochs(3).seed(9);
        check(counts, &batches);
        let streamed = batches.reading(Reading::Stream {
            block: 4,
            blocks: 3,
        });
        check(counts, &streamed);
        // The order depends on the seed and on how the counts are read, and on nothing else.
        let order = documents(&all(batches.start_at(0, 0)));
        assert_eq!(order, documents(&all(batches.reading(Reading::InPlace))));
        assert_ne!(order, documents(&all(batches.seed(10))));
        assert_ne!(order[..53], order[53..106]);
        let straight = documents(&all(batches.in_order().epochs(1)));
        assert!(straight.into_iter().eq(0..53));
    }
}

#[test]
fn batches_go_on_from_cell_to_cell_and_end_after_an_error() {
    let counts = Counts::dense(5, 2, vec![1u8; 10]).unwrap();
    let mut batches = counts.batches(2).unwrap();
    assert_eq!(batches.by_ref().take(2).count(), 2);
    let last = batches.next().unwrap().unwrap();
    assert_eq!((last.batch(), last.documents().len()), (2, 1));
    assert!(batches.next().is_none());
    assert!(counts.batches(0).is_err());
    // Counts in memory cannot be streamed.
    let mut none = counts.batches(2).unwrap();
    none = none.reading(Reading::Stream {
        block: 1,
        blocks: 1,
    });
    assert!(none.next().unwrap().is_err() && none.next().is_none());
}
