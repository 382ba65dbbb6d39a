//! Archives of `torch.save`, and directories of archives.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::files::File;

/// An archive of these entries.
pub fn archive(method: CompressionMethod, entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A `.pt` file of bytes, with this pickle.
fn torch(pickle: &[&[u8]]) -> Vec<u8> {
    let pickle = [&[b"\x80\x02".as_slice()], pickle, &[b"."]]
        .concat()
        .concat();
    let entries = [("a/data.pkl", pickle), ("a/data/0", vec![1, 0, 2, 0, 4, 0])];
    archive(CompressionMethod::Stored, &entries)
}

/// Remembers the function that makes tensors as 0, and a storage as 1.
const BEGINNING: &[u8] = b"ctorch._utils\n_rebuild_tensor_v2\nq\0\
    (X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x06tQq\x01";
/// A tensor whose shape and strides are what is remembered as 2.
const TENSOR: &[u8] = b"h\0(h\x01K\0h\x02h\x02tR";

/// Tensors that all have the same sequence as their shape.
fn tensors(dimensions: usize, tensors: usize) -> Vec<u8> {
    let shape = [b"(".as_slice(), &b"K\x01".repeat(dimensions), b"tq\x02"].concat();
    torch(&[BEGINNING, &shape, &TENSOR.repeat(tensors)])
}

/// A dictionary of 2-D tensors, all under one long name.
fn long_name() -> Vec<u8> {
    let name = [
        b"X".as_slice(),
        &500_000u32.to_le_bytes(),
        &[1; 500_000],
        b"q\x03",
    ]
    .concat();
    let shape = b"(K\x01K\x01tq\x02";
    let entry = [b"h\x03", TENSOR].concat();
    torch(&[BEGINNING, shape, &name, b"}(", &entry.repeat(30), b"u"])
}

pub fn pickles() -> Vec<File> {
    let nested = [b")".as_slice(), &[0x85; 60]].concat();
    let memo: Vec<u8> = (0..200_000u32)
        .flat_map(|at| [&b"r"[..], &at.to_le_bytes()].concat())
        .collect();
    // Vectors have just grown at a little more than a million values.
    let many = 1_050_000;
    let files = [
        ("a shared shape", tensors(10_000, 1_500)),
        ("small tensors", tensors(2, 75_000)),
        ("a shared name", long_name()),
        ("nothing", torch(&[&vec![b'N'; many]])),
        ("empty tuples", torch(&[&vec![b')'; many]])),
        ("marks", torch(&[&vec![b'('; many]])),
        ("pairs", torch(&[&b"NN\x86".repeat(many / 3)])),
        ("tuples in tuples", torch(&[&nested.repeat(many / 61)])),
        ("dictionaries", torch(&[&b"}NNs".repeat(many / 4)])),
        (
            "a long dictionary",
            torch(&[b"}(", &vec![b'N'; many], b"u"]),
        ),
        ("memory", torch(&[b"N", &memo])),
        ("many entries", directory(20_000, 0)),
        ("many extra fields", directory(16, 16_383)),
    ];
    files.map(|(what, bytes)| (what, bytes, 0)).into()
}

/// An archive of one entry that its directory lists many times, with fields without contents.
pub fn directory(entries: u32, fields: u16) -> Vec<u8> {
    let mut bytes = [
        b"PK\x03\x04\x14".as_slice(),
        &[0; 21],
        &[5, 0, 0, 0],
        b"00000",
    ]
    .concat();
    let start = bytes.len() as u32;
    for entry in 0..entries {
        bytes.extend(b"PK\x01\x02\x14\0\x14");
        bytes.extend([0; 21]);
        bytes.extend([5, 0]);
        bytes.extend((4 * fields).to_le_bytes());
        bytes.extend([0; 14]);
        bytes.extend(format!("{entry:05}").as_bytes());
        bytes.extend(b"\x99\x99\0\0".repeat(fields.into()));
    }
    let size = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([(entries as u16).to_le_bytes(); 2].concat());
    bytes.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0; 2]);
    bytes
}
