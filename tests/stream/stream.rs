//! Streamed fits: results, resuming, quality on sorted documents, and settings that are refused.

use std::fs;
use std::path::Path;

use topicbook::{
    Checkpoint, Counts, Device, Dtype, ErrorKind, Fit, Reading, Synthetic, TopicModel,
};

const STREAM: Reading = Reading::Stream {
    block: 5,
    blocks: 8,
};

fn counts(documents: usize) -> Counts {
    Synthetic::new(documents, 60, 3)
        .avg_doc_length(100)
        .seed(4)
        .generate()
        .unwrap()
        .counts()
}

fn model() -> TopicModel {
    TopicModel::new(3)
        .epochs(6)
        .seed(1)
        .device(Device::Cpu)
        .reading(STREAM)
        .quiet()
}

#[track_caller]
fn assert_same(a: &Fit, b: &Fit) {
    assert!(a.l() == b.l() && a.f() == b.f(), "the fits differ");
    assert_eq!(a.loss().unwrap().to_bits(), b.loss().unwrap().to_bits());
}

#[test]
fn every_file_format_and_dtype_gives_the_same_fit() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts(203);
    let sparse = counts.write_npz(folder.path().join("X.npz")).unwrap();
    let expected = model().fit(&sparse).unwrap();
    assert_eq!(expected.settings().reading, STREAM);
    for dtype in [Dtype::U8, Dtype::U16, Dtype::I64, Dtype::F32, Dtype::F64] {
        let path = folder.path().join(format!("{dtype}.npy"));
        let dense = counts.write_npy_as(&path, dtype).unwrap();
        assert_same(&model().fit(&dense).unwrap(), &expected);
    }
    let packed = counts.write_packed(folder.path().join("X.tbc")).unwrap();
    assert_same(&model().fit(&packed).unwrap(), &expected);
}

#[test]
fn block_buffer_and_batch_sizes_need_not_divide_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = counts(103).write_npy(folder.path().join("X.npy")).unwrap();
    for (block, blocks, batch) in [
        (1, 1, 1),
        (7, 3, 16),
        (64, 1, 10),
        (1000, 2, 16),
        (3, 50, 500),
    ] {
        let fit = model()
            .batch_size(batch)
            .reading(Reading::Stream { block, blocks })
            .fit(&file)
            .unwrap();
        assert!(fit.loss().unwrap().is_finite());
        assert_eq!(fit.epochs().len(), 6);
    }
}

#[test]
fn a_stream_is_resumed_within_an_epoch() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let file = counts(200).write_npy(folder.path().join("X.npy")).unwrap();
    let model = model().epochs(30).batch_size(1);
    let whole = model.fit(&file).unwrap();
    let mut training = model.checkpoint(&path).spawn(&file).unwrap();
    for _ in 0..10 {
        training.stop();
        training.join().unwrap();
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(checkpoint.settings().reading, STREAM);
        training = checkpoint.quiet().spawn(&file).unwrap();
    }
    assert_same(&training.join().unwrap(), &whole);
}

/// A file of documents sorted by their main topic, as a file concatenated from several sources would be.
fn write_sorted(folder: &Path, documents: usize) -> Counts {
    let corpus = Synthetic::new(documents, 150, 5)
        .avg_doc_length(200)
        .seed(3)
        .generate()
        .unwrap();
    let l = corpus.true_l();
    let main_topic = |&document: &usize| {
        let row = l.row(document);
        (0..5).fold(
            0,
            |best, topic| if row[topic] > row[best] { topic } else { best },
        )
    };
    let mut order: Vec<usize> = (0..documents).collect();
    order.sort_by_key(main_topic);
    let sorted = corpus.counts().select(&order).unwrap();
    sorted.write_npy(folder.join("sorted.npy")).unwrap()
}

#[test]
fn streaming_sorted_documents_fits_as_well_as_shuffling_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_sorted(folder.path(), 2_000);
    // The best of four fits: with any order of the documents, a single fit can end in a worse local optimum.
    let loss = |reading| {
        let fits = (1..=4).map(|seed| {
            let model = TopicModel::new(5).epochs(40).seed(seed).device(Device::Cpu);
            model
                .quiet()
                .reading(reading)
                .fit(&file)
                .unwrap()
                .loss()
                .unwrap()
        });
        fits.fold(f64::INFINITY, f64::min)
    };
    let shuffled = loss(Reading::InPlace);
    let streamed = loss(Reading::Stream {
        block: 8,
        blocks: 32,
    });
    println!("streamed {streamed}, shuffled {shuffled}");
    let difference = (streamed / shuffled - 1.0).abs();
    assert!(
        difference < 5e-4,
        "{streamed} and {shuffled}: {:.4}% difference",
        100.0 * difference
    );
}

#[test]
fn counts_in_memory_and_empty_blocks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts(50);
    let error = model().fit(&counts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
    assert!(error.remedy().unwrap().contains("write_npy"), "{error}");
    let file = counts.write_npy(folder.path().join("X.npy")).unwrap();
    for reading in [
        Reading::Stream {
            block: 0,
            blocks: 4,
        },
        Reading::Stream {
            block: 4,
            blocks: 0,
        },
    ] {
        testkit::refused! { model().reading(reading).fit(&file) => Setting; }
    }
    // Small counts in a file are read in place by default.
    let fit = model().reading(Reading::Auto).fit(&file).unwrap();
    assert_eq!(fit.settings().reading, Reading::InPlace);
    fs::remove_file(folder.path().join("X.npy")).unwrap();
}
