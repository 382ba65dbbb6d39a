//! The fits that are measured.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{
    Budget, Counts, Device, Dtype, GradientStep, Optimizer, Precision, Reading, Result, Synthetic,
    TableStorage, TopicModel,
};

/// Sizes of counts and of the model that is fitted to them.
pub struct Sizes {
    pub documents: usize,
    pub terms: usize,
    pub tokens: usize,
    pub topics: usize,
    pub batch: usize,
}

/// A batch's table of rates, 49 MiB, is what there is most of.
pub const MAIN: Sizes = Sizes {
    documents: 2_000,
    terms: 50_000,
    tokens: 1_000,
    topics: 20,
    batch: 256,
};

/// L is what there is most of: 38 MiB, and as much again for each number of optimizer state.
pub const MANY: Sizes = Sizes {
    documents: 100_000,
    terms: 500,
    tokens: 20,
    topics: 100,
    batch: 128,
};

impl Sizes {
    pub fn describe(&self) -> Value {
        json!({
            "documents": self.documents,
            "terms": self.terms,
            "tokens": self.tokens,
            "topics": self.topics,
            "batch": self.batch,
        })
    }

    fn generate(&self) -> Result<Counts> {
        let recipe = Synthetic::new(self.documents, self.terms, 10);
        Ok(recipe
            .avg_doc_length(self.tokens)
            .seed(42)
            .generate()?
            .counts())
    }

    fn model(&self, device: Device) -> TopicModel {
        TopicModel::new(self.topics)
            .batch_size(self.batch)
            .epochs(3)
            .seed(1)
            .device(device)
            .quiet()
    }
}

/// A fit, made from the folder of the counts.
pub struct Run {
    pub name: &'static str,
    pub on_gpu: bool,
    pub counts: fn(&Path) -> Result<Counts>,
    pub model: Box<dyn Fn(&Path) -> TopicModel>,
}

/// Writes the files; the share of nonzero counts of both sizes.
pub fn prepare(folder: &Path) -> Result<Value> {
    let (main, many) = (MAIN.generate()?, MANY.generate()?);
    main.write_npy_as(u8_file(folder), Dtype::U8)?;
    let density = |counts: &Counts| Ok(counts.summary()?.density());
    let both: Result<Vec<f64>> = [&main, &many].into_iter().map(density).collect();
    Ok(json!(both?))
}

fn u8_file(folder: &Path) -> std::path::PathBuf {
    folder.join("counts_u8.npy")
}

fn main_csr(_: &Path) -> Result<Counts> {
    MAIN.generate()
}

fn many_csr(_: &Path) -> Result<Counts> {
    MANY.generate()
}

fn in_file(folder: &Path) -> Result<Counts> {
    Counts::open(u8_file(folder))
}

/// Dense counts in memory, converted from `f32`.
fn dense<T: topicbook::CountValue>(convert: fn(f32) -> T) -> Result<Counts> {
    let counts = MAIN.generate()?;
    let mut row = vec![0.0; MAIN.terms];
    let mut values = Vec::with_capacity(MAIN.documents * MAIN.terms);
    for document in 0..MAIN.documents {
        counts.fill_rows(&[document], &mut row)?;
        values.extend(row.iter().map(|count| convert(*count)));
    }
    Counts::dense(MAIN.documents, MAIN.terms, values)
}

/// All runs, of which those on a GPU need one.
pub fn all() -> Vec<Run> {
    use GradientStep::{Autodiff, Checkpointing, CustomBackward, Fused};
    let run = |name, counts: fn(&Path) -> Result<Counts>, model: TopicModel| Run {
        name,
        on_gpu: model.settings().device != Device::Cpu,
        counts,
        model: Box::new(move |_| model.clone()),
    };
    let (cpu, gpu) = (MAIN.model(Device::Cpu), MAIN.model(Device::Cuda(0)));
    let part = |documents: usize| cpu.step(Autodiff).micro_batch(documents);
    let many = MANY.model(Device::Cpu);
    let rowwise = many.optimizer(Optimizer::RowwiseAdam);
    // Rates of the optimizer's record (`bench optimizers`).
    let sgd = many.optimizer(Optimizer::RowwiseSgd);
    let sgd = sgd.max_lr(0.002).base_lr(0.0005);
    let stream = Reading::Stream {
        block: 16,
        blocks: 16,
    };
    let spilled = rowwise.clone();
    let narrow = rowwise.table_precision(Precision::Bf16);
    let small = Budget::new().vram(40u64 << 20).unwrap_or_default();
    let gpu_many = MANY.model(Device::Cuda(0)).optimizer(Optimizer::AdamW);
    vec![
        run("kept", main_csr, cpu.step(Autodiff)),
        run("checkpointing", main_csr, cpu.step(Checkpointing)),
        run("4 parts", main_csr, part(MAIN.batch / 4)),
        run("16 parts", main_csr, part(MAIN.batch / 16)),
        run("own backward", main_csr, cpu.step(CustomBackward)),
        run("fused", main_csr, cpu.step(Fused)),
        run("counts in f32", |_| dense(|count| count), cpu.clone()),
        run("counts in u8", |_| dense(|count| count as u8), cpu.clone()),
        run("counts in place", in_file, cpu.reading(Reading::InPlace)),
        run("counts streamed", in_file, cpu.reading(stream)),
        run("two states", many_csr, rowwise),
        run("two states in bf16", many_csr, narrow),
        run("one state", many_csr, sgd),
        Run {
            name: "L in a file",
            on_gpu: false,
            counts: many_csr,
            model: Box::new(move |folder| {
                spilled.table_storage(TableStorage::File(folder.to_path_buf()))
            }),
        },
        run("GPU: kept", main_csr, gpu.step(Autodiff)),
        run("GPU: checkpointing", main_csr, gpu.step(Checkpointing)),
        run(
            "GPU: 4 parts",
            main_csr,
            gpu.step(Autodiff).micro_batch(MAIN.batch / 4),
        ),
        run("GPU: fused", main_csr, gpu.step(Fused)),
        run("GPU: bf16", main_csr, gpu.precision(Precision::Bf16)),
        run("GPU: L there", many_csr, gpu_many.clone()),
        run("GPU: L offloaded", many_csr, gpu_many.budget(small)),
    ]
}
