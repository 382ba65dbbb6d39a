//! The file of a table: safetensors with a header of a fixed size, which says whether the rows after it are whole.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde_json::Value;

use crate::config::{Optimizer, Precision};
use crate::error::{Error, ErrorKind, Result};
use crate::system::{DISK_FULL_REMEDY, SharedMap, check_regular, create_sized};
use crate::text::{bytes, count, shown_path};

use super::rows::{Layout, SharedRows};
use super::rule::{check_row_wise, state_values};

/// Bytes before the first table: the length of the header, a little-endian u64, and the header, padded with spaces. With a
/// whole page the tables start at a page, and one write replaces the header.
pub(super) const START: usize = 4096;
const LENGTH_BYTES: usize = 8;

/// Keys of the header's metadata. The first one identifies the kind of file; its value is the version of its meaning.
const VERSION_KEY: &str = "topicbook.row_table";
const VERSION: &str = "1";
const OPTIMIZER: &str = "optimizer";
const STEPS: &str = "steps";
const MARK: &str = "rows";
/// The marks are equally long, so that the header is.
const FLUSHED: &str = "flushed";
const WRITING: &str = "writing";

const REMEDY: &str = "give the path of a file that RowTable wrote, complete and unchanged; for rows from elsewhere create a table and scatter them";

/// The contents of a file's header.
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) optimizer: Optimizer,
}

/// The open file of a table.
pub(super) struct TableFile {
    file: File,
    path: PathBuf,
    header: Header,
    /// Whether the file is marked as being written. Writers hold it to read; a flush waits for them and holds it to write.
    writing: RwLock<bool>,
}

impl TableFile {
    /// Creates a file of zeros, locked and marked as being written, and maps it.
    pub(super) fn create(path: &Path, header: Header) -> Result<(Self, SharedRows)> {
        let needed = START as u64 + header.layout.bytes();
        let file = create_sized(path, needed, DISK_FULL_REMEDY, |source| {
            match source.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let what = format!("{} exists already", shown_path(path));
                    Error::new(ErrorKind::Io, what).fix(
                    "open it with RowTable::open, name another file, or remove it: a new table does not replace the rows of an old one",
                )
                }
                _ => Error::io("create", path, source),
            }
        })?;
        let created = Self::locked(file, path, header, true).and_then(|table| {
            table.write_header(0, WRITING)?;
            table.mapped()
        });
        created.inspect_err(|_| remove(path))
    }

    /// Opens a file, and returns the number of steps that its header states.
    pub(super) fn open(path: &Path, unflushed: bool) -> Result<(Self, SharedRows, u64)> {
        check_regular(path)?;
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|source| Error::io("open", path, source))?;
        lock(&file, path)?;
        let (header, steps, mark) = read_header(&file, path)?;
        if mark == WRITING && !unflushed {
            return Err(Error::format(
                path,
                "was not flushed: the process that wrote it ended before, and its rows may be from different steps",
            )
            .fix("go back to a copy of a flushed file, or open it as it is with RowTable::open_unflushed"));
        }
        let table = Self {
            file,
            path: path.to_path_buf(),
            header,
            writing: RwLock::new(mark == WRITING),
        };
        let (table, rows) = table.mapped()?;
        Ok((table, rows, steps))
    }

    fn locked(file: File, path: &Path, header: Header, writing: bool) -> Result<Self> {
        lock(&file, path)?;
        Ok(Self {
            file,
            path: path.to_path_buf(),
            header,
            writing: RwLock::new(writing),
        })
    }

    fn mapped(self) -> Result<(Self, SharedRows)> {
        let map = SharedMap::of_file(&self.file)
            .map_err(|source| Error::io("map", &self.path, source))?;
        let rows = SharedRows::new(self.header.layout, map, START);
        Ok((self, rows))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn optimizer(&self) -> Optimizer {
        self.header.optimizer
    }

    /// Marks the file as being written, if it is not yet. A flush waits until the guard is dropped.
    pub(super) fn begin_write(&self, steps: u64) -> Result<RwLockReadGuard<'_, bool>> {
        loop {
            let writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
            if *writing {
                return Ok(writing);
            }
            drop(writing);
            let mut writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
            if !*writing {
                // The mark is on the disk before the first row that it is for.
                self.write_header(steps, WRITING)?;
                *writing = true;
            }
        }
    }

    /// Writes all rows to the disk, then marks the file as flushed.
    pub(super) fn flush(&self, rows: &SharedRows, steps: impl FnOnce() -> u64) -> Result<()> {
        let mut writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        if !*writing {
            return Ok(());
        }
        let failed = |source| Error::io("write", &self.path, source);
        rows.map().flush().map_err(failed)?;
        let length = self.file.metadata().map_err(failed)?.len();
        let expected = START as u64 + self.header.layout.bytes();
        if rows.map().is_lost() || length != expected {
            return Err(self.lost());
        }
        self.write_header(steps(), FLUSHED)?;
        *writing = false;
        Ok(())
    }

    /// The error for rows that were lost.
    pub(super) fn lost(&self) -> Error {
        let what = format!(
            "{}: a part of the mapped file was lost: it was cut by another program, or its disk failed",
            shown_path(&self.path)
        );
        Error::new(ErrorKind::Io, what)
            .fix("check the disk, and go back to a copy of a flushed file")
    }

    /// Replaces the header and waits for the disk (`fdatasync`).
    fn write_header(&self, steps: u64, mark: &str) -> Result<()> {
        use std::os::unix::fs::FileExt;
        let header = self.header.encode(steps, mark);
        let header = header.map_err(|what| Error::format(&self.path, what))?;
        self.file
            .write_all_at(&header, 0)
            .and_then(|()| self.file.sync_data())
            .map_err(|source| Error::io("write", &self.path, source))
    }
}

