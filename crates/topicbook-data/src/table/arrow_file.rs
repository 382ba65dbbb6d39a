//! Tables in Arrow IPC files (Feather, version 2), decoded by record batches.

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use polars::polars_compute::cast::cast_default;
use polars::prelude::{
    ArrayRef, ArrowDataType, ArrowSchema, Column, DataFrame, DataType, PolarsResult, polars_err,
};
use polars_arrow::array::{Array, DictionaryArray, PrimitiveArray};
use polars_arrow::datatypes::IntegerType;
use polars_arrow::io::ipc::read::{Dictionaries, FileMetadata, read_batch, read_file_dictionaries};
use polars_arrow::record_batch::RecordBatch;
use rayon::prelude::*;

use crate::arrow::{self, NOT_ARROW, check_batches, guard, sizes};
use crate::error::{Error, Result};
use crate::polars_input::{check_types, wider};
use crate::system::MappedFile;

use super::Table;
use super::row_groups::RowGroups;

/// An Arrow IPC file whose footer has been read and checked.
pub struct ArrowFile {
    map: MappedFile,
    metadata: FileMetadata,
    /// The same, with the keys of dictionaries as integers.
    keys: FileMetadata,
    /// The types of the columns as they are read: keys of dictionaries as 64 bits, other integers of 8 and 16 bits as 32 bits,
    /// because this build of Polars lacks the smaller types.
    schema: ArrowSchema,
    /// For each record batch the number of rows before it, followed by the number of all.
    starts: Vec<usize>,
    /// The values of dictionaries, read on first use.
    dictionaries: OnceLock<Dictionaries>,
    /// The number and the columns of the record batch in which the last read ended: the next read often begins there.
    begun: Mutex<Option<(usize, DataFrame)>>,
}

impl ArrowFile {
    pub(super) fn open(map: MappedFile) -> Result<Self> {
        let (metadata, rows) = arrow::open(&map)?;
        let mut starts = vec![0usize];
        starts.extend(rows.iter().scan(0usize, |start, &rows| {
            *start = start.saturating_add(rows as usize);
            Some(*start)
        }));
        let (mut stored, mut schema) = (ArrowSchema::default(), ArrowSchema::default());
        for (name, field) in metadata.schema.iter() {
            let (mut keys, mut field) = (field.clone(), field.clone());
            field.dtype = match field.dtype {
                ArrowDataType::Dictionary(key, values, ordered) => {
                    keys.dtype = key.into();
                    ArrowDataType::Dictionary(IntegerType::Int64, values, ordered)
                }
                dtype => wider(&dtype).unwrap_or(dtype),
            };
            stored.insert(name.clone(), keys);
            schema.insert(name.clone(), field);
        }
        let mut keys = metadata.clone();
        keys.schema = Arc::new(stored);
        Ok(Self {
            schema,
            keys,
            map,
            metadata,
            starts,
            dictionaries: OnceLock::new(),
            begun: Mutex::new(None),
        })
    }

    fn dictionaries(&self, bytes: &[u8]) -> PolarsResult<&Dictionaries> {
        if let Some(dictionaries) = self.dictionaries.get() {
            return Ok(dictionaries);
        }
        let (mut bytes, mut scratch) = (Cursor::new(bytes), Vec::new());
        let checked = Default::default();
        let found = read_file_dictionaries(&mut bytes, &self.metadata, &mut scratch, checked)?;
        Ok(self.dictionaries.get_or_init(|| found))
    }

    /// Decodes columns of a record batch.
    fn decode(&self, bytes: &[u8], batch: usize, columns: &[&str]) -> PolarsResult<DataFrame> {
        if let Some((begun, frame)) = &*self.begun()
            && *begun == batch
            && frame.get_column_names().into_iter().eq(columns)
        {
            return Ok(frame.clone());
        }
        let places = columns.iter().filter_map(|name| self.schema.index_of(name));
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        let dictionaries = self.dictionaries(bytes)?;
        let found = read_batch(
            &mut Cursor::new(bytes),
            dictionaries,
            &self.keys,
            Some(&places),
            None,
            batch,
            false,
            &mut Vec::new(),
            &mut Vec::new(),
            Default::default(),
        )?;
        let schema = self.schema.try_project_indices(&places)?;
        let height = found.len();
        let arrays = places.iter().zip(found.into_arrays());
        let arrays = arrays.map(|(&place, array)| self.convert(dictionaries, place, &*array));
        let arrays = arrays.collect::<PolarsResult<_>>()?;
        let frame = DataFrame::from(RecordBatch::try_new(height, Arc::new(schema), arrays)?);
        frame.select(columns)
    }

