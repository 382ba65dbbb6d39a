//! Malformed files and the errors that they give.

use polars::prelude::Column;
use topicbook::ErrorKind::{self, Format, Shape, Value};

use super::build::*;

/// A name, the file's name, its bytes, the kind of the error, and parts of its message.
pub type Case = (
    &'static str,
    &'static str,
    Vec<u8>,
    ErrorKind,
    &'static [&'static str],
);

pub fn cases() -> Vec<Case> {
    [
        npy_cases(),
        npz_cases(),
        packed_cases(),
        safetensors_cases(),
        parquet_cases(),
        csv_cases(),
        file_name_cases(),
    ]
    .concat()
}

#[rustfmt::skip] // one case a line
fn npy_cases() -> Vec<Case> {
    let good_npy = good_npy();
    let good_npz = good_npz();
    let nested = format!(
        "{{'descr': {}'<f4'{}, 'fortran_order': False, 'shape': (2, 3)}}",
        "[".repeat(4000),
        "]".repeat(4000)
    );
    vec![
        // The file.
        ("empty", "a.npy", vec![], Format, &["is empty", "np.save"]),
        ("cut inside the magic", "a.npy", cut(good_npy.clone(), 4), Format, &["does not start"]),
        ("cut inside the header's length", "a.npy", cut(good_npy.clone(), 9), Format, &["ends inside its header"]),
        ("cut inside the header", "a.npy", cut(good_npy.clone(), 40), Format, &["header should have 128 bytes", "has 40"]),
        ("cut inside the values", "a.npy", cut(good_npy.clone(), 131), Format, &["need 134 bytes", "has 131", "truncated"]),
        ("without values", "a.npy", cut(good_npy.clone(), 128), Format, &["need 134 bytes", "has 128"]),
        ("longer than its shape", "a.npy", [good_npy.clone(), vec![0; 5]].concat(), Format, &["need 134 bytes", "has 139", "more bytes than its header"]),
        ("wrong magic", "a.npy", b"NUMPY, but not quite so".to_vec(), Format, &["does not start like a .npy file"]),
        ("a zip archive named .npy", "a.npy", good_npz.clone(), Format, &["looks like a zip archive", ".npz"]),
        ("unknown version", "a.npy", npy_version(9, "{}", &[]), Format, &["version 9.0"]),
        ("header longer than the file", "a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{'descr': '<f4'}".to_vec(), Format, &["header should have 2147483659 bytes"]),
        ("header of 20,000 bytes", "a.npy", npy_version(1, &" ".repeat(20_000), &[]), Format, &["bytes; a plain array needs about 100"]),
        // The header.
        ("header that is not a dictionary", "a.npy", npy_version(1, "descr = '<f4'", &[]), Format, &["header cannot be read"]),
        ("header without a shape", "a.npy", npy_version(1, "{'descr': '<f4', 'fortran_order': False}", &[]), Format, &["header cannot be read", "shape"]),
        ("header that is not UTF-8", "a.npy", [&b"\x93NUMPY\x01\x00\x04\x00"[..], &[0xff, 0xfe, 0xfd, b'\n']].concat(), Format, &["header cannot be read"]),
        ("deeply nested brackets", "a.npy", npy_version(1, &nested, &[]), Format, &["nested too deeply"]),
        ("negative shape", "a.npy", npy("'<f4'", "(-2, 3)", &[]), Format, &["header cannot be read", "negative"]),
        ("shape that overflows", "a.npy", npy("'|u1'", "(4294967296, 4294967296)", &[]), Format, &["too large for any file", "4294967296"]),
        ("shape beyond 64 bits", "a.npy", npy("'|u1'", "(99999999999999999999, 2)", &[]), Format, &["too large for any file"]),
        ("bytes that overflow", "a.npy", npy("'<f8'", "(4294967296, 1073741824)", &[]), Format, &["too large for any file"]),
        ("Fortran order", "a.npy", npy_version(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", &f32s(&[1.0; 6])), Format, &["Fortran order", "np.ascontiguousarray", "np.save"]),
        ("one dimension", "a.npy", npy("'<f4'", "(6,)", &f32s(&[1.0; 6])), Format, &["1 dimensions", "documents × terms"]),
        ("three dimensions", "a.npy", npy("'<f4'", "(1, 2, 3)", &f32s(&[1.0; 6])), Format, &["3 dimensions"]),
        ("no dimension", "a.npy", npy("'<f4'", "()", &f32s(&[1.0])), Format, &["0 dimensions"]),
        ("no documents", "a.npy", npy("'<f4'", "(0, 3)", &[]), Shape, &["0 documents × 3 terms"]),
        ("no terms", "a.npy", npy("'<f4'", "(2, 0)", &[]), Shape, &["2 documents × 0 terms"]),
        // The dtype.
        ("Python objects", "a.npy", npy("'|O'", "(2, 3)", b"pickle"), Format, &["Python objects", "astype"]),
        ("big-endian", "a.npy", npy("'>f4'", "(2, 3)", &f32s(&[1.0; 6])), Format, &["big-endian", "newbyteorder"]),
        ("structured", "a.npy", npy("[('a', '<f4'), ('b', '<i4')]", "(2, 3)", &[0; 48]), Format, &["structured"]),
        ("bool that is 2", "a.npy", npy("'|b1'", "(2, 3)", &[1, 1, 0, 0, 2, 1]), Format, &["out of the range", "row 1, column 1"]),
        ("complex", "a.npy", npy("'<c8'", "(1, 1)", &[0; 8]), Format, &["dtype c8", "astype"]),
        ("negative byte", "a.npy", npy("'|i1'", "(2, 2)", &[1, 1, 0, 0xfe]), Value, &["-2 is negative", "row 1, column 1"]),
        ("negative short", "a.npy", npy("'<i2'", "(1, 2)", &[1, 0, 0xff, 0xff]), Value, &["-1 is negative", "row 0, column 1"]),
        ("u64 beyond i64", "a.npy", npy("'<u8'", "(1, 1)", &[0, 0, 0, 0, 0, 0, 0, 0x80]), Format, &["92233720368547", "is out of the range of its dtype"]),
        ("half of a count", "a.npy", npy("'<f2'", "(1, 2)", &[0, 0x3c, 0, 0x38]), Value, &["0.5 is not a whole number", "row 0, column 1"]),
        ("infinite half precision", "a.npy", npy("'<f2'", "(1, 1)", &[0, 0x7c]), Value, &["inf"]),
        ("half precision that is cut", "a.npy", npy("'<f2'", "(2, 3)", &[0; 10]), Format, &["counts of f16 need"]),
        ("complex", "a.npy", npy("'<c8'", "(2, 3)", &[0; 48]), Format, &["c8"]),
        ("text", "a.npy", npy("'<U3'", "(2, 3)", &[0; 72]), Format, &["U3"]),
        ("unknown dtype", "a.npy", npy("'<q9'", "(2, 3)", &[0; 54]), Format, &["header cannot be read"]),
        // The values.
        ("negative float", "a.npy", npy("'<f4'", "(2, 3)", &f32s(&[1.0, 0.0, 2.0, 0.0, -3.0, -4.0])), Value, &["-3 is negative", "row 1, column 1"]),
        ("NaN", "a.npy", npy("'<f8'", "(2, 3)", &f64s(&[1.0, 0.0, f64::NAN, 0.0, -3.0, 0.5])), Value, &["NaN", "row 0, column 2", "nan_to_num"]),
        ("above f32", "a.npy", npy("'<f8'", "(2, 3)", &f64s(&[1.0, 0.0, 1e243, 0.0, 3.0, 0.0])), Value, &["1e243 is too large", "row 0, column 2", "3.4e38"]),
        ("infinite", "a.npy", npy("'<f4'", "(2, 3)", &f32s(&[1.0, f32::INFINITY, 2.0, 0.0, 3.0, 0.0])), Value, &["inf is not a count", "row 0, column 1"]),
        ("fractional", "a.npy", npy("'<f8'", "(2, 3)", &f64s(&[1.0, 0.0, 2.0, 0.25, 3.0, 0.0])), Value, &["0.25 is not a whole number", "row 1, column 0", "tf-idf"]),
        ("negative integer", "a.npy", npy("'<i8'", "(1, 2)", &i64s(&[3, -1])), Value, &["-1 is negative", "row 0, column 1"]),
    ]
}

#[rustfmt::skip] // one case a line
fn npz_cases() -> Vec<Case> {
    let good_npy = good_npy();
    let good_npz = good_npz();
    let half = good_npz.len() / 2;
    vec![
        // The archive.
        ("empty archive file", "a.npz", vec![], Format, &["is empty"]),
        ("not a zip archive", "a.npz", b"this is not an archive, however long one looks at it".to_vec(), Format, &["not a complete zip archive"]),
        ("a .npy file named .npz", "a.npz", good_npy.clone(), Format, &["not a complete zip archive"]),
        ("archive cut in half", "a.npz", cut(good_npz.clone(), half), Format, &["not a complete zip archive", "truncated"]),
        ("archive without its last byte", "a.npz", cut(good_npz.clone(), good_npz.len() - 1), Format, &["zip archive"]),
        ("archive without entries", "a.npz", archive(&[]), Format, &["no sparse matrix", "has nothing"]),
        ("dense arrays in an archive", "a.npz", archive(&[("L", good_npy.clone()), ("F", good_npy.clone())]), Format, &["no sparse matrix", "F, L", "save_npz"]),
        // The entries.
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
        ("no documents in a matrix", "a.npz", archive(&[("indices", npy("'<i4'", "(0,)", &[])), ("indptr", npy("'<i4'", "(1,)", &i32s(&[0]))), ("format", npy("'|S3'", "()", b"csr")), ("shape", npy("'<i8'", "(2,)", &i64s(&[0, 3]))), ("data", npy("'<f4'", "(0,)", &[]))]), Shape, &["0 documents × 3 terms"]),
        ("fewer values than indices", "a.npz", npz_with("data", Some(npy("'<f4'", "(2,)", &f32s(&[1.0, 2.0])))), Format, &["indices has 3 entries", "need 2"]),
        ("values that are objects", "a.npz", npz_with("data", Some(npy("'|O'", "(3,)", b"pickle"))), Format, &["Python objects", "entry data.npy"]),
        ("values that are big-endian", "a.npz", npz_with("data", Some(npy("'>f4'", "(3,)", &[0; 12]))), Format, &["big-endian", "entry data.npy"]),
        ("values in two dimensions", "a.npz", npz_with("data", Some(npy("'<f4'", "(3, 1)", &[0; 12]))), Format, &["2 dimensions", "entry data.npy"]),
        ("entry shorter than its header says", "a.npz", npz_with("data", Some(npy("'<f4'", "(3,)", &[0; 8]))), Format, &["3 numbers of 4 bytes", "entry data.npy"]),
        ("entry that is not an array", "a.npz", npz_with("indptr", Some(b"hello, world".to_vec())), Format, &["does not start", "entry indptr.npy"]),
        ("indices that are floats", "a.npz", npz_with("indices", Some(npy("'<f4'", "(3,)", &[0; 12]))), Format, &["indices has dtype f4"]),
        ("index out of range", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[0, 3, 1])))), Format, &["index 3 is out of range", "indices[1]"]),
        ("negative index", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[0, 2, -1])))), Format, &["index -1", "indices[2]"]),
        ("column twice in a row", "a.npz", npz_with("indices", Some(npy("'<i4'", "(3,)", &i32s(&[2, 2, 1])))), Format, &["two values", "row 0, column 2", "sum_duplicates"]),
        ("decreasing indptr", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, 4, 3])))), Format, &["indptr falls from 4 to 3", "indptr[2]"]),
        ("indptr that starts above zero", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[1, 2, 3])))), Format, &["starts with 1"]),
        ("indptr that ends early", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, 1, 2])))), Format, &["ends with 2", "3 values"]),
        ("indptr below zero", "a.npz", npz_with("indptr", Some(npy("'<i4'", "(3,)", &i32s(&[0, -1, 3])))), Format, &["negative value -1"]),
        ("negative count in a matrix", "a.npz", npz_data(&[1.0, 2.0, -3.0]), Value, &["-3 is negative", "row 1, column 1"]),
        ("NaN in a matrix", "a.npz", npz_data(&[1.0, f64::NAN, 3.0]), Value, &["NaN", "row 0, column 2"]),
        ("infinity in a matrix", "a.npz", npz_data(&[f64::INFINITY, 2.0, 3.0]), Value, &["inf", "row 0, column 0"]),
        ("fraction in a matrix", "a.npz", npz_data(&[1.0, 2.5, 3.0]), Value, &["2.5 is not a whole number", "row 0, column 2"]),
        ("count beyond f32 in a matrix", "a.npz", npz_data(&[1.0, 16_777_217.0, 3.0]), Value, &["16777217", "row 0, column 2", "toarray"]),
    ]
}