/// Removes a file that could not be filled. An error that led here is more useful than one of the removal.
pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// Locks a file against other handles, in this process and in others (`flock`), until it is closed.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let what = format!(
                "{} is open as a row table already, in this process or in another one",
                shown_path(path)
            );
            Err(Error::new(ErrorKind::Io, what)
                .fix("use a clone of the table that has it open, or drop that table first"))
        }
        // Some filesystems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

impl Header {
    /// The first [`START`] bytes of the file.
    fn encode(&self, steps: u64, mark: &str) -> std::result::Result<Vec<u8>, String> {
        let optimizer = serde_json::to_value(self.optimizer).map_err(|error| error.to_string())?;
        let texts = HashMap::from([
            (VERSION_KEY.into(), VERSION.into()),
            (
                OPTIMIZER.into(),
                optimizer.as_str().unwrap_or_default().into(),
            ),
            (STEPS.into(), format!("{steps:020}")),
            (MARK.into(), mark.into()),
        ]);
        let metadata = Metadata::new(Some(texts), expected_tensors(&self.layout));
        let metadata = metadata.map_err(|error| error.to_string())?;
        let mut header = serde_json::to_vec(&metadata).map_err(|error| error.to_string())?;
        header.resize(START - LENGTH_BYTES, b' ');
        let length = (header.len() as u64).to_le_bytes();
        Ok([&length[..], &header].concat())
    }
}

/// The tensors of a table with this layout, in the order of their bytes.
fn expected_tensors(layout: &Layout) -> Vec<(String, TensorInfo)> {
    let bytes = layout.bytes_of_table().unwrap_or_default();
    (0..layout.tables)
        .map(|table| {
            let name = match table {
                0 => "values".into(),
                state => format!("state_{}", state - 1),
            };
            let info = TensorInfo {
                dtype: match layout.precision {
                    Precision::F32 => Dtype::F32,
                    Precision::Bf16 => Dtype::BF16,
                },
                shape: vec![layout.rows, layout.width],
                data_offsets: (table * bytes, (table + 1) * bytes),
            };
            (name, info)
        })
        .collect()
}

