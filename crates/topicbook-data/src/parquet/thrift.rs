//! Walks the structures of a Parquet file's footer and page headers, which are in Thrift's compact protocol.
//!
//! Polars allocates the length of a list before it reads the list, and interprets a field by its number, whatever type the
//! file gives it. So every length is compared here with the bytes that are left, and every type with the type of the field.

/// Structures of the format (<https://github.com/apache/parquet-format>, `parquet.thrift`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    File,
    Schema,
    LogicalType,
    Decimal,
    Time,
    TimeUnit,
    Integer,
    RowGroup,
    ColumnChunk,
    Column,
    Statistics,
    KeyValue,
    ColumnOrder,
    SortingColumn,
    Empty,
    Page,
    DataPage,
    DictionaryPage,
    DataPageV2,
}

/// Type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Byte,
    Int,
    Binary,
    Record(Record),
    Ints,
    Binaries,
    Records(Record),
}

impl Record {
    /// The type of a field; `None` for fields that Polars skips by their type in the file.
    fn field(self, id: i16) -> Option<Kind> {
        use Kind::{Binaries, Binary, Bool, Byte, Int, Ints, Records};
        use Record::{
            Column, ColumnChunk, ColumnOrder, DataPage, DataPageV2, Decimal, DictionaryPage, Empty,
            File, Integer, KeyValue, LogicalType, Page, RowGroup, Schema, SortingColumn,
            Statistics, Time, TimeUnit,
        };
        Some(match (self, id) {
            (File, 1 | 3) => Int,
            (File, 2) => Records(Schema),
            (File, 4) => Records(RowGroup),
            (File, 5) => Records(KeyValue),
            (File, 6) => Binary,
            (File, 7) => Records(ColumnOrder),
            (Schema, 1..=3 | 5..=9) => Int,
            (Schema, 4) => Binary,
            (Schema, 10) => Kind::Record(LogicalType),
            (LogicalType, 5) => Kind::Record(Decimal),
            (LogicalType, 7 | 8) => Kind::Record(Time),
            (LogicalType, 10) => Kind::Record(Integer),
            (LogicalType, 1..=4 | 6 | 11..=15) => Kind::Record(Empty),
            (Decimal, 1 | 2) => Int,
            (Time, 1) => Bool,
            (Time, 2) => Kind::Record(TimeUnit),
            (TimeUnit, 1..=3) => Kind::Record(Empty),
            (Integer, 1) => Byte,
            (Integer, 2) => Bool,
            (RowGroup, 1) => Records(ColumnChunk),
            (RowGroup, 2 | 3 | 5..=7) => Int,
            (RowGroup, 4) => Records(SortingColumn),
            (ColumnChunk, 1) => Binary,
            (ColumnChunk, 2 | 4..=7) => Int,
            (ColumnChunk, 3) => Kind::Record(Column),
            (Column, 1 | 4..=7 | 9..=11 | 14 | 15) => Int,
            (Column, 2) => Ints,
            (Column, 3) => Binaries,
            (Column, 12) => Kind::Record(Statistics),
            (Statistics, 1 | 2 | 5 | 6) => Binary,
            (Statistics, 3 | 4) => Int,
            (Statistics, 7 | 8) => Bool,
            (KeyValue, 1 | 2) => Binary,
            (ColumnOrder, 1 | 2) => Kind::Record(Empty),
            (SortingColumn, 1) => Int,
            (SortingColumn, 2 | 3) => Bool,
            (Page, 1..=4) => Int,
            (Page, 5) => Kind::Record(DataPage),
            (Page, 6) => Kind::Record(Empty),
            (Page, 7) => Kind::Record(DictionaryPage),
            (Page, 8) => Kind::Record(DataPageV2),
            (DataPage, 1..=4) | (DictionaryPage, 1 | 2) | (DataPageV2, 1..=6) => Int,
            (DataPage, 5) | (DataPageV2, 8) => Kind::Record(Statistics),
            (DictionaryPage, 3) | (DataPageV2, 7) => Bool,
            _ => return None,
        })
    }
}

/// Types in the file, by the codes of the compact protocol.
mod wire {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// Depth to which structures may be nested; the format needs 7.
const MAX_DEPTH: u32 = 32;

/// Why a walk ended early.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end inside the structure.
    Truncated,
    Damaged(String),
}

/// Called with the structure, the number and the value of each integer.
pub(super) type Visit<'a> = &'a mut dyn FnMut(Record, i16, i64);

