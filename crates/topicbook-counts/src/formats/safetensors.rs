//! Dense counts in `.safetensors` files, which are memory-mapped.

use std::path::Path;
use std::sync::Arc;

use safetensors::{Dtype as TensorDtype, SafeTensors, tensor::TensorInfo};

use crate::Counts;
use crate::data::tensor_file::check_header;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};

use super::widen::{MappedMatrix, Stored};

/// Bytes of the length field before the header.
const LENGTH_BYTES: usize = 8;

/// Opens the tensor `X`, or the only 2-D tensor. Reads the header and maps the file.
pub fn open(path: &Path) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    if file.length < LENGTH_BYTES as u64 {
        return Err(Error::format(
            path,
            format!("{} bytes are too few for a .safetensors file", file.length),
        )
        .fix("the file was truncated: copy or write it again"));
    }
    let map = Arc::new(MappedFile::new(file)?);
    check_header(&map)?;
    let read = SafeTensors::read_metadata(map.bytes()?);
    map.check_unchanged()?;
    let (header, metadata) = read.map_err(|source| {
        Error::format(
            path,
            format!("is not a complete .safetensors file: {source}"),
        )
        .fix("the file was truncated or damaged: copy or write it again")
        .because(source)
    })?;
    let mut tensors: Vec<(String, &TensorInfo)> = metadata.tensors().into_iter().collect();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let (name, tensor) = choose(path, &tensors)?;
    let &[documents, terms] = tensor.shape.as_slice() else {
        return Err(Error::format(
            path,
            format!(
                "has {} dimensions {:?}; counts have two, documents × terms",
                tensor.shape.len(),
                tensor.shape
            ),
        )
        .at(format!("tensor {name}"))
        .fix("reshape it before save_file"));
    };
    let dtype = dtype(path, name, tensor.dtype)?;
    let start = LENGTH_BYTES + header + tensor.data_offsets.0;
    dtype.counts(MappedMatrix {
        map,
        start,
        documents,
        terms,
    })
}

/// Selects the tensor `X`, or the only 2-D tensor.
fn choose<'a>(
    path: &Path,
    tensors: &'a [(String, &'a TensorInfo)],
) -> Result<(&'a str, &'a TensorInfo)> {
    if let Some((name, tensor)) = tensors.iter().find(|(name, _)| name == "X") {
        return Ok((name, tensor));
    }
    let mut matrices = tensors.iter().filter(|(_, tensor)| tensor.shape.len() == 2);
    match (matrices.next(), matrices.next()) {
        (Some((name, tensor)), None) => Ok((name, tensor)),
        (found, _) => {
            let names: Vec<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
            let what = match found {
                None => "has no 2-D tensor",
                Some(_) => "has several 2-D tensors, and none is named X",
            };
            Err(Error::format(path, what)
                .at(format!("tensors: {}", names.join(", ")))
                .fix("name the counts X: save_file({\"X\": counts}, path)"))
        }
    }
}

fn dtype(path: &Path, name: &str, dtype: TensorDtype) -> Result<Stored> {
    Ok(match dtype {
        TensorDtype::U8 => Stored::As(Dtype::U8),
        TensorDtype::U16 => Stored::As(Dtype::U16),
        TensorDtype::U32 => Stored::As(Dtype::U32),
        TensorDtype::I32 => Stored::As(Dtype::I32),
        TensorDtype::I64 => Stored::As(Dtype::I64),
        TensorDtype::F32 => Stored::As(Dtype::F32),
        TensorDtype::F64 => Stored::As(Dtype::F64),
        TensorDtype::BOOL => Stored::Bool,
        TensorDtype::I8 => Stored::I8,
        TensorDtype::I16 => Stored::I16,
        TensorDtype::U64 => Stored::U64,
        TensorDtype::F16 => Stored::F16,
        TensorDtype::BF16 => Stored::Bf16,
        other => {
            return Err(
                Error::format(path, format!("counts cannot be read from dtype {other:?}"))
                    .at(format!("tensor {name}"))
                    .fix("save integers, BOOL, F16, BF16, F32 or F64"),
            );
        }
    })
}
