//! Notebook display of matrices, tables, terms, documents, epochs, budgets and formats of text.

#[cfg(feature = "polars")]
use crate::evcxr::show;
use crate::evcxr::shown;
use crate::text::{Card, bytes, count, counted, decimals_of, fixed, seconds};
use crate::{Budget, ByteSize, Decimal, Documents, Epoch, Matrix, Terms, TextFormat};
#[cfg(feature = "polars")]
use crate::{GroupBy, Table};

/// Number of rows that a cell shows of a matrix with more than `ALL_ROWS`, and of columns.
const ROWS_SHOWN: usize = 5;
const ALL_ROWS: usize = 12;
const COLUMNS_SHOWN: usize = 12;

impl Matrix {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let (rows, columns) = self.shape();
        let shown = columns.min(COLUMNS_SHOWN);
        let rows_shown = if rows > ALL_ROWS { ROWS_SHOWN } else { rows };
        let corner = || (0..rows_shown).map(|row| &self.row(row)[..shown]);
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
        if rows > rows_shown {
            card = card.note(format!("and {} more", counted(rows - rows_shown, "row")));
        }
        card.show();
    }
}

#[cfg(feature = "polars")]
impl Table {
    /// Shows the first and last rows below a cell: 20 rows, or as many as `rows` says.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show(&self.html(), &self.short_text());
    }
}

#[cfg(feature = "polars")]
impl GroupBy {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new("Groups")
            .row("by", self.keys())
            .row("rows", count(self.rows() as u64))
            .note("For a table of them: .count()?, .mean(\"column\")?, .agg([...])?")
            .show();
    }
}

impl TextFormat {
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let stated = |what: Option<String>| what.unwrap_or("found in the file".into());
        let mark = self.stated_decimal().map(|mark| match mark {
            Decimal::Point => "'.'".into(),
            Decimal::Comma => "','".into(),
        });
        let separator = self.stated_separator().map(char::from);
        Card::new("Format of a file")
            .row(
                "encoding",
                stated(self.stated_encoding().map(|name| name.to_string())),
            )
            .row(
                "separator",
                stated(separator.map(|mark| format!("{mark:?}"))),
            )
            .row("decimal mark", stated(mark))
            .row(
                "sheet",
                stated(self.stated_sheet().map(|number| number.to_string())),
            )
            .show();
    }
}

impl Terms {
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
        card.show();
    }
}

impl Documents {
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
        card.show();
    }
}

impl Epoch {
    /// The loss with separators: `7,146,537.02 per batch`.
    #[doc(hidden)]
    pub fn loss_per_batch(&self) -> String {
        format!("{} per batch", fixed(self.loss, 2))
    }

    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        Card::new(format!("Epoch {}", self.epoch))
            .row("loss", self.loss_per_batch())
            .row(
                "log-likelihood",
                format!("{:.5} nats per token", self.log_likelihood_per_token),
            )
            .row("learning rate", self.learning_rate.to_string())
            .row("time", seconds(self.duration.as_secs_f64()))
            .row("memory", bytes(self.memory_bytes))
            .show();
    }
}

shown! {
    Budget: |budget| {
        let (ram, vram) = budget.described();
        Card::new("Budget").row("RAM", ram).row("VRAM", vram)
    };
    ByteSize: |size| size.to_string();
}
