//! Chunks of 128 numbers, bit-packed, with wider numbers as exceptions (PFOR: Zukowski et al., Super-scalar RAM-CPU cache
//! compression, 2006). Without exceptions, the largest number would set the width of all 128.

use bitpacking::{BitPacker, BitPacker4x};

/// Numbers in a chunk. The last chunk of a sequence is filled up with zeros.
pub(super) const CHUNK: usize = BitPacker4x::BLOCK_LEN;
/// Bytes of a head.
pub(super) const HEAD_BYTES: usize = 2;

pub(super) type Chunk = [u32; CHUNK];

/// How a chunk is packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// Bits of a packed number: the lower bits of an exception.
    width: usize,
    exceptions: usize,
    /// Bytes of the upper bits of an exception, from 1 to 4.
    upper: usize,
}

impl Head {
    /// The width that needs the fewest bytes, where an exception counts as one more for the time that it takes.
    fn of(chunk: &Chunk) -> Self {
        let mut numbers_of = [0; 33];
        for number in chunk {
            numbers_of[(u32::BITS - number.leading_zeros()) as usize] += 1;
        }
        let largest = numbers_of.iter().rposition(|&n| n > 0).unwrap_or(0);
        let mut best = Self {
            width: largest,
            exceptions: 0,
            upper: 1,
        };
        let mut exceptions = 0;
        for width in (0..largest).rev() {
            exceptions += numbers_of[width + 1];
            let head = Self {
                width,
                exceptions,
                upper: (largest - width).div_ceil(8),
            };
            if head.cost() < best.cost() {
                best = head;
            }
        }
        best
    }

    fn cost(self) -> usize {
        self.body_bytes() + self.exceptions
    }

    /// `None` where no chunk has such a head.
    pub(super) fn from_bytes([width, exceptions]: [u8; HEAD_BYTES]) -> Option<Self> {
        let head = Self {
            width: usize::from(width & 0x3f),
            exceptions: exceptions.into(),
            upper: usize::from(width >> 6) + 1,
        };
        (head.width <= 32 && head.exceptions <= CHUNK).then_some(head)
    }

    fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let width = self.width | (self.upper - 1) << 6;
        [width as u8, self.exceptions as u8]
    }

    /// Bytes of the packed numbers.
    fn packed_bytes(self) -> usize {
        self.width * CHUNK / 8
    }

    /// Bytes of the packed numbers, the places of the exceptions in the chunk, and their upper bits.
    pub(super) fn body_bytes(self) -> usize {
        self.packed_bytes() + self.exceptions * (1 + self.upper)
    }
}

/// Appends a chunk to the heads and bodies of a block.
pub(super) fn pack(packer: BitPacker4x, chunk: &Chunk, heads: &mut Vec<u8>, bodies: &mut Vec<u8>) {
    let head = Head::of(chunk);
    heads.extend(head.to_bytes());
    let start = bodies.len();
    bodies.resize(start + head.packed_bytes(), 0);
    let lower = ((1u64 << head.width) - 1) as u32;
    let packed = chunk.map(|number| number & lower);
    packer.compress(&packed, &mut bodies[start..], head.width as u8);
    let exceptions = || chunk.iter().enumerate().filter(|(_, n)| **n > lower);
    bodies.extend(exceptions().map(|(place, _)| place as u8));
    for (_, &number) in exceptions() {
        let upper = (u64::from(number) >> head.width).to_le_bytes();
        bodies.extend(&upper[..head.upper]);
    }
}

/// Unpacks a body of [`Head::body_bytes`]. `None` where an exception is at no place of a chunk, or has more than 32 bits.
#[inline]
pub(super) fn unpack(
    packer: BitPacker4x,
    head: Head,
    body: &[u8],
    chunk: &mut Chunk,
) -> Option<()> {
    let (packed, exceptions) = body.split_at(head.packed_bytes());
    packer.decompress(packed, chunk, head.width as u8);
    let (places, uppers) = exceptions.split_at(head.exceptions);
    if head.upper == 1 && head.width <= 24 {
        // Nearly all exceptions.
        for (&place, &upper) in places.iter().zip(uppers) {
            *chunk.get_mut(usize::from(place))? |= u32::from(upper) << head.width;
        }
        return Some(());
    }
    for (&place, bytes) in places.iter().zip(uppers.chunks_exact(head.upper)) {
        let join = |upper: u64, &byte| upper << 8 | u64::from(byte);
        let upper = bytes.iter().rev().fold(0, join) << head.width;
        *chunk.get_mut(usize::from(place))? |= u32::try_from(upper).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of `docs/packed-counts.md`, bit by bit.
    fn unpacked_by_bits(width: usize, packed: &[u8]) -> Vec<u32> {
        let bit = |lane: usize, at: usize| {
            let word = 4 * (at / 32) + lane;
            u32::from(packed[4 * word + at % 32 / 8] >> (at % 8) & 1)
        };
        let number = |place: usize| {
            let first = place / 4 * width;
            (0..width).map(|i| bit(place % 4, first + i) << i).sum()
        };
        (0..CHUNK).map(number).collect()
    }

    #[test]
    fn chunks_of_every_width_come_back() {
        let packer = BitPacker4x::new();
        let mut random = testkit::Random::new(1);
        for width in 0..=32u32 {
            for wider in [0, 1, 5, 128] {
                let mut chunk = [0u32; CHUNK];
                for number in &mut chunk {
                    *number = random.below(1 << width) as u32;
                }
                for _ in 0..wider {
                    chunk[random.below(CHUNK)] = (random.below(1 << 32) >> random.below(32)) as u32;
                }
                let (mut heads, mut body) = (Vec::new(), Vec::new());
                pack(packer, &chunk, &mut heads, &mut body);
                let head = Head::from_bytes([heads[0], heads[1]]).unwrap();
                assert_eq!(body.len(), head.body_bytes());
                let mut found = [7; CHUNK];
                unpack(packer, head, &body, &mut found).unwrap();
                assert_eq!(found, chunk, "{head:?}");
                if head.exceptions == 0 {
                    assert_eq!(unpacked_by_bits(head.width, &body), chunk, "{head:?}");
                }
            }
        }
    }

    #[test]
    fn few_large_numbers_do_not_set_the_width() {
        let mut chunk = [1; CHUNK];
        (chunk[3], chunk[77]) = (300, 70_000);
        let head = Head::of(&chunk);
        assert_eq!((head.width, head.exceptions, head.upper), (1, 2, 2));
        assert_eq!(head.body_bytes(), 16 + 2 * 3);
        assert_eq!(Head::of(&[0; CHUNK]).body_bytes(), 0);
    }
}
