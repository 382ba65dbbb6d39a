//! Notebook display of matrices, tables, terms, documents, charts, errors and the result of `doctor`.

use crate::charts::Chart;
use crate::data::{Documents, GroupBy, Matrix, Table, Terms};
use crate::doctor::Doctor;
use crate::error::Error;
use crate::row_table::{RowTable, RowTableBuilder};
use crate::text::{Card, bytes, count, counted, decimals_of, escape, fixed};

use super::evcxr::{show, show_card, show_png, show_text};

/// Rows and columns that a cell shows.
const ROWS_SHOWN: usize = 5;
const COLUMNS_SHOWN: usize = 12;

impl Matrix {
    /// Shows the shape and the upper left corner below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let (rows, columns) = self.shape();
        let shown = columns.min(COLUMNS_SHOWN);
        let corner = || (0..rows.min(ROWS_SHOWN)).map(|row| &self.row(row)[..shown]);
        let decimals = decimals_of(corner().flatten().map(|&value| value.into()));
        let mut card = Card::new(format!(
            "Matrix {} × {}",
            count(rows as u64),
            count(columns as u64)
        ));
        for (row, values) in corner().enumerate() {
            let values: Vec<String> = values
                .iter()
                .map(|&value| fixed(value.into(), decimals))
                .collect();
            let more = if shown < columns { "  …" } else { "" };
            card = card.row(format!("row {row}"), values.join("  ") + more);
        }
        if rows > ROWS_SHOWN {
            card = card.note(format!("and {} more", counted(rows - ROWS_SHOWN, "row")));
        }
        show_card(&card, None);
    }
}

impl Table {
    /// Shows the first and last rows below a cell: 20 rows, or as many as `rows` says.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show(&self.html(), &self.to_string());
    }
}

impl GroupBy {
    /// Shows what is grouped by what below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new("Groups")
            .row("by", self.keys())
            .row("rows", count(self.rows() as u64))
            .note("For a table of them: .count()?, .mean(\"column\")?, .agg([...])?");
        show_card(&card, None);
    }
}

impl Terms {
    /// Shows the number of terms and the first of them below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        const SHOWN: usize = 10;
        let mut first = self.as_slice()[..self.len().min(SHOWN)].join(", ");
        if self.len() > SHOWN {
            first.push_str(", …");
        }
        let mut card = Card::new("Terms")
            .row("terms", count(self.len() as u64))
            .row("first", first);
        let duplicates = self.duplicates();
        if !duplicates.is_empty() {
            card = card.note(format!(
                "{} occur more than once, the first is {}",
                count(duplicates.len() as u64),
                duplicates[0]
            ));
        }
        show_card(&card, None);
    }
}

impl Documents {
    /// Shows the number of documents, the first names and what the columns hold below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        const SHOWN: usize = 3;
        let mut card = Card::new("Documents").row("documents", count(self.len() as u64));
        if let Some(names) = self.first_names(SHOWN) {
            let more = if self.len() > SHOWN { ", …" } else { "" };
            card = card.row("first", names.join(", ") + more);
        }
        for (name, what) in self.described() {
            card = card.row(name, what);
        }
        if let Some(columns) = self.left_out() {
            card = card.note(format!("left out: {columns}"));
        }
        show_card(&card, None);
    }
}

impl Chart {
    /// Shows the picture below a cell, or the error if it cannot be drawn.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        match self.to_png() {
            Ok(png) => show_png(&png, &self.describe()),
            Err(error) => show_text(&format!("{}: {error}", self.describe())),
        }
    }
}

impl Error {
    /// Shows the message below a cell, for an error that was kept in a variable.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let text = self.to_string();
        // Long lines are broken between words.
        let style = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere";
        show(
            &format!("<pre style=\"{style}\">{}</pre>", escape(&text)),
            &text,
        );
    }
}

impl Doctor {
    /// Shows the results below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new("This machine");
        let rows = self.rows().iter();
        let card = rows.fold(card, |card, (label, value)| card.row(label, value));
        show_card(&card, None);
    }
}

impl RowTable {
    /// Shows shape, dtype, optimizer, steps and place below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let (rows, width) = self.shape();
        let card = Card::new(format!(
            "Row table {} × {}",
            count(rows as u64),
            count(width as u64)
        ))
        .row("values", self.precision().to_string())
        .row("optimizer", format!("{:?}", self.optimizer()))
        .row("steps", count(self.steps()))
        .row(
            "size",
            format!("{} with the optimizer's state", bytes(self.bytes())),
        )
        .row("where", self.location());
        show_card(&card, None);
    }
}

impl RowTableBuilder {
    /// Shows the shape of the table below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let card = Card::new(format!(
            "Settings of a row table {} × {}",
            count(self.rows as u64),
            count(self.width as u64)
        ))
        .note("For the table: .create()?");
        show_card(&card, None);
    }
}
