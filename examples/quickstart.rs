//! The shortest way from counts to topics: `cargo run --example quickstart`.

use topicbook::{Synthetic, TopicModel};

fn main() -> topicbook::Result<()> {
    // Counts with known topics. Your own come from `Counts::open("X.npz")`.
    let corpus = Synthetic::new(1_000, 500, 5)
        .avg_doc_length(2_000)
        .seed(42)
        .generate()?;

    let fit = TopicModel::new(5)
        .epochs(60)
        .seed(42)
        .fit(corpus.counts())?;
    // Topics come in no particular order: this line matches them with the true topics.
    let fit = fit.align_to(corpus.true_f())?;

    println!("{}", fit.top_terms(8));
    fit.plot_structure()
        .title("Learned topics")
        .save_png("structure.png")?;
    fit.save("fit.safetensors")?;
    println!("wrote structure.png and fit.safetensors");
    Ok(())
}
