//! A walk of an Arrow IPC file's footer and messages before Polars reads it.
//!
//! Polars allocates what a file states, and recurses for a field in a field. Therefore the fields in the footer are counted before
//! Polars parses it, and the buffers of a record batch are compared with its message, the file and the memory before Polars
//! decodes it.

use std::path::Path;
use std::{slice, vec};

use polars::prelude::{ArrowDataType, ArrowField, PolarsResult};
use polars_arrow::io::ipc::format::ipc::planus::{self, ReadAsRoot};
use polars_arrow::io::ipc::format::ipc::{
    Block, BufferRef, Endianness, FieldNodeRef, FieldRef, FooterRef, KeyValueRef, MessageHeaderRef,
    MessageRef, RecordBatchRef, TypeRef,
};
use polars_arrow::io::ipc::read::{FileMetadata, deserialize_footer};

use crate::check_names;
use crate::error::{Error, Result};
use crate::polars_input::guard_as;
use crate::system::{MappedFile, OpenFile};
use crate::text::bytes;

/// The remedy for a file that is not an Arrow IPC file, or is damaged.
pub const NOT_ARROW: &str = "the file was truncated or is not an Arrow IPC file: write it again";

/// What an Arrow IPC file begins and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// What a message begins with, since version 0.15 of Arrow.
const CONTINUATION: &[u8] = &[0xff; 4];

/// Maximum number of fields around a field; Polars recurses for each.
const MAX_DEPTH: usize = 64;

/// Upper bound of the bytes that Polars keeps for a field or a block of the footer.
const RECORD_BYTES: u64 = 512;

/// Bytes of a text that Polars converts from an array with offsets, and of a key of a dictionary, which is converted twice.
const VIEW_BYTES: u64 = 16;

/// What the walk finds, or what is wrong.
type Walked<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn damaged(file: &OpenFile, what: impl std::fmt::Display, place: impl Into<String>) -> Error {
    Error::format(&file.path, format!("is damaged: {what}"))
        .at(place)
        .fix(NOT_ARROW)
}

/// Calls Polars; its errors and panics become errors that name the file.
pub fn guard<T>(path: &Path, read: impl FnOnce() -> PolarsResult<T>) -> Result<T> {
    guard_as("Arrow IPC", NOT_ARROW, path, read)
}

/// Reads the footer. Returns it with the number of rows of each record batch.
pub fn open(map: &MappedFile) -> Result<(FileMetadata, Vec<u64>)> {
    let (file, path) = (map.file(), map.path());
    let footer = footer(file, map.bytes()?)?;
    let mut walk = SchemaWalk::default();
    let names = walk.footer(footer);
    let names = names.map_err(|what| damaged(file, what, "its footer"))?;
    check_names(path, names.into_iter())?;
    if let Some(what) = walk.unread {
        return Err(Error::format(path, what).fix("write a file without this column"));
    }
    file.claim(format!("a footer of {} fields", walk.fields))
        .check_memory(walk.fields.saturating_mul(RECORD_BYTES))?;
    let metadata = guard(path, || deserialize_footer(footer, file.length))?;
    let blocks = metadata.dictionaries.iter().flatten();
    let blocks = blocks.chain(&metadata.blocks);
    let stored = blocks.map(|block| block.body_length.max(0) as u64);
    let stored = stored.fold(0, u64::saturating_add);
    file.claim(format!("record batches of {}", bytes(stored)))
        .at("its footer")
        .check_held(stored, file.length)?;
    let rows = (0..metadata.blocks.len()).map(|batch| {
        let message = Message::of(map.bytes()?, &metadata.blocks[batch]);
        message
            .and_then(|message| Ok(u64::try_from(message.batch.length()?)?))
            .map_err(|what| damaged(file, what, format!("record batch {batch}")))
    });
    let rows = rows.collect::<Result<_>>()?;
    Ok((metadata, rows))
}

/// The bytes of the footer: after it come its length and the magic text.
fn footer<'a>(file: &OpenFile, data: &'a [u8]) -> Result<&'a [u8]> {
    let other =
        |what: &str, remedy: &str| Err(Error::format(&file.path, what.to_string()).fix(remedy));
    if data.starts_with(b"FEA1") {
        let remedy = "write it as version 2, in Python: import pyarrow.feather as f; f.write_feather(f.read_table(\"old.feather\"), \"new.feather\")";
        return other("is a Feather file of version 1, which is not read", remedy);
    }
    if data.starts_with(CONTINUATION) {
        let remedy = "write a file from it, in Python: import polars; polars.read_ipc_stream(\"old.arrow\").write_ipc(\"new.arrow\")";
        return other("is a stream of Arrow, which has no footer", remedy);
    }
    let body = data.strip_prefix(MAGIC);
    let body = body.and_then(|body| body.strip_suffix(MAGIC));
    let Some((body, length)) = body.and_then(|body| body.split_last_chunk()) else {
        let what = "does not start and end like an Arrow IPC file";
        return other(what, NOT_ARROW);
    };
    let length = u32::from_le_bytes(*length) as usize;
    file.claim(format!("a footer of {}", bytes(length as u64)))
        .check_held(length as u64, body.len() as u64)?;
    Ok(&body[body.len() - length..])
}