/// The bytes of [`packed`]: the checksum of the block from 16 on, its heads from 20, its bodies of lengths from 26, of gaps
/// from 30 and of counts from 34 to 38, the index from there, and the footer from 54.
#[rustfmt::skip] // one case a line
fn packed_cases() -> Vec<Case> {
    let good = packed(|_| ());
    let changed = |at: usize, to: u8| { let mut bytes = good.clone(); bytes[at] = to; bytes };
    let sealed = |at: usize, to: u8| packed(|bytes| bytes[at] = to);
    vec![
        ("empty packed counts", "a.tbc", vec![], Format, &["no packed counts"]),
        ("an archive named .tbc", "a.tbc", good_npz(), Format, &["no packed counts"]),
        ("packed counts without their last byte", "a.tbc", cut(good.clone(), good.len() - 1), Format, &["was cut"]),
        ("a later version", "a.tbc", sealed(8, 2), Format, &["version 2 of packed counts", "version 1 is read", "update"]),
        ("checksum of the index", "a.tbc", changed(46, 4), Format, &["checksum of its index is wrong"]),
        ("checksum of a block", "a.tbc", changed(28, 1), Format, &["checksum of a block is wrong", "documents 0 to 1", "bytes 16 to 37"]),
        ("blocks without documents", "a.tbc", packed(|bytes| bytes[12..16].fill(0)), Format, &["a.tbc"]),
        ("more documents than an index", "a.tbc", packed(|bytes| bytes[59] = 1), Format, &["1099511627778 documents in blocks of 4096", "for a file of"]),
        ("terms beyond 32 bits", "a.tbc", sealed(67, 1), Format, &["states sizes"]),
        ("no terms", "a.tbc", sealed(62, 0), Format, &["cannot hold their counts"]),
        ("more counts than cells", "a.tbc", sealed(46, 7), Format, &["cannot hold their counts"]),
        ("a block that ends before it starts", "a.tbc", sealed(38, 3), Format, &["cannot hold their counts"]),
        ("a block before a gap", "a.tbc", sealed(38, 37), Format, &["not next to each other"]),
        ("fewer counts than rows have", "a.tbc", sealed(46, 2), Format, &["not packed as its index says", "documents 0 to 1"]),
        ("longer rows", "a.tbc", sealed(28, 3), Format, &["not packed as its index says"]),
        ("a width of 33 bits", "a.tbc", sealed(22, 33), Format, &["not packed as its index says"]),
        ("a body that is too long", "a.tbc", sealed(25, 1), Format, &["not packed as its index says"]),
        ("an exception outside its chunk", "a.tbc", sealed(31, 128), Format, &["not packed as its index says"]),
        ("a column that there is not", "a.tbc", sealed(33, 3), Format, &["not packed as its index says"]),
        ("a count beyond f32", "a.tbc", wide_packed(1 << 24), Value, &["16777217 does not fit", "row 0, column 2"]),
        ("a count beyond 32 bits", "a.tbc", wide_packed(u32::MAX), Format, &["not packed as its index says"]),
    ]
}

