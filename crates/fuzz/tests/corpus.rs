//! Every file of the corpus, and some thousands of mutations of them: what fuzzing found stays found.

use std::fs;
use std::path::Path;

use fuzz::TARGETS;

/// Mutations of each file.
const MUTATIONS: u64 = 40;

#[test]
fn corpus_and_mutations_are_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let folder = corpus.join(name);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "no corpus for {name}");
        for file in files {
            let data = fs::read(&file).unwrap();
            target(&data);
            for seed in 0..MUTATIONS {
                target(&mutated(&data, seed));
            }
        }
    }
}

/// The bytes with one to four changes: a flipped bit, another byte, a cut, or a part written twice.
fn mutated(data: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let mut data = data.to_vec();
    for _ in 0..1 + next(4) {
        if data.is_empty() {
            return data;
        }
        let at = next(data.len());
        match next(4) {
            0 => data[at] ^= 1 << next(8),
            1 => data[at] = next(256) as u8,
            2 => data.truncate(at),
            _ => {
                let part = data[at..data.len().min(at + 1 + next(16))].to_vec();
                data.splice(at..at, part);
            }
        }
    }
    data
}