/// Counts of what Polars copies from the footer. Offsets in it may point at one field or text many times.
#[derive(Default)]
struct SchemaWalk {
    fields: u64,
    /// Bytes of the texts and numbers of fields that may still come.
    left: usize,
    /// What Polars panics on, even where the column is not read.
    unread: Option<String>,
}

impl SchemaWalk {
    /// The names of the columns.
    fn footer<'a>(&mut self, footer: &'a [u8]) -> Walked<Vec<&'a str>> {
        self.left = footer.len();
        let footer = FooterRef::read_as_root(footer)?;
        let schema = footer.schema()?.ok_or("it has no schema")?;
        if schema.endianness()? != Endianness::Little {
            self.unread = Some("has big-endian numbers, which are not read".into());
        }
        for pairs in [footer.custom_metadata()?, schema.custom_metadata()?] {
            self.pairs(pairs)?;
        }
        let mut names = Vec::new();
        for field in schema.fields()?.into_iter().flatten() {
            let field = field?;
            self.field(field, 0)?;
            names.push(field.name()?.ok_or("a column has no name")?);
        }
        Ok(names)
    }

    fn field(&mut self, field: FieldRef, depth: usize) -> Walked<()> {
        let name = field.name()?.unwrap_or_default();
        if depth > MAX_DEPTH {
            let what = format!("column {name:?} is inside of more than {MAX_DEPTH} lists");
            self.unread = Some(what);
            return Ok(());
        }
        self.fields += 1;
        self.take(1)?;
        self.take(name.len())?;
        self.pairs(field.custom_metadata()?)?;
        match field.type_()? {
            Some(TypeRef::Timestamp(of)) => self.take(of.timezone()?.map_or(0, str::len))?,
            Some(
                TypeRef::Union(_)
                | TypeRef::RunEndEncoded(_)
                | TypeRef::ListView(_)
                | TypeRef::LargeListView(_),
            ) => {
                let what = "has unions, runs of values or views of lists, which are not read";
                self.unread = Some(format!("column {name:?} {what}"));
            }
            _ => {}
        }
        for child in field.children()?.into_iter().flatten() {
            self.field(child?, depth + 1)?;
        }
        Ok(())
    }

    fn pairs<'a>(
        &mut self,
        pairs: Option<planus::Vector<'a, planus::Result<KeyValueRef<'a>>>>,
    ) -> Walked<()> {
        for pair in pairs.into_iter().flatten() {
            let pair = pair?;
            let lengths = [pair.key()?, pair.value()?].map(|text| text.map_or(0, str::len));
            self.take(1 + lengths[0] + lengths[1])?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Walked<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or("its fields have more bytes than it has")?;
        Ok(())
    }
}

/// A record batch, or the values of a dictionary.
struct Message<'a> {
    batch: RecordBatchRef<'a>,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    fn of(data: &'a [u8], block: &Block) -> Walked<Self> {
        let [offset, body_length] = [block.offset, block.body_length].map(usize::try_from);
        let data = data.get(offset?..).ok_or("it begins after the file")?;
        let length = usize::try_from(block.meta_data_length)?;
        let (head, body) = data
            .split_at_checked(length)
            .ok_or("it ends after the file")?;
        let body = body.get(..body_length?).ok_or("it ends after the file")?;
        let head = head.strip_prefix(CONTINUATION).unwrap_or(head);
        let (length, head) = head.split_first_chunk().ok_or("it has no length")?;
        let length = usize::try_from(i32::from_le_bytes(*length))?;
        let head = head.get(..length).ok_or("it is longer than its block")?;
        let batch = match MessageRef::read_as_root(head)?.header()? {
            Some(MessageHeaderRef::RecordBatch(batch)) => batch,
            Some(MessageHeaderRef::DictionaryBatch(of)) => of.data()?.ok_or("it has no values")?,
            _ => return Err("it is no record batch".into()),
        };
        Ok(Self { batch, body })
    }

    fn buffers(&self) -> Walked<impl Iterator<Item = BufferRef<'a>> + use<'a>> {
        Ok(self.batch.buffers()?.ok_or("it has no buffers")?.iter())
    }

    /// Bytes of a buffer, decompressed: its first 8 bytes say how many, if the record batch is compressed.
    fn bytes_of(&self, buffer: BufferRef) -> Walked<u64> {
        let (offset, length) = (
            usize::try_from(buffer.offset())?,
            usize::try_from(buffer.length())?,
        );
        let stored = self.body.get(offset..).and_then(|rest| rest.get(..length));
        let stored = stored.ok_or("a buffer is not inside it")?;
        if stored.is_empty() || self.batch.compression()?.is_none() {
            return Ok(length as u64);
        }
        let (size, stored) = stored.split_first_chunk().ok_or("a buffer has no length")?;
        match i64::from_le_bytes(*size) {
            // It was not compressed.
            -1 => Ok(stored.len() as u64),
            size => Ok(u64::try_from(size)?),
        }
    }
}

