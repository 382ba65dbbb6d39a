//! Legends: colours and what they stand for, in rows.

use crate::error::Result;

use super::canvas::{Anchor, Area, Canvas, Fill, SMALL, fit_text, text_width};

const ROW_HEIGHT: i64 = 38;
const SWATCH: i32 = 24;
/// Space between a swatch and its text, and after an entry.
const SPACES: (i32, i32) = (10, 24);

/// The entries of a legend, in rows as long as the width allows.
pub struct Legend {
    entries: Vec<String>,
    /// Width of an entry in pixels.
    entry: i32,
    /// Entries per row.
    columns: usize,
}

impl Legend {
    pub fn new(entries: Vec<String>, width: i32) -> Self {
        let widths = entries.iter().map(|entry| text_width(entry, SMALL));
        let text = widths.max().unwrap_or(0);
        let around = SWATCH + SPACES.0 + SPACES.1;
        let entry = (around + text + text / 8).min(width);
        let max = (width / entry.max(1)).max(1) as usize;
        // As few rows as possible, and of equal length.
        let rows = entries.len().div_ceil(max).max(1);
        let columns = entries.len().div_ceil(rows).max(1);
        Self {
            entries,
            entry,
            columns,
        }
    }

    pub fn height(&self) -> i64 {
        ROW_HEIGHT * self.entries.len().div_ceil(self.columns) as i64
    }

    /// Draws the entries with their fills, each outlined in a colour that stands out from the background.
    pub fn draw(&self, canvas: &dyn Canvas, left: i32, top: i32, fills: &[Fill]) -> Result<()> {
        let theme = canvas.theme();
        for (index, (entry, &fill)) in self.entries.iter().zip(fills).enumerate() {
            let left = left + (index % self.columns) as i32 * self.entry;
            let top = top + (index / self.columns) as i32 * ROW_HEIGHT as i32;
            let swatch = Area {
                left,
                top,
                right: left + SWATCH,
                bottom: top + SWATCH,
            };
            canvas.rectangle(swatch, fill)?;
            canvas.outline(swatch, theme.line(fill.colour), 2)?;
            let room = self.entry - SWATCH - SPACES.0 - SPACES.1 / 2;
            let text = fit_text(entry, SMALL, room);
            let at = (swatch.right + SPACES.0, top + SWATCH / 2);
            canvas.text(&text, at, Anchor::Left, SMALL, theme.ink)?;
        }
        Ok(())
    }
}
