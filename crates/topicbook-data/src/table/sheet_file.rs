//! Tables in spreadsheets: a sheet of a `.xlsx` file, read cell by cell.

use std::io::Cursor;

use calamine::{Cell, DataRef, Reader, SheetType, Xlsx, XlsxError};

use crate::error::{Error, Result};
use crate::polars_input::guard_as;
use crate::system::MappedFile;
use crate::text::{counted, quoted_list};

use super::Table;
use super::sheet_columns::table_of;
use super::sheet_entries::check_entries;

/// The remedy for a file that is not a spreadsheet, or is damaged.
pub(super) const NOT_XLSX: &str =
    "the file was truncated or is no .xlsx: open it in Excel or LibreOffice, and save it as .xlsx";
/// What messages call the format.
pub(super) const KIND: &str = "a spreadsheet";
/// Names of sheets that a card lists.
const LISTED: usize = 10;

/// Reads the sheet of this number, counted from 1, or the first one that has values. Its note says which.
pub(super) fn read(map: &MappedFile, stated: Option<usize>) -> Result<Table> {
    let read = sheet(map, stated);
    map.check_unchanged()?;
    let (table, understood) = read?;
    Ok(table.with_note(&understood))
}

fn sheet(map: &MappedFile, stated: Option<usize>) -> Result<(Table, Vec<String>)> {
    let (file, bytes) = (map.file(), map.bytes()?);
    check_entries(file, bytes)?;
    let path = &file.path;
    let mut book = guard_as(KIND, NOT_XLSX, path, || Xlsx::new(Cursor::new(bytes)))?;
    let sheets = book.sheets_metadata().to_vec();
    let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    let listed = format!(
        "{}: {}",
        counted(sheets.len(), "sheet"),
        quoted_list(&names, LISTED)
    );
    let tried = match stated {
        Some(number) if (1..=sheets.len()).contains(&number) => number - 1..number,
        Some(number) => {
            let what = format!("has {listed}; a sheet {number} is stated");
            let fix = format!("state .sheet(1) to .sheet({})", sheets.len());
            return Err(Error::format(path, what).fix(fix));
        }
        None => 0..sheets.len(),
    };
    for (at, sheet) in sheets.iter().enumerate().take(tried.end).skip(tried.start) {
        if sheet.typ != SheetType::WorkSheet {
            continue;
        }
        let book = &mut book;
        let cells = guard_as(KIND, NOT_XLSX, path, move || cells(book, &sheet.name))?;
        if cells.is_empty() {
            continue;
        }
        let mut understood = Vec::new();
        if let [_, _, ..] = names[..] {
            let mut others = names.clone();
            let name = others.remove(at);
            understood.push(format!(
                "sheet {} of {}, {name:?}; the others are {}",
                at + 1,
                names.len(),
                quoted_list(&others, LISTED)
            ));
        }
        let table = table_of(file, cells, &mut understood)?;
        return Ok((table, understood));
    }
    let what = match stated {
        Some(number) => format!("has no values in sheet {number} of its {listed}"),
        None => format!("has no values in its {listed}"),
    };
    Err(Error::format(path, what)
        .fix("begin a sheet with a row of the names of its columns, and write the values below"))
}

/// The cells of a sheet that have a value.
fn cells<'a>(
    book: &'a mut Xlsx<Cursor<&[u8]>>,
    sheet: &str,
) -> std::result::Result<Vec<Cell<DataRef<'a>>>, XlsxError> {
    let mut reader = book.worksheet_cells_reader(sheet)?;
    let mut cells = Vec::new();
    while let Some(cell) = reader.next_cell()? {
        match cell.get_value() {
            DataRef::Empty | DataRef::SharedString("") => {}
            DataRef::String(text) if text.is_empty() => {}
            _ => cells.push(cell),
        }
    }
    Ok(cells)
}
