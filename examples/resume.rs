//! A fit that is interrupted and continued: `cargo run --example resume`. Interrupt it with Ctrl-C and start it again: it
//! continues where it was.

use topicbook::{Checkpoint, Synthetic, TopicModel};

fn main() -> topicbook::Result<()> {
    let counts = Synthetic::new(2_000, 500, 5)
        .avg_doc_length(500)
        .seed(7)
        .generate()?
        .counts();
    let path = "fit.ckpt";

    if !std::path::Path::new(path).exists() {
        // The first part. A crash would leave the newest checkpoint in the same way.
        let half = TopicModel::new(5).epochs(40).seed(7).checkpoint(path);
        half.fit(&counts)?;
    }

    let checkpoint = Checkpoint::open(path)?;
    println!("{} epochs are done", checkpoint.epochs_done());
    let fit = checkpoint.epochs(80).fit(&counts)?;

    // Gradient steps on the CPU continue bit for bit.
    let whole = TopicModel::new(5).epochs(80).seed(7).quiet().fit(&counts)?;
    assert!(fit.l() == whole.l() && fit.f() == whole.f());
    println!("the same L and F as without the interruption");
    std::fs::remove_file(path).expect("the file is ours");
    let _ = std::fs::remove_file("fit.ckpt.previous");
    Ok(())
}
