//! Ranks as threads, with channels instead of MPI.

use std::cell::RefCell;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::config::{MiniBatch, Optimizer, Solver};
use crate::counts::{Counts, Fingerprint};
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::{DocumentShards, Iterate, Start, StreamingEm, entropy, start_factors};
use crate::state::State;
use crate::step::State as StepState;
use crate::{Event, Files, Job, PassLine, RunFolder, Task};

use super::{Ranks, run};

const TOPICS: usize = 5;
const PASSES: usize = 4;

type Message = Vec<f64>;

/// A rank as a thread.
struct Thread {
    rank: usize,
    to: Vec<Sender<Message>>,
    from: Vec<RefCell<Receiver<Message>>>,
}

impl Ranks for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&self, values: &[f64], to: usize) {
        self.to[to].send(values.to_vec()).unwrap();
    }

    fn receive(&self, values: &mut [f64], from: usize) {
        values.copy_from_slice(&self.from[from].borrow().recv().unwrap());
    }

    fn broadcast(&self, values: &mut [f32]) {
        if self.rank == 0 {
            let message: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            (1..self.size()).for_each(|to| self.send(&message, to));
        } else {
            let message = self.from[0].borrow().recv().unwrap();
            for (value, sent) in values.iter_mut().zip(message) {
                *value = sent as f32;
            }
        }
    }
}

fn threads(size: usize) -> Vec<Thread> {
    let mut threads: Vec<Thread> = (0..size)
        .map(|rank| Thread {
            rank,
            to: Vec::new(),
            from: Vec::new(),
        })
        .collect();
    for from in 0..size {
        for to in 0..size {
            let (sender, receiver) = channel();
            threads[from].to.push(sender);
            threads[to].from.push(RefCell::new(receiver));
        }
    }
    threads
}

/// Counts in a file that are cut into 4 shards: sparse ones, and some with documents that hold most terms.
fn counts(folder: &Path, dense: bool) -> Counts {
    let (documents, terms) = if dense { (5_000, 700) } else { (9_000, 900) };
    let count = |document: usize, term: usize| {
        let mixed = (document * 31 + term * 17 + document * term % 13) % 97;
        match (dense, mixed) {
            (true, mixed) => (mixed % 4) as u8,
            (false, mixed) if mixed < 13 => 1 + (mixed % 3) as u8,
            _ => 0,
        }
    };
    let values = (0..documents * terms).map(|at| count(at / terms, at % terms));
    let counts = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
    match dense {
        true => counts.write_npy(folder.join("X.npy")).unwrap(),
        false => {
            let path = folder.join("X.npz");
            counts.write_npz(&path).unwrap();
            Counts::open(path).unwrap()
        }
    }
}

/// L and F before the first pass.
fn start(counts: &Counts) -> (Matrix, Matrix) {
    let (documents, terms) = counts.shape();
    let values = |n: usize, step: usize| (0..n).map(|i| 1.0 + (i * step % 11) as f32).collect();
    let l = Matrix::new(documents, TOPICS, values(documents * TOPICS, 3)).unwrap();
    let f = Matrix::new(TOPICS, terms, values(TOPICS * terms, 7)).unwrap();
    (l, f)
}

/// Gradient steps over batches of a sixth of the documents or so.
fn steps(optimizer: Optimizer) -> Task {
    Task::Steps {
        parameters: parameters(optimizer),
        seed: 7,
    }
}

fn parameters(optimizer: Optimizer) -> MiniBatch {
    let mut parameters = MiniBatch::default();
    (parameters.batch_size, parameters.optimizer) = (1_400, optimizer);
    parameters
}

