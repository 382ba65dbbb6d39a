//! Writes counts as a Parquet file of triplets.

use std::path::Path;

use polars::prelude::{Column, DataFrame, ParquetWriter, PolarsError};

use crate::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::formats::{npy, writing_progress};
use crate::rows::{NonzeroBuffer, Pick, nonzeros_of_row};
use crate::system::write_atomic;
use crate::text::shown_path;

use super::COLUMNS;

/// Nonzero counts in a row group.
const GROUP: usize = 1 << 20;

/// Nonzero counts that are in no row group yet.
#[derive(Default)]
struct Group {
    documents: Vec<u32>,
    terms: Vec<u32>,
    counts: Vec<f32>,
}

impl Group {
    /// The rows as a table; the group is empty afterwards.
    fn take(&mut self) -> std::result::Result<DataFrame, PolarsError> {
        let Self {
            documents,
            terms,
            counts,
        } = std::mem::take(self);
        DataFrame::new_infer_height(vec![
            Column::new(COLUMNS[0].into(), documents),
            Column::new(COLUMNS[1].into(), terms),
            Column::new(COLUMNS[2].into(), counts),
        ])
    }
}

/// Writes one row for each nonzero count, by document and term.
pub fn write(counts: &Counts, path: &Path) -> Result<()> {
    npy::check_extension(path, "parquet")?;
    let summary = counts.summary()?;
    let (documents, terms) = counts.shape();
    if u32::try_from(documents).is_err() {
        return Err(
            Error::setting(format!("{documents} documents are too many for one table"))
                .fix("write several files, or the counts as .npy"),
        );
    }
    if summary.largest() > 16_777_216.0 {
        return Err(Error::value(format!(
            "a count of {} does not fit the f32 of sparse counts",
            summary.largest()
        ))
        .fix("write the counts as .npy"));
    }
    let failed = |source: PolarsError| {
        Error::new(
            ErrorKind::Io,
            format!("{} cannot be written: {source}", shown_path(path)),
        )
        .fix("free some disk space, or write elsewhere")
        .because(source)
    };
    let row_bytes = 4.0 * summary.density() * terms as f64;
    write_atomic(path, |out| {
        let progress = writing_progress(path, documents, 1, row_bytes);
        let mut group = Group::default();
        let empty = Group::default().take().map_err(failed)?;
        let mut writer = ParquetWriter::new(out)
            .batched(empty.schema())
            .map_err(failed)?;
        let mut buffer = NonzeroBuffer::default();
        Pick::All.each_block(counts, &mut |picked| {
            for (&row, &document) in picked.rows.iter().zip(picked.documents) {
                let (columns, values) = nonzeros_of_row(&picked.view, terms, row, &mut buffer);
                group
                    .documents
                    .resize(group.documents.len() + columns.len(), document as u32);
                group.terms.extend_from_slice(columns);
                group.counts.extend_from_slice(values);
                if group.terms.len() >= GROUP {
                    writer
                        .write_batch(&group.take().map_err(failed)?)
                        .map_err(failed)?;
                }
            }
            progress.advance(picked.rows.len())
        })?;
        if !group.terms.is_empty() {
            writer
                .write_batch(&group.take().map_err(failed)?)
                .map_err(failed)?;
        }
        writer.finish().map_err(failed).map(drop)
    })
}
