//! Sixteen lanes as one value that stays in vector registers.
//!
//! LLVM vectorises plain loops over lanes, but spills their sums to memory where a function has many of them; one more variant
//! of the function can cause that. Loops whose sums must be in registers are written for this trait.

use super::simd_math::{LANES, max_of_numbers, per_lane, sum};

/// [`LANES`] numbers. Every implementation gives the same bits.
pub trait Vector: Copy {
    /// Whether the processor has 32 registers of [`LANES`] numbers. With fewer registers, a loop should keep fewer sums.
    const IS_WIDE: bool;

    fn load(values: &[f32; LANES]) -> Self;

    fn store(self, values: &mut [f32; LANES]);

    fn splat(value: f32) -> Self;

    /// `self * factor + summand`, rounded once.
    fn mul_add(self, factor: Self, summand: Self) -> Self;

    /// Lane-wise maximum; no lane may be NaN.
    fn max(self, other: Self) -> Self;

    /// The sum of each row's lanes, in the order of [`sum`].
    fn sums(rows: [Self; LANES]) -> Self;

    /// The values of eight rows by column.
    fn transposed(rows: [&[f32; 4]; 8]) -> [[f32; 8]; 4];
}

impl Vector for [f32; LANES] {
    const IS_WIDE: bool = false;

    #[inline(always)]
    fn load(values: &[f32; LANES]) -> Self {
        *values
    }

