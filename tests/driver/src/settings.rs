//! The card that the environment describes.

use std::env;

/// One card of many that are alike.
pub struct Settings {
    /// `CARDLESS_MEMORY`: bytes of the card.
    pub memory: usize,
    /// `CARDLESS_TAKEN`: bytes of it that other processes hold.
    pub taken: usize,
    /// `CARDLESS_CAPABILITY`, as in `8.9`.
    pub capability: (i32, i32),
    /// `CARDLESS_CUDA`: the newest CUDA that the driver runs.
    pub cuda: (i32, i32),
    /// `CARDLESS_NVRTC`: the version of the compiler that this library stands in for.
    pub nvrtc: (i32, i32),
    /// `CARDLESS_CARDS`: how many there are.
    pub cards: i32,
    /// `CARDLESS_BUS`: bytes a second each way; without it copies take no time.
    pub bus: Option<f64>,
}

impl Settings {
    pub fn read() -> Self {
        Self {
            memory: number("CARDLESS_MEMORY").unwrap_or(8 << 30),
            taken: number("CARDLESS_TAKEN").unwrap_or(0),
            capability: version("CARDLESS_CAPABILITY").unwrap_or((8, 0)),
            cuda: version("CARDLESS_CUDA").unwrap_or((12, 8)),
            nvrtc: version("CARDLESS_NVRTC").unwrap_or((12, 8)),
            cards: number("CARDLESS_CARDS").unwrap_or(1),
            bus: number("CARDLESS_BUS"),
        }
    }
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

fn version(name: &str) -> Option<(i32, i32)> {
    let text = env::var(name).ok()?;
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
