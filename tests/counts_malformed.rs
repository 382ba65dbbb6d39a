//! Malformed input: one message with the place and the remedy, no panic, nothing half-written.

use std::io::{Cursor, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polars::prelude::{Column, DataFrame, ParquetWriter};
use topicbook::{Counts, Dtype, Error, ErrorKind, Terms};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

/// A file name, its bytes, the kind of the error, and what its message must contain.
type Case = (
    &'static str,
    &'static str,
    Vec<u8>,
    ErrorKind,
    &'static [&'static str],
);

fn npy_version(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut header = dictionary.to_string();
    let before = if version == 1 { 10 } else { 12 };
    while !(before + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_version(
        1,
        &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"),
        data,
    )
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn archive(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A good 2 x 3 matrix [[1, 0, 2], [0, 3, 0]] as SciPy saves it, with one entry replaced.
fn npz_with(name: &'static str, replaced: Option<Vec<u8>>) -> Vec<u8> {
    let mut entries = vec![
        ("indices", npy("'<i4'", "(3,)", &i32s(&[0, 2, 1]))),
        ("indptr", npy("'<i4'", "(3,)", &i32s(&[0, 2, 3]))),
        ("format", npy("'|S3'", "()", b"csr")),
        ("shape", npy("'<i8'", "(2,)", &i64s(&[2, 3]))),
        ("data", npy("'<f4'", "(3,)", &f32s(&[1.0, 2.0, 3.0]))),
    ];
    let place = entries.iter().position(|entry| entry.0 == name);
    match (place, replaced) {
        (Some(place), Some(bytes)) => entries[place].1 = bytes,
        (Some(place), None) => drop(entries.remove(place)),
        (None, _) => {}
    }
    archive(&entries)
}

fn npz_data(values: &[f64]) -> Vec<u8> {
    npz_with("data", Some(npy("'<f8'", "(3,)", &f64s(values))))
}

fn cut(mut bytes: Vec<u8>, length: usize) -> Vec<u8> {
    bytes.truncate(length);
    bytes
}

fn parquet(columns: Vec<Column>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = DataFrame::new_infer_height(columns).unwrap();
    ParquetWriter::new(&mut bytes).finish(&mut table).unwrap();
    bytes
}

fn good_parquet() -> Vec<u8> {
    parquet(vec![
        Column::new("doc".into(), [0i64, 0, 1]),
        Column::new("term".into(), [0i64, 2, 1]),
        Column::new("count".into(), [1i64, 2, 3]),
    ])
}

fn tensors(header: &str, data: &[u8]) -> Vec<u8> {
    // Padded with spaces, so that the values are aligned.
    let header = format!("{header:width$}", width = header.len().next_multiple_of(8));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn tensor(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    tensors(
        &format!(
            "{{\"X\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{}]}}}}",
            data.len()
        ),
        data,
    )
}

#[rustfmt::skip] // one case a line
fn cases() -> Vec<Case> {
    use ErrorKind::{Format, Shape, Value};
    let good_npy = npy("'|u1'", "(2, 3)", &[1, 0, 2, 0, 3, 0]);
    let good_npz = npz_with("", None);
    let half = good_npz.len() / 2;
    let parquet_length = good_parquet().len();
    let good_tensor = tensor("F32", "[2,3]", &f32s(&[1.0; 6]));
    let tensor_length = good_tensor.len();
    let deep = format!(
        "{{'descr': {}'<f4'{}, 'fortran_order': False, 'shape': (2, 3)}}",
        "[".repeat(4000),
        "]".repeat(4000)
    );
    vec![
        // .npy: the file
        ("empty", "a.npy", vec![], Format, &["is empty", "np.save"]),
        ("cut inside the magic", "a.npy", cut(good_npy.clone(), 4), Format, &["does not begin"]),
        ("cut inside the header's length", "a.npy", cut(good_npy.clone(), 9), Format, &["ends inside its header"]),
        ("cut inside the header", "a.npy", cut(good_npy.clone(), 40), Format, &["header should take 128 bytes", "has 40"]),
        ("cut inside the values", "a.npy", cut(good_npy.clone(), 131), Format, &["take 134 bytes", "has 131", "cut"]),
        ("without values", "a.npy", cut(good_npy.clone(), 128), Format, &["take 134 bytes", "has 128"]),
        ("longer than its shape", "a.npy", [good_npy.clone(), vec![0; 5]].concat(), Format, &["take 134 bytes", "has 139", "more than its header"]),
        ("wrong magic", "a.npy", b"NUMPY, but not quite so".to_vec(), Format, &["does not begin as a .npy file"]),
        ("a zip archive called .npy", "a.npy", good_npz.clone(), Format, &["looks like a zip archive", ".npz"]),
        ("unknown version", "a.npy", npy_version(9, "{}", &[]), Format, &["version 9.0"]),
        ("header longer than the file", "a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{'descr': '<f4'}".to_vec(), Format, &["header should take 2147483659 bytes"]),
        ("header of 20,000 bytes", "a.npy", npy_version(1, &" ".repeat(20_000), &[]), Format, &["bytes; a plain array needs about 100"]),
        // .npy: the header
        ("header that is no dictionary", "a.npy", npy_version(1, "descr = '<f4'", &[]), Format, &["header cannot be read"]),
        ("header without a shape", "a.npy", npy_version(1, "{'descr': '<f4', 'fortran_order': False}", &[]), Format, &["header cannot be read", "shape"]),
        ("header that is not UTF-8", "a.npy", [&b"\x93NUMPY\x01\x00\x04\x00"[..], &[0xff, 0xfe, 0xfd, b'\n']].concat(), Format, &["header cannot be read"]),
        ("brackets without end", "a.npy", npy_version(1, &deep, &[]), Format, &["nested too deeply"]),
        ("negative shape", "a.npy", npy("'<f4'", "(-2, 3)", &[]), Format, &["header cannot be read", "negative"]),
        ("shape that overflows", "a.npy", npy("'|u1'", "(4294967296, 4294967296)", &[]), Format, &["no file holds", "4294967296"]),
        ("shape beyond 64 bits", "a.npy", npy("'|u1'", "(99999999999999999999, 2)", &[]), Format, &["no file holds"]),
        ("bytes that overflow", "a.npy", npy("'<f8'", "(4294967296, 1073741824)", &[]), Format, &["no file holds"]),
        ("Fortran order", "a.npy", npy_version(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", &f32s(&[1.0; 6])), Format, &["Fortran order", "np.ascontiguousarray", "np.save"]),
        ("one dimension", "a.npy", npy("'<f4'", "(6,)", &f32s(&[1.0; 6])), Format, &["1 dimensions", "documents x terms"]),
        ("three dimensions", "a.npy", npy("'<f4'", "(1, 2, 3)", &f32s(&[1.0; 6])), Format, &["3 dimensions"]),
        ("no dimension", "a.npy", npy("'<f4'", "()", &f32s(&[1.0])), Format, &["0 dimensions"]),
        ("no documents", "a.npy", npy("'<f4'", "(0, 3)", &[]), Shape, &["0 documents x 3 terms"]),
        ("no terms", "a.npy", npy("'<f4'", "(2, 0)", &[]), Shape, &["2 documents x 0 terms"]),
        // .npy: the dtype
        ("Python objects", "a.npy", npy("'|O'", "(2, 3)", b"pickle"), Format, &["Python objects", "astype"]),
        ("big-endian", "a.npy", npy("'>f4'", "(2, 3)", &f32s(&[1.0; 6])), Format, &["big-endian", "newbyteorder"]),
        ("structured", "a.npy", npy("[('a', '<f4'), ('b', '<i4')]", "(2, 3)", &[0; 48]), Format, &["structured"]),
        ("bool", "a.npy", npy("'|b1'", "(2, 3)", &[1; 6]), Format, &["dtype bool", "astype"]),
        ("half precision", "a.npy", npy("'<f2'", "(2, 3)", &[0; 12]), Format, &["dtype float16"]),
        ("complex", "a.npy", npy("'<c8'", "(2, 3)", &[0; 48]), Format, &["c8"]),
        ("text", "a.npy", npy("'<U3'", "(2, 3)", &[0; 72]), Format, &["U3"]),
        ("unknown dtype", "a.npy", npy("'<q9'", "(2, 3)", &[0; 54]), Format, &["header cannot be read"]),
        // .npy: the values
        ("negative float", "a.npy", npy("'<f4'", "(2, 3)", &f32s(&[1.0, 0.0, 2.0, 0.0, -3.0, -4.0])), Value, &["-3 is negative", "row 1, column 1"]),
        ("NaN", "a.npy", npy("'<f8'", "(2, 3)", &f64s(&[1.0, 0.0, f64::NAN, 0.0, -3.0, 0.5])), Value, &["NaN", "row 0, column 2", "nan_to_num"]),
        ("infinite", "a.npy", npy("'<f4'", "(2, 3)", &f32s(&[1.0, f32::INFINITY, 2.0, 0.0, 3.0, 0.0])), Value, &["inf is not a count", "row 0, column 1"]),
        ("fractional", "a.npy", npy("'<f8'", "(2, 3)", &f64s(&[1.0, 0.0, 2.0, 0.25, 3.0, 0.0])), Value, &["0.25 is not a whole number", "row 1, column 0", "tf-idf"]),
        ("negative integer", "a.npy", npy("'<i8'", "(1, 2)", &i64s(&[3, -1])), Value, &["-1 is negative", "row 0, column 1"]),
        // .npz: the archive
        ("empty archive file", "a.npz", vec![], Format, &["is empty"]),
        ("no zip archive", "a.npz", b"this is not an archive, however long one looks at it".to_vec(), Format, &["not a whole zip archive"]),
        ("a .npy file called .npz", "a.npz", good_npy.clone(), Format, &["not a whole zip archive"]),
        ("archive cut in half", "a.npz", cut(good_npz.clone(), half), Format, &["not a whole zip archive", "cut"]),
        ("archive without its last byte", "a.npz", cut(good_npz.clone(), good_npz.len() - 1), Format, &["zip archive"]),
        ("archive without entries", "a.npz", archive(&[]), Format, &["no sparse matrix", "holds nothing"]),
        ("dense arrays in an archive", "a.npz", archive(&[("L", good_npy.clone()), ("F", good_npy.clone())]), Format, &["no sparse matrix", "F, L", "save_npz"]),
        // .npz: the entries
        ("no format", "a.npz", npz_with("format", None), Format, &["no entry named format", "data, indices, indptr, shape"]),
        ("no data", "a.npz", npz_with("data", None), Format, &["no entry named data"]),
        ("no shape", "a.npz", npz_with("shape", None), Format, &["no entry named shape"]),
        ("no indptr", "a.npz", npz_with("indptr", None), Format, &["no entry named indptr"]),
        ("format bsr", "a.npz", npz_with("format", Some(npy("'|S3'", "()", b"bsr"))), Format, &["\"bsr\"", "csr_array"]),
        ("format that is a number", "a.npz", npz_with("format", Some(npy("'<i4'", "()", &i32s(&[7])))), Format, &["sparse format"]),
        ("shape of three", "a.npz", npz_with("shape", Some(npy("'<i8'", "(3,)", &i64s(&[2, 3, 4])))), Format, &["3 numbers", "entry shape.npy"]),
        ("negative shape of a matrix", "a.npz", npz_with("shape", Some(npy("'<i8'", "(2,)", &i64s(&[2, -3])))), Format, &["-3 is out of range"]),
        ("enormous shape", "a.npz", npz_with("shape", Some(npy("'<i8'", "(2,)", &i64s(&[1 << 40, 3])))), Format, &["out of range"]),
        ("more documents than indptr", "a.npz", npz_with("shape", Some(npy("'<i8'", "(2,)", &i64s(&[5, 3])))), Format, &["indptr has 3 entries", "need 6"]),
        ("no documents in a matrix", "a.npz", archive(&[("indices", npy("'<i4'", "(0,)", &[])), ("indptr", npy("'<i4'", "(1,)", &i32s(&[0]))), ("format", npy("'|S3'", "()", b"csr")), ("shape", npy("'<i8'", "(2,)", &i64s(&[0, 3]))), ("data", npy("'<f4'", "(0,)", &[]))]), Shape, &["0 documents x 3 terms"]),
        ("fewer values than indices", "a.npz", npz_with("data", Some(npy("'<f4'", "(2,)", &f32s(&[1.0, 2.0])))), Format, &["indices has 3 entries", "need 2"]),
        ("values that are objects", "a.npz", npz_with("data", Some(npy("'|O'", "(3,)", b"pickle"))), Format, &["Python objects", "entry data.npy"]),
        ("values that are big-endian", "a.npz", npz_with("data", Some(npy("'>f4'", "(3,)", &[0; 12]))), Format, &["big-endian", "entry data.npy"]),
        ("values in two dimensions", "a.npz", npz_with("data", Some(npy("'<f4'", "(3, 1)", &[0; 12]))), Format, &["2 dimensions", "entry data.npy"]),
        ("entry shorter than its header says", "a.npz", npz_with("data", Some(npy("'<f4'", "(3,)", &[0; 8]))), Format, &["3 numbers of 4 bytes", "entry data.npy"]),
        ("entry that is no array", "a.npz", npz_with("indptr", Some(b"hello, world".to_vec())), Format, &["does not begin", "entry indptr.npy"]),
        ("indices that are floats", "a.npz", npz_with("indices", Some(npy("'<f4'", "(3,)", &[0; 12]))), Format, &["indices holds f4"]),
        ("index out of range", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[0, 3, 1])))), Format, &["index 3 is out of range", "indices[1]"]),
        ("negative index", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[0, 2, -1])))), Format, &["index -1", "indices[2]"]),
        ("column twice in a row", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[2, 2, 1])))), Format, &["two values", "row 0, column 2", "sum_duplicates"]),
        ("indptr that falls", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, 4, 3])))), Format, &["indptr falls from 4 to 3", "indptr[2]"]),
        ("indptr that starts late", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[1, 2, 3])))), Format, &["starts with 1"]),
        ("indptr that ends early", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, 1, 2])))), Format, &["ends with 2", "3 values"]),
        ("indptr below zero", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, -1, 3])))), Format, &["indptr holds -1"]),
        ("negative count in a matrix", "a.npz", npz_data(&[1.0, 2.0, -3.0]), Value, &["-3 is negative", "row 1, column 1"]),
        ("NaN in a matrix", "a.npz", npz_data(&[1.0, f64::NAN, 3.0]), Value, &["NaN", "row 0, column 2"]),
        ("infinity in a matrix", "a.npz", npz_data(&[f64::INFINITY, 2.0, 3.0]), Value, &["inf", "row 0, column 0"]),
        ("fraction in a matrix", "a.npz", npz_data(&[1.0, 2.5, 3.0]), Value, &["2.5 is not a whole number", "row 0, column 2"]),
        ("count beyond f32 in a matrix", "a.npz", npz_data(&[1.0, 16_777_217.0, 3.0]), Value, &["16777217", "row 0, column 2", "toarray"]),
        // .safetensors
        ("empty tensors", "a.safetensors", vec![], Format, &["0 bytes are too few"]),
        ("tensors cut inside the length", "a.safetensors", cut(good_tensor.clone(), 5), Format, &["5 bytes are too few"]),
        ("tensors cut inside the header", "a.safetensors", cut(good_tensor.clone(), 30), Format, &["not a whole .safetensors"]),
        ("tensors cut inside the values", "a.safetensors", cut(good_tensor, tensor_length - 3), Format, &["not a whole .safetensors"]),
        ("header of tensors that is no JSON", "a.safetensors", tensors("not JSON at all!", &[]), Format, &["not a whole .safetensors"]),
        ("header of tensors that never ends", "a.safetensors", [&u64::MAX.to_le_bytes()[..], b"{}"].concat(), Format, &["not a whole .safetensors"]),
        ("two matrices, none named X", "a.safetensors", tensors("{\"L\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[0,2]},\"F\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[2,4]}}", &[1; 4]), Format, &["none is named X", "F, L"]),
        ("no matrix", "a.safetensors", tensors("{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", &[1; 4]), Format, &["no 2-D tensor", "tensors: b"]),
        ("X of one dimension", "a.safetensors", tensor("U8", "[4]", &[1; 4]), Format, &["1 dimensions", "tensor X"]),
        ("tensor of half precision", "a.safetensors", tensor("F16", "[1,2]", &[0; 4]), Format, &["dtype F16", "tensor X"]),
        ("tensor larger than its bytes", "a.safetensors", tensor("F32", "[4294967296,4294967296]", &[0; 4]), Format, &["not a whole .safetensors"]),
        ("tensor out of line", "a.safetensors", tensors("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"X\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[1,5]}}", &[0; 5]), Format, &["multiple of their size", "write it again"]),
        ("values of .npy out of line", "a.npy", [&b"\x93NUMPY\x01\x00\x3c\x00"[..], b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }\n", &[0; 4]].concat(), Format, &["multiple of their size"]),
        ("fraction in a tensor", "a.safetensors", tensor("F64", "[1,2]", &f64s(&[1.0, 0.5])), Value, &["0.5", "row 0, column 1"]),
        // .parquet
        ("empty Parquet", "a.parquet", vec![], Format, &["is empty"]),
        ("no Parquet", "a.parquet", b"doc,term,count\n0,0,1\n".to_vec(), Format, &["Parquet"]),
        ("Parquet cut in half", "a.parquet", cut(good_parquet(), parquet_length / 2), Format, &["Parquet"]),
        ("Parquet without its last byte", "a.parquet", cut(good_parquet(), parquet_length - 1), Format, &["Parquet"]),
        ("wrong columns", "a.parquet", parquet(vec![Column::new("document".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("n".into(), [1i64])]), Format, &["no column named doc or count", "document, term, n"]),
        ("ids that are text", "a.parquet", parquet(vec![Column::new("doc".into(), ["a"]), Column::new("term".into(), [0i64]), Column::new("count".into(), [1i64])]), Format, &["column doc holds text", "from 0"]),
        ("truth values for counts", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("count".into(), [true])]), Format, &["column count holds Boolean", "32 or 64 bits"]),
        ("ids that are floats", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0.5f64]), Column::new("count".into(), [1i64])]), Format, &["column term holds f64"]),
        ("counts that are text", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("count".into(), ["1"])]), Format, &["column count holds text"]),
        ("null id", "a.parquet", parquet(vec![Column::new("doc".into(), [Some(0i64), None]), Column::new("term".into(), [0i64, 1]), Column::new("count".into(), [1i64, 1])]), Format, &["column doc is empty", "data row 2"]),
        ("id beyond 32 bits", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64 << 40]), Column::new("term".into(), [0i64]), Column::new("count".into(), [1i64])]), Format, &["doc 1099511627776 is out of range", "data row 1"]),
        ("triplet twice", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64, 0, 1]), Column::new("term".into(), [2i64, 0, 2]), Column::new("count".into(), [1i64, 1, 4])]), Format, &["document 1 and term 2 come twice", "data row 1 and data row 3"]),
        ("fraction in Parquet", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64, 0]), Column::new("term".into(), [2i64, 0]), Column::new("count".into(), [1.5f64, 1.0])]), Value, &["1.5", "row 1, column 2", "data row 1"]),
        ("Parquet without rows", "a.parquet", parquet(vec![Column::new("doc".into(), Vec::<i64>::new()), Column::new("term".into(), Vec::<i64>::new()), Column::new("count".into(), Vec::<i64>::new())]), Format, &["has no rows"]),
        // .csv
        ("empty CSV", "a.csv", vec![], Format, &["is empty"]),
        ("CSV without rows", "a.csv", b"doc,term,count\n".to_vec(), Format, &["has no rows"]),
        ("CSV of blank lines", "a.csv", b"\n\n".to_vec(), Format, &["a.csv"]),
        ("CSV with other columns", "a.csv", b"doc_id,word,n\n0,0,1\n".to_vec(), Format, &["no column named doc or term or count", "doc_id, word, n"]),
        ("CSV with semicolons", "a.csv", b"doc;term;count\n0;0;1\n".to_vec(), Format, &["no column named", "doc;term;count"]),
        ("text for an id", "a.csv", b"doc,term,count\n0,0,1\nfirst,0,1\n".to_vec(), Format, &["column doc", "not a whole number", "data row 2"]),
        ("fractional id", "a.csv", b"doc,term,count\n0,1.5,1\n".to_vec(), Format, &["column term", "data row 1"]),
        ("negative id", "a.csv", b"doc,term,count\n0,-1,1\n".to_vec(), Format, &["term -1 is out of range", "data row 1"]),
        ("missing count", "a.csv", b"doc,term,count\n0,0,1\n0,1,\n".to_vec(), Format, &["column count is empty", "data row 2"]),
        ("text for a count", "a.csv", b"doc,term,count\n0,0,many\n".to_vec(), Format, &["column count", "not a number", "data row 1"]),
        ("short line", "a.csv", b"doc,term,count\n0,0,1\n0\n".to_vec(), Format, &["data row 2"]),
        ("line twice", "a.csv", b"doc,term,count\n0,0,1\n0,1,1\n0,0,5\n".to_vec(), Format, &["document 0 and term 0 come twice", "data row 1 and data row 3"]),
        ("negative count", "a.csv", b"doc,term,count\n0,0,-2\n".to_vec(), Value, &["-2 is negative", "data row 1"]),
        ("count that is NaN", "a.csv", b"doc,term,count\n0,0,NaN\n".to_vec(), Value, &["NaN", "data row 1"]),
        ("bytes that are no text", "a.csv", vec![0xff; 64], Format, &["a.csv"]),
        // Names
        ("unknown ending", "a.h5", b"whatever".to_vec(), Format, &[".h5", ".npy, .npz"]),
        ("no ending", "counts", b"whatever".to_vec(), Format, &["no ending"]),
    ]
}

