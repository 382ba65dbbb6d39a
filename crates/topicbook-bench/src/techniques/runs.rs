//! The fits that are measured.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{
    Counts, Device, Dtype, GradientStep, Optimizer, Precision, Reading, Result, Solver,
    TableStorage, TopicModel,
};

use crate::techniques::gpu_runs::{MAIN, MANY, Run, Sizes};

/// The sizes in the record.
pub fn describe(sizes: &Sizes) -> Value {
    json!({
        "documents": sizes.documents,
        "terms": sizes.terms,
        "tokens": sizes.tokens,
        "topics": sizes.topics,
        "batch": sizes.batch,
    })
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

pub fn on_cpu() -> Vec<Run> {
    use GradientStep::{Autodiff, Checkpointing, CustomBackward, Fused};
    let run = |name, counts: fn(&Path) -> Result<Counts>, model: TopicModel| {
        Run::new(name, counts, model)
    };
    let cpu = MAIN.model(Device::Cpu);
    let steps = Solver::mini_batch();
    let step = |step| cpu.solver(steps.step(step));
    let part = |documents| cpu.solver(steps.step(Autodiff).micro_batch(documents));
    let many = MANY.model(Device::Cpu);
    let rowwise = steps.optimizer(Optimizer::RowwiseAdam);
    // Rates of the optimizer's record (`benches/records/optimizers.md`).
    let sgd = steps.optimizer(Optimizer::RowwiseSgd);
    let sgd = sgd.max_lr(0.002).base_lr(0.0005);
    let stream = Reading::Stream {
        block: 16,
        blocks: 16,
    };
    let (spilled, in_file_of) = (rowwise.clone(), many.clone());
    let narrow = rowwise.table_precision(Precision::Bf16);
    vec![
        run("kept", main_csr, step(Autodiff)),
        run("checkpointing", main_csr, step(Checkpointing)),
        run("4 parts", main_csr, part(MAIN.batch / 4)),
        run("16 parts", main_csr, part(MAIN.batch / 16)),
        run("own backward", main_csr, step(CustomBackward)),
        run("fused", main_csr, step(Fused)),
        run("counts in f32", |_| dense(|count| count), cpu.clone()),
        run("counts in u8", |_| dense(|count| count as u8), cpu.clone()),
        run("counts in place", in_file, cpu.reading(Reading::InPlace)),
        run("counts streamed", in_file, cpu.reading(stream)),
        run("two states", many_csr, many.solver(rowwise)),
        run("two states in bf16", many_csr, many.solver(narrow)),
        run("one state", many_csr, many.solver(sgd)),
        Run {
            model: Box::new(move |folder| {
                let file = TableStorage::File(folder.to_path_buf());
                in_file_of.solver(spilled.table_storage(file))
            }),
            ..run("L in a file", many_csr, many)
        },
    ]
}