    #[inline(always)]
    fn store(self, values: &mut [f32; LANES]) {
        *values = self;
    }

    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; LANES]
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        per_lane(|lane| self[lane].mul_add(factor[lane], summand[lane]))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        per_lane(|lane| max_of_numbers(self[lane], other[lane]))
    }

    #[inline(always)]
    fn sums(rows: [Self; LANES]) -> Self {
        rows.map(sum)
    }

    #[inline(always)]
    fn transposed(rows: [&[f32; 4]; 8]) -> [[f32; 8]; 4] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Vector};

    /// One register. `simd_dispatch` alone names this type, in functions that it calls where the processor has AVX-512.
    #[derive(Clone, Copy)]
    pub struct Avx512(__m512);

    /// Two registers. `simd_dispatch` alone names this type, in functions that it calls where the processor has AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub struct Avx2([__m256; 2]);

    // SAFETY of every block: the processor has the instructions (see the types), and references to arrays are valid for
    // unaligned loads and stores of their size.
    impl Vector for Avx512 {
        const IS_WIDE: bool = true;

        #[inline(always)]
        fn load(values: &[f32; LANES]) -> Self {
            Self(unsafe { _mm512_loadu_ps(values.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, values: &mut [f32; LANES]) {
            unsafe { _mm512_storeu_ps(values.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self(unsafe { _mm512_set1_ps(value) })
        }

        #[inline(always)]
        fn mul_add(self, factor: Self, summand: Self) -> Self {
            Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, summand.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(unsafe { _mm512_max_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn sums(rows: [Self; LANES]) -> Self {
            Self(unsafe { sums_of_registers(&rows) })
        }

        #[inline(always)]
        fn transposed(rows: [&[f32; 4]; 8]) -> [[f32; 8]; 4] {
            Avx2::transposed(rows)
        }
    }

    /// [`Vector::sums`]. Each step adds the two halves of each row and packs the results of two rows into one register: eight
    /// lanes a row, then four, two, one. Four lanes are a block; the first two steps move whole blocks.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sums_of_registers(rows: &[Avx512; LANES]) -> __m512 {
        let eight = |a: Avx512, b: Avx512| {
            let low = _mm512_shuffle_f32x4::<0b01_00_01_00>(a.0, b.0);
            _mm512_add_ps(low, _mm512_shuffle_f32x4::<0b11_10_11_10>(a.0, b.0))
        };
        let four = |a: __m512, b: __m512| {
            let low = _mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
            _mm512_add_ps(low, _mm512_shuffle_f32x4::<0b11_01_11_01>(a, b))
        };
        let two = |a: __m512, b: __m512| {
            let low = _mm512_shuffle_ps::<0b01_00_01_00>(a, b);
            _mm512_add_ps(low, _mm512_shuffle_ps::<0b11_10_11_10>(a, b))
        };
        let one = |a: __m512, b: __m512| {
            let low = _mm512_shuffle_ps::<0b10_00_10_00>(a, b);
            _mm512_add_ps(low, _mm512_shuffle_ps::<0b11_01_11_01>(a, b))
        };
        // The rows i, i + 4, i + 8 and i + 12 become the i-th lanes of the four blocks.
        let blocks = |i: usize| {
            four(
                eight(rows[i], rows[i + 4]),
                eight(rows[i + 8], rows[i + 12]),
            )
        };
        one(two(blocks(0), blocks(1)), two(blocks(2), blocks(3)))
    }

    impl Vector for Avx2 {
        const IS_WIDE: bool = false;

        #[inline(always)]
        fn load(values: &[f32; LANES]) -> Self {
            let (low, high) = values.split_at(LANES / 2);
            Self(unsafe {
                [
                    _mm256_loadu_ps(low.as_ptr()),
                    _mm256_loadu_ps(high.as_ptr()),
                ]
            })
        }

        #[inline(always)]
        fn store(self, values: &mut [f32; LANES]) {
            let (low, high) = values.split_at_mut(LANES / 2);
            unsafe {
                _mm256_storeu_ps(low.as_mut_ptr(), self.0[0]);
                _mm256_storeu_ps(high.as_mut_ptr(), self.0[1]);
            }
        }

        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self([unsafe { _mm256_set1_ps(value) }; 2])
        }

        #[inline(always)]
        fn mul_add(self, factor: Self, summand: Self) -> Self {
            let (Self([a, b]), Self([c, d]), Self([e, f])) = (self, factor, summand);
            Self(unsafe { [_mm256_fmadd_ps(a, c, e), _mm256_fmadd_ps(b, d, f)] })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            let (Self([a, b]), Self([c, d])) = (self, other);
            Self(unsafe { [_mm256_max_ps(a, c), _mm256_max_ps(b, d)] })
        }

        #[inline(always)]
        fn sums(rows: [Self; LANES]) -> Self {
            Self(unsafe { [sums_of_pairs(&rows, 0), sums_of_pairs(&rows, LANES / 2)] })
        }

        #[inline(always)]
        fn transposed(rows: [&[f32; 4]; 8]) -> [[f32; 8]; 4] {
            unsafe { transposed_blocks(rows) }
        }
    }

    /// [`Vector::transposed`]. A register holds rows i and i + 4, each as a block, and the blocks are transposed.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transposed_blocks(rows: [&[f32; 4]; 8]) -> [[f32; 8]; 4] {
        let both = |row: usize| {
            // SAFETY: references to arrays are valid for unaligned loads of their size.
            let [low, high] = unsafe { [row, row + 4].map(|row| _mm_loadu_ps(rows[row].as_ptr())) };
            _mm256_set_m128(high, low)
        };
        let [a, b, c, d] = [both(0), both(1), both(2), both(3)];
        // Columns 0 and 1, then 2 and 3, of two rows each.
        let [ab, cd] = [_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d)];
        let [ab_later, cd_later] = [_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d)];
        let columns = [
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
            _mm256_shuffle_ps::<0b01_00_01_00>(ab_later, cd_later),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab_later, cd_later),
        ];
        let mut values = [[0.0; 8]; 4];
        for (values, column) in values.iter_mut().zip(columns) {
            // SAFETY: as above, for stores.
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), column) };
        }
        values
    }

    /// As [`sums_of_registers`], for half of the rows: a register has two blocks.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sums_of_pairs(rows: &[Avx2; LANES], first: usize) -> __m256 {
        let eight = |row: Avx2| _mm256_add_ps(row.0[0], row.0[1]);
        let four = |a: __m256, b: __m256| {
            let low = _mm256_permute2f128_ps::<0b0010_0000>(a, b);
            _mm256_add_ps(low, _mm256_permute2f128_ps::<0b0011_0001>(a, b))
        };
        let two = |a: __m256, b: __m256| {
            let low = _mm256_shuffle_ps::<0b01_00_01_00>(a, b);
            _mm256_add_ps(low, _mm256_shuffle_ps::<0b11_10_11_10>(a, b))
        };
        let one = |a: __m256, b: __m256| {
            let low = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
            _mm256_add_ps(low, _mm256_shuffle_ps::<0b11_01_11_01>(a, b))
        };
        let blocks = |i: usize| four(eight(rows[first + i]), eight(rows[first + i + 4]));
        one(two(blocks(0), blocks(1)), two(blocks(2), blocks(3)))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::x86::{Avx2, Avx512};
    use super::*;

    /// Sums of rows, the product of the first two plus the third, the maximum of the first two, and eight rows by column.
    #[inline(always)]
    fn results<V: Vector>(rows: &[[f32; LANES]; LANES]) -> [[f32; LANES]; 5] {
        let mut registers = [V::splat(0.0); LANES];
        for (register, row) in registers.iter_mut().zip(rows) {
            *register = V::load(row);
        }
        let mut results = [[0.0; LANES]; 5];
        V::sums(registers).store(&mut results[0]);
        let [a, b, c, ..] = registers;
        a.mul_add(b, c).store(&mut results[1]);
        a.max(b).store(&mut results[2]);
        let columns = V::transposed(std::array::from_fn(|row| rows[row].first_chunk().unwrap()));
        results[3..]
            .as_flattened_mut()
            .copy_from_slice(columns.as_flattened());
        results
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn avx512(rows: &[[f32; LANES]; LANES]) -> [[f32; LANES]; 5] {
        results::<Avx512>(rows)
    }

    #[target_feature(enable = "avx2,fma")]
    fn avx2(rows: &[[f32; LANES]; LANES]) -> [[f32; LANES]; 5] {
        results::<Avx2>(rows)
    }

    #[test]
    fn every_vector_gives_the_bits_of_plain_loops() {
        let rows: [[f32; LANES]; LANES] = std::array::from_fn(|row| {
            std::array::from_fn(|lane| (1.0 + (row * 31 + lane * 17) as f32).ln() - 3.0)
        });
        let expected = results::<[f32; LANES]>(&rows);
        assert_eq!(expected[0], rows.map(sum));
        assert_eq!(
            expected[3][..9],
            std::array::from_fn::<_, 9, _>(|at| rows[at % 8][at / 8])
        );
        if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has these instructions: those with AVX-512DQ have BW and VL, too.
            assert_eq!(unsafe { avx512(&rows) }, expected);
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has these instructions, as just detected.
            assert_eq!(unsafe { avx2(&rows) }, expected);
        }
    }
}
