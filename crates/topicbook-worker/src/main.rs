//! A rank of a fit on a cluster: runs the passes of topicbook with messages by MPI. A launcher such as `mpiexec` starts
//! `topicbook-worker <folder of the run>`; see `Cluster` in the library.

use std::path::Path;
use std::process::exit;

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Root, Source};
use rayon::ThreadPoolBuilder;
use topicbook_cluster::worker::{Ranks, is_supervised, run, supervise};

/// Maximum number of values of a message: MPI counts them in 32 bits.
const MESSAGE: usize = 1 << 27;

/// All ranks of the job.
struct World(SimpleCommunicator);

impl Ranks for World {
    fn rank(&self) -> usize {
        self.0.rank() as usize
    }

    fn size(&self) -> usize {
        self.0.size() as usize
    }

    fn send(&self, values: &[f64], to: usize) {
        let to = self.0.process_at_rank(to as i32);
        values.chunks(MESSAGE).for_each(|values| to.send(values));
    }

    fn receive(&self, values: &mut [f64], from: usize) {
        let from = self.0.process_at_rank(from as i32);
        for values in values.chunks_mut(MESSAGE) {
            from.receive_into(values);
        }
    }

    fn broadcast(&self, values: &mut [f32]) {
        let first = self.0.process_at_rank(0);
        for values in values.chunks_mut(MESSAGE) {
            first.broadcast_into(values);
        }
    }
}

fn main() {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("topicbook-worker <folder of the run>: started by a fit on a cluster");
        exit(2);
    };
    let folder = Path::new(&folder);
    if !is_supervised() {
        let code = supervise(folder).unwrap_or_else(|error| {
            eprintln!("{error}");
            1
        });
        exit(code);
    }
    // All messages are sent by this thread; the threads of a pass send none.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("MPI cannot be initialised in this process");
        exit(1);
    };
    // This thread belongs to the pool: if it waits outside for each piece of work, a pass has five times the context switches.
    let pool = ThreadPoolBuilder::new().use_current_thread();
    if let Err(error) = pool.build_global() {
        eprintln!("the threads of this rank cannot be started: {error}");
        exit(1);
    }
    if let Err(error) = run(folder, &World(universe.world())) {
        eprintln!("{error}");
        // On this exit the launcher ends the other ranks, which wait for this one.
        exit(1);
    }
}
