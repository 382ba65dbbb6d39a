//! The footer of a Parquet file, and the types of its columns.

use std::io::Cursor;
use std::sync::Arc;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{
    ArrowSchema, Column, DataFrame, DataType, ParquetReader, ParquetWriter, PolarsResult, SerReader,
};

use crate::check_names;
use crate::error::Result;
use crate::polars_input::{check_types, wider};
use crate::system::MappedFile;

use super::{check_footer, guard};

/// The key of a file's columns in the types of Arrow.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Reads the footer. Integers of 8 and 16 bits are read as 32 bits, as the format stores them, because this build of Polars
/// lacks the smaller types. Fails if two columns have one name.
pub fn open(map: &MappedFile) -> Result<(Arc<FileMetadata>, Arc<ArrowSchema>)> {
    let path = map.path();
    check_footer(map.file())?;
    let mut reader = ParquetReader::new(Cursor::new(map.bytes()?));
    let metadata = guard(path, || reader.get_metadata().cloned())?;
    let fields = metadata.schema_descr.fields().iter();
    check_names(
        path,
        fields.map(|field| field.get_field_info().name.as_str()),
    )?;
    let schema = guard(path, || reader.schema())?;
    if schema
        .iter_values()
        .all(|field| wider(&field.dtype).is_none())
    {
        return Ok((metadata, schema));
    }
    check_types(path, schema.iter_values())?;
    guard(path, || widened(&metadata, &schema))
}

/// The metadata with the wider types, taken from a file without rows that Polars writes.
fn widened(
    metadata: &FileMetadata,
    schema: &ArrowSchema,
) -> PolarsResult<(Arc<FileMetadata>, Arc<ArrowSchema>)> {
    let columns = schema.iter_values().map(|field| {
        let mut field = field.clone();
        field.dtype = wider(&field.dtype).unwrap_or(field.dtype);
        Column::new_empty(field.name.clone(), &DataType::from_arrow_field(&field))
    });
    let mut written = Vec::new();
    ParquetWriter::new(&mut written)
        .finish(&mut DataFrame::new_infer_height(columns.collect())?)?;
    let mut reader = ParquetReader::new(Cursor::new(written));
    let mut keys = reader
        .get_metadata()?
        .key_value_metadata
        .clone()
        .unwrap_or_default();
    let mut metadata = metadata.clone();
    let kept = metadata.key_value_metadata.into_iter().flatten();
    keys.extend(kept.filter(|kept| kept.key != ARROW_SCHEMA));
    metadata.key_value_metadata = Some(keys);
    Ok((Arc::new(metadata), reader.schema()?))
}
