//! A plan as a card and as a table.

use std::fmt;

use polars::prelude::{Column, DataFrame};

use super::item::peak;
use super::{Item, Lives, Plan};
use crate::counts::Location;
use crate::display::{Card, bytes, count, percent};
use crate::memory::Goal;
use crate::solver::documents_in_block;
use crate::table::Table;

impl Plan {
    /// One row per item: what it is, where it lives, when, and how many bytes it takes.
    pub fn table(&self) -> Table {
        let texts = |of: fn(&Item) -> String| self.items.iter().map(of).collect::<Vec<_>>();
        let columns = vec![
            Column::new("what".into(), texts(|item| item.what.clone())),
            Column::new("lives in".into(), texts(|item| item.lives.to_string())),
            Column::new("when".into(), texts(|item| item.when.to_string())),
            Column::new(
                "bytes".into(),
                self.items.iter().map(|item| item.bytes).collect::<Vec<_>>(),
            ),
        ];
        Table::from(DataFrame::new_infer_height(columns).unwrap_or_default())
    }

    /// Shows the plan below a cell.
    pub fn evcxr_display(&self) {
        self.card().show();
    }

    fn card(&self) -> Card {
        let shape = &self.shape;
        let title = format!(
            "Plan: {} documents x {} terms, k = {}",
            count(shape.documents),
            count(shape.terms),
            shape.topics
        );
        let parts = match shape.micro_batch {
            part if part == shape.batch => format!("{} documents", count(shape.batch)),
            part => format!(
                "{} documents, added up over parts of {}",
                count(shape.batch),
                count(part)
            ),
        };
        let mut card = Card::new(title)
            .row("device", self.device.to_string())
            .row("batch", parts)
            .row("counts", self.reading())
            .row("peak of RAM", self.held_against(self.ram, Lives::Ram));
        if let Some(vram) = self.vram {
            card = card.row("peak of VRAM", self.held_against(vram.goal, Lives::Card));
        }
        let rows = self.items.iter().map(|item| {
            vec![
                item.what.clone(),
                item.lives.to_string(),
                item.when.to_string(),
                bytes(item.bytes),
            ]
        });
        card = card.grid(&["what", "lives in", "when", "takes"], rows.collect());
        for line in &self.refused {
            card = card.note(line);
        }
        match self.vram {
            Some(vram) if vram.simulated => card.note(
                "No card is used here: the budget of VRAM stands for one. Its lines show what would live there and bound the batches; the fit runs on the CPU.",
            ),
            Some(_) => card.note(
                "VRAM is what the runtime's allocator takes: rows padded, and memory kept for each size that comes again. The driver's own context, a few hundred MiB, is not among it.",
            ),
            None => card,
        }
    }

    /// What the plan has on the card, line by line.
    pub(super) fn card_table(&self) -> String {
        let items = self.items.iter().filter(|item| item.lives == Lives::Card);
        let line = |item: &Item| format!("\n  {}  {}", bytes(item.bytes), item.what);
        let lines: String = items.map(line).collect();
        let (all, _) = peak(&self.items, Lives::Card);
        format!("the plan has {} on the card:{lines}", bytes(all))
    }

    /// How a batch gets its counts.
    fn reading(&self) -> String {
        let way = self.model.settings().reading;
        match self.counts.location() {
            _ if way.shuffle().is_some() && self.model.settings().solver.iterates() => format!(
                "streamed in their order, {} documents at a time",
                count(documents_in_block(self.counts.terms()) as u64)
            ),
            _ if way.shuffle().is_some() => way.describe(),
            Location::Memory => "in memory".into(),
            Location::File(_) => {
                "in a file that is mapped: its pages are the system's, which takes them back when it needs them".into()
            }
            Location::Loaded(_) => "in memory, read from a file".into(),
        }
    }

    /// `412 MiB during the steps, 40% of the budget of 1 GiB`
    fn held_against(&self, goal: Goal, lives: Lives) -> String {
        let (size, when) = peak(&self.items, lives);
        match goal.budget {
            u64::MAX => format!(
                "{} {when}; what the card has free is not known",
                bytes(size)
            ),
            budget => format!(
                "{} {when}, {} of the budget of {}",
                bytes(size),
                percent(size as f64 / budget as f64),
                bytes(budget)
            ),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
