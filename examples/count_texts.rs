//! Counts the words of texts: `cargo run --example count_texts -- <folder or file> <counts.npz>`
//!
//! Every page (`.html`) and text (`.txt`, `.md`) below the folder is a document. Writes the counts, and next to them the terms
//! (`counts_terms.txt`) and the documents (`counts_documents.csv`) with the folder in which each lies.

use topicbook::{Result, Vectorizer};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(texts), Some(counts)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: count_texts <folder or file> <counts.npz>");
        std::process::exit(2);
    };
    let counted = Vectorizer::new()
        .token_pattern("[a-z]{3,20}")
        .stop_words("english")
        .min_df(10)
        .max_df(0.4)
        .out(counts)
        .fit_transform(texts)?;
    println!("{counted}; {}", counted.dropped());
    Ok(())
}
