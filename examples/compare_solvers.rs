//! The same counts by every solver: time and score. `cargo run --example compare_solvers`

use std::time::Instant;

use topicbook::{Solver, Synthetic, TopicModel};

fn main() -> topicbook::Result<()> {
    let corpus = Synthetic::new(2_000, 1_000, 8)
        .avg_doc_length(300)
        .seed(3)
        .generate()?;
    let counts = corpus.counts();
    println!("{counts}");
    println!("{:<56}{:>10}{:>18}", "solver", "seconds", "score (nats)");
    for (solver, epochs) in [
        (Solver::default(), 60),
        (Solver::em(), 200),
        (Solver::coordinate_descent(), 200),
        (Solver::auto(), 60),
    ] {
        let name = solver.to_string();
        let model = TopicModel::new(8)
            .solver(solver)
            .epochs(epochs)
            .seed(3)
            .quiet();
        let began = Instant::now();
        let fit = model.fit(&counts)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{name:<56}{seconds:>10.2}{:>18.0}", fit.score(&counts)?);
    }
    Ok(())
}