/// A walk over bytes of the compact protocol.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    position: usize,
    /// Structures walked so far.
    pub(super) records: u64,
    depth: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            records: 0,
            depth: 0,
        }
    }

    /// Number of bytes walked.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Walks a structure.
    pub(super) fn record(&mut self, record: Record, visit: Visit<'_>) -> Result<(), Stop> {
        self.nested(|walk| {
            walk.records += 1;
            walk.fields(|walk, id, wire| match record.field(id) {
                None => walk.skip(wire),
                Some(kind) => walk.value(record, id, kind, wire, &mut *visit),
            })
        })
    }

    fn nested(&mut self, walk: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Damaged("its structures are nested too deeply".into()));
        }
        let walked = walk(self);
        self.depth -= 1;
        walked
    }

    /// Calls `value` at the value of each field, with the number and the type of the field.
    fn fields(
        &mut self,
        mut value: impl FnMut(&mut Self, i16, u8) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            let wire = header & 0xf;
            if wire == wire::STOP {
                return Ok(());
            }
            id = match header >> 4 {
                0 => i16::try_from(self.int()?).ok(),
                step => id.checked_add(i16::from(step)),
            }
            .ok_or_else(|| Stop::Damaged("the number of a field is out of range".into()))?;
            value(self, id, wire)?;
        }
    }

    fn value(
        &mut self,
        record: Record,
        id: i16,
        kind: Kind,
        wire: u8,
        visit: Visit<'_>,
    ) -> Result<(), Stop> {
        let is_int = |wire: u8| (wire::I16..=wire::I64).contains(&wire);
        let wrong = |wire: u8| {
            let what = format!("field {id} of {record:?} has type {wire}");
            Err(Stop::Damaged(what))
        };
        match kind {
            Kind::Bool if wire == wire::TRUE || wire == wire::FALSE => Ok(()),
            Kind::Byte if wire == wire::BYTE => self.byte().map(drop),
            Kind::Int if is_int(wire) => {
                visit(record, id, self.int()?);
                Ok(())
            }
            Kind::Binary if wire == wire::BINARY => self.binary(),
            Kind::Record(inner) if wire == wire::STRUCT => self.record(inner, visit),
            Kind::Ints | Kind::Binaries | Kind::Records(_) if wire == wire::LIST => {
                let (elements, element) = self.list()?;
                for _ in 0..elements {
                    match kind {
                        Kind::Ints if is_int(element) => self.int().map(drop)?,
                        Kind::Binaries if element == wire::BINARY => self.binary()?,
                        Kind::Records(inner) if element == wire::STRUCT => {
                            self.record(inner, &mut *visit)?;
                        }
                        _ => return wrong(element),
                    }
                }
                Ok(())
            }
            _ => wrong(wire),
        }
    }

    /// Skips a value of a field that Polars skips too. Maps and lists of booleans do not occur in the format.
    fn skip(&mut self, wire: u8) -> Result<(), Stop> {
        match wire {
            wire::TRUE | wire::FALSE => Ok(()),
            wire::BYTE => self.byte().map(drop),
            wire::I16..=wire::I64 => self.int().map(drop),
            wire::DOUBLE => self.advance(8),
            wire::BINARY => self.binary(),
            wire::LIST | wire::SET => self.nested(|walk| {
                let (elements, element) = walk.list()?;
                for _ in 0..elements {
                    match element {
                        wire::TRUE | wire::FALSE => {
                            return Err(Stop::Damaged("it has a list of booleans".into()));
                        }
                        _ => walk.skip(element)?,
                    }
                }
                Ok(())
            }),
            wire::STRUCT => self.nested(|walk| {
                walk.records += 1;
                walk.fields(|walk, _, wire| walk.skip(wire))
            }),
            other => Err(Stop::Damaged(format!("it has a field of type {other}"))),
        }
    }

    /// The length of a list and the type of its elements. An element has at least one byte.
    fn list(&mut self) -> Result<(u64, u8), Stop> {
        let header = self.byte()?;
        let elements = match header >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        if elements > self.left() {
            // The other elements may be in bytes that were not read yet, unless the length is impossible.
            return Err(match elements > i32::MAX as u64 {
                true => Stop::Damaged(format!("it has a list of {elements} elements")),
                false => Stop::Truncated,
            });
        }
        Ok((elements, header & 0xf))
    }

    fn binary(&mut self) -> Result<(), Stop> {
        let length = self.varint()?;
        self.advance(length)
    }

    fn left(&self) -> u64 {
        (self.bytes.len() - self.position) as u64
    }

    fn advance(&mut self, bytes: u64) -> Result<(), Stop> {
        if bytes > self.left() {
            return Err(Stop::Truncated);
        }
        self.position += bytes as usize;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let byte = self.bytes.get(self.position).ok_or(Stop::Truncated)?;
        self.position += 1;
        Ok(*byte)
    }

    fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Damaged("a number has more than 64 bits".into()))
    }

    fn int(&mut self) -> Result<i64, Stop> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Result<Vec<(Record, i16, i64)>, Stop> {
        let mut found = Vec::new();
        Walk::new(bytes).record(Record::Page, &mut |record, id, value| {
            found.push((record, id, value));
        })?;
        Ok(found)
    }

    #[test]
    fn integers_are_found_and_wrong_types_and_lengths_refused() {
        // A data page of 3 values in 20 bytes, then an unknown field.
        let page = [0x15, 0, 0x15, 40, 0x15, 40, 0x2c, 0x15, 6, 0, 0x58, 1, 7, 0];
        assert_eq!(
            walk(&page).unwrap(),
            [
                (Record::Page, 1, 0),
                (Record::Page, 2, 20),
                (Record::Page, 3, 20),
                (Record::DataPage, 1, 3),
            ]
        );
        for length in 0..page.len() {
            assert_eq!(walk(&page[..length]), Err(Stop::Truncated), "{length}");
        }
        let damaged = |bytes: &[u8]| matches!(walk(bytes), Err(Stop::Damaged(_)));
        // A size that is a text, a list of 2^35 integers, a map, a list of booleans, structures 100 deep, and a
        // number of 77 bits.
        assert!(damaged(&[0x18, 1, 7, 0]));
        assert!(damaged(&[
            0x99, 0xf5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0
        ]));
        assert!(damaged(&[0x9b, 1, 0x55, 0, 0]));
        assert!(damaged(&[0x99, 0x11, 1, 0]));
        assert!(damaged(&[0xfc; 100]));
        assert!(damaged(&[&[0x15][..], &[0xff; 11]].concat()));
    }
}
