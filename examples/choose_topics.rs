//! How many topics? `cargo run --example choose_topics [counts.npz]`

use topicbook::{Counts, Synthetic, TopicModel, show_progress};

fn main() -> topicbook::Result<()> {
    show_progress(true);
    let (counts, topics) = match std::env::args().nth(1) {
        Some(path) => (Counts::open(path)?, [5, 10, 20, 40]),
        None => {
            let corpus = Synthetic::new(1_000, 300, 6).avg_doc_length(120).seed(7);
            (corpus.generate()?.counts(), [2, 4, 6, 12])
        }
    };
    let sweep = TopicModel::sweep(topics).seeds(3).fit(&counts)?;
    println!("\ntopics  seed  score per token    NPMI  seconds");
    for run in sweep.runs() {
        println!(
            "{:>6}{:>6}{:>17.4}{:>8.3}{:>9.2}",
            run.topics,
            run.seed,
            run.evaluation.score_per_token(),
            run.npmi.unwrap_or(f64::NAN),
            run.duration.as_secs_f64()
        );
    }
    println!("\n{}", sweep.recommendation());
    Ok(())
}
