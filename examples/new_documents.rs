//! Topics of documents that the model has not seen: `cargo run --example new_documents`.

use topicbook::{Counts, Fit, Synthetic, TopicModel};

fn main() -> topicbook::Result<()> {
    // The last 50 documents are kept aside.
    let corpus = Synthetic::new(1_050, 300, 4)
        .avg_doc_length(400)
        .seed(11)
        .generate()?;
    let all = corpus.counts();
    let (training, new) = (rows(&all, 0..1_000)?, rows(&all, 1_000..1_050)?);

    TopicModel::new(4)
        .epochs(80)
        .seed(11)
        .quiet()
        .fit(&training)?
        .save("fit.safetensors")?;

    // Another program, another day: F is fixed, and each new document gets its row of L.
    let fit = Fit::load("fit.safetensors")?.align_to(corpus.true_f())?;
    let l = fit.transform(&new)?;
    let mut error = 0.0;
    for document in 0..new.documents() {
        let truth = corpus.true_l();
        let truth = truth.row(1_000 + document);
        let difference = l.row(document).iter().zip(truth);
        error += difference.map(|(a, b)| (a - b).abs()).sum::<f32>() / 2.0;
    }
    let error = error / new.documents() as f32;
    println!("mean total variation from the true proportions: {error:.3}");
    std::fs::remove_file("fit.safetensors").expect("the file is ours");
    Ok(())
}

/// Some rows as counts of their own.
fn rows(counts: &Counts, documents: std::ops::Range<usize>) -> topicbook::Result<Counts> {
    let documents: Vec<usize> = documents.collect();
    let mut values = vec![0.0; documents.len() * counts.terms()];
    counts.fill_rows(&documents, &mut values)?;
    Counts::dense(documents.len(), counts.terms(), values)
}
