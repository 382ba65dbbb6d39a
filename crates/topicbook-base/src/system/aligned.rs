//! Vectors that are aligned to 64 bytes, so that no load of a vector register crosses a cache line.

use aligned_vec::{AVec, ConstAlign, avec};

/// Bytes of an AVX-512 register, and of a cache line.
const REGISTER: usize = 64;

pub type Aligned<T> = AVec<T, ConstAlign<REGISTER>>;

pub fn aligned_zeros(length: usize) -> Aligned<f32> {
    avec![[REGISTER]| 0.0; length]
}