/// Reads the header of a file, and checks it against the file's length. Returns the number of steps and the mark, too.
fn read_header(file: &File, path: &Path) -> Result<(Header, u64, &'static str)> {
    use std::os::unix::fs::FileExt;
    let invalid = |what: &dyn std::fmt::Display| Error::format(path, what).fix(REMEDY);
    let failed = |source| Error::io("read", path, source);
    let length = file.metadata().map_err(failed)?.len();
    let mut header = vec![0; START];
    if length >= LENGTH_BYTES as u64 {
        let first = &mut header[..LENGTH_BYTES];
        file.read_exact_at(first, 0).map_err(failed)?;
    }
    let expected = ((START - LENGTH_BYTES) as u64).to_le_bytes();
    if header[..LENGTH_BYTES] != expected {
        return Err(invalid(&"is no file of a row table"));
    }
    if length < START as u64 {
        return Err(invalid(&format!(
            "ends after {} of the {} bytes of its header",
            count(length),
            count(START as u64)
        )));
    }
    file.read_exact_at(&mut header, 0).map_err(failed)?;
    let metadata: Metadata = serde_json::from_slice(&header[LENGTH_BYTES..])
        .map_err(|error| invalid(&format!("has a header that cannot be read: {error}")))?;
    let text = |key: &str| {
        let texts = metadata.metadata().as_ref()?;
        texts.get(key).map(String::as_str)
    };
    match text(VERSION_KEY) {
        Some(VERSION) => {}
        Some(version) => {
            let what =
                format!("has version {version}, and this version of topicbook reads {VERSION}");
            return Err(Error::format(path, what)
                .fix("open it with the version of topicbook that wrote it"));
        }
        None => return Err(invalid(&"is a safetensors file, but not of a row table")),
    }
    let optimizer = text(OPTIMIZER).map(|name| Value::String(name.into()));
    let optimizer: Optimizer = optimizer
        .and_then(|name| serde_json::from_value(name).ok())
        .ok_or_else(|| invalid(&"names no optimizer of topicbook in its header").at("optimizer"))?;
    check_row_wise(optimizer).map_err(|error| invalid(&error.headline()).at("optimizer"))?;
    let steps = text(STEPS).and_then(|steps| steps.parse().ok());
    let steps = steps.ok_or_else(|| invalid(&"states no number of steps").at("steps"))?;
    let mark = match text(MARK) {
        Some(FLUSHED) => FLUSHED,
        Some(WRITING) => WRITING,
        _ => return Err(invalid(&"does not say whether it was flushed").at("rows")),
    };
    let layout = layout_of(&metadata, optimizer).map_err(|(what, at)| invalid(&what).at(at))?;
    let expected = START as u64 + layout.bytes();
    if length != expected {
        return Err(invalid(&format!(
            "has {}, and its header states {}: it was cut or extended",
            bytes(length),
            bytes(expected)
        ))
        .at(format!("byte {}", length.min(expected))));
    }
    Ok((Header { layout, optimizer }, steps, mark))
}

/// The layout that the tensors of a header have; or what is wrong, and with which tensor.
fn layout_of(
    metadata: &Metadata,
    optimizer: Optimizer,
) -> std::result::Result<Layout, (String, String)> {
    let wrong = |what: String, name: &str| Err((what, format!("the tensor {name}")));
    let Some(values) = metadata.info("values") else {
        return wrong("has no table of values".into(), "values");
    };
    let precision = match values.dtype {
        Dtype::F32 => Precision::F32,
        Dtype::BF16 => Precision::Bf16,
        dtype => {
            let what = format!("has values of {dtype:?}, expected F32 or BF16");
            return wrong(what, "values");
        }
    };
    let &[rows, width] = &values.shape[..] else {
        let what = format!(
            "has values of {} dimensions, expected 2",
            values.shape.len()
        );
        return wrong(what, "values");
    };
    let layout = Layout {
        rows,
        width,
        tables: 1 + state_values(optimizer),
        precision,
    };
    if rows == 0 || width == 0 || layout.bytes_of_table().is_none() {
        return wrong(format!("has {rows} x {width} values"), "values");
    }
    let expected = expected_tensors(&layout);
    let found = metadata.tensors();
    for (name, expected) in &expected {
        match found.get(name) {
            Some(info)
                if info.dtype == expected.dtype
                    && info.shape == expected.shape
                    && info.data_offsets == expected.data_offsets => {}
            Some(info) => {
                let what = format!(
                    "has {:?} of shape {:?} at the bytes {:?} of its tables, expected {:?} of shape {:?} at {:?}",
                    info.dtype,
                    info.shape,
                    info.data_offsets,
                    expected.dtype,
                    expected.shape,
                    expected.data_offsets
                );
                return wrong(what, name);
            }
            None => return wrong(format!("lacks the state of {optimizer:?}"), name),
        }
    }
    match found
        .keys()
        .find(|name| !expected.iter().any(|(known, _)| known == *name))
    {
        Some(name) => wrong(
            format!("has a tensor that {optimizer:?} does not need"),
            name,
        ),
        None => Ok(layout),
    }
}
