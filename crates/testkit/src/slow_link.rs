//! A second network between the two hosts, as slow as a test needs: two virtual network cards, and threads that carry
//! frames from one to the other. They add a delay, limit the rate, and drop some frames. (Kernels without `netem` have
//! no delays of their own.)

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::hosts::{Hosts, host_name, ip};

/// The network, for Open MPI's `btl_tcp_if_include`.
pub const SLOW_NETWORK: &str = "10.213.78.0/24";
/// Bytes of a frame at most: the MTU and the Ethernet header.
const MTU: usize = 9_000;
const FRAME: usize = MTU + 64;
/// Milliseconds after which a thread that waits for a frame checks whether it must end.
const LOOK: libc::c_int = 50;

/// How slow a link is.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// From one host to the other.
    pub delay: Duration,
    /// In each direction.
    pub bits_per_second: f64,
    /// One frame in this number is lost; 0 for none.
    pub loses_one_in: usize,
}

/// The network, until it is dropped.
pub struct SlowLink {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl SlowLink {
    /// Connects the hosts by it. The error says why this user or machine cannot.
    pub fn between(_hosts: &Hosts, link: Link) -> Result<Self, String> {
        let mut cards = Vec::new();
        for host in [2, 3] {
            let (name, card) = (host_name(host), format!("tbslow{host}"));
            let file =
                card_file(&card).map_err(|error| format!("a virtual network card: {error}"))?;
            ip(&format!("link set {card} netns {name}"))?;
            ip(&format!(
                "-n {name} addr add 10.213.78.{host}/24 dev {card}"
            ))?;
            ip(&format!("-n {name} link set {card} mtu {MTU} up"))?;
            cards.push(Arc::new(file));
        }
        let ended = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (from, to) in [(0, 1), (1, 0)] {
            let queue = Arc::new(Queue::default());
            let (reader, frames, end) = (cards[from].clone(), queue.clone(), ended.clone());
            threads.push(thread::spawn(move || read(&reader, &frames, link, &end)));
            let (writer, end) = (cards[to].clone(), ended.clone());
            threads.push(thread::spawn(move || write(&writer, &queue, &end)));
        }
        Ok(Self { ended, threads })
    }
}

impl Drop for SlowLink {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Frames on their way, and when each arrives.
#[derive(Default)]
struct Queue {
    frames: Mutex<VecDeque<(Instant, Vec<u8>)>>,
    more: Condvar,
}

fn read(mut card: &File, queue: &Queue, link: Link, ended: &AtomicBool) {
    let mut bytes = vec![0; FRAME];
    let mut free = Instant::now();
    for number in 1.. {
        let mut poll = libc::pollfd {
            fd: card.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `poll` is one valid entry, and the file is open.
        while unsafe { libc::poll(&mut poll, 1, LOOK) } == 0 {
            if ended.load(Ordering::Relaxed) {
                return;
            }
        }
        // The card is gone with its host.
        let Ok(length) = card.read(&mut bytes) else {
            return;
        };
        if link.loses_one_in > 0 && number % link.loses_one_in == 0 {
            continue;
        }
        let takes = Duration::from_secs_f64(8.0 * length as f64 / link.bits_per_second);
        free = free.max(Instant::now()) + takes;
        let frame = (free + link.delay, bytes[..length].to_vec());
        let mut frames = queue.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push_back(frame);
        queue.more.notify_one();
    }
}

fn write(mut card: &File, queue: &Queue, ended: &AtomicBool) {
    let wait = Duration::from_millis(LOOK as u64);
    while !ended.load(Ordering::Relaxed) {
        let frames = queue.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = queue
            .more
            .wait_timeout_while(frames, wait, |frames| frames.is_empty());
        let mut frames = waited.unwrap_or_else(PoisonError::into_inner).0;
        let Some((arrives, frame)) = frames.pop_front() else {
            continue;
        };
        drop(frames);
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        // A frame to a host that is gone is lost.
        let _ = card.write_all(&frame);
    }
}

/// The file of a new virtual network card.
fn card_file(name: &str) -> io::Result<File> {
    /// `struct ifreq` with flags.
    #[repr(C)]
    struct Request {
        name: [u8; libc::IFNAMSIZ],
        flags: libc::c_short,
        rest: [u8; 22],
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")?;
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short,
        rest: [0; 22],
    };
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, which `request` is.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}
