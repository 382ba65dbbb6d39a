//! A fit that is measured, its sizes, and the fits on a GPU.

use topicbook::{
    Budget, Counts, Device, GradientStep, Precision, Result, Solver, Synthetic, TopicModel,
};

/// Sizes of counts and of the model that is fitted to them.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub documents: usize,
    pub terms: usize,
    pub tokens: usize,
    pub topics: usize,
    pub batch: usize,
}

/// The largest table is a batch's rates, 49 MiB.
pub const MAIN: Sizes = Sizes {
    documents: 2_000,
    terms: 50_000,
    tokens: 1_000,
    topics: 20,
    batch: 256,
};

/// The largest table is L: 38 MiB, and the same again for each number of optimizer state.
pub const MANY: Sizes = Sizes {
    documents: 100_000,
    terms: 500,
    tokens: 20,
    topics: 100,
    batch: 128,
};

impl Sizes {
    pub fn generate(&self) -> Result<Counts> {
        let recipe = Synthetic::new(self.documents, self.terms, 10);
        Ok(recipe
            .avg_doc_length(self.tokens)
            .seed(42)
            .generate()?
            .counts())
    }

    pub fn model(&self, device: Device) -> TopicModel {
        TopicModel::new(self.topics)
            .batch_size(self.batch)
            .epochs(3)
            .seed(1)
            .device(device)
            .quiet()
    }
}

/// A fit to counts of these sizes.
pub struct Run {
    pub name: &'static str,
    pub sizes: Sizes,
    pub model: TopicModel,
}

/// The runs on a GPU, or on the CPU in its place, with a wide and a long L.
pub fn on_gpu(device: Device, &[main, many]: &[Sizes; 2]) -> Vec<Run> {
    use GradientStep::{Autodiff, Checkpointing, Fused};
    let run = |name, sizes, model| Run { name, sizes, model };
    let gpu = main.model(device);
    let gpu_many = many.model(device);
    let steps = Solver::mini_batch();
    // Holds L alone, but not with its optimizer states and a batch's counts.
    let bytes = (many.documents * many.topics * 4) as u64 * 21 / 20;
    let small = Budget::new().vram(bytes).unwrap_or_default();
    let step = |step| gpu.solver(steps.step(step));
    let part = gpu.solver(steps.step(Autodiff).micro_batch(main.batch / 4));
    let narrow = gpu.solver(steps.gpu_precision(Precision::Bf16));
    vec![
        run("GPU: kept", main, step(Autodiff)),
        run("GPU: checkpointing", main, step(Checkpointing)),
        run("GPU: 4 parts", main, part),
        run("GPU: fused", main, step(Fused)),
        run("GPU: bf16", main, narrow),
        run("GPU: L there", many, gpu_many.clone()),
        run("GPU: L offloaded", many, gpu_many.budget(small)),
    ]
}
