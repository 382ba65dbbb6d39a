//! The threads that steps run on.

use crate::error::{Error, Result};
use crate::system::{Team, spread_threads};

/// A thread pool for one fit. The training loop runs inside it, which saves waking the pool from outside at every step.
/// As each fit has its own pool, concurrent fits do not wait for each other.
pub fn threads() -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .build()
        .map_err(no_threads)?;
    spread_threads(&pool);
    Ok(pool)
}

/// The threads of one fit's gradient steps, whose sections are shorter than the time that a pool takes to begin them.
pub fn team() -> Result<Team> {
    Team::new().map_err(no_threads)
}

fn no_threads(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::space("the threads of the fit cannot be started")
        .fix("free some memory, or raise the limit on threads of this process")
        .because(error)
}
