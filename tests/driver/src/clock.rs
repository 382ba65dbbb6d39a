//! Streams and events on a clock of their own: seconds since the library was loaded. What a stream is given begins when
//! all before it has ended, and the bus, one lane each way, is free.

use std::collections::HashMap;
use std::time::Instant;

pub type Handle = usize;

#[derive(Clone, Copy)]
pub enum Lane {
    ToCard = 0,
    FromCard = 1,
}

pub struct Clock {
    began: Instant,
    /// Bytes a second.
    bus: Option<f64>,
    /// When each has done all that it was given.
    streams: HashMap<Handle, f64>,
    events: HashMap<Handle, f64>,
    lanes: [f64; 2],
    handles: Handle,
}

impl Clock {
    pub fn new(bus: Option<f64>) -> Self {
        Self {
            began: Instant::now(),
            bus,
            // The null stream.
            streams: HashMap::from([(0, 0.0)]),
            events: HashMap::new(),
            lanes: [0.0; 2],
            handles: 0,
        }
    }

    pub fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn handle(&mut self) -> Handle {
        self.handles += 1;
        self.handles
    }

    pub fn new_stream(&mut self) -> Handle {
        let handle = self.handle();
        self.streams.insert(handle, 0.0);
        handle
    }

    pub fn end_stream(&mut self, stream: Handle) -> bool {
        self.streams.remove(&stream).is_some()
    }

    pub fn new_event(&mut self) -> Handle {
        let handle = self.handle();
        self.events.insert(handle, 0.0);
        handle
    }

    pub fn end_event(&mut self, event: Handle) -> bool {
        self.events.remove(&event).is_some()
    }

    pub fn knows(&self, stream: Handle) -> bool {
        self.streams.contains_key(&stream)
    }

    /// When a copy on a stream ends.
    pub fn copy(&mut self, stream: Handle, lane: Lane, bytes: usize) -> Option<f64> {
        let now = self.now();
        let ready = self.streams.get_mut(&stream)?;
        let Some(bus) = self.bus else {
            return Some(now);
        };
        let lane = &mut self.lanes[lane as usize];
        let end = now.max(*ready).max(*lane) + bytes as f64 / bus;
        (*ready, *lane) = (end, end);
        Some(end)
    }

    pub fn record(&mut self, event: Handle, stream: Handle) -> Option<()> {
        let end = *self.streams.get(&stream)?;
        *self.events.get_mut(&event)? = end;
        Some(())
    }

    /// The stream goes on after the event.
    pub fn wait_for(&mut self, stream: Handle, event: Handle) -> Option<()> {
        let end = *self.events.get(&event)?;
        let ready = self.streams.get_mut(&stream)?;
        *ready = ready.max(end);
        Some(())
    }

    pub fn end_of_stream(&self, stream: Handle) -> Option<f64> {
        self.streams.get(&stream).copied()
    }

    pub fn end_of_event(&self, event: Handle) -> Option<f64> {
        self.events.get(&event).copied()
    }

    pub fn end_of_all(&self) -> f64 {
        self.streams.values().copied().fold(0.0, f64::max)
    }
}
