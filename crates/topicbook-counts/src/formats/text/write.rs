//! Writes MatrixMarket files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Counts;
use crate::error::{Error, Result};
use crate::formats::{npy, writing_progress};
use crate::rows::{NonzeroBuffer, Pick, nonzeros_of_row};
use crate::system::write_atomic;

/// Mean bytes of an entry, for the progress.
const ENTRY: f64 = 12.0;

/// Whether a path ends in `.gz`.
fn is_gzipped(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Writes the nonzero counts, one a line.
pub fn write_mtx(counts: &Counts, path: &Path) -> Result<()> {
    let gzipped = is_gzipped(path);
    let uncompressed = if gzipped {
        path.with_extension("")
    } else {
        path.to_path_buf()
    };
    npy::check_extension(&uncompressed, "mtx")?;
    let summary = counts.summary()?;
    write_atomic(path, |out| match gzipped {
        false => lines(counts, summary.nonzeros(), path, out),
        true => {
            let mut out = GzEncoder::new(out, Compression::default());
            lines(counts, summary.nonzeros(), path, &mut out)?;
            out.finish()
                .map(|_: &mut BufWriter<File>| ())
                .map_err(|source| Error::io("write", path, source))
        }
    })
}

fn lines(counts: &Counts, nonzeros: u64, path: &Path, out: &mut impl Write) -> Result<()> {
    let failed = |source| Error::io("write", path, source);
    let (documents, terms) = counts.shape();
    write!(
        out,
        "%%MatrixMarket matrix coordinate integer general\n% documents terms counts\n{documents} {terms} {nonzeros}\n"
    )
    .map_err(failed)?;
    let row_bytes = ENTRY * nonzeros as f64 / documents as f64;
    let progress = writing_progress(path, documents, 1, row_bytes);
    let mut buffer = NonzeroBuffer::default();
    Pick::All.each_block(counts, &mut |picked| {
        for (&row, &document) in picked.rows.iter().zip(picked.documents) {
            let (columns, values) = nonzeros_of_row(&picked.view, terms, row, &mut buffer);
            for (&column, &value) in columns.iter().zip(values) {
                if value != 0.0 {
                    writeln!(out, "{} {} {value}", document + 1, u64::from(column) + 1)
                        .map_err(failed)?;
                }
            }
        }
        progress.advance(picked.rows.len())
    })
}