/// The error of opening and reading all counts, or the panic or success that should not have been.
fn error_of(path: &Path) -> Result<Error, String> {
    let read = || Counts::open(path).and_then(|counts| counts.summary());
    match catch_unwind(AssertUnwindSafe(read)) {
        Err(_) => Err("it panicked".into()),
        Ok(Ok(summary)) => Err(format!("it was read: {summary:?}")),
        Ok(Err(error)) => Ok(error),
    }
}

fn check(
    name: &str,
    error: Result<Error, String>,
    kind: ErrorKind,
    fragments: &[&str],
) -> Result<(), String> {
    let error = error.map_err(|what| format!("{name}: {what}"))?;
    let message = error.to_string();
    if error.kind() != kind {
        return Err(format!(
            "{name}: kind {:?}, not {kind:?}: {message}",
            error.kind()
        ));
    }
    match fragments
        .iter()
        .find(|&&fragment| !message.contains(fragment))
    {
        Some(fragment) => Err(format!("{name}: no {fragment:?} in: {message}")),
        None if error.remedy().is_none() => Err(format!("{name}: no remedy in: {message}")),
        None => Ok(()),
    }
}

#[test]
fn malformed_files_get_one_message_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    assert!(cases.len() >= 40);
    let mut wrong = Vec::new();
    for (name, file, bytes, kind, fragments) in cases {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let error = error_of(&path);
        if let Ok(error) = &error
            && !error.to_string().contains(file)
        {
            wrong.push(format!("{name}: the file is not named: {error}"));
        }
        if let Err(what) = check(name, error, kind, fragments) {
            wrong.push(what);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_good_files_that_the_malformed_ones_are_made_from_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("a.npy", npy("'|u1'", "(2, 3)", &[1, 0, 2, 0, 3, 0])),
        ("a.npz", npz_with("", None)),
        ("a.parquet", good_parquet()),
        ("a.csv", b"doc,term,count\n0,0,1\n0,2,2\n1,1,3\n".to_vec()),
        ("a.safetensors", tensor("U8", "[2,3]", &[1, 0, 2, 0, 3, 0])),
    ];
    for (file, bytes) in files {
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        let counts = Counts::open(&path).unwrap();
        let mut rows = [0.0; 6];
        counts.fill_rows(&[0, 1], &mut rows).unwrap();
        assert_eq!(rows, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0], "{file}");
    }
}

