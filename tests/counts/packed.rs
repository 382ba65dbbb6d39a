//! Packed counts: many blocks, the format as another program reads it, damaged blocks, and writers that end early.

use std::fs;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;
use topicbook::{Counts, ErrorKind, Reading, Solver, Synthetic, TopicModel};

use crate::rows::rows;

const TERMS: usize = 300;

/// Counts of several blocks: empty documents, full ones, large counts, and counts that are all 1.
fn drawn(documents: usize) -> Counts {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut starts, mut terms, mut counts) = (vec![0], Vec::new(), Vec::new());
    for document in 0..documents {
        let (density, large) = match document % 50 {
            0 => (0.0, 0),
            1 => (1.0, 0),
            2 => (0.3, 24),
            number => (0.1, number % 3),
        };
        for term in 0..TERMS as u32 {
            if random.random::<f64>() < density {
                let count = 1 + (random.random::<u32>() >> 8 >> (24 - large));
                terms.push(term);
                counts.push(count as f32);
            }
        }
        starts.push(terms.len() as u64);
    }
    Counts::csr(documents, TERMS, starts, terms, counts).unwrap()
}

#[test]
fn rows_of_many_blocks_come_back() {
    let (_folder, path) = testkit::temp_path("X.tbc");
    let counts = drawn(9_000);
    let packed = counts.write_packed(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < counts.bytes_stored() / 4);
    assert_eq!(packed.stored_counts(), counts.stored_counts());
    let order: Vec<usize> = (0..20_000).map(|at| at * 7 % 8_999).collect();
    let some = rows(&packed.select(&order).unwrap());
    assert!(some == rows(&counts.select(&order).unwrap()));
    // What was selected is all that was read.
    assert!(packed.location_text().contains("on first use"));
    assert_eq!(packed.summary().unwrap(), counts.summary().unwrap());
    assert!(rows(&packed) == rows(&counts));
    // Blocks of a stream that share blocks of the file.
    let batches = |counts: &Counts| {
        let stream = Reading::Stream {
            block: 333,
            blocks: 2,
        };
        let batches = counts.batches(100).unwrap().epochs(1).reading(stream);
        let read = batches.map(|batch| batch.unwrap().nonzeros());
        read.collect::<Vec<_>>()
    };
    let npz = counts.write_npz(path.with_extension("npz")).unwrap();
    assert!(batches(&Counts::open(&path).unwrap()) == batches(&npz));
}

#[test]
fn fits_and_new_documents_are_those_of_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = Synthetic::new(700, 200, 4).avg_doc_length(60).seed(2);
    let corpus = recipe.write_packed(folder.path().join("X.tbc")).unwrap();
    let drawn = recipe.generate().unwrap();
    assert_eq!(corpus.true_l(), drawn.true_l());
    let packed = corpus.counts();
    let npz = drawn
        .counts()
        .write_npz(folder.path().join("X.npz"))
        .unwrap();
    let stream = Reading::Stream {
        block: 50,
        blocks: 4,
    };
    for solver in [
        Solver::default(),
        Solver::em(),
        Solver::coordinate_descent(),
    ] {
        let model = TopicModel::new(4)
            .epochs(4)
            .solver(solver)
            .seed(1)
            .reading(stream)
            .quiet();
        let [one, other] = [&packed, &npz].map(|counts| model.fit(counts).unwrap());
        assert!(one.l() == other.l() && one.f() == other.f());
        let [one, other] = [&packed, &npz].map(|counts| one.transform(counts).unwrap());
        assert!(one == other);
    }
}

