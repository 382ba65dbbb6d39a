//! Conversions between `f32` and `bf16`, the upper 16 bits of an `f32`: its sign, its exponent, and 8 significant bits.

use super::simd::simd_dispatch;

/// Half of the lower 16 bits: truncating a value plus half a unit in the last place of `bf16` rounds to nearest.
const HALF: u32 = 1 << 15;

/// The increment of a Weyl sequence over the entries, so that neighbouring entries get different bits.
const STRIDE: u32 = 0x9E37_79B9;

simd_dispatch! {
    /// Widens every value.
    pub fn from_bf16(values: &[u16], out: &mut [f32]) {
        for (out, value) in out.iter_mut().zip(values) {
            *out = f32::from_bits(u32::from(*value) << 16);
        }
    }
}

simd_dispatch! {
    /// Rounds every value to one of its two neighbours in `bf16`. With the key `None` that is the nearest one. A key selects
    /// stochastic rounding: each entry gets random bits of its own, and is rounded up with a probability proportional to its
    /// distance from the lower neighbour. The mean of many roundings is then the value. Infinities and NaN stay.
    pub fn to_bf16(values: &[f32], key: Option<u64>, out: &mut [u16]) {
        let (key, mask) = match key {
            Some(key) => (key as u32 ^ (key >> 32) as u32, u32::from(u16::MAX)),
            None => (0, 0),
        };
        let nearest = if mask == 0 { HALF } else { 0 };
        for (entry, (out, value)) in out.iter_mut().zip(values).enumerate() {
            let random = mix(key.wrapping_add((entry as u32).wrapping_mul(STRIDE))) & mask;
            let bits = value.to_bits();
            let rounded = bits.wrapping_add(random | nearest) >> 16;
            // Rounding could carry a NaN into another number.
            let nan = (bits >> 16) | 0x40;
            let bits = if value.is_nan() { nan } else { rounded };
            *out = bits as u16;
        }
    }
}

/// Mixes the bits of a number, with the constants of Wellons' `lowbias32` (hash-prospector, 2018).
#[inline(always)]
fn mix(mut bits: u32) -> u32 {
    bits ^= bits >> 16;
    bits = bits.wrapping_mul(0x7FEB_352D);
    bits ^= bits >> 15;
    bits = bits.wrapping_mul(0x846C_A68B);
    bits ^ (bits >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(values: &[f32], key: Option<u64>) -> Vec<f32> {
        let mut narrow = vec![0; values.len()];
        to_bf16(values, key, &mut narrow);
        let mut wide = vec![0.0; values.len()];
        from_bf16(&narrow, &mut wide);
        wide
    }

    #[test]
    fn the_nearest_neighbour_is_taken_without_a_key() {
        let values = [
            0.0,
            -0.0,
            1.0,
            1.0 + 1.0 / 512.0,
            -3.016,
            1e-30,
            6.5e4,
            f32::MIN_POSITIVE,
        ];
        for (value, rounded) in values.iter().zip(rounded(&values, None)) {
            // Every neighbour, by brute force: the nearest of the two that enclose the value.
            let below = f32::from_bits(value.to_bits() & 0xFFFF_0000);
            let above = f32::from_bits((value.to_bits() & 0xFFFF_0000) + 0x1_0000);
            let (down, up) = ((value - below).abs(), (above - value).abs());
            assert!(
                rounded == below && down <= up || rounded == above && up <= down,
                "{value} to {rounded}"
            );
        }
    }

    #[test]
    fn values_of_16_bits_infinities_and_nan_stay_with_any_key() {
        let exact = [0.0, 1.0, -2.5, 3.390_625, f32::INFINITY, f32::NEG_INFINITY];
        for key in [None, Some(0), Some(1), Some(u64::MAX)] {
            assert_eq!(rounded(&exact, key), exact);
            let nan = [
                f32::NAN,
                -f32::NAN,
                f32::from_bits(0x7FFF_FFFF),
                f32::from_bits(0xFFFF_FFFF),
            ];
            assert!(rounded(&nan, key).iter().all(|value| value.is_nan()));
        }
        // Values above the largest number become infinite, as in other conversions.
        assert_eq!(rounded(&[f32::MAX], None), [f32::INFINITY]);
    }

    #[test]
    fn the_mean_of_many_roundings_is_the_value() {
        // 1 + i/1024 lies between neighbours that are 1/128 apart.
        let values: Vec<f32> = (0..64).map(|i| 1.0 + i as f32 / 1024.0).collect();
        let roundings = 20_000;
        let mut sums = vec![0.0; values.len()];
        for key in 0..roundings {
            let key = Some(u64::wrapping_mul(key, 0x9E37_79B9_7F4A_7C15));
            for (sum, value) in sums.iter_mut().zip(rounded(&values, key)) {
                *sum += f64::from(value);
            }
        }
        for (value, sum) in values.iter().zip(sums) {
            let mean = sum / roundings as f64;
            // A rounding has a standard deviation of at most 1/256, and the mean 2.8e-5: the bound is five of these.
            assert!((mean - f64::from(*value)).abs() < 1.4e-4, "{value}: {mean}");
        }
    }
}
