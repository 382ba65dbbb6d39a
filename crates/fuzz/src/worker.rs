//! The process that gives a target its inputs, and may die of one. It says on standard output what it does:
//! `begin <number>` before an input, and after it `refused`, `accepted <values>` or `panicked <message>`.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::corpus::Corpus;
use crate::{Outcome, Target, Values};

/// Bytes that a worker may allocate.
pub const MEMORY: u64 = 2 << 30;

/// Characters of a panic's message that a report shows.
const LONGEST: usize = 300;

/// The text of the last panic, in one line. If the target's thread resumes the panic of a thread of the library, it is
/// the text of the latter.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Gives a target the inputs of these numbers.
///
/// # Errors
/// When the memory cannot be limited, the corpus cannot be read, or nobody reads the output.
pub fn work(target: &Target, corpora: &Path, seed: u64, numbers: Range<usize>) -> io::Result<()> {
    limit_memory()?;
    panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace(['\n', '\r'], " ");
        *panic_text() = text.chars().take(LONGEST).collect();
    }));
    let corpus = Corpus::read(corpora, target)?;
    for number in numbers {
        let input = corpus.input(seed, number);
        say(format_args!("begin {number}"))?;
        match catch_unwind(AssertUnwindSafe(|| target.read(&input))) {
            Ok(Outcome::Refused) => say(format_args!("refused"))?,
            Ok(Outcome::Accepted(None)) => say(format_args!("accepted"))?,
            Ok(Outcome::Accepted(Some(values))) => say(format_args!("accepted {values}"))?,
            Err(_) => say(format_args!("panicked {}", panic_text()))?,
        }
    }
    Ok(())
}

fn panic_text() -> MutexGuard<'static, String> {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner)
}

fn say(what: fmt::Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{what}")?;
    out.flush()
}

/// The columns of the values in `accepted.tsv`, separated by tabs.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checksum = self.checksum.map_or("-".into(), |sum| sum.to_string());
        write!(
            f,
            "{}\t{}\t{}\t{}\t{checksum}",
            self.documents, self.terms, self.total, self.nonzeros
        )
    }
}

/// Makes allocations beyond [`MEMORY`] fail (`RLIMIT_DATA`), even of pages that are never written to.
fn limit_memory() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: MEMORY,
        rlim_max: MEMORY,
    };
    // SAFETY: the pointer is valid during the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_DATA, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
