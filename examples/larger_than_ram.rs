//! A fit to a file that is larger than the memory it may use: `cargo run --example larger_than_ram`.
//!
//! The sizes are small, so that the program takes seconds: 40 MB of counts in a budget of 64 MiB for the whole process. With
//! `-- 100` it has 100 times more documents, 4 GB of counts, in the same budget.

use topicbook::{Budget, Synthetic, TopicModel};

fn main() -> topicbook::Result<()> {
    let times: usize = std::env::args()
        .nth(1)
        .map_or(1, |times| times.parse().expect("the argument is a number"));

    // The file is written block by block and never in memory as a whole.
    let corpus = Synthetic::new(20_000 * times, 2_000, 10)
        .avg_doc_length(300)
        .seed(1)
        .write_npy("large.npy")?;
    let counts = corpus.counts();
    println!("{counts}");

    let budget = Budget::new().ram("64 MiB")?;
    let model = TopicModel::new(10).epochs(3).batch_size(64).budget(budget);
    // What the fit will do and need, before it does anything.
    let plan = model.plan(&counts)?;
    println!("{plan}");

    let fit = plan.fit()?;
    println!("{}", fit.memory());
    std::fs::remove_file("large.npy").expect("the file is ours");
    Ok(())
}