/// Writes a file that is not there yet: some file systems wait for the disk when one is overwritten.
fn write_new(path: &Path, bytes: &[u8]) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(path, bytes).unwrap();
}

/// Cuts good files at every length: an error each time, and no panic.
#[test]
fn files_cut_anywhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("a.npy", npy("'|u1'", "(2, 3)", &[1, 0, 2, 0, 3, 0])),
        ("a.npz", npz_with("", None)),
        ("a.parquet", good_parquet()),
        ("a.safetensors", tensor("U8", "[2,3]", &[1, 0, 2, 0, 3, 0])),
    ];
    for (file, bytes) in files {
        let path = folder.path().join(file);
        for length in 0..bytes.len() {
            write_new(&path, &bytes[..length]);
            let error =
                error_of(&path).unwrap_or_else(|what| panic!("{file} cut at {length}: {what}"));
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}

/// Damages every byte of good files: any answer but a panic will do. (Not Parquet: Polars believes the sizes
/// in a damaged page, and can ask for more memory than there is.)
#[test]
fn damaged_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("a.npy", npy("'|u1'", "(2, 3)", &[1, 0, 2, 0, 3, 0])),
        ("a.npz", npz_with("", None)),
        ("a.safetensors", tensor("U8", "[2,3]", &[1, 0, 2, 0, 3, 0])),
        ("a.csv", b"doc,term,count\n0,0,1\n0,2,2\n1,1,3\n".to_vec()),
    ];
    for (file, bytes) in files {
        let path = folder.path().join(file);
        for place in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] ^= flip;
                write_new(&path, &damaged);
                let read = || {
                    Counts::open(&path)
                        .and_then(|counts| counts.summary())
                        .map(drop)
                };
                assert!(
                    catch_unwind(AssertUnwindSafe(read)).is_ok(),
                    "{file}, byte {place} ^ {flip}"
                );
            }
        }
    }
}