fn job(counts: &Counts, parent: &Path, ranks: usize, task: Task) -> Result<RunFolder> {
    let folder = RunFolder::create(parent, counts.shape(), TOPICS, task.state_values())?;
    let (l, f) = start(counts);
    let summary = counts.summary()?;
    let lengths = summary.document_lengths();
    match &task {
        Task::Steps { parameters, .. } => {
            let solver = Solver::MiniBatch(parameters.clone());
            folder.write_logits(&StepState::new(l, f, &solver)?, lengths)?;
        }
        _ => {
            let [l, f] = start_factors(Start::New(&l, &f), lengths)?;
            folder.write_start(&l.values, &f.values, lengths)?;
        }
    }
    let job = Job {
        version: env!("CARGO_PKG_VERSION").into(),
        ranks,
        threads: None,
        memory: 0,
        files: Files::of(counts)?,
        fingerprint: Fingerprint::of(counts)?,
        entropy: entropy(lengths),
        task,
        topics: TOPICS,
        passes: PASSES,
        tolerance: 0.0,
    };
    job.write(&folder)?;
    Ok(folder)
}

fn run_all(folder: &RunFolder, ranks: usize) -> Vec<Result<()>> {
    thread::scope(|scope| {
        let run = |ranks: Thread| scope.spawn(move || run(folder.path(), &ranks));
        let started: Vec<_> = threads(ranks).into_iter().map(run).collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

fn bits(matrix: &Matrix) -> Vec<u32> {
    let values = matrix.values().iter();
    values.map(|value| value.to_bits()).collect()
}

/// The passes of a run that has finished.
fn passes(folder: &RunFolder) -> Vec<PassLine> {
    let lines = std::fs::read_to_string(folder.events()).unwrap();
    let events = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut events: Vec<Event> = events.collect();
    assert_eq!(events.pop(), Some(Event::Finished));
    let passes = events.into_iter().map(|event| match event {
        Event::Pass(line) => line,
        Event::Finished => panic!("an event after the last"),
    });
    passes.collect()
}

#[test]
fn ranks_give_the_bits_of_one_process() -> Result<()> {
    let parent = tempfile::tempdir().unwrap();
    for (dense, descent) in [(false, false), (true, false), (false, true), (true, true)] {
        let counts = counts(parent.path(), dense);
        let (documents, terms) = counts.shape();
        let nonzeros = counts.summary()?.nonzeros();
        let shards = DocumentShards::new(documents, terms, nonzeros).number();
        assert!(shards >= 4, "{shards} shards");
        let (l, f) = start(&counts);
        let start = Start::New(&l, &f);
        let mut alone = match descent {
            true => StreamingEm::by_descent(&counts, true, start)?,
            false => StreamingEm::by_em(&counts, true, start)?,
        };
        let scores: Result<Vec<f64>> = (0..PASSES)
            .map(|_| Ok(alone.iterate(&counts)?.score))
            .collect();
        let (scores, expected) = (scores?, alone.topics()?);
        for ranks in 1..=4 {
            let task = if descent { Task::Descent } else { Task::Em };
            let folder = job(&counts, parent.path(), ranks, task)?;
            for result in run_all(&folder, ranks) {
                result?;
            }
            let found = folder.topics((documents, terms, TOPICS), false)?;
            assert!(bits(&found.0) == bits(&expected.0), "L of {ranks} ranks");
            assert!(bits(&found.1) == bits(&expected.1), "F of {ranks} ranks");
            let passes = passes(&folder);
            for (line, score) in passes.iter().zip(&scores) {
                assert_eq!(line.score.to_bits(), score.to_bits());
                let documents_of_ranks: u64 = line.ranks.iter().map(|rank| rank.documents).sum();
                assert_eq!(documents_of_ranks, documents as u64);
            }
            assert_eq!(passes.len(), PASSES);
        }
    }
    Ok(())
}

#[test]
fn gradient_steps_have_the_same_bits_on_any_number_of_ranks() -> Result<()> {
    let parent = tempfile::tempdir().unwrap();
    for (dense, optimizer) in [
        (false, Optimizer::AdamW),
        (true, Optimizer::AdamW),
        (false, Optimizer::RowwiseAdamW),
        (false, Optimizer::RowwiseAdagrad),
    ] {
        let counts = counts(parent.path(), dense);
        let (documents, terms) = counts.shape();
        let shape = (documents, terms, TOPICS);
        let mut first = None;
        for ranks in 1..=4 {
            let folder = job(&counts, parent.path(), ranks, steps(optimizer))?;
            run_all(&folder, ranks)
                .into_iter()
                .collect::<Result<Vec<_>>>()?;
            let (l, f) = folder.topics(shape, true)?;
            let scores: Vec<f64> = passes(&folder).iter().map(|pass| pass.score).collect();
            assert_eq!(scores.len(), PASSES);
            assert!(scores[PASSES - 1] > scores[0], "{optimizer}: {scores:?}");
            let found = (bits(&l), bits(&f), scores);
            let expected = first.get_or_insert_with(|| found.clone());
            assert!(
                found == *expected,
                "{ranks} ranks, {optimizer}, dense: {dense}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_fit_goes_on_from_its_last_tables() -> Result<()> {
    goes_on(Task::Em)?;
    goes_on(steps(Optimizer::AdamW))
}

fn goes_on(task: Task) -> Result<()> {
    let parent = tempfile::tempdir().unwrap();
    let counts = counts(parent.path(), false);
    let (documents, terms) = counts.shape();
    let are_logits = matches!(task, Task::Steps { .. });
    let whole = job(&counts, parent.path(), 2, task.clone())?;
    run_all(&whole, 2).into_iter().collect::<Result<Vec<_>>>()?;
    // Two passes by 2 ranks, which a stop file ends one by one, then the rest by 3.
    let parts = job(&counts, parent.path(), 2, task)?;
    std::fs::write(parts.stop(), "").unwrap();
    run_all(&parts, 2).into_iter().collect::<Result<Vec<_>>>()?;
    let mut state = State::read(&parts)?;
    assert_eq!((state.passes, state.last), (1, true));
    state.last = false;
    state.commit(&parts)?;
    std::fs::remove_file(parts.stop()).unwrap();
    let mut job: Job = crate::run_folder::read_json(&parts.job())?;
    job.ranks = 3;
    job.write(&parts)?;
    parts.clear_attempt(2)?;
    run_all(&parts, 3).into_iter().collect::<Result<Vec<_>>>()?;
    let shape = (documents, terms, TOPICS);
    assert!(parts.topics(shape, are_logits)? == whole.topics(shape, are_logits)?);
    Ok(())
}

#[test]
fn other_counts_than_those_of_the_fit_are_refused() -> Result<()> {
    let parent = tempfile::tempdir().unwrap();
    let counts = counts(parent.path(), true);
    let folder = job(&counts, parent.path(), 1, Task::Em)?;
    let (documents, terms) = counts.shape();
    let other = |change: fn(&mut Vec<u8>)| -> String {
        let mut dense = vec![0.0; documents * terms];
        let rows: Vec<usize> = (0..documents).collect();
        counts.fill_rows(&rows, &mut dense).unwrap();
        let mut values: Vec<u8> = dense.into_iter().map(|value| value as u8).collect();
        change(&mut values);
        let path = parent.path().join("other.npy");
        let other = Counts::dense(documents, terms, values).unwrap();
        other.write_npy(&path).unwrap();
        let mut job: Job = crate::run_folder::read_json(&folder.job()).unwrap();
        job.files = Files::of(&Counts::open(path).unwrap()).unwrap();
        job.write(&folder).unwrap();
        run_all(&folder, 1).remove(0).unwrap_err().to_string()
    };
    let longer = other(|values| values[700 * 3] += 1);
    testkit::assert_has(&longer, ["document 3 has", "rank 0"]);
    let swapped = other(|values| values[..700].reverse());
    testkit::assert_has(&swapped, ["documents of the same lengths"]);
    Ok(())
}

#[test]
fn a_plan_knows_what_is_exchanged() {
    let shards = DocumentShards::new(1_000_000, 1_000, u64::MAX);
    assert_eq!(shards.number(), 256);
    assert_eq!(shards.exchange(1).pieces, 0);
    assert_eq!(shards.exchange(4).pieces, 4);
    assert_eq!(shards.exchange(64).pieces, 84);
}
