//! Dense counts in `.pt` files, as `torch.save` writes them: a zip archive, stored without compression, with a pickle that
//! describes the tensors and an entry for the numbers of each. The numbers are memory-mapped.

mod pickle;

use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use zip::{CompressionMethod, ZipArchive};

use crate::Counts;
use crate::error::{Error, Result};
use crate::formats::npz::Archive;
use crate::system::{MappedFile, OpenFile};
use crate::text::bytes;

use super::widen::MappedMatrix;
use pickle::Tensor;

/// The entry of the pickle, in the folder of the archive.
const PICKLE: &str = "data.pkl";
/// Most bytes of a pickle: a state of ten thousand tensors has some 2 MB.
const LONGEST_PICKLE: u64 = 16 << 20;
/// Most memory of a pickle that has been read, in bytes for each byte of it: an empty tuple takes one byte in the pickle, and
/// a value on a growing stack. `tests/claims` tests this limit.
const PARSED: u64 = 192;

const DAMAGED: &str =
    "the file was truncated or damaged: copy it again, or write it again with torch.save";
const SAVE: &str = "save the matrix alone: torch.save(counts.contiguous(), \"counts.pt\")";

/// Opens the tensor in the file, the tensor `X` of a dictionary, or its only 2-D tensor. Reads the pickle and maps the file.
pub fn open(path: &Path) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    let (tensor, start, size) = find(&file)?;
    let &[documents, terms] = tensor.shape.as_slice() else {
        return Err(Error::format(
            path,
            format!(
                "has {} dimensions {:?}; counts have two, documents × terms",
                tensor.shape.len(),
                tensor.shape
            ),
        )
        .fix("reshape the tensor before torch.save"));
    };
    // The stride of a single row or column says nothing.
    let in_rows =
        |stride: &[u64]| (documents <= 1 || stride[0] == terms) && (terms <= 1 || stride[1] == 1);
    if !in_rows(&tensor.strides) {
        return Err(Error::format(
            path,
            format!(
                "the rows of the tensor are not one after the other: its strides are {:?}",
                tensor.strides
            ),
        )
        .fix(SAVE));
    }
    let width = tensor.dtype.bytes() as u64;
    let end = documents
        .checked_mul(terms)
        .and_then(|values| values.checked_add(tensor.offset))
        .and_then(|values| values.checked_mul(width));
    file.claim(format!("a tensor of {documents} × {terms}"))
        .at(format!("entry data/{}", tensor.key))
        .check_held(end.unwrap_or(u64::MAX), size)?;
    let matrix = MappedMatrix {
        map: Arc::new(MappedFile::new(file)?),
        start: (start + tensor.offset * width) as usize,
        documents: documents as usize,
        terms: terms as usize,
    };
    tensor.dtype.counts(matrix)
}

/// The tensor, and the place and the bytes of its entry.
fn find(file: &OpenFile) -> Result<(Tensor, u64, u64)> {
    let path = &file.path;
    let mut first = [0; 2];
    file.read_exact_at(0, &mut first[..file.length.min(2) as usize])?;
    if &first != b"PK" {
        return Err(Error::format(
            path,
            "is no zip archive, as torch.save writes since version 1.6",
        )
        .fix(
            "load it with a current PyTorch and save it again: torch.save(torch.load(path), path)",
        ));
    }
    let mut archive = ZipArchive::new(BufReader::new(&file.handle)).map_err(|source| {
        Error::format(path, format!("is not a complete zip archive: {source}"))
            .fix(DAMAGED)
            .because(source)
    })?;
    let ending = format!("/{PICKLE}");
    let pickle = archive
        .file_names_raw()
        .filter_map(|name| std::str::from_utf8(name).ok())
        .find(|name| *name == PICKLE || name.ends_with(&ending));
    let Some(folder) = pickle.and_then(|name| name.strip_suffix(PICKLE)) else {
        let what = format!("has no entry {PICKLE}: it is not of torch.save");
        return Err(Error::format(path, what).fix(SAVE));
    };
    let folder = folder.to_owned();
    let order = format!("{folder}byteorder");
    if archive.index_for_name(&order).is_some() {
        let order = read(file, &mut archive, &order, 16)?;
        if order != b"little" {
            let order = String::from_utf8_lossy(&order).escape_debug().to_string();
            return Err(Error::format(
                path,
                format!("has numbers in the byte order {order:?}, not little"),
            )
            .fix("save it again on a little-endian machine"));
        }
    }
    let pickle = read(
        file,
        &mut archive,
        &format!("{folder}{PICKLE}"),
        LONGEST_PICKLE,
    )?;
    file.claim(format!("a pickle of {}", bytes(pickle.len() as u64)))
        .check_memory(pickle.len() as u64 * PARSED)?;
    let value = pickle::read(&pickle).map_err(|problem| problem.in_file(path))?;
    let tensor = pickle::choose(value).map_err(|problem| problem.in_file(path))?;
    let name = format!("{folder}data/{}", tensor.key);
    let (start, size) = stored(file, &mut archive, &name)?;
    Ok((tensor, start, size))
}

/// The place and the bytes of an entry that is not compressed and lies within the file.
fn stored(file: &OpenFile, archive: &mut Archive<'_>, name: &str) -> Result<(u64, u64)> {
    let damaged = |what: String| {
        Error::format(&file.path, what)
            .at(format!("entry {name}"))
            .fix(DAMAGED)
    };
    let entry = archive
        .by_name(name)
        .map_err(|source| damaged(format!("cannot be read: {source}")).because(source))?;
    let (start, size) = (entry.data_start().unwrap_or_default(), entry.size());
    if entry.compression() != CompressionMethod::Stored || entry.compressed_size() != size {
        return Err(
            Error::format(&file.path, "is compressed, which torch.save does not do")
                .at(format!("entry {name}"))
                .fix("write it with torch.save, and compress it no further"),
        );
    }
    file.claim(format!(
        "its directory states {} from byte {start} on",
        bytes(size)
    ))
    .at(format!("entry {name}"))
    .check_held(size, file.length.saturating_sub(start))?;
    Ok((start, size))
}

/// Reads an entry of at most `longest` bytes.
fn read(file: &OpenFile, archive: &mut Archive<'_>, name: &str, longest: u64) -> Result<Vec<u8>> {
    let (_, size) = stored(file, archive, name)?;
    let damaged = |what: String| {
        Error::format(&file.path, what)
            .at(format!("entry {name}"))
            .fix(DAMAGED)
    };
    if size > longest {
        return Err(
            damaged(format!("has {}: more than {}", bytes(size), bytes(longest))).fix(SAVE),
        );
    }
    let mut contents = Vec::with_capacity(size as usize);
    let mut entry = archive
        .by_name(name)
        .map_err(|source| damaged(format!("cannot be read: {source}")).because(source))?;
    match entry.read_to_end(&mut contents) {
        Ok(_) => Ok(contents),
        Err(source) => Err(damaged(format!("is damaged: {source}")).because(source)),
    }
}
