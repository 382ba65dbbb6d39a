//! Writes `.h5ad` files as anndata does: `X` sparse by rows, and the tables `obs` and `var`.

use std::collections::HashMap;
use std::path::Path;

use hdf5_pure::{
    AttrValue, BufferedAppender, DatasetBuilder, File, FileAccessProperties, FileBuilder,
    FileLocking, FinishedGroup, GroupBuilder, MaxExtent, MemoryStrategy, SyncPolicy,
};

use crate::Counts;
use crate::data::{Documents, Terms};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::{npy, writing_progress};
use crate::rows::{NonzeroBuffer, Pick, nonzeros_of_row};
use crate::system::{Claim, DISK_FULL_REMEDY, write_atomic_path};
use crate::text::{counted, shown_path};

/// Numbers in a chunk, at most: half a megabyte or one.
const CHUNK: u64 = 1 << 17;
/// Largest count: all whole numbers up to it are exact as `f32`.
const LARGEST: f64 = 16_777_216.0;
/// Whole numbers up to this size are exact as `f64`.
const LARGEST_WHOLE: f64 = (1u64 << 53) as f64;
/// Bytes of a name while the tables are written: its text twice, and what refers to it.
const NAME_BYTES: u64 = 160;
/// Upper bound of the bytes of headers, and of the overhead of a chunk and a name.
const HEADER_BYTES: u64 = 1 << 16;

/// The column of a table that has the names.
const INDEX: &str = "_index";

/// Writes the counts as `X`. `var` has the terms as its index, `obs` the names of the documents and their columns.
pub fn write_h5ad(
    counts: &Counts,
    path: &Path,
    terms: Option<&Terms>,
    documents: Option<&Documents>,
) -> Result<()> {
    npy::check_extension(path, "h5ad")?;
    if let Some(terms) = terms {
        counts.check_terms(terms)?;
    }
    let (n, m) = counts.shape();
    if let Some(documents) = documents {
        documents.check_rows(n, "counts")?;
    }
    let columns = documents.map(Documents::column_names).unwrap_or_default();
    // A slash separates groups.
    if let Some(name) = columns
        .iter()
        .find(|name| *name == INDEX || name.contains('/'))
    {
        return Err(Error::table(format!(
            "a column of a .h5ad file cannot be called {name:?}"
        ))
        .at(format!(
            "the columns of the documents are {}",
            columns.join(", ")
        ))
        .fix("give it another name: with_labels, with_numbers or with_dates under that name"));
    }
    let summary = counts.summary()?;
    if summary.largest() > LARGEST {
        let what = format!(
            "a count of {} does not fit the f32 of sparse counts",
            summary.largest()
        );
        return Err(Error::value(what).fix("write the counts as .npy"));
    }
    let named = (n as u64)
        .saturating_mul(1 + columns.len() as u64)
        .saturating_add(m as u64);
    Claim::new(
        None,
        format!(
            "the tables of {} and {}",
            counted(n, "document"),
            counted(m, "term")
        ),
        "a file .h5ad",
    )
    .check_memory(named.saturating_mul(NAME_BYTES))?;

    let nonzeros = summary.nonzeros();
    // SciPy takes indices of one type, and 32 bits where they suffice.
    let wide = nonzeros.max(m as u64) > i32::MAX as u64;
    let index_bytes = if wide { 8 } else { 4 };
    let needed = nonzeros * (4 + index_bytes)
        + (n as u64 + 1) * index_bytes
        + 3 * CHUNK.min(nonzeros.max(n as u64 + 1)) * 8
        + named * NAME_BYTES / 2
        + HEADER_BYTES;
    write_atomic_path(path, needed, DISK_FULL_REMEDY, |temporary| {
        let failed = |error| failed(path, error);
        skeleton(counts, nonzeros, wide, terms, documents)
            .write(temporary)
            .map_err(failed)?;
        // The temporary file is locked already, and flushed when it is closed.
        let access = FileAccessProperties::new()
            .with_locking(FileLocking::Disabled)
            .with_memory_strategy(MemoryStrategy::Bounded)
            .with_sync_policy(SyncPolicy::OnClose);
        let file = File::open_rw_with_options(temporary, access).map_err(failed)?;
        let row_bytes = nonzeros as f64 * (4 + index_bytes) as f64 / n as f64;
        append_rows(counts, &file, wide, path, row_bytes)?;
        file.close().map_err(failed)
    })
}

