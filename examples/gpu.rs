//! A fit on an NVIDIA GPU where there is one, and what it would be where there is none: `cargo run --example gpu`.

use topicbook::{Budget, Device, Synthetic, TopicModel, doctor};

fn main() -> topicbook::Result<()> {
    println!("{}", doctor());
    let counts = Synthetic::new(20_000, 5_000, 10)
        .avg_doc_length(200)
        .seed(5)
        .generate()?
        .counts();

    // A GPU needs batches of hundreds of documents. Without one, the budget of VRAM stands for it in the plan.
    let budget = Budget::new().vram("64 MiB")?;
    let model = TopicModel::new(10)
        .epochs(3)
        .batch_size(1_024)
        .device(Device::Auto)
        .budget(budget);
    println!("{}", model.plan(&counts)?);
    let fit = model.fit(&counts)?;
    println!("{}", fit.memory());
    Ok(())
}
