//! Files of packed counts whose bytes tests change (`docs/packed-counts.md`).

const HEADER: usize = 16;
const FOOTER: usize = 24;

/// The CRC-32 of zlib, bit by bit.
fn crc32(parts: &[&[u8]]) -> [u8; 4] {
    let bytes = parts.iter().copied().flatten();
    let crc = bytes.fold(u32::MAX, |crc, &byte| {
        let shift = |crc: u32, _| crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        (0..8).fold(crc ^ u32::from(byte), shift)
    });
    (!crc).to_le_bytes()
}

/// Makes the checksums of the blocks and of the index right again. `None` where there is no such index.
pub fn seal_packed(file: &mut [u8]) -> Option<()> {
    let footer = file.len().checked_sub(FOOTER).filter(|&at| at >= HEADER)?;
    let number = |file: &[u8], at: usize| {
        let bytes = file.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let in_block = u32::from_le_bytes(file[12..HEADER].try_into().ok()?);
    let blocks = number(file, footer)?.div_ceil(in_block.max(1) as usize);
    let index = footer.checked_sub(blocks.checked_mul(16)?)?;
    let mut start = HEADER;
    for block in 0..blocks {
        let end = number(file, index + 16 * block)?;
        if start + 4 <= end && end <= index {
            let checksum = crc32(&[&file[start + 4..end]]);
            file[start..start + 4].copy_from_slice(&checksum);
        }
        start = end;
    }
    let stated = footer + 16;
    let checksum = crc32(&[&file[..HEADER], &file[index..stated]]);
    file[stated..stated + 4].copy_from_slice(&checksum);
    Some(())
}