fn failed(path: &Path, source: hdf5_pure::Error) -> Error {
    let what = format!("{} cannot be written: {source}", shown_path(path));
    Error::new(ErrorKind::Io, what)
        .fix(DISK_FULL_REMEDY)
        .because(source)
}

/// The file with its tables, and with arrays of `X` that are still empty.
fn skeleton(
    counts: &Counts,
    nonzeros: u64,
    wide: bool,
    terms: Option<&Terms>,
    documents: Option<&Documents>,
) -> FileBuilder {
    let (n, m) = counts.shape();
    let mut file = FileBuilder::new();
    file.set_attr("encoding-type", text("anndata"));
    file.set_attr("encoding-version", text("0.1.0"));

    let mut matrix = file.create_group("X");
    encoding(&mut matrix, "csr_matrix", "0.1.0");
    matrix.set_attr("shape", AttrValue::I64Array(vec![n as i64, m as i64]));
    let growing = |array: &mut DatasetBuilder, length: u64| {
        array
            .with_shape(&[0])
            .with_maxshape(&[MaxExtent::Unlimited])
            .with_chunks(&[length.clamp(1, CHUNK)]);
    };
    growing(matrix.create_dataset("data").with_f32_data(&[]), nonzeros);
    for (name, length) in [("indices", nonzeros), ("indptr", n as u64 + 1)] {
        let array = matrix.create_dataset(name);
        growing(
            match wide {
                true => array.with_i64_data(&[]),
                false => array.with_i32_data(&[]),
            },
            length,
        );
    }
    file.add_group(matrix.finish());

    let numbered =
        |length: usize| -> Vec<String> { (0..length).map(|row| row.to_string()).collect() };
    let names = documents.map_or_else(|| numbered(n), Documents::names);
    let mut obs = file.create_group("obs");
    table(&mut obs, &names, documents);
    file.add_group(obs.finish());
    let names = terms.map_or_else(|| numbered(m), |terms| terms.as_slice().to_vec());
    let mut var = file.create_group("var");
    table(&mut var, &names, None);
    file.add_group(var.finish());
    // anndata writes these groups also where they are empty.
    for name in ["layers", "obsm", "varm", "obsp", "varp", "uns"] {
        let mut group = file.create_group(name);
        encoding(&mut group, "dict", "0.1.0");
        file.add_group(group.finish());
    }
    file
}

fn text(text: &str) -> AttrValue {
    AttrValue::VarLenString(text.into())
}

fn encoding(group: &mut GroupBuilder, name: &str, version: &str) {
    group.set_attr("encoding-type", text(name));
    group.set_attr("encoding-version", text(version));
}

fn array_encoding(array: &mut DatasetBuilder, name: &str) {
    array
        .set_attr("encoding-type", text(name))
        .set_attr("encoding-version", text("0.2.0"));
}

fn texts(group: &mut GroupBuilder, name: &str, values: &[String]) {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    array_encoding(
        group.create_dataset(name).with_vlen_strings(&values),
        "string-array",
    );
}

/// A table with these names as its index, and the columns of documents.
fn table(group: &mut GroupBuilder, names: &[String], documents: Option<&Documents>) {
    encoding(group, "dataframe", "0.2.0");
    group.set_attr("_index", text(INDEX));
    texts(group, INDEX, names);
    let columns = documents.map(Documents::column_names).unwrap_or_default();
    for name in &columns {
        let Some(documents) = documents else { break };
        if let Ok(numbers) = documents.numbers(name) {
            let array = group.create_dataset(name);
            // Documents hold whole numbers that are exact as `f64`.
            let array = match numbers
                .iter()
                .all(|number| number.trunc() == *number && number.abs() <= LARGEST_WHOLE)
            {
                true => array.with_i64_data(
                    &numbers
                        .iter()
                        .map(|&number| number as i64)
                        .collect::<Vec<_>>(),
                ),
                false => array.with_f64_data(&numbers),
            };
            array_encoding(array, "array");
        } else if let Ok(labels) = documents.labels(name) {
            let column = group.create_group(name);
            group.add_group(categorical(column, labels));
        }
    }
    let order = match columns.is_empty() {
        true => AttrValue::F64Array(Vec::new()),
        false => AttrValue::VarLenStringArray(columns),
    };
    group.set_attr("column-order", order);
}

