//! Measured speeds of the disk that holds a folder.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

const BYTES: u64 = 2 << 30;
const BLOCK: u64 = 4096;
const RANDOM_READS: u64 = 4_000;

/// Writes a file of 2 GiB, has the system write it to the disk and forget its pages, and reads it: in order, and blocks of
/// 4 KiB at random places, one at a time. The result is `null` where the folder has no room.
pub fn speeds(folder: &Path) -> Value {
    let path = folder.join(format!("topicbook-disk-{}", std::process::id()));
    let measured = measure(&path).unwrap_or(Value::Null);
    let _ = fs::remove_file(&path);
    measured
}

fn measure(path: &Path) -> Result<Value> {
    // No disk compresses these numbers.
    let mut state = 1_u64;
    let mut numbers = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let part: Vec<u8> = (0..1 << 20).flat_map(|_| numbers().to_le_bytes()).collect();
    let start = Instant::now();
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    for _ in 0..BYTES / part.len() as u64 {
        file.write_all(&part)?;
    }
    file.sync_all()?;
    let written = start.elapsed().as_secs_f64();
    // The system forgets the file's pages, so that they are read from the disk.
    advise(&file, libc::POSIX_FADV_DONTNEED);
    let mut buffer = part;
    file.rewind()?;
    let start = Instant::now();
    while file.read(&mut buffer)? > 0 {
        black_box(&buffer);
    }
    let read = start.elapsed().as_secs_f64();
    advise(&file, libc::POSIX_FADV_DONTNEED);
    advise(&file, libc::POSIX_FADV_RANDOM);
    let start = Instant::now();
    for _ in 0..RANDOM_READS {
        file.seek(SeekFrom::Start(numbers() % (BYTES / BLOCK) * BLOCK))?;
        file.read_exact(&mut buffer[..BLOCK as usize])?;
    }
    let random = start.elapsed().as_secs_f64();
    Ok(json!({
        "write_bytes_per_second": BYTES as f64 / written,
        "read_bytes_per_second": BYTES as f64 / read,
        "random_reads_per_second": RANDOM_READS as f64 / random,
    }))
}

fn advise(file: &File, advice: i32) {
    // SAFETY: the descriptor belongs to an open file; the call changes no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}