    /// The array of a column with the type of the schema.
    fn convert(
        &self,
        dictionaries: &Dictionaries,
        place: usize,
        array: &dyn Array,
    ) -> PolarsResult<ArrayRef> {
        let column = self.schema.get_at_index(place);
        let dtype = column.map_or(array.dtype(), |(_, field)| &field.dtype);
        let ArrowDataType::Dictionary(..) = dtype else {
            return match array.dtype() {
                // Polars does not cast values while it widens their offsets.
                ArrowDataType::List(field) => {
                    let wide = ArrowDataType::LargeList(field.clone());
                    cast_default(&*cast_default(array, &wide)?, dtype)
                }
                _ => cast_default(array, dtype),
            };
        };
        let id = self.metadata.ipc_schema.fields[place].dictionary_id;
        let values = id.and_then(|id| dictionaries.get(&id));
        let values = values.ok_or_else(|| polars_err!(ComputeError: "a dictionary is missing"))?;
        let keys = cast_default(array, &ArrowDataType::Int64)?;
        let keys = keys.as_any().downcast_ref::<PrimitiveArray<i64>>();
        // A missing value gets the key 0: pandas writes -1, which Polars refuses.
        let keys: PrimitiveArray<i64> =
            keys.into_iter().flatten().map(|key| key.copied()).collect();
        DictionaryArray::try_new(dtype.clone(), keys, values.clone()).map(|array| array.boxed())
    }

    fn begun(&self) -> MutexGuard<'_, Option<(usize, DataFrame)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn frame(
        &self,
        bytes: &[u8],
        columns: &[&str],
        rows: &Range<usize>,
    ) -> PolarsResult<DataFrame> {
        let batches = self.starts.len() - 1;
        let first = self.starts.partition_point(|&start| start <= rows.start) - 1;
        let end = self.starts.partition_point(|&start| start < rows.end);
        let end = end.min(batches).max(first);
        let decoded = (first..end).into_par_iter();
        let decoded = decoded.map(|batch| self.decode(bytes, batch, columns));
        let decoded = decoded.collect::<PolarsResult<Vec<_>>>()?;
        let last = decoded.last().filter(|_| rows.end < self.starts[end]);
        *self.begun() = last.map(|last| (end - 1, last.clone()));
        let mut parts = (first..end).zip(decoded).map(|(batch, frame)| {
            let start = self.starts[batch];
            let from = rows.start.max(start) - start;
            frame.slice(
                from as i64,
                rows.end.min(self.starts[batch + 1]) - start - from,
            )
        });
        let Some(mut frame) = parts.next() else {
            let fields = columns.iter().filter_map(|name| self.schema.get(name));
            let empty = fields.map(|field| {
                Column::new_empty(field.name.clone(), &DataType::from_arrow_field(field))
            });
            return DataFrame::new_infer_height(empty.collect());
        };
        parts.try_for_each(|part| frame.vstack_mut(&part).map(|_| ()))?;
        Ok(frame)
    }
}

impl RowGroups for ArrowFile {
    fn map(&self) -> &MappedFile {
        &self.map
    }

    fn schema(&self) -> &ArrowSchema {
        &self.schema
    }

    fn rows(&self) -> u64 {
        self.starts.last().map_or(0, |&rows| rows as u64)
    }

    fn groups(&self) -> Vec<usize> {
        self.starts
            .windows(2)
            .map(|ends| ends[1] - ends[0])
            .collect()
    }

    fn values(&self, group: usize, column: &str) -> Result<u64> {
        Ok(sizes(&self.map, &self.metadata, group, &[column])?.values)
    }

    fn bytes_of(&self, group: usize, _column: &str) -> Range<u64> {
        let block = &self.metadata.blocks[group];
        let start = block.offset.max(0) as u64;
        start..start + block.meta_data_length.max(0) as u64 + block.body_length.max(0) as u64
    }

    fn check(&self, columns: &[&str]) -> Result<u64> {
        let fields = columns.iter().filter_map(|name| self.schema.get(name));
        check_types(self.map.path(), fields)?;
        check_batches(&self.map, &self.metadata, columns)
    }

    fn read(&self, columns: &[&str], rows: Range<usize>) -> Result<Table> {
        let (path, bytes) = (self.map.path(), self.map.bytes()?);
        let frame = match columns {
            [] => Ok(DataFrame::empty_with_height(rows.len())),
            _ => guard(path, || self.frame(bytes, columns, &rows)),
        };
        self.map.check_unchanged()?;
        let frame = frame?;
        if frame.height() != rows.len() {
            let what = format!("has {} of {} rows", frame.height(), rows.len());
            return Err(Error::format(path, what).fix(NOT_ARROW));
        }
        Ok(frame.into())
    }

    fn pandas_note(&self) -> Option<&str> {
        let pairs = self.metadata.custom_schema_metadata.as_ref()?;
        pairs.get("pandas").map(|note| note.as_str())
    }
}
