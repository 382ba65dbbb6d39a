//! Tensors that PyTorch wrote (`golden/make_torch.py`), and damaged ones.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::rows::{self, VALUES};
use topicbook::{Counts, Dtype};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn golden(name: &str) -> PathBuf {
    rows::golden(&format!("torch/{name}.pt"))
}

/// The counts of every tensor, which fit an `i8`.
pub fn values() -> [f32; 20] {
    VALUES.map(|value| value.min(100).into())
}

#[test]
fn tensors_of_every_dtype_are_read() {
    for (name, dtype) in [
        ("float32", Dtype::F32),
        ("float64", Dtype::F64),
        ("float16", Dtype::U16),
        ("bfloat16", Dtype::F32),
        ("uint8", Dtype::U8),
        ("int8", Dtype::U8),
        ("int16", Dtype::U16),
        ("int32", Dtype::I32),
        ("int64", Dtype::I64),
        ("uint16", Dtype::U16),
        ("uint32", Dtype::U32),
        ("uint64", Dtype::I64),
        ("slice", Dtype::I64),
        ("dictionary", Dtype::U8),
        ("state", Dtype::F32),
        ("parameter", Dtype::F32),
    ] {
        let counts = Counts::open(golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((counts.shape(), counts.dtype()), ((4, 5), dtype), "{name}");
        assert_eq!(rows::rows(&counts), values(), "{name}");
    }
    let flags = rows::rows(&Counts::open(golden("bool")).unwrap());
    assert_eq!(flags, values().map(|value| value.min(1.0)));
}

#[test]
fn other_contents_are_refused_by_name() {
    for (name, expected) in [
        ("transposed", "strides are [1, 4]"),
        ("vector", "has 1 dimensions [5]"),
        ("several", "several 2-D tensors, and none is named X"),
        ("list", "holds a list or a tuple"),
        ("module", "holds torch.nn.modules.linear.Linear"),
        ("complex", "holds torch.ComplexFloatStorage"),
        ("sparse", "holds torch._utils._rebuild_sparse_tensor"),
        ("legacy", "is no zip archive"),
    ] {
        let error = Counts::open(golden(name)).unwrap_err();
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(error.to_string().contains(&format!("{name}.pt")), "{error}");
        assert!(error.remedy().is_some(), "{error}");
    }
}

/// An archive as of `torch.save`, with this pickle and six bytes of numbers.
fn archive(path: &Path, pickle: &[u8], method: CompressionMethod) {
    let mut zip = ZipWriter::new(File::create(path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file("a/data.pkl", stored).unwrap();
    zip.write_all(pickle).unwrap();
    zip.start_file("a/data/0", stored.compression_method(method))
        .unwrap();
    zip.write_all(&[1, 0, 2, 0, 4, 0]).unwrap();
    zip.finish().unwrap();
}

/// The pickle of a tensor of bytes with two rows and these other numbers.
fn tensor(offset: u8, columns: u8) -> Vec<u8> {
    view(offset, [2, columns], [columns, 1])
}

/// The pickle of a view of bytes.
fn view(offset: u8, shape: [u8; 2], strides: [u8; 2]) -> Vec<u8> {
    let mut pickle =
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nByteStorage\n"
            .to_vec();
    pickle.extend_from_slice(b"X\x01\0\0\x000X\x03\0\0\0cpuK\x06tQ");
    pickle.extend_from_slice(&[
        b'K', offset, b'K', shape[0], b'K', shape[1], 0x86, b'K', strides[0], b'K', strides[1],
        0x86,
    ]);
    pickle.extend_from_slice(b"\x89)tR.");
    pickle
}

#[test]
fn views_are_read_where_their_numbers_follow_each_other() {
    let (_folder, path) = testkit::temp_path("X.pt");
    // The numbers are 1, 0, 2, 0, 4, 0.
    for (shape, strides, expected) in [
        ([2, 3], [3, 1], Some(vec![1.0, 0.0, 2.0, 0.0, 4.0, 0.0])),
        ([1, 3], [9, 1], Some(vec![1.0, 0.0, 2.0])),
        ([3, 1], [1, 9], Some(vec![1.0, 0.0, 2.0])),
        ([1, 1], [9, 9], Some(vec![1.0])),
        ([2, 3], [1, 2], None),
        ([2, 2], [3, 1], None),
        // A column of a matrix, and every second number of a row.
        ([2, 1], [3, 1], None),
        ([1, 3], [6, 2], None),
    ] {
        archive(&path, &view(0, shape, strides), CompressionMethod::Stored);
        let found = Counts::open(&path).map(|counts| rows::rows(&counts));
        match (found, expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{shape:?}"),
            (Err(error), None) => assert!(error.to_string().contains("strides"), "{error}"),
            (found, _) => panic!("{shape:?} {strides:?}: {found:?}"),
        }
    }
}

#[test]
fn nothing_that_a_pickle_names_is_called() {
    let (folder, path) = testkit::temp_path("X.pt");
    let open = |pickle: &[u8]| {
        archive(&path, pickle, CompressionMethod::Stored);
        Counts::open(&path)
    };
    let counts = open(&tensor(0, 3)).unwrap();
    assert_eq!(
        (counts.shape(), counts.summary().unwrap().total()),
        ((2, 3), 7.0)
    );
    let marker = folder.path().join("called");
    let touch = format!("touch {}", marker.display());
    let mut call = b"\x80\x02cposix\nsystem\nX".to_vec();
    call.extend_from_slice(&(touch.len() as u32).to_le_bytes());
    call.extend_from_slice(touch.as_bytes());
    call.extend_from_slice(b"\x85R.");
    let nested = [b"\x80\x02)".as_slice(), &[0x85; 100], b"."].concat();
    let mut doubled = b"\x80\x02)q\0".to_vec();
    for _ in 0..40 {
        doubled.extend_from_slice(b"h\0h\0\x86q\0");
    }
    doubled.push(b'.');
    let huge = b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f".as_slice();
    let absurd = tensor(0, 3);
    let at = absurd
        .windows(4)
        .position(|part| part == [b'K', 2, b'K', 3])
        .unwrap();
    let absurd = [&absurd[..at], huge, &absurd[at + 2..]].concat();
    for (pickle, expected) in [
        (call, "holds posix.system"),
        (
            b"\x80\x02cbuiltins\neval\n.".to_vec(),
            "holds builtins.eval",
        ),
        (nested, "too deep"),
        (doubled, "holds a list or a tuple"),
        (absurd, "a tensor of 9223372036854775807"),
        (tensor(1, 3), "a tensor of 2 × 3"),
        (tensor(0, 9), "a tensor of 2 × 9"),
        (
            b"\x80\x02h\x07.".to_vec(),
            "recalls what it did not remember",
        ),
        (b"\x80\x02tQ.".to_vec(), "has no beginning"),
        (b"\x80\x02}q\0h\0.".to_vec(), "dictionary in several places"),
        (b"\x80\x04\x95".to_vec(), "instruction 0x95"),
        (b"\x80\x02}.".to_vec(), "a dictionary without a 2-D tensor"),
        (b"".to_vec(), "it ends early"),
    ] {
        testkit::refused! { open(&pickle), expected; }
    }
    assert!(!marker.exists());
    archive(&path, &tensor(0, 3), CompressionMethod::Deflated);
    testkit::refused! { Counts::open(&path), "is compressed"; }
}

#[test]
fn damaged_files_are_errors() {
    let (_folder, path) = testkit::temp_path("X.pt");
    for name in ["uint8", "state", "uint16"] {
        let whole = fs::read(golden(name)).unwrap();
        for length in (0..whole.len()).step_by(64) {
            fs::write(&path, &whole[..length]).unwrap();
            let error = Counts::open(&path).unwrap_err();
            assert!(error.to_string().contains("X.pt"), "{length}: {error}");
        }
        for at in (0..whole.len()).step_by(7) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            fs::write(&path, &damaged).unwrap();
            // Some bytes are padding, or counts.
            if let Ok(counts) = Counts::open(&path) {
                let _ = counts.summary();
            }
        }
    }
}
