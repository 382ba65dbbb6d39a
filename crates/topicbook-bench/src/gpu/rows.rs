//! All rows, the most important first.

use std::path::Path;

use topicbook::Device;

use crate::gpu::gpu_runs;
use crate::gpu::schedule::Row;
use crate::gpu::sizes::{DENSITIES, Sizes};

/// What all rows share.
pub struct Rows<'a> {
    pub sizes: Sizes,
    /// The name of the sizes in this program's arguments.
    pub size: &'a str,
    /// The device, as this program's arguments name it.
    pub on: &'a str,
    pub program: &'a Path,
    /// A Python with the peers, and the script that runs them.
    pub peers: [&'a Path; 2],
    /// The folder of the counts, with one folder for each density.
    pub data: &'a Path,
}

/// The counts of a row of a fit, and the budget of VRAM that it gets.
struct Case {
    name: String,
    density: usize,
    form: &'static str,
    method: &'static str,
    documents: usize,
    batch: usize,
    vram: &'static str,
}

impl Rows<'_> {
    pub fn all(&self) -> Vec<Row> {
        let mut rows = self.counts_and_quality(0);
        let [documents, _, _] = self.sizes.shape;
        let part = documents.div_ceil(self.sizes.part);
        let case = |name: &str, form, vram| self.case(name, form, vram);
        rows.extend([
            self.fit(&case("u8 in RAM", "narrow", self.sizes.vram_of_u8), 60),
            self.fit(&case("u8 on the GPU", "narrow", "all"), 60),
            self.convert("CSR file", "csr", documents),
            self.fit(&case("CSR in RAM", "csr", self.sizes.vram_of_csr), 40),
            self.fit(&case("CSR on the GPU", "csr", "all"), 40),
            self.fit(&case("f32 on the GPU", "f32", "all"), 60),
            self.convert("f32 file", "disk", part),
            self.fit(&self.of_part("f32 from disk", "disk"), 60),
        ]);
        rows.extend(self.transfers());
        rows.extend(self.counts_and_quality(1));
        let dense = case("u8 on the GPU", "narrow", "all");
        rows.push(self.fit(
            &Case {
                name: format!("{}, {}", dense.name, DENSITIES[1]),
                density: 1,
                ..dense
            },
            60,
        ));
        rows.extend(self.techniques());
        let [documents, terms, topics, fits] = self.sizes.growth;
        let growth = strings(&[&"growth", &self.on, &documents, &terms, &topics, &fits]);
        rows.push(self.ours("fits one after the other", 60, growth));
        rows.extend(self.batches_and_methods());
        rows
    }

    /// Counts of a density, an epoch of them from RAM, and the time to equal quality.
    fn counts_and_quality(&self, density: usize) -> Vec<Row> {
        let percent = DENSITIES[density];
        let [documents, terms, topics] = self.sizes.shape;
        let folder = self.folder(density);
        let length = self.sizes.lengths[density];
        let generate = strings(&[&"generate", &folder, &documents, &terms, &topics, &length]);
        let fit = Case {
            density,
            ..self.case(&format!("f32 in RAM, {percent}"), "f32", self.sizes.vram)
        };
        let [batch, epochs, seconds] = self.sizes.peer;
        let part = documents.div_ceil(self.sizes.part);
        let tinytopics = strings(&[
            &"tinytopics",
            &format!("{folder}/X_narrow.npy"),
            &part,
            &topics,
            &batch,
            &epochs,
            &seconds,
        ]);
        let equal = strings(&[&"equal", &self.on, &folder, &topics, &self.sizes.batch]);
        let tinytopics = self.peer(&format!("tinytopics, {percent}"), 120, tinytopics);
        let equal = Row {
            target: Some(tinytopics.name.clone()),
            ..self.ours(&format!("equal score, {percent}"), 90, equal)
        };
        vec![
            self.makes_counts(&format!("counts, {percent}"), 90, generate),
            self.fit(&fit, 90),
            tinytopics,
            equal,
        ]
    }

    /// Transfers of whole tables and of gathered rows, and steps with L offloaded.
    fn transfers(&self) -> Vec<Row> {
        let [rows, columns, table_rows] = self.sizes.table;
        let [documents, topics, batch, steps] = self.sizes.offload;
        let bus = strings(&[&"bus", &self.on, &self.sizes.pageable, &rows, &columns]);
        let gathered = strings(&[&"gathered", &self.on, &table_rows, &rows, &columns]);
        let offload = strings(&[&"offload", &self.on, &documents, &topics, &batch, &steps]);
        let peer_bus = strings(&[&"transfers", &rows, &columns]);
        let peer_gathered = strings(&[&"gathered", &table_rows, &rows, &columns]);
        let peer_table = strings(&[&"table", &documents, &topics, &batch, &steps]);
        vec![
            self.ours("bus", 30, bus),
            self.peer("PyTorch, bus", 30, peer_bus),
            self.ours("gathered rows", 30, gathered),
            self.peer("PyTorch, gathered rows", 30, peer_gathered),
            self.ours("L of many rows", 60, offload),
            self.peer("PyTorch, L of many rows", 60, peer_table),
        ]
    }

    /// The runs that show what each technique saves on a GPU.
    fn techniques(&self) -> Vec<Row> {
        let runs = gpu_runs::on_gpu(Device::Cpu, &self.sizes.techniques).into_iter();
        runs.map(|run| {
            let technique = strings(&[&"technique", &self.on, &self.size, &run.name]);
            self.ours(run.name, 30, technique)
        })
        .collect()
    }

    /// Batch sizes, precisions and EM, most of them for a part of the documents.
    fn batches_and_methods(&self) -> Vec<Row> {
        let bf16 = |case: Case| Case {
            name: format!("{}, bf16", case.name),
            method: "bf16",
            ..case
        };
        let em = |case: Case| Case {
            name: format!("EM, {}", case.name),
            method: "em",
            ..case
        };
        let by_batch = self.sizes.batches.map(|batch| Case {
            batch,
            ..self.of_part(&format!("f32 in RAM, batch {batch}"), "f32")
        });
        let narrow = |name, vram| self.case(name, "narrow", vram);
        let others = [
            bf16(narrow("u8 in RAM", self.sizes.vram_of_u8)),
            bf16(narrow("u8 on the GPU", "all")),
            bf16(self.case("CSR on the GPU", "csr", "all")),
            em(self.of_part("f32 in RAM", "f32")),
            em(self.case("CSR on the GPU", "csr", "all")),
        ];
        let cases = by_batch.into_iter().chain(others);
        cases.map(|case| self.fit(&case, 60)).collect()
    }

    /// A fit of `f32` to all documents of the first density.
    fn case(&self, name: &str, form: &'static str, vram: &'static str) -> Case {
        Case {
            name: name.into(),
            density: 0,
            form,
            method: "f32",
            documents: self.sizes.shape[0],
            batch: self.sizes.batch,
            vram,
        }
    }

    /// The same for a part of the documents, within a budget that does not hold their counts.
    fn of_part(&self, name: &str, form: &'static str) -> Case {
        Case {
            documents: self.sizes.shape[0].div_ceil(self.sizes.part),
            ..self.case(name, form, self.sizes.vram_of_part)
        }
    }

    fn fit(&self, case: &Case, limit: u64) -> Row {
        let fit = strings(&[
            &"fit",
            &self.on,
            &self.folder(case.density),
            &case.form,
            &case.method,
            &case.documents,
            &self.sizes.shape[2],
            &case.batch,
            &self.sizes.epochs,
            &case.vram,
        ]);
        self.ours(&case.name, limit, fit)
    }

    /// Writes the first documents of the first density as the file of a form.
    fn convert(&self, name: &str, form: &str, documents: usize) -> Row {
        let convert = strings(&[&"convert", &self.folder(0), &form, &documents]);
        self.makes_counts(name, 60, convert)
    }

    fn folder(&self, density: usize) -> String {
        self.data.join(DENSITIES[density]).display().to_string()
    }

    fn makes_counts(&self, name: &str, limit: u64, arguments: Vec<String>) -> Row {
        Row {
            makes_counts: true,
            ..self.ours(name, limit, arguments)
        }
    }

    fn ours(&self, name: &str, limit: u64, arguments: Vec<String>) -> Row {
        self.row(name, limit, [vec!["gpu".into()], arguments].concat())
    }

    fn row(&self, name: &str, limit: u64, arguments: Vec<String>) -> Row {
        Row {
            name: name.into(),
            limit,
            program: self.program.into(),
            arguments,
            target: None,
            makes_counts: false,
        }
    }

    fn peer(&self, name: &str, limit: u64, arguments: Vec<String>) -> Row {
        let [python, script] = self.peers;
        let script = script.display().to_string();
        Row {
            program: python.into(),
            ..self.row(name, limit, [vec![script], arguments].concat())
        }
    }
}

fn strings(arguments: &[&dyn ToString]) -> Vec<String> {
    arguments
        .iter()
        .map(|argument| argument.to_string())
        .collect()
}