#[rustfmt::skip] // one case a line
fn safetensors_cases() -> Vec<Case> {
    let good_tensor = tensor("F32", "[2,3]", &f32s(&[1.0; 6]));
    let tensor_length = good_tensor.len();
    vec![
        ("empty tensors", "a.safetensors", vec![], Format, &["0 bytes are too few"]),
        ("tensors cut inside the length", "a.safetensors", cut(good_tensor.clone(), 5), Format, &["5 bytes are too few"]),
        ("tensors cut inside the header", "a.safetensors", cut(good_tensor.clone(), 30), Format, &["not a complete .safetensors"]),
        ("tensors cut inside the values", "a.safetensors", cut(good_tensor, tensor_length - 3), Format, &["not a complete .safetensors"]),
        ("header of tensors that is not JSON", "a.safetensors", tensors("not JSON at all!", &[]), Format, &["not a complete .safetensors"]),
        ("header of tensors longer than the file", "a.safetensors", [&u64::MAX.to_le_bytes()[..], b"{}"].concat(), Format, &["not a complete .safetensors"]),
        ("two matrices, none named X", "a.safetensors", tensors("{\"L\":{\"dtype\":\"U8\",\"shape\":[1,2],\"data_offsets\":[0,2]},\"F\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[2,4]}}", &[1; 4]), Format, &["none is named X", "F, L"]),
        ("no matrix", "a.safetensors", tensors("{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", &[1; 4]), Format, &["no 2-D tensor", "tensors: b"]),
        ("X of one dimension", "a.safetensors", tensor("U8", "[4]", &[1; 4]), Format, &["1 dimensions", "tensor X"]),
        ("tensor of bytes of 8 bits", "a.safetensors", tensor("F8_E4M3", "[1,2]", &[0; 2]), Format, &["dtype F8_E4M3", "tensor X"]),
        ("negative tensor of half precision", "a.safetensors", tensor("BF16", "[1,2]", &[0, 0, 0x80, 0xbf]), Value, &["-1 is negative", "row 0, column 1"]),
        ("tensor larger than its bytes", "a.safetensors", tensor("F32", "[4294967296,4294967296]", &[0; 4]), Format, &["not a complete .safetensors"]),
        ("fraction in a tensor", "a.safetensors", tensor("F64", "[1,2]", &f64s(&[1.0, 0.5])), Value, &["0.5", "row 0, column 1"]),
    ]
}

