//! The large values that this process holds: counts, tables, fits, plans.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A value of this crate that still exists.
#[derive(Debug, Clone)]
pub struct Held {
    pub kind: &'static str,
    /// Its size and place, in a few words.
    pub what: String,
    /// Bytes of anonymous memory that it keeps.
    pub bytes: u64,
    /// Number of variables and other values that share it.
    pub handles: usize,
}

struct Entry {
    kind: &'static str,
    what: String,
    bytes: u64,
    alive: Weak<dyn Any + Send + Sync>,
    /// Addresses of values that are part of this one, and are not listed by themselves.
    parts: Vec<usize>,
}

static HELD: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Lists a value until the last handle of it is dropped. `parts`: the values that belong to it.
pub fn hold<T: Any + Send + Sync>(
    value: &Arc<T>,
    (kind, what, bytes): (&'static str, String, u64),
    parts: Vec<usize>,
) {
    let alive: Weak<T> = Arc::downgrade(value);
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    // Entries of dropped values are removed when the list would grow.
    if held.len() == held.capacity() {
        held.retain(|entry| entry.alive.strong_count() > 0);
    }
    held.push(Entry {
        kind,
        what,
        bytes,
        alive,
        parts,
    });
}

/// The address by which [`hold`] identifies a part.
pub fn address<T>(value: &Arc<T>) -> usize {
    Arc::as_ptr(value) as usize
}

/// All values that exist, the largest first.
pub fn held() -> Vec<Held> {
    let entries = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let alive = entries
        .iter()
        .filter(|entry| entry.alive.strong_count() > 0);
    let parts: Vec<usize> = alive
        .clone()
        .flat_map(|entry| entry.parts.iter().copied())
        .collect();
    let mut values: Vec<Held> = alive
        .filter(|entry| !parts.contains(&(entry.alive.as_ptr() as *const () as usize)))
        .map(|entry| Held {
            kind: entry.kind,
            what: entry.what.clone(),
            bytes: entry.bytes,
            handles: entry.alive.strong_count(),
        })
        .collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.bytes));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_listed_until_they_are_dropped() {
        let ours = || -> Vec<Held> {
            let mut values = held();
            values.retain(|value| value.kind == "test");
            values
        };
        let table = Arc::new(vec![0u8; 100]);
        hold(&table, ("test", "table".into(), 100), Vec::new());
        let small = Arc::new(1u8);
        hold(&small, ("test", "number".into(), 1), Vec::new());
        let copy = table.clone();
        let values = ours();
        assert_eq!(values.len(), 2);
        assert_eq!((values[0].bytes, values[0].handles), (100, 2));
        // A value that is part of another one is counted there.
        let whole = Arc::new(());
        hold(&whole, ("test", "whole".into(), 100), vec![address(&table)]);
        let texts: Vec<_> = ours().into_iter().map(|value| value.what).collect();
        assert_eq!(texts, ["whole", "number"]);
        drop((whole, small, table));
        assert_eq!(ours().len(), 1);
        drop(copy);
        assert!(ours().is_empty());
    }
}
