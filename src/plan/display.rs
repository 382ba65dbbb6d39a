//! A plan as a notebook card and as a table.

use std::fmt;

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::config::Resolved;
use crate::cost::{Item, Limit, Memory, peak};
use crate::counts::Location;
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::solvers::documents_in_block;
use crate::text::{Card, bytes, count, percent};

use super::Plan;

impl Plan {
    /// Table with one row per item: description, kind of memory, phase in which it is allocated, and bytes.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// use topicbook::polars::prelude::*;
    /// let plan = TopicModel::new(3).plan(&counts)?;
    /// let table = plan.table();
    /// assert!(table.column("bytes")?.u64()?.sum() >= Some(plan.peak_ram()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let texts = |of: fn(&Item) -> String| self.items.iter().map(of).collect::<Vec<_>>();
        let columns = vec![
            Column::new("what".into(), texts(|item| item.what.clone())),
            Column::new("location".into(), texts(|item| item.memory.to_string())),
            Column::new("when".into(), texts(|item| item.phase.to_string())),
            Column::new(
                "bytes".into(),
                self.items.iter().map(|item| item.bytes).collect::<Vec<_>>(),
            ),
        ];
        Table::from_columns(columns)
    }

    /// The plan as a notebook card.
    pub(crate) fn card(&self) -> Card {
        let shape = &self.shape;
        let title = format!(
            "Plan: {} documents × {} terms, k = {}",
            count(shape.documents),
            count(shape.terms),
            shape.topics
        );
        let batch = match shape.micro_batch {
            whole if whole == shape.batch => format!("{} documents", count(shape.batch)),
            part => format!(
                "{} documents, in micro-batches of {}",
                count(shape.batch),
                count(part)
            ),
        };
        let mut card = Card::new(title).row("device", self.device.to_string());
        if !self.recipe.settings.solver.is_full_pass() {
            card = card.row("batch", batch);
        }
        card = card
            .row("counts", self.reading())
            .row("peak of RAM", self.against_limit(self.ram, Memory::Ram));
        if let Some(vram) = self.vram {
            card = card.row("peak of VRAM", self.against_limit(vram, Memory::Vram));
        }
        if let Some(cluster) = &self.cluster {
            card = cluster.show(card);
        }
        let rows = self.items.iter().map(|item| {
            vec![
                item.what.clone(),
                item.memory.to_string(),
                item.phase.to_string(),
                bytes(item.bytes),
            ]
        });
        card = card.grid(&["item", "memory", "phase", "size"], rows.collect());
        for line in self.fallback.iter().chain(&self.notes) {
            card = card.note(line);
        }
        match self.vram {
            Some(_) if self.device == Resolved::Cpu => card.note(
                "No GPU is used: the VRAM budget stands for one. The VRAM items show what a GPU would need, and the budget limits the micro-batches; the fit runs on the CPU.",
            ),
            Some(_) => card.note(
                "VRAM is the memory of the runtime's allocator, with padded rows and buffers kept for reuse. The driver's context, a few hundred MiB, is not included.",
            ),
            None => card,
        }
    }

    /// What the plan had to do to keep within its limits, in a few words.
    #[cfg(feature = "polars")]
    pub(crate) fn verdict(&self) -> String {
        let shape = &self.shape;
        let mut words = vec!["fits".to_string()];
        if shape.l_in_file {
            words.push("L in a file".into());
        } else if self.vram.is_some() && shape.l_on_host {
            words.push("L offloaded to RAM".into());
        }
        if shape.micro_batch < shape.batch {
            words.push(format!("in micro-batches of {}", count(shape.micro_batch)));
        }
        words.join(", ")
    }

    /// How counts are read.
    fn reading(&self) -> String {
        let reading = self.recipe.settings.reading;
        match self.counts.location() {
            _ if reading.shuffle().is_some() && self.recipe.settings.solver.is_full_pass() => {
                format!(
                    "streamed in order, {} documents at a time",
                    count(documents_in_block(self.counts.terms()) as u64)
                )
            }
            _ if reading.shuffle().is_some() => reading.describe(),
            Location::Memory => "in memory".into(),
            Location::File(_) => {
                "in a memory-mapped file, whose pages the system can reclaim".into()
            }
            Location::Loaded(_) => "in memory, read from a file".into(),
            Location::Files(_) => "in memory, read from several files".into(),
        }
    }

    /// Formats, for example, `412 MiB during the steps, 40% of the budget of 1 GiB`.
    fn against_limit(&self, limit: Limit, memory: Memory) -> String {
        let (size, phase) = peak(&self.items, memory);
        match limit.budget {
            u64::MAX => format!("{} {phase}; the free VRAM is not known", bytes(size)),
            budget => format!(
                "{} {phase}, {} of the budget of {}",
                bytes(size),
                percent(size as f64 / budget as f64),
                bytes(budget)
            ),
        }
    }
}

/// Writes the device, batches, peaks with their budgets, every item, and the notes.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.card().text().trim_end())
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("device", &self.device)
            .field("shape", &self.shape)
            .field("placement", &self.placement)
            .field("ram", &self.ram)
            .field("vram", &self.vram)
            .finish_non_exhaustive()
    }
}
