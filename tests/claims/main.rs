//! The most memory that a file takes for each of its bytes, whatever it states: held by an allocator that counts.

// Tables, Parquet and Arrow are among the files.
#![cfg(feature = "polars")]

mod allocator;
mod arrow;
mod files;
mod parquet;
mod pickles;

use std::fs;
use std::path::Path;

use allocator::peak_of;
use files::File;
use topicbook::{Cells, Checkpoint, Counts, Documents, Error, Fit, Terms, Texts, Vectorizer};

/// Bytes that a reader takes for any file: buffers, windows, the longest line; and batches of texts on their way.
const BUFFERS: usize = 4 << 20;
const BATCHES: usize = 32 << 20;

/// What opens a file, and reads what is in it.
struct Reader {
    /// The name of the file, and the folder of the fuzz targets that has more of the kind.
    file: &'static str,
    corpus: &'static str,
    read: fn(&Path) -> Result<(), Error>,
    files: fn() -> Vec<File>,
    /// The most bytes of memory for any file, for each of its bytes, and for each document, row or value that it states.
    most: [usize; 3],
}

fn counts(path: &Path) -> Result<(), Error> {
    Counts::open(path)?.summary().map(drop)
}

fn cells(path: &Path) -> Result<(), Error> {
    let cells = Cells::open(path)?;
    let names = cells.names().map(drop);
    let documents = cells.documents().map(|documents| drop(documents.table()));
    counts(path).and(names).and(documents)
}

fn documents(path: &Path) -> Result<(), Error> {
    Documents::open(path).map(|documents| drop(documents.table()))
}

fn texts(path: &Path) -> Result<(), Error> {
    let texts = Texts::open(path)?;
    texts.beginnings(9)?;
    Vectorizer::new().fit_transform(&texts).map(drop)
}

#[rustfmt::skip] // one reader a line
const READERS: [Reader; 29] = [
    Reader { file: "X.pt", corpus: "pt", read: counts, files: pickles::pickles, most: [BUFFERS, 192, 0] },
    Reader { file: "X.npy", corpus: "npy", read: counts, files: files::arrays, most: [BUFFERS, 0, 0] },
    Reader { file: "X.npz", corpus: "npz", read: counts, files: files::archives, most: [BUFFERS, 16, 32] },
    Reader { file: "X.tbc", corpus: "tbc", read: counts, files: files::packed, most: [BUFFERS, 16, 32] },
    Reader { file: "X.safetensors", corpus: "safetensors", read: counts, files: files::tensors, most: [BUFFERS, 64, 0] },
    Reader { file: "fit.safetensors", corpus: "fit", read: |path| Fit::load(path).map(drop), files: files::fits, most: [BUFFERS, 64, 0] },
    Reader { file: "fit.ckpt", corpus: "checkpoint", read: |path| Checkpoint::open(path).map(drop), files: files::tensors, most: [BUFFERS, 64, 0] },
    Reader { file: "X.h5ad", corpus: "h5ad", read: cells, files: files::cells, most: [BUFFERS, 32, 0] },
    Reader { file: "X.h5", corpus: "h5", read: cells, files: Vec::new, most: [BUFFERS, 32, 0] },
    Reader { file: "X.mtx", corpus: "mtx", read: counts, files: files::matrices, most: [BUFFERS, 8, 32] },
    Reader { file: "X.mtx.gz", corpus: "", read: counts, files: files::gzipped_matrices, most: [BUFFERS, 8, 32] },
    Reader { file: "docword.X.txt", corpus: "txt", read: counts, files: files::bags_of_words, most: [BUFFERS, 8, 32] },
    Reader { file: "X.csv", corpus: "csv", read: counts, files: files::triplets, most: [BUFFERS, 64, 32] },
    Reader { file: "X.csv.gz", corpus: "", read: counts, files: files::gzipped_triplets, most: [BUFFERS, 64, 128] },
    Reader { file: "X.parquet", corpus: "parquet", read: counts, files: parquet::counts, most: [BUFFERS, 64, 32] },
    Reader { file: "footer.parquet", corpus: "", read: counts, files: parquet::footers, most: [BUFFERS, 64, 512] },
    Reader { file: "X.arrow", corpus: "arrow", read: counts, files: arrow::counts, most: [BUFFERS, 64, 32] },
    Reader { file: "footer.arrow", corpus: "", read: counts, files: arrow::footers, most: [BUFFERS, 64, 512] },
    Reader { file: "t.csv", corpus: "", read: documents, files: files::tables, most: [BUFFERS, 64, 64] },
    Reader { file: "t.jsonl", corpus: "jsonl", read: documents, files: files::tables_of_json, most: [BUFFERS, 512, 0] },
    Reader { file: "t.parquet", corpus: "", read: documents, files: parquet::labels, most: [BUFFERS, 64, 64] },
    Reader { file: "texts.parquet", corpus: "", read: texts, files: parquet::texts, most: [BATCHES, 64, 64] },
    Reader { file: "t.arrow", corpus: "", read: documents, files: arrow::labels, most: [BUFFERS, 64, 64] },
    Reader { file: "texts.arrow", corpus: "", read: texts, files: arrow::texts, most: [BATCHES, 64, 64] },
    Reader { file: "t.xlsx", corpus: "xlsx", read: documents, files: files::spreadsheets, most: [BUFFERS, 64, 256] },
    Reader { file: "texts.jsonl", corpus: "jsonl", read: texts, files: files::lines_of_json, most: [BATCHES, 128, 0] },
    Reader { file: "texts.jsonl.gz", corpus: "", read: texts, files: files::gzipped_lines, most: [BATCHES, 128, 0] },
    Reader { file: "words.json", corpus: "", read: |path| Vectorizer::open(path).map(drop), files: files::vectorizers, most: [BUFFERS, 32, 0] },
    Reader { file: "terms.txt", corpus: "terms", read: |path| Terms::open(path).map(drop), files: files::terms, most: [BUFFERS, 64, 0] },
];

