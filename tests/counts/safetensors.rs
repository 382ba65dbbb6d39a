//! Tensors that Python's safetensors wrote (`golden/make_safetensors.py`).

use topicbook::{Counts, Dtype};

use crate::pytorch::values;
use crate::rows::{golden, rows};

#[test]
fn tensors_of_every_dtype_are_read() {
    for (name, dtype) in [
        ("float16", Dtype::U16),
        ("bfloat16", Dtype::F32),
        ("float32", Dtype::F32),
        ("float64", Dtype::F64),
        ("uint8", Dtype::U8),
        ("int8", Dtype::U8),
        ("uint16", Dtype::U16),
        ("int16", Dtype::U16),
        ("uint32", Dtype::U32),
        ("int32", Dtype::I32),
        ("uint64", Dtype::I64),
        ("int64", Dtype::I64),
        ("bool", Dtype::U8),
    ] {
        let path = golden(&format!("safetensors/{name}.safetensors"));
        let counts = Counts::open(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((counts.shape(), counts.dtype()), ((4, 5), dtype), "{name}");
        let most = if name == "bool" { 1.0 } else { 200.0f32 };
        let expected = values().map(|value| value.min(most));
        assert_eq!(rows(&counts), expected, "{name}");
    }
}
