//! The one thread that reads: it fills buffers while those before them are worked on.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::counts::{Access, RowBuffer, STAGE, Stage, Stored};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::free_memory;

/// Bytes that the system is asked to start reading before they are read.
const AHEAD: usize = 8 * STAGE;
/// Bytes that are taken out of the page cache at once. The system keeps large pages that are only partly named, so the
/// last few are named again.
const BEHIND: usize = 16 * STAGE;
const AGAIN: usize = 4 * STAGE;

/// Reads rows of a file on a thread of its own. Buffers go in empty and come back filled, in order.
pub(crate) struct Reader {
    /// Taken when the reader is dropped, which ends the thread.
    jobs: Option<Sender<Job>>,
    filled: Receiver<Result<RowBuffer>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    runs: Vec<Range<usize>>,
    buffer: RowBuffer,
}

impl Reader {
    /// Starts the thread.
    pub(crate) fn start(stored: Stored, access: Access) -> Result<Self> {
        let (jobs, jobs_in) = channel::<Job>();
        let (filled_out, filled) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        stored.expect(access);
        let work = Work {
            access,
            // What fits may stay for the next epoch; what does not would only push out other things, page by page.
            forget: stored.length() > free_memory() / 2,
            asked: 0,
            piece: (STAGE as u64 / stored.row_bytes()).max(1) as usize,
            stored,
            stage: Stage::new(),
            stop: stopped,
        };
        let thread = std::thread::Builder::new()
            .name("topicbook reader".into())
            .spawn(move || work.run(&jobs_in, &filled_out))
            .map_err(|error| {
                Error::new(
                    ErrorKind::Space,
                    "the thread that reads the counts cannot be started",
                )
                .fix("free some memory, or raise the limit of threads of this process")
                .because(error)
            })?;
        Ok(Self {
            jobs: Some(jobs),
            filled,
            stop,
            thread: Some(thread),
        })
    }

    /// Has the rows of `runs` read into `buffer`, whatever was in it.
    pub(crate) fn request(&self, runs: Vec<Range<usize>>, buffer: RowBuffer) {
        if let Some(jobs) = &self.jobs {
            // A thread that has ended is told by `receive`.
            let _ = jobs.send(Job { runs, buffer });
        }
    }

    /// Waits for the buffer of the oldest request. After an error there are no others.
    pub(crate) fn receive(&self) -> Result<RowBuffer> {
        self.filled.recv().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Panic,
                "the thread that reads the counts has ended",
            ))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was told by `receive`.
            let _ = thread.join();
        }
    }
}

struct Work {
    stored: Stored,
    access: Access,
    forget: bool,
    /// Rows read at once.
    piece: usize,
    /// In sequential reading, the row up to which the system was asked to read.
    asked: usize,
    stage: Stage,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn run(mut self, jobs: &Receiver<Job>, filled: &Sender<Result<RowBuffer>>) {
        while let Ok(mut job) = jobs.recv() {
            job.buffer.clear();
            // At once: a buffer that grows leaves its smaller selves with the allocator.
            let rows = job.runs.iter().map(ExactSizeIterator::len).sum();
            self.stored.reserve(&mut job.buffer, rows);
            let read = self.read(&job.runs, &mut job.buffer);
            let failed = read.is_err();
            let sent = filled.send(read.map(|()| job.buffer));
            if failed || sent.is_err() {
                return;
            }
        }
    }

    fn read(&mut self, runs: &[Range<usize>], buffer: &mut RowBuffer) -> Result<()> {
        let pieces = |run: &Range<usize>| {
            let (piece, end) = (self.piece, run.end);
            run.clone()
                .step_by(piece)
                .map(move |first| first..end.min(first + piece))
        };
        let row = self.stored.row_bytes() as usize;
        let mut ahead = runs.iter().flat_map(pieces);
        let mut ahead_rows = 0;
        for run in runs {
            let mut kept = run.start;
            for piece in pieces(run) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Io, "reading was stopped"));
                }
                match self.access {
                    Access::Scattered => {
                        while ahead_rows * row < AHEAD
                            && let Some(next) = ahead.next()
                        {
                            ahead_rows += next.len();
                            self.stored.prefetch(next)?;
                        }
                        ahead_rows -= piece.len();
                    }
                    // What follows is known, also past the end of what was asked for up to now.
                    Access::Sequential => {
                        let wanted = (piece.end + AHEAD / row).min(self.stored.documents());
                        while self.asked < wanted {
                            let next = self.asked..wanted.min(self.asked + self.piece);
                            self.asked = next.end;
                            self.stored.prefetch(next)?;
                        }
                    }
                }
                self.stored.append(piece.clone(), buffer, &mut self.stage)?;
                if self.forget && ((piece.end - kept) * row >= BEHIND || piece.end == run.end) {
                    let again = (AGAIN / row).min(kept - run.start);
                    self.stored.forget(kept - again..piece.end)?;
                    kept = piece.end;
                }
            }
        }
        // At the end, so that a change while they were read is found as well.
        self.stored.check_unchanged()
    }
}