/// Single cells: 3% of the genes, of very different frequencies, in counts of negative binomials.
fn cells(number: usize, genes: usize) -> Counts {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let normal = rand_distr::StandardNormal;
    let mut log_normal = |mean: f64, deviation: f64| {
        let draw: f64 = normal.sample(&mut random);
        (mean + deviation * draw).exp()
    };
    let means: Vec<f64> = (0..genes).map(|_| log_normal(-5.2, 2.0)).collect();
    let depths: Vec<f64> = (0..number).map(|_| log_normal(0.0, 0.4)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let gamma = rand_distr::Gamma::new(2.0, 0.5).unwrap();
    let mut values = vec![0u16; number * genes];
    for (cell, row) in depths.iter().zip(values.chunks_mut(genes)) {
        for (mean, value) in means.iter().zip(row) {
            let rate: f64 = mean * cell * gamma.sample(&mut random);
            *value = Poisson::new(rate.max(1e-9)).unwrap().sample(&mut random) as u16;
        }
    }
    Counts::dense(number, genes, values).unwrap()
}

#[test]
fn a_count_of_single_cells_takes_less_than_two_bytes() {
    let (_folder, path) = testkit::temp_path("X.tbc");
    let cells = cells(300, 20_000);
    let summary = cells.summary().unwrap();
    let density = summary.density();
    assert!((0.025..0.04).contains(&density), "{density}");
    cells.write_packed(&path).unwrap();
    let bytes = fs::metadata(&path).unwrap().len() as f64 / summary.nonzeros() as f64;
    println!("{bytes:.3} bytes for a count");
    assert!(bytes < 1.9, "{bytes}");
    // Counts of 1 take no bytes of their own.
    let ones = vec![1u8; 200 * 20_000];
    let ones = Counts::dense(200, 20_000, ones).unwrap();
    ones.write_packed(&path).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 200 * 20_000 / 20);
}

#[test]
fn python_reads_the_format_as_it_is_described() {
    let Some(python) = testkit::python() else {
        return;
    };
    let (folder, path) = testkit::temp_path("X.tbc");
    let counts = drawn(5_000);
    counts.write_packed(&path).unwrap();
    counts.write_npz(path.with_extension("npz")).unwrap();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("xtask/python");
    let script = format!(
        "
import sys
sys.path.insert(0, {scripts:?})
import packed_counts, scipy.sparse as sp
found, expected = packed_counts.read('X.tbc'), sp.load_npz('X.npz')
assert found.shape == expected.shape and (found != expected).nnz == 0
"
    );
    testkit::run(&python, folder.path(), &script);
}

#[test]
fn the_other_documents_of_a_damaged_file_are_read() {
    let (_folder, path) = testkit::temp_path("X.tbc");
    let counts = drawn(5_000);
    counts.write_packed(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, bytes).unwrap();
    let packed = Counts::open(&path).unwrap();
    let error = packed.summary().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format);
    testkit::assert_has(&error, ["X.tbc", "checksum of a block"]);
    // The remedy names the documents of the other blocks.
    let remedy = error.remedy().unwrap().to_string();
    let named = remedy.split(".select(").nth(1).unwrap();
    let numbers = named.split(|c: char| !c.is_ascii_digit());
    let bounds: Vec<usize> = numbers.filter_map(|text| text.parse().ok()).collect();
    let [0, first, last, 5_000] = bounds[..] else {
        panic!("{remedy}");
    };
    testkit::assert_has(&error, [&format!("documents {first} to {} ", last - 1)]);
    let rest: Vec<usize> = (0..first).chain(last..5_000).collect();
    let read = Counts::open(&path).unwrap().select(&rest).unwrap();
    assert!(rows(&read) == rows(&counts.select(&rest).unwrap()));
    assert!(packed.select([first]).is_err());
}

#[test]
fn a_writer_that_ends_early_leaves_the_file_as_it_was() {
    let (folder, path) = testkit::temp_path("X.tbc");
    let counts = drawn(400);
    counts.write_packed(&path).unwrap();
    let before = fs::read(&path).unwrap();
    let mut writer = Counts::writer(&path, TERMS).unwrap();
    writer.append(&counts).unwrap();
    drop(writer);
    assert!(fs::read(&path).unwrap() == before);
    let mut writer = Counts::writer(&path, TERMS).unwrap();
    writer.append(&counts).unwrap();
    writer.append_document(&[7, 2], &[3.0, 1.0]).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!(written.documents(), 401);
    let all: Vec<usize> = (0..400).collect();
    assert!(rows(&written.select(&all).unwrap()) == rows(&counts));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