/// What columns of a record batch take in memory.
#[derive(Clone, Copy, Default)]
pub struct Sizes {
    /// The number of values, including the values of lists.
    pub values: u64,
    /// Bytes of their buffers, decompressed.
    pub bytes: u64,
}

/// The sizes of these columns of a record batch.
pub fn sizes(
    map: &MappedFile,
    metadata: &FileMetadata,
    batch: usize,
    columns: &[&str],
) -> Result<Sizes> {
    let data = map.bytes()?;
    let walked = || {
        let mut walk = BatchWalk::of(data, &metadata.blocks[batch])?;
        let mut sum = Sizes::default();
        for (name, field) in metadata.schema.iter() {
            let is_read = columns.contains(&name.as_str());
            let found = walk.field(&field.dtype, is_read)?;
            if is_read {
                sum.values = sum.values.saturating_add(found.values);
                sum.bytes = sum.bytes.saturating_add(found.bytes);
            }
        }
        Ok(sum)
    };
    walked().map_err(|what: Box<dyn std::error::Error>| {
        damaged(map.file(), what, format!("record batch {batch}"))
    })
}

/// Checks the sizes of these columns, and of all dictionaries. Returns the number of values.
pub fn check_batches(map: &MappedFile, metadata: &FileMetadata, columns: &[&str]) -> Result<u64> {
    let (file, data) = (map.file(), map.bytes()?);
    let mut dictionaries = 0u64;
    for (number, block) in metadata.dictionaries.iter().flatten().enumerate() {
        let mut walked = || {
            let message = Message::of(data, block)?;
            for buffer in message.buffers()? {
                dictionaries = dictionaries.saturating_add(message.bytes_of(buffer)?);
            }
            Ok(())
        };
        walked().map_err(|what: Box<dyn std::error::Error>| {
            damaged(file, what, format!("dictionary {number}"))
        })?;
    }
    let (mut values, mut largest) = (0u64, 0);
    for batch in 0..metadata.blocks.len() {
        let found = sizes(map, metadata, batch, columns)?;
        values = values.saturating_add(found.values);
        largest = largest.max(found.bytes);
    }
    let largest = largest.saturating_add(dictionaries);
    file.claim(format!("a record batch of {}", bytes(largest)))
        .check_memory(largest)?;
    Ok(values)
}

/// A walk of the nodes and buffers of a record batch, which are in the order of the fields.
struct BatchWalk<'a> {
    message: Message<'a>,
    nodes: vec::IntoIter<FieldNodeRef<'a>>,
    buffers: vec::IntoIter<BufferRef<'a>>,
    /// For each column of views the number of its buffers of texts.
    texts: vec::IntoIter<i64>,
}

impl<'a> BatchWalk<'a> {
    fn of(data: &'a [u8], block: &Block) -> Walked<Self> {
        let message = Message::of(data, block)?;
        let nodes = message.batch.nodes()?.ok_or("it has no nodes")?;
        let texts = message.batch.variadic_buffer_counts()?;
        let texts: Vec<i64> = texts.into_iter().flatten().collect();
        Ok(Self {
            nodes: nodes.iter().collect::<Vec<_>>().into_iter(),
            buffers: message.buffers()?.collect::<Vec<_>>().into_iter(),
            texts: texts.into_iter(),
            message,
        })
    }

    /// Walks over the next field. Its buffers are looked at only if it `is_read`.
    fn field(&mut self, dtype: &ArrowDataType, is_read: bool) -> Walked<Sizes> {
        use ArrowDataType as Type;
        let node = self.nodes.next().ok_or("a field has no node")?;
        let values = u64::try_from(node.length())?;
        let mut sizes = Sizes { values, bytes: 0 };
        let (buffers, children) = match dtype.to_storage() {
            Type::Null => (0, &[][..]),
            Type::Utf8 | Type::LargeUtf8 | Type::Binary | Type::LargeBinary => {
                sizes.bytes = values.saturating_mul(VIEW_BYTES);
                (3, &[][..])
            }
            Type::Utf8View | Type::BinaryView => {
                let texts = self
                    .texts
                    .next()
                    .ok_or("a field has no number of buffers")?;
                (u64::try_from(texts)?.saturating_add(2), &[][..])
            }
            Type::Dictionary(..) => {
                sizes.bytes = values.saturating_mul(VIEW_BYTES);
                (2, &[][..])
            }
            Type::List(field) | Type::LargeList(field) | Type::Map(field, _) => {
                (2, slice::from_ref::<ArrowField>(field))
            }
            Type::FixedSizeList(field, _) => (1, slice::from_ref(&**field)),
            Type::Struct(fields) => (1, &fields[..]),
            _ => (2, &[][..]),
        };
        for _ in 0..buffers {
            let buffer = self.buffers.next().ok_or("a field has no buffer")?;
            if is_read {
                let bytes = self.message.bytes_of(buffer)?;
                sizes.bytes = sizes.bytes.saturating_add(bytes);
            }
        }
        for child in children {
            let found = self.field(&child.dtype, is_read)?;
            sizes.values = sizes.values.max(found.values);
            sizes.bytes = sizes.bytes.saturating_add(found.bytes);
        }
        Ok(sizes)
    }
}
