//! What a plan's memory is for: a table and a chart.

#[cfg(feature = "polars")]
use polars::prelude::Column;

#[cfg(feature = "charts")]
use crate::charts::{Chart, side_by_side};
use crate::cost::{Consumer, Memory, at_peak};
#[cfg(feature = "polars")]
use crate::data::Table;

use super::Plan;

impl Plan {
    /// Bytes at the peak of one kind of memory, by consumer.
    fn by_consumer(&self, memory: Memory) -> [(Consumer, u64); 7] {
        Consumer::ALL.map(|consumer| {
            let items = at_peak(&self.items, memory).filter(|item| item.consumer == consumer);
            (consumer, items.map(|item| item.bytes).sum())
        })
    }

    /// What the memory at the planned peak is for. There is a row for each consumer of training (parameters, gradients,
    /// optimizer states, activations, counts and batches) and for the rest. Its columns are `consumer`, `ram` in bytes, its
    /// `share` of the peak, and `bytes_per_parameter`, with k x (documents + terms) parameters. With a GPU there are also
    /// `vram`, `vram_share` and `vram_bytes_per_parameter`.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// use topicbook::polars::prelude::*;
    /// let plan = TopicModel::new(3).plan(&counts)?;
    /// let table = plan.consumers();
    /// assert_eq!(table.column("ram")?.u64()?.sum(), Some(plan.peak_ram()));
    /// // AdamW keeps two numbers of four bytes for each parameter.
    /// let per_parameter = table.column("bytes_per_parameter")?.f64()?.get(2).unwrap();
    /// assert!(per_parameter >= 8.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn consumers(&self) -> Table {
        let names = Consumer::ALL.map(|consumer| consumer.to_string());
        let mut columns = vec![Column::new("consumer".into(), names.to_vec())];
        let parameters = self.shape.topics * (self.shape.documents + self.shape.terms);
        let mut add = |memory, names: [&str; 3]| {
            let bytes = self.by_consumer(memory).map(|(_, bytes)| bytes);
            let all = bytes.iter().sum::<u64>().max(1) as f64;
            let over = |whole: f64| bytes.map(|bytes| bytes as f64 / whole).to_vec();
            columns.push(Column::new(names[0].into(), bytes.to_vec()));
            columns.push(Column::new(names[1].into(), over(all)));
            columns.push(Column::new(names[2].into(), over(parameters as f64)));
        };
        add(Memory::Ram, ["ram", "share", "bytes_per_parameter"]);
        if self.vram.is_some() {
            let names = ["vram", "vram_share", "vram_bytes_per_parameter"];
            add(Memory::Vram, names);
        }
        Table::from_columns(columns)
    }

    /// Bars of [`consumers`](Self::consumers) in MiB; with a GPU, RAM and VRAM side by side.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let chart = TopicModel::new(3).plan(&counts)?.plot();
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "charts")]
    pub fn plot(&self) -> Chart {
        let bars = |memory: Memory| {
            let values = self.by_consumer(memory).into_iter();
            let mib: Vec<(String, f64)> = values
                .filter(|(_, bytes)| *bytes > 0)
                .map(|(consumer, bytes)| (consumer.to_string(), bytes as f64 / f64::from(1 << 20)))
                .collect();
            Chart::bars(mib).title(format!("{memory} at the planned peak, MiB"))
        };
        match self.vram {
            Some(_) => side_by_side([bars(Memory::Ram), bars(Memory::Vram)]),
            None => bars(Memory::Ram),
        }
    }
}
