//! Opens HDF5 files, and converts errors and panics of their reader into errors with a place.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use hdf5_pure::{
    AttrValue, ChunkCacheConfig, Dataset, DatasetAccessProperties, File, FormatError, Group,
    Layout, Source, VlenStringReadOptions,
};

use crate::error::{Error, Result, panic_text};
use crate::system::OpenFile;
use crate::text::{bytes, counted};

const DAMAGED: &str = "the file was truncated or damaged, or is no HDF5 file: copy it again, or write it again with anndata (write_h5ad)";

/// The remedy for a sound file of a kind that is not read.
pub(super) const REWRITE: &str = "write it again as anndata does by itself, in Python: adata = anndata.read_h5ad(\"old.h5ad\"); adata.write_h5ad(\"new.h5ad\")";

/// Most bytes that a byte of a compressed chunk expands to: the shortest code of deflate, of 2 bits, repeats 258 bytes.
const MAX_INFLATION: u64 = 1032;
/// Bytes of unpacked chunks that a dataset keeps, where its chunks are smaller.
const CACHE: u64 = 1 << 20;
/// Most chunks that a dataset keeps.
const CACHED_CHUNKS: usize = 64;

/// An open HDF5 file. Cheap to clone.
#[derive(Clone)]
pub struct Hdf {
    opened: Arc<OpenFile>,
    file: Arc<File>,
}

/// The bytes of a file, for the reader. It reads from the handle that we opened, so that the file cannot be exchanged.
struct Bytes(Arc<OpenFile>);

impl Source for Bytes {
    fn len(&self) -> u64 {
        self.0.length
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> std::result::Result<(), FormatError> {
        self.0
            .read_exact_at(offset, bytes)
            .map_err(|error| FormatError::Source(error.headline().to_string()))
    }
}

impl Hdf {
    pub fn open(path: &Path) -> Result<Self> {
        let opened = Arc::new(OpenFile::open(path)?);
        if opened.length == 0 {
            return Err(Error::format(path, "is empty").fix(DAMAGED));
        }
        let source = Bytes(Arc::clone(&opened));
        let file = guard(path, "the superblock", || File::from_source(source))?;
        // The reader does not compare them, and the missing bytes may be read only later.
        let (stated, length) = (file.superblock().eof_address, opened.length);
        if stated > length {
            return Err(Error::format(
                path,
                format!("should have {stated} bytes, and has {length}"),
            )
            .at("the superblock")
            .fix(DAMAGED));
        }
        Ok(Self {
            opened,
            file: Arc::new(file),
        })
    }

    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    pub(super) fn opened(&self) -> &OpenFile {
        &self.opened
    }

    /// Calls the reader; its errors and panics become errors at `place`.
    pub(super) fn guard<T>(
        &self,
        place: &str,
        read: impl FnOnce() -> std::result::Result<T, hdf5_pure::Error>,
    ) -> Result<T> {
        guard(self.path(), place, read)
    }

    /// An error about an object of the file.
    pub(super) fn wrong(&self, object: &str, what: impl std::fmt::Display) -> Error {
        Error::format(self.path(), what).at(object).fix(DAMAGED)
    }

