//! A background thread that reads rows of a file into buffers while earlier buffers are in use.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::error::{Error, ErrorKind, Result};
use crate::system::memory::free_memory;

use super::row_file::{Access, RowBuffer, STAGE_BYTES, Stage};
use super::row_files::RowFiles;

/// Bytes to prefetch into the page cache (`POSIX_FADV_WILLNEED`) before they are read.
const PREFETCH_BYTES: usize = 8 * STAGE_BYTES;
/// Bytes to evict from the page cache (`POSIX_FADV_DONTNEED`) at once.
const EVICT_BYTES: usize = 16 * STAGE_BYTES;
/// Bytes at the end of the last evicted range that are evicted again: the OS keeps large pages that a range covers only
/// in part.
const EVICT_OVERLAP: usize = 4 * STAGE_BYTES;

/// Reads rows of a file on its own thread. Filled buffers are received in the order of the requests.
pub struct Reader {
    /// Set to `None` on drop: the closed channel ends the thread.
    jobs: Option<Sender<Job>>,
    filled: Receiver<Result<RowBuffer>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    /// Row ranges to read, in this order.
    ranges: Vec<Range<usize>>,
    buffer: RowBuffer,
}

impl Reader {
    /// Starts the thread.
    pub fn start(row_file: RowFiles, access: Access) -> Result<Self> {
        let (jobs, job_receiver) = channel::<Job>();
        let (filled_sender, filled) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let worker_stop = Arc::clone(&stop);
        row_file.advise_access(access);
        let worker = Worker {
            access,
            // A file that fits into memory stays in the page cache for the next epoch. A larger one would only push
            // out other files.
            evict: row_file.length() > free_memory() / 2,
            prefetched_to: 0,
            chunk_rows: (STAGE_BYTES as u64 / row_file.row_bytes()).max(1) as usize,
            row_file,
            stage: Stage::new(),
            stop: worker_stop,
        };
        let thread = std::thread::Builder::new()
            .name("topicbook reader".into())
            .spawn(move || worker.run(&job_receiver, &filled_sender))
            .map_err(|error| {
                Error::space("cannot start the thread that reads the counts")
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

    /// Queues a request to read the rows of `ranges` into `buffer`, which is cleared first. Does not block.
    pub fn request(&self, ranges: Vec<Range<usize>>, buffer: RowBuffer) {
        if let Some(jobs) = &self.jobs {
            // Sending fails if the thread has ended; `receive` then returns the error.
            let _ = jobs.send(Job { ranges, buffer });
        }
    }

    /// Waits for the buffer of the oldest request. No buffers follow an error, since it ends the thread.
    pub fn receive(&self) -> Result<RowBuffer> {
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
            // `receive` has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// State of the reader's thread.
struct Worker {
    row_file: RowFiles,
    access: Access,
    /// Whether rows are evicted from the page cache after they were read.
    evict: bool,
    /// Rows in one read.
    chunk_rows: usize,
    /// For sequential access: the end of the rows prefetched so far.
    prefetched_to: usize,
    stage: Stage,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>, filled: &Sender<Result<RowBuffer>>) {
        while let Ok(mut job) = jobs.recv() {
            job.buffer.clear();
            // Reserved at once, because repeated reallocation fragments the heap.
            let rows = job.ranges.iter().map(ExactSizeIterator::len).sum();
            self.row_file.reserve(&mut job.buffer, rows);
            let read = self.read(&job.ranges, &mut job.buffer);
            let failed = read.is_err();
            let sent = filled.send(read.map(|()| job.buffer));
            if failed || sent.is_err() {
                return;
            }
        }
    }

    fn read(&mut self, ranges: &[Range<usize>], buffer: &mut RowBuffer) -> Result<()> {
        let chunks = |range: &Range<usize>| {
            let (chunk_rows, end) = (self.chunk_rows, range.end);
            range
                .clone()
                .step_by(chunk_rows)
                .map(move |first| first..end.min(first + chunk_rows))
        };
        let row_bytes = self.row_file.row_bytes() as usize;
        let mut upcoming = ranges.iter().flat_map(chunks);
        // Rows that have been prefetched and not yet read.
        let mut prefetched_rows = 0;
        for range in ranges {
            let mut evicted_to = range.start;
            for chunk in chunks(range) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Io, "reading was stopped"));
                }
                match self.access {
                    Access::Scattered => {
                        while prefetched_rows * row_bytes < PREFETCH_BYTES
                            && let Some(next) = upcoming.next()
                        {
                            prefetched_rows += next.len();
                            self.row_file.prefetch(next)?;
                        }
                        prefetched_rows -= chunk.len();
                    }
                    // Prefetch past the end of this request: the next one continues there.
                    Access::Sequential => {
                        self.prefetched_to = self.prefetched_to.max(chunk.start);
                        let target =
                            (chunk.end + PREFETCH_BYTES / row_bytes).min(self.row_file.documents());
                        while self.prefetched_to < target {
                            let next = self.prefetched_to
                                ..target.min(self.prefetched_to + self.chunk_rows);
                            self.prefetched_to = next.end;
                            self.row_file.prefetch(next)?;
                        }
                    }
                }
                self.row_file
                    .append(chunk.clone(), buffer, &mut self.stage)?;
                let unevicted = (chunk.end - evicted_to) * row_bytes;
                if self.evict && (unevicted >= EVICT_BYTES || chunk.end == range.end) {
                    let overlap = (EVICT_OVERLAP / row_bytes).min(evicted_to - range.start);
                    self.row_file.evict(evicted_to - overlap..chunk.end)?;
                    evicted_to = chunk.end;
                }
            }
        }
        // Checked after reading, so that a change during the reads is found too.
        self.row_file.check_unchanged()
    }
}
