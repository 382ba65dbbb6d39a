//! Changes of bytes: of any bytes, and of those that have a meaning in a format.

mod archive;
mod array;
pub mod header;
mod packed;
pub mod pages;
mod text;

pub(crate) use archive::{npz, xlsx};
pub(crate) use array::npy;
pub(crate) use header::{safetensors, saved};
pub(crate) use packed::packed;
pub(crate) use pages::parquet;
pub(crate) use text::{json, markup, number};

use testkit::Random;

/// A change that keeps a format's lengths and checksums right; `None` where the bytes are not of the format.
pub(crate) type Structured = fn(&[u8], &mut Random) -> Option<Vec<u8>>;

/// Bytes of the largest mutant.
const LARGEST: usize = 1 << 16;

/// Numbers at the limits of the types that hold shapes, lengths, ids and counts.
const EXTREMES: [u64; 21] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xffff,
    0x1_0000,
    (1 << 24) + 1,
    100_000_000,
    300_000_000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    (1 << 53) + 1,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Floating-point numbers that counts and settings do not expect.
const FLOATS: [f64; 10] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    -1.0,
    0.5,
    16_777_217.0,
    1e30,
    f64::MAX,
    f64::MIN_POSITIVE,
];

/// Changes some bytes: a bit, a byte, a number, a cut, a part of another file, a part written twice or left out.
pub(crate) fn bytes(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if data.is_empty() {
        data.extend_from_slice(other);
        return;
    }
    let at = random.below(data.len());
    match random.below(9) {
        0 | 1 => data[at] ^= 1 << random.below(8),
        2 => data[at] = *random.of(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]),
        3 => data[at] = random.below(256) as u8,
        4 => data.truncate(at),
        5 => {
            let from = random.below(other.len());
            let part = &other[from..other.len().min(from + LARGEST / 2)];
            data.truncate(at.min(LARGEST / 2));
            data.extend_from_slice(part);
        }
        6 => {
            let part = data[at..data.len().min(at + 1 + random.below(64))].to_vec();
            if data.len() + part.len() <= LARGEST {
                data.splice(at..at, part);
            }
        }
        7 => {
            let end = data.len().min(at + 1 + random.below(16));
            data.drain(at..end);
        }
        _ => extreme(&mut data[at..], random),
    }
}

/// Writes an extreme number in little-endian order to the start of the bytes.
fn extreme(data: &mut [u8], random: &mut Random) {
    let width = *random.of(&[1, 2, 4, 8]);
    let number = match (random.below(4), width) {
        (0, 4) => u64::from((*random.of(&FLOATS) as f32).to_bits()),
        (0, 8) => random.of(&FLOATS).to_bits(),
        _ => *random.of(&EXTREMES),
    };
    for (byte, new) in data.iter_mut().zip(number.to_le_bytes()).take(width) {
        *byte = new;
    }
}

/// As [`extreme`], at a multiple of 4 bytes.
fn extreme_value(data: &mut [u8], random: &mut Random) {
    let at = 4 * random.below(data.len() / 4 + 1);
    extreme(&mut data[at..], random);
}
