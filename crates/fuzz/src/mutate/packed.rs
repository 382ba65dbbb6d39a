//! Changes of files of packed counts.

use testkit::{Random, seal_packed};

use super::extreme;

/// Changes a number or a bit of a block, the index or the sizes, and corrects the checksums.
pub(crate) fn packed(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut data = data.to_vec();
    seal_packed(&mut data)?;
    for _ in 0..=random.below(3) {
        let at = random.below(data.len());
        match random.below(3) {
            0 => extreme(&mut data[at..], random),
            _ => data[at] ^= 1 << random.below(8),
        }
    }
    seal_packed(&mut data)?;
    Some(data)
}
