//! Changes of `.npz` and `.xlsx` files: inside an entry, with the right checksum, and in the directory of the archive.

use std::io::{Cursor, Read, Write};

use testkit::Random;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{LARGEST, Structured, array, bytes, extreme, number};

/// What the records of an archive begin with, and their bytes: an entry, its row in the directory, the directory's end.
const RECORDS: [(&[u8], usize); 3] = [
    (b"PK\x03\x04", 30),
    (b"PK\x01\x02", 46),
    (b"PK\x05\x06", 22),
];

/// Changes an archive of arrays.
pub(crate) fn npz(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    archive(data, random, array::npy)
}

/// Changes a number in an archive of XML.
pub(crate) fn xlsx(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    archive(data, random, number)
}

/// Changes an entry, by `inside` or otherwise, the list of entries, or a number of the directory.
fn archive(data: &[u8], random: &mut Random, inside: Structured) -> Option<Vec<u8>> {
    if random.below(3) == 0 {
        return directory(data, random);
    }
    let mut entries = entries(data)?;
    let chosen = random.below(entries.len());
    match random.below(10) {
        0 => drop(entries.remove(chosen)),
        1 => {
            let other = entries[random.below(entries.len())].1.clone();
            entries[chosen].1 = other;
        }
        2 => {
            let other = entries[random.below(entries.len())].1.clone();
            bytes(&mut entries[chosen].1, &other, random);
        }
        _ => entries[chosen].1 = inside(&entries[chosen].1, random)?,
    }
    let method = *random.of(&[CompressionMethod::Stored, CompressionMethod::Deflated]);
    written(&entries, method)
}

/// Names and contents of the entries; at least one.
fn entries(data: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut archive = ZipArchive::new(Cursor::new(data)).ok()?;
    let mut entries = Vec::new();
    for number in 0..archive.len() {
        let entry = archive.by_index(number).ok()?;
        let name = entry.name().ok()?.into_owned();
        let mut contents = Vec::new();
        entry.take(LARGEST as u64).read_to_end(&mut contents).ok()?;
        entries.push((name, contents));
    }
    (!entries.is_empty()).then_some(entries)
}

fn written(entries: &[(String, Vec<u8>)], method: CompressionMethod) -> Option<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, contents) in entries {
        archive.start_file(name.as_str(), options).ok()?;
        archive.write_all(contents).ok()?;
    }
    Some(archive.finish().ok()?.into_inner())
}

/// Puts an extreme number into a record: a size, a place, a method, a number of entries.
fn directory(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let records: Vec<(usize, usize)> = (0..data.len())
        .filter_map(|at| {
            let (_, length) = RECORDS
                .iter()
                .find(|(start, _)| data[at..].starts_with(start))?;
            Some((at + 4, *length - 4))
        })
        .collect();
    if records.is_empty() {
        return None;
    }
    let (start, length) = *random.of(&records);
    let mut data = data.to_vec();
    let at = (start + 2 * random.below(length / 2)).min(data.len());
    extreme(&mut data[at..], random);
    Some(data)
}