#[rustfmt::skip] // one case a line
fn parquet_cases() -> Vec<Case> {
    let parquet_length = good_parquet().len();
    vec![
        ("empty Parquet", "a.parquet", vec![], Format, &["is empty"]),
        ("not a Parquet file", "a.parquet", b"doc,term,count\n0,0,1\n".to_vec(), Format, &["Parquet"]),
        ("Parquet cut in half", "a.parquet", cut(good_parquet(), parquet_length / 2), Format, &["Parquet"]),
        ("Parquet without its last byte", "a.parquet", cut(good_parquet(), parquet_length - 1), Format, &["Parquet"]),
        ("wrong columns", "a.parquet", parquet(vec![Column::new("document".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("n".into(), [1i64])]), Format, &["no column named doc or count", "document, term, n"]),
        ("ids that are text", "a.parquet", parquet(vec![Column::new("doc".into(), ["a"]), Column::new("term".into(), [0i64]), Column::new("count".into(), [1i64])]), Format, &["column doc has type text", "from 0"]),
        ("Boolean counts", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("count".into(), [true])]), Format, &["column count has type Boolean", "32 or 64 bits"]),
        ("ids that are floats", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0.5f64]), Column::new("count".into(), [1i64])]), Format, &["column term has type f64"]),
        ("counts that are text", "a.parquet", parquet(vec![Column::new("doc".into(), [0i64]), Column::new("term".into(), [0i64]), Column::new("count".into(), ["1"])]), Format, &["column count has type text"]),
        ("null id", "a.parquet", parquet(vec![Column::new("doc".into(), [Some(0i64), None]), Column::new("term".into(), [0i64, 1]), Column::new("count".into(), [1i64, 1])]), Format, &["column doc is empty", "data row 2"]),
        ("id beyond 32 bits", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64 << 40]), Column::new("term".into(), [0i64]), Column::new("count".into(), [1i64])]), Format, &["doc 1099511627776 is out of range", "data row 1"]),
        ("triplet twice", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64, 0, 1]), Column::new("term".into(), [2i64, 0, 2]), Column::new("count".into(), [1i64, 1, 4])]), Format, &["document 1 and term 2 come twice", "data row 1 and data row 3"]),
        ("fraction in Parquet", "a.parquet", parquet(vec![Column::new("doc".into(), [1i64, 0]), Column::new("term".into(), [2i64, 0]), Column::new("count".into(), [1.5f64, 1.0])]), Value, &["1.5", "row 1, column 2", "data row 1"]),
        ("Parquet without rows", "a.parquet", parquet(vec![Column::new("doc".into(), Vec::<i64>::new()), Column::new("term".into(), Vec::<i64>::new()), Column::new("count".into(), Vec::<i64>::new())]), Format, &["has no rows"]),
    ]
}

