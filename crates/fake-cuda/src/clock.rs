//! Simulated time of streams, events and the bus, in seconds since the library was loaded. An operation on a stream
//! starts when the operations before it on that stream have ended and, for a copy, when the bus is free in its
//! direction.

use std::collections::HashMap;
use std::time::Instant;

pub type Handle = usize;

/// A direction of the bus. Uploads and downloads do not delay each other (full duplex).
#[derive(Clone, Copy)]
pub enum Direction {
    Upload = 0,
    Download = 1,
}

pub struct Clock {
    start: Instant,
    /// Bytes per second in each direction; without it copies take no time.
    bus: Option<f64>,
    /// When the last operation of each stream ends.
    streams: HashMap<Handle, f64>,
    /// When the operations recorded by each event end.
    events: HashMap<Handle, f64>,
    /// When the bus becomes free, by [`Direction`].
    bus_free: [f64; 2],
    last_handle: Handle,
}

impl Clock {
    pub fn new(bus: Option<f64>) -> Self {
        Self {
            start: Instant::now(),
            bus,
            // The null stream.
            streams: HashMap::from([(0, 0.0)]),
            events: HashMap::new(),
            bus_free: [0.0; 2],
            last_handle: 0,
        }
    }

    pub fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn new_handle(&mut self) -> Handle {
        self.last_handle += 1;
        self.last_handle
    }

    pub fn new_stream(&mut self) -> Handle {
        let handle = self.new_handle();
        self.streams.insert(handle, 0.0);
        handle
    }

    /// False where the stream does not exist.
    pub fn destroy_stream(&mut self, stream: Handle) -> bool {
        self.streams.remove(&stream).is_some()
    }

    pub fn new_event(&mut self) -> Handle {
        let handle = self.new_handle();
        self.events.insert(handle, 0.0);
        handle
    }

    /// False where the event does not exist.
    pub fn destroy_event(&mut self, event: Handle) -> bool {
        self.events.remove(&event).is_some()
    }

    pub fn has_stream(&self, stream: Handle) -> bool {
        self.streams.contains_key(&stream)
    }

    /// Queues a copy on a stream and returns when it ends; `None` where the stream does not exist.
    pub fn copy(&mut self, stream: Handle, direction: Direction, bytes: usize) -> Option<f64> {
        let now = self.now();
        let stream_end = self.streams.get_mut(&stream)?;
        let Some(bus) = self.bus else {
            return Some(now);
        };
        let bus_free = &mut self.bus_free[direction as usize];
        let end = now.max(*stream_end).max(*bus_free) + bytes as f64 / bus;
        (*stream_end, *bus_free) = (end, end);
        Some(end)
    }

    /// `cuEventRecord`; `None` where one of the handles does not exist.
    pub fn record(&mut self, event: Handle, stream: Handle) -> Option<()> {
        let end = *self.streams.get(&stream)?;
        *self.events.get_mut(&event)? = end;
        Some(())
    }

    /// `cuStreamWaitEvent`: later operations of the stream start after the event. `None` where one of the handles
    /// does not exist.
    pub fn wait_for(&mut self, stream: Handle, event: Handle) -> Option<()> {
        let end = *self.events.get(&event)?;
        let stream_end = self.streams.get_mut(&stream)?;
        *stream_end = stream_end.max(end);
        Some(())
    }

    pub fn end_of_stream(&self, stream: Handle) -> Option<f64> {
        self.streams.get(&stream).copied()
    }

    pub fn end_of_event(&self, event: Handle) -> Option<f64> {
        self.events.get(&event).copied()
    }

    pub fn end_of_all_streams(&self) -> f64 {
        self.streams.values().copied().fold(0.0, f64::max)
    }
}