/// The files of a fuzz target, with those that once were read wrongly.
fn corpus(name: &str) -> Vec<File> {
    let folder = Path::new("crates/fuzz/corpus").join(name);
    let folders = [folder.join("malformed"), folder];
    let found = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let paths = found.flatten().flatten().map(|file| file.path());
    paths
        .filter_map(|path| Some(("a file of a fuzz target", fs::read(path).ok()?, 0)))
        .collect()
}

/// One test: the allocator counts what all threads allocate.
#[test]
fn no_file_takes_more_memory_than_its_bytes_and_what_they_state_allow() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    // Polars starts its threads at the first file of several row groups, and keeps 8 MB for them.
    let _ = counts(Path::new(
        "crates/fuzz/corpus/parquet/polars-groups.parquet",
    ));
    for reader in &READERS {
        let path = folder.path().join(reader.file);
        let more = match reader.corpus {
            "" => Vec::new(),
            name => corpus(name),
        };
        for (what, bytes, stated) in (reader.files)().into_iter().chain(more) {
            let length = bytes.len();
            fs::write(&path, bytes).unwrap();
            let (peak, read) = peak_of(|| (reader.read)(&path));
            let [any, byte, each] = reader.most;
            let most = any + byte * length + each * stated;
            let found = format!(
                "{}, {what}: {peak} bytes of at most {most} for {length} and {stated} stated",
                reader.file
            );
            println!("{found}: {:?}", read.map_err(|error| error.kind()));
            if peak > most {
                wrong.push(found);
            }
        }
    }
    bomb_of_shapes();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// 200 KB that took 6 GB: 7,700 tensors of 50,000 dimensions, all of one shape.
fn bomb_of_shapes() {
    let path = Path::new("../shared/repro/bomb_shapes_200k.pt");
    if !path.exists() {
        return println!("SKIPPED: {} does not exist", path.display());
    }
    let (peak, read) = peak_of(|| Counts::open(path));
    let error = read.unwrap_err().to_string();
    testkit::assert_has(&error, ["holds a tensor of 50000 dimensions, more than 8"]);
    assert!(
        peak < 192 * fs::metadata(path).unwrap().len() as usize,
        "{peak}"
    );
}