    /// A group of this path; `None` if there is none.
    pub(super) fn group(&self, path: &str) -> Result<Option<Group>> {
        guard(self.path(), path, || match self.file.group(path) {
            Ok(group) => Ok(Some(group)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Names of groups and datasets in a group.
    pub(super) fn members(&self, path: &str) -> Result<(Vec<String>, Vec<String>)> {
        guard(self.path(), path, || {
            let group = match path {
                "" => self.file.root(),
                _ => self.file.group(path)?,
            };
            Ok((group.groups()?, group.datasets()?))
        })
    }

    /// A dataset of this path; `None` if there is none. Its sizes have been checked, and it keeps at least the last two
    /// chunks that it unpacked.
    pub(super) fn dataset(&self, path: &str) -> Result<Option<Dataset>> {
        let found = guard(self.path(), path, || match self.file.dataset(path) {
            Ok(dataset) => Ok(Some(dataset)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        })?;
        let Some(dataset) = found else {
            return Ok(None);
        };
        let (shape, width, layout) = guard(self.path(), path, || {
            Ok((dataset.shape()?, dataset.element_size()?, dataset.layout()?))
        })?;
        let size = shape
            .iter()
            .fold(width, |size, &length| size.saturating_mul(length));
        let claim = |what: String| self.opened.claim(what).at(path);
        let chunk = match layout {
            Layout::Chunked { chunk_shape, .. } => {
                if chunk_shape.len() != shape.len() || chunk_shape.contains(&0) {
                    return Err(self.wrong(
                        path,
                        format!("chunks of shape {chunk_shape:?} for {shape:?}"),
                    ));
                }
                let chunk = chunk_shape
                    .iter()
                    .fold(width, |size, &length| size.saturating_mul(length));
                claim(format!("chunks of {}", bytes(chunk)))
                    .check_memory(chunk.saturating_mul(3))?;
                chunk
            }
            _ => 0,
        };
        let most = self.opened.length.saturating_mul(MAX_INFLATION);
        claim(format!("{shape:?} values of {}", bytes(width))).check_held(size, most)?;
        let cache =
            ChunkCacheConfig::from_h5p_cache(CACHED_CHUNKS, (2 * chunk).max(CACHE) as usize);
        let properties = DatasetAccessProperties::new().with_chunk_cache(cache);
        guard(self.path(), path, || {
            self.file.dataset_with_options(path, properties)
        })
        .map(Some)
    }

    /// A text among the attributes of a group or dataset.
    pub(super) fn text(&self, path: &str, name: &str) -> Result<Option<String>> {
        let value = self.attribute(path, name)?;
        Ok(value.and_then(|value| value.as_str().map(str::to_string)))
    }

    /// A list of texts among the attributes of a group or dataset. A list of nothing may have any type.
    pub(super) fn text_list(&self, path: &str, name: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.attribute(path, name)? else {
            return Ok(None);
        };
        match value.as_strings() {
            Some(texts) => Ok(Some(texts.to_vec())),
            None if value.to_f64s().is_some_and(|numbers| numbers.is_empty()) => {
                Ok(Some(Vec::new()))
            }
            None => Err(self.wrong(
                path,
                format!("has an attribute {name} that is no list of texts"),
            )),
        }
    }

    /// A list of whole numbers among the attributes of a group or dataset.
    pub(super) fn sizes(&self, path: &str, name: &str) -> Result<Option<Vec<u64>>> {
        let value = self.attribute(path, name)?;
        Ok(value.and_then(|value| value.to_u64s()))
    }

    fn attribute(&self, path: &str, name: &str) -> Result<Option<AttrValue>> {
        guard(self.path(), path, || {
            let mut attributes = match self.file.group(path) {
                Ok(group) => group.attrs()?,
                Err(hdf5_pure::Error::NotAGroup(_)) => self.file.dataset(path)?.attrs()?,
                Err(error) if is_missing(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            Ok(attributes.remove(name))
        })
    }

    /// All texts of a dataset of one dimension.
    pub fn texts(&self, path: &str) -> Result<Vec<String>> {
        let dataset = self.expect(path)?;
        let length = self.length(path, &dataset)?;
        let width = guard(self.path(), path, || dataset.element_size())?;
        let needed = length.saturating_mul(2 * width + size_of::<String>() as u64);
        self.opened
            .claim(counted(length as usize, "text"))
            .at(path)
            .check_memory(needed)?;
        // A damaged file may refer to the same text any number of times; others have the bytes of each.
        let limits = VlenStringReadOptions::new()
            .with_max_elements(length as usize)
            .with_max_payload_bytes(self.opened.length as usize);
        guard(self.path(), path, || match dataset.dtype()? {
            hdf5_pure::DType::VariableLengthString => dataset.read_vlen_strings(limits),
            _ => dataset.read_string(),
        })
    }

    /// A dataset that must be there.
    pub(super) fn expect(&self, path: &str) -> Result<Dataset> {
        self.dataset(path)?
            .ok_or_else(|| self.wrong(path, format!("has no dataset {path}")))
    }

    /// The length of a dataset of one dimension.
    pub(super) fn length(&self, path: &str, dataset: &Dataset) -> Result<u64> {
        let shape = guard(self.path(), path, || dataset.shape())?;
        match shape[..] {
            [length] => Ok(length),
            _ => Err(self.wrong(path, format!("has {} dimensions, not one", shape.len()))),
        }
    }
}

/// Whether an error says that there is no object of a path, or one of the other kind.
fn is_missing(error: &hdf5_pure::Error) -> bool {
    matches!(
        error,
        hdf5_pure::Error::NotADataset(_)
            | hdf5_pure::Error::NotAGroup(_)
            | hdf5_pure::Error::Format(FormatError::PathNotFound(_))
    )
}

/// Calls the reader of HDF5. It checks what it reads, but a panic on an unforeseen file must not end a notebook.
fn guard<T>(
    path: &Path,
    place: &str,
    read: impl FnOnce() -> std::result::Result<T, hdf5_pure::Error>,
) -> Result<T> {
    let damaged = |what: String| {
        Error::format(path, format!("cannot be read as HDF5: {what}"))
            .at(place)
            .fix(DAMAGED)
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(match not_read(&error) {
            Some((what, fix)) => Error::format(path, what).at(place).fix(fix),
            None => damaged(error.to_string()),
        }
        .because(error)),
        Err(panic) => Err(damaged(panic_text(panic.as_ref()))),
    }
}

/// What a sound file has that the reader does not read, and the remedy.
fn not_read(error: &hdf5_pure::Error) -> Option<(String, String)> {
    let hdf5_pure::Error::Format(error) = error else {
        return None;
    };
    let newer = |part: String| Some((format!("has {part}, which is not read"), REWRITE.into()));
    match error {
        FormatError::UnsupportedFilter(id) => {
            let name = match id {
                4 => "szip",
                307 => "bzip2",
                32001 => "blosc",
                32004 => "lz4",
                32008 => "bitshuffle",
                32015 => "zstd",
                32026 => "blosc2",
                _ => "a filter of another library",
            };
            let what = format!("is compressed by {name} (HDF5's filter {id}), which is not read");
            let fix = format!(
                "{REWRITE}, after import hdf5plugin; gzip, lzf and no compression are read"
            );
            Some((what, fix))
        }
        // HDF5 2.0 introduced version 5.
        FormatError::InvalidLayoutVersion(version @ 5..=8) => newer(format!(
            "a layout of version {version}, as h5py writes with libver=\"latest\""
        )),
        FormatError::ChunkedReadError(what) if what.contains("B-tree") => newer(
            "chunks in a B-tree of version 2, as of an array of which two sizes can grow".into(),
        ),
        FormatError::UnsupportedVirtualLayout => newer("values in other files".into()),
        FormatError::UnsupportedExternalStorage => newer("values in another file".into()),
        _ => None,
    }
}