/// Labels and dates as categories; -1 is a missing one.
fn categorical(mut group: GroupBuilder, labels: Vec<Option<String>>) -> FinishedGroup {
    let mut categories: Vec<String> = labels.iter().flatten().cloned().collect();
    categories.sort();
    categories.dedup();
    let numbers: HashMap<&str, i32> = categories
        .iter()
        .enumerate()
        .map(|(code, label)| (label.as_str(), code as i32))
        .collect();
    let codes: Vec<i32> = labels
        .iter()
        .map(|label| {
            label
                .as_deref()
                .and_then(|label| numbers.get(label))
                .copied()
                .unwrap_or(-1)
        })
        .collect();
    encoding(&mut group, "categorical", "0.2.0");
    group.set_attr("ordered", AttrValue::U8(0));
    array_encoding(group.create_dataset("codes").with_i32_data(&codes), "array");
    texts(&mut group, "categories", &categories);
    group.finish()
}

/// Appends the nonzero counts to the arrays of `X`, in one pass.
fn append_rows(
    counts: &Counts,
    file: &File,
    wide: bool,
    path: &Path,
    row_bytes: f64,
) -> Result<()> {
    let failed = |error| failed(path, error);
    let (n, m) = counts.shape();
    let dataset = |name: &str| file.dataset(&format!("X/{name}")).map_err(failed);
    let (mut data, mut indices, mut indptr) =
        (dataset("data")?, dataset("indices")?, dataset("indptr")?);
    let mut data = data.buffered_appender().map_err(failed)?;
    let mut indices = indices.buffered_appender().map_err(failed)?;
    let mut indptr = indptr.buffered_appender().map_err(failed)?;
    let progress = writing_progress(path, n, 1, row_bytes);
    let mut buffer = NonzeroBuffer::default();
    let mut end = 0;
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    append_indices(&mut indptr, wide, &[0]).map_err(failed)?;
    Pick::All.each_block(counts, &mut |picked| {
        let mut ends = Vec::with_capacity(picked.rows.len());
        for &row in picked.rows {
            let (found, nonzeros) = nonzeros_of_row(&picked.view, m, row, &mut buffer);
            for (&column, &value) in found.iter().zip(nonzeros) {
                if value != 0.0 {
                    columns.push(u64::from(column));
                    values.push(value);
                    end += 1;
                }
            }
            ends.push(end);
            if values.len() as u64 >= CHUNK {
                data.append(&values).map_err(failed)?;
                append_indices(&mut indices, wide, &columns).map_err(failed)?;
                columns.clear();
                values.clear();
            }
        }
        append_indices(&mut indptr, wide, &ends).map_err(failed)?;
        progress.advance(picked.rows.len())
    })?;
    data.append(&values).map_err(failed)?;
    append_indices(&mut indices, wide, &columns).map_err(failed)?;
    data.finish().map_err(failed)?;
    indices.finish().map_err(failed)?;
    indptr.finish().map_err(failed)
}

fn append_indices(
    array: &mut BufferedAppender<'_>,
    wide: bool,
    indices: &[u64],
) -> std::result::Result<(), hdf5_pure::Error> {
    match wide {
        true => array.append(
            &indices
                .iter()
                .map(|&index| index as i64)
                .collect::<Vec<_>>(),
        ),
        false => array.append(
            &indices
                .iter()
                .map(|&index| index as i32)
                .collect::<Vec<_>>(),
        ),
    }
}