#[test]
#[rustfmt::skip] // one case a line
fn malformed_arrays_are_refused() {
    use ErrorKind::{Shape, Value};
    let good = || (vec![0u64, 2, 3], vec![0u32, 2, 1], vec![1.0f32, 2.0, 3.0]);
    type Change = dyn Fn(&mut Vec<u64>, &mut Vec<u32>, &mut Vec<f32>);
    let csr = |change: &Change| {
        let (mut indptr, mut indices, mut values) = good();
        change(&mut indptr, &mut indices, &mut values);
        Counts::csr(2, 3, indptr, indices, values)
    };
    let dense = |values: Vec<f32>| Counts::dense(1, 2, values);
    let counts = Counts::dense(2, 3, vec![1u8; 6]).unwrap();
    let fill = |rows: &[usize], length| counts.fill_rows(rows, &mut vec![0.0; length]);
    type Made = Result<(), Error>;
    let summed = |made: Result<Counts, Error>| made.and_then(|counts| counts.summary()).map(drop);
    let cases: Vec<(&str, Made, ErrorKind, &[&str])> = vec![
        ("too few values", Counts::dense(2, 3, vec![1u8; 5]).map(drop), Shape, &["2 documents x 3 terms", "5 values"]),
        ("too many values", Counts::dense(2, 3, vec![1i64; 7]).map(drop), Shape, &["7 values"]),
        ("overflowing shape", Counts::dense(usize::MAX, 2, vec![1u8; 5]).map(drop), Shape, &["5 values"]),
        ("no documents", Counts::dense(0, 3, Vec::<f32>::new()).map(drop), Shape, &["0 documents"]),
        ("no terms", Counts::csr(2, 0, vec![0, 0, 0], vec![], vec![]).map(drop), Shape, &["0 terms"]),
        ("negative f32", summed(dense(vec![0.0, -1.0])), Value, &["-1", "row 0, column 1"]),
        ("NaN", summed(dense(vec![f32::NAN, 0.0])), Value, &["NaN", "row 0, column 0"]),
        ("infinite", summed(dense(vec![0.0, f32::NEG_INFINITY])), Value, &["-inf", "row 0, column 1"]),
        ("fraction", summed(dense(vec![0.0, 1e-6])), Value, &["whole number"]),
        ("negative i32", summed(Counts::dense(1, 2, vec![0, i32::MIN])), Value, &["-2147483648"]),
        ("lengths", csr(&|_, _, values| values.push(1.0)).map(drop), Shape, &["3 indices and 4 values"]),
        ("indptr too short", csr(&|indptr, _, _| indptr.truncate(2)).map(drop), Shape, &["indptr has 2 entries for 2 documents"]),
        ("no indptr", csr(&|indptr, _, _| indptr.clear()).map(drop), Shape, &["indptr has 0 entries"]),
        ("indptr starts late", csr(&|indptr, _, _| indptr[0] = 1).map(drop), Shape, &["starts with 1"]),
        ("indptr falls", csr(&|indptr, _, _| indptr[1] = 9).map(drop), Shape, &["falls from 9 to 3"]),
        ("indptr ends early", csr(&|indptr, _, _| indptr[2] = 2).map(drop), Shape, &["ends with 2"]),
        ("index out of range", csr(&|_, indices, _| indices[2] = 3).map(drop), Shape, &["column 3", "row 1"]),
        ("column twice", csr(&|_, indices, _| indices[1] = 0).map(drop), Shape, &["row 0, column 0"]),
        ("negative in CSR", summed(csr(&|_, _, values| values[2] = -3.0)), Value, &["-3", "row 1, column 1"]),
        ("fraction in CSR", summed(csr(&|_, _, values| values[1] = 0.5)), Value, &["0.5", "row 0, column 2"]),
        ("row that is not there", fill(&[0, 2], 6), Shape, &["row 2 of counts with 2 documents"]),
        ("buffer too short", fill(&[0, 1], 5), Shape, &["2 rows of 3 terms", "5 values"]),
        ("select a row that is not there", counts.select(&[7]).map(drop), Shape, &["row 7"]),
        ("select nothing", counts.select(&[]).map(drop), Shape, &["0 documents"]),
        ("no file", Counts::open("no/such/file.npy").map(drop), ErrorKind::Io, &["no/such/file.npy", "check the path"]),
        ("a folder", Counts::open("tests").map(drop), ErrorKind::Io, &["is a folder"]),
        ("no terms given", Terms::new(vec![]).map(drop), Value, &["no terms"]),
        ("a blank term", Terms::new(vec!["a".into(), " ".into()]).map(drop), Value, &["term 1"]),
        ("no file of terms", Terms::open("no-such.txt").map(drop), ErrorKind::Io, &["no-such.txt"]),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(name, made, kind, fragments)| {
            let error = made.err().ok_or_else(|| "it was accepted".to_string());
            check(name, error, kind, fragments).err()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn malformed_files_of_terms_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("terms.txt");
    let cases: [(&str, &[u8], &[&str]); 4] = [
        ("empty", b"", &["is empty"]),
        (
            "blank line",
            b"spike\n\nneuron\n",
            &["blank line", "line 2"],
        ),
        ("only a line end", b"\n", &["blank line", "line 1"]),
        ("not UTF-8", b"spike\nne\xffron\n", &["UTF-8", "line 2"]),
    ];
    for (name, bytes, fragments) in cases {
        std::fs::write(&path, bytes).unwrap();
        let error = Terms::open(&path).err().ok_or_else(|| "it was read".into());
        check(name, error, ErrorKind::Format, fragments).unwrap();
    }
    std::fs::write(&path, "\u{feff}spike\r\nneuron\r\nspike").unwrap();
    let terms = Terms::open(&path).unwrap();
    assert_eq!(terms.as_slice(), ["spike", "neuron", "spike"]);
    assert_eq!(terms.duplicates(), ["spike"]);
}

#[test]
fn ids_beyond_a_given_shape_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "doc,term,count\n0,0,1\n1,2,4\n").unwrap();
    assert_eq!(Counts::open_triplets(&path, 5, 4).unwrap().shape(), (5, 4));
    let error = Counts::open_triplets(&path, 5, 2)
        .err()
        .ok_or_else(|| "it was read".into());
    check(
        "shape",
        error,
        ErrorKind::Format,
        &["term 2 is out of range: from 0 to 1", "data row 2"],
    )
    .unwrap();
    let error = Counts::open_triplets(&path, 0, 4)
        .err()
        .ok_or_else(|| "it was read".into());
    check("no documents", error, ErrorKind::Format, &["out of range"]).unwrap();
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
#[rustfmt::skip] // one case a line
fn failed_writes_leave_nothing_behind() {
    use ErrorKind::{Io, Setting, Space, Value};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let counts = Counts::dense(2, 2, vec![1.0f64, 2.0, 3.0, 300.0]).unwrap();
    counts.write_npy_as(at("kept.npy"), Dtype::F64).unwrap();
    let sparse = Counts::csr(1, 2, vec![0, 1], vec![1], vec![300.0]).unwrap();
    let bad = Counts::dense(1, 2, vec![1.0f64, f64::NAN]).unwrap();
    let large = Counts::dense(1, 2, vec![1i64, (1 << 53) + 1]).unwrap();
    // 4 TiB of dense counts from next to nothing.
    let enormous = Counts::csr(1 << 20, 1 << 20, vec![0; (1 << 20) + 1], vec![], vec![]).unwrap();
    let missing = at("no-such-folder").join("a.npy");
    type Written = Result<Counts, Error>;
    let cases: Vec<(&str, Written, ErrorKind, &[&str])> = vec![
        ("value beyond u8", counts.write_npy_as(at("kept.npy"), Dtype::U8), Value, &["300 does not fit u8", "row 1, column 1"]),
        ("value beyond u8 in CSR", sparse.write_npy_as(at("a.npy"), Dtype::U8), Value, &["300 does not fit u8", "row 0, column 1"]),
        ("NaN as integer", bad.write_npy_as(at("a.npy"), Dtype::I64), Value, &["NaN does not fit i64", "row 0, column 1"]),
        ("NaN narrow", bad.write_npy_narrow(at("a.npy")), Value, &["NaN is not a count"]),
        ("NaN sparse", bad.write_npz(at("a.npz")), Value, &["NaN is not a count", "row 0, column 1"]),
        ("beyond f64", large.write_npy_as(at("a.npy"), Dtype::F64), Value, &["does not fit f64", "row 0, column 1"]),
        ("beyond sparse f32", large.write_npz(at("a.npz")), Value, &["f32 of sparse counts", "row 0, column 1"]),
        ("disk too small", enormous.write_npy(at("a.npy")), Space, &["would take 4", "free"]),
        ("wrong ending", counts.write_npy(at("a.dat")), Setting, &["a.npy"]),
        ("no ending", counts.write_npz(at("a")), Setting, &["a.npz"]),
        ("folder that is not there", counts.write_npy(&missing), Io, &["no-such-folder"]),
        ("folder of that name", { std::fs::create_dir(at("b.npy")).unwrap(); counts.write_npy(at("b.npy")) }, Io, &["is a folder"]),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .filter_map(|(name, made, kind, fragments)| {
            let error = made.err().ok_or_else(|| "it was written".to_string());
            check(name, error, kind, fragments).err()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(names(folder.path()), ["b.npy", "kept.npy"]);
    let kept = Counts::open(at("kept.npy")).unwrap();
    assert_eq!(kept.dtype(), Dtype::F64, "the earlier file is untouched");
}

#[cfg(unix)]
#[test]
fn a_folder_that_takes_no_files_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let set = |mode| {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    if std::fs::write(folder.path().join("probe"), "").is_ok() {
        eprintln!("SKIPPED: this user may write into read-only folders");
        set(0o755);
        return;
    }
    let counts = Counts::dense(1, 2, vec![1u8, 2]).unwrap();
    let error = counts.write_npy(folder.path().join("a.npy")).unwrap_err();
    set(0o755);
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("permissions"), "{error}");
    assert!(names(folder.path()).is_empty());
}

/// A mapped file that is cut or rewritten after it was opened: an error, where a plain map ends the process.
#[test]
fn a_file_changed_after_opening_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let written = Counts::dense(4, 4096, vec![1u16; 4 * 4096]).unwrap();
    let mut row = vec![0.0; 4096];

    let counts = written.write_npy(&path).unwrap();
    counts.fill_rows(&[3], &mut row).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(4096).unwrap();
    for error in [
        counts.fill_rows(&[3], &mut row).unwrap_err(),
        counts.summary().unwrap_err(),
        counts.select(&[3]).unwrap_err(),
        counts.write_npy(folder.path().join("b.npy")).unwrap_err(),
        counts.write_npz(folder.path().join("b.npz")).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
        assert!(error.to_string().contains("open it again"), "{error}");
    }
    assert_eq!(names(folder.path()), ["a.npy"]);

    // Replaced by a new file of that name: the old one is still whole.
    let counts = written.write_npy(&path).unwrap();
    written.write_npy(&path).unwrap();
    counts.fill_rows(&[3], &mut row).unwrap();

    // An archive that changes before its counts are first needed.
    let path = folder.path().join("a.npz");
    let counts = written.write_npz(&path).unwrap();
    std::fs::write(&path, "something else").unwrap();
    let error = counts.summary().unwrap_err();
    assert!(error.to_string().contains("open it again"), "{error}");
}

#[test]
fn a_parquet_file_with_a_damaged_footer_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let good = good_parquet();
    let footer = u32::from_le_bytes(good[good.len() - 8..good.len() - 4].try_into().unwrap());
    for at in good.len() - 8 - footer as usize..good.len() {
        for damage in [0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[at] ^= damage;
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = Counts::open(&path) {
                assert!(
                    error.to_string().contains("a.parquet") || error.kind() == ErrorKind::Space,
                    "{at}: {error}"
                );
            }
        }
    }
}
