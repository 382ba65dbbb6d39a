//! `worker <target> <corpora> <seed> <from> <to>`: a round starts it again after an input that has ended it.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, corpora, seed, from, to] = arguments.as_slice() else {
        return Err("give a target, the folder of the corpora, a seed and two numbers".into());
    };
    let target = fuzz::target(name).ok_or("there is no target of this name")?;
    let numbers = from.parse()?..to.parse()?;
    fuzz::worker::work(target, Path::new(corpora), seed.parse()?, numbers)?;
    Ok(())
}