#[rustfmt::skip] // one case a line
fn csv_cases() -> Vec<Case> {
    vec![
        ("empty CSV", "a.csv", vec![], Format, &["is empty"]),
        ("CSV without rows", "a.csv", b"doc,term,count\n".to_vec(), Format, &["has no rows"]),
        ("CSV of blank lines", "a.csv", b"\n\n".to_vec(), Format, &["a.csv"]),
        ("CSV with other columns", "a.csv", b"doc_id,word,n\n0,0,1\n".to_vec(), Format, &["no column named doc or term or count", "doc_id, word, n"]),
        ("TSV with commas", "a.tsv", b"doc,term,count\n0,0,1\n".to_vec(), Format, &["no column named", "doc,term,count"]),
        ("text for an id", "a.csv", b"doc,term,count\n0,0,1\nfirst,0,1\n".to_vec(), Format, &["column doc", "not a whole number", "data row 2"]),
        ("fractional id", "a.csv", b"doc,term,count\n0,1.5,1\n".to_vec(), Format, &["column term", "data row 1"]),
        ("negative id", "a.csv", b"doc,term,count\n0,-1,1\n".to_vec(), Format, &["term -1 is out of range", "data row 1"]),
        ("missing count", "a.csv", b"doc,term,count\n0,0,1\n0,1,\n".to_vec(), Format, &["column count is empty", "data row 2"]),
        ("text for a count", "a.csv", b"doc,term,count\n0,0,many\n".to_vec(), Format, &["column count", "not a number", "data row 1"]),
        ("short line", "a.csv", b"doc,term,count\n0,0,1\n0\n".to_vec(), Format, &["data row 2"]),
        ("line twice", "a.csv", b"doc,term,count\n0,0,1\n0,1,1\n0,0,5\n".to_vec(), Format, &["document 0 and term 0 come twice", "data row 1 and data row 3"]),
        ("negative count", "a.csv", b"doc,term,count\n0,0,-2\n".to_vec(), Value, &["-2 is negative", "data row 1"]),
        ("count that is NaN", "a.csv", b"doc,term,count\n0,0,NaN\n".to_vec(), Value, &["NaN", "data row 1"]),
        ("bytes that are not text", "a.csv", vec![0xff; 64], Format, &["a.csv"]),
    ]
}

#[rustfmt::skip] // one case a line
fn file_name_cases() -> Vec<Case> {
    vec![
        ("unknown ending", "a.hdf", b"whatever".to_vec(), Format, &[".hdf", ".npy, .npz"]),
        ("HDF5 that is none", "a.h5", b"whatever".to_vec(), Format, &["cannot be read as HDF5", "superblock"]),
        ("h5ad that is empty", "a.h5ad", vec![], Format, &["is empty", "write_h5ad"]),
        ("no file extension", "counts", b"whatever".to_vec(), Format, &["no file extension"]),
    ]
}
