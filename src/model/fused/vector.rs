//! exp and ln over short arrays, in plain arithmetic that compiles to vector instructions.
//!
//! No fused multiply-adds and no library calls: the same bits on every machine.

/// Values worked on side by side: one AVX-512 register of `f32`, two of AVX2.
pub(crate) const LANES: usize = 16;

/// exp(x), for x clamped to [-87, 88]; relative error below 3e-7.
///
/// exp(x) = 2^n exp(r) with n the nearest whole number to x / ln 2; exp(r) by its Taylor polynomial.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has few bits, so that n times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    let mut sum = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * r + coefficient;
    }
    // The low bits of the rounded number are n itself, within [-126, 127]: an exponent, without a slow conversion.
    let exponent = rounded
        .to_bits()
        .wrapping_sub(ROUND.to_bits())
        .wrapping_add(127);
    sum * f32::from_bits(exponent << 23)
}

/// ln(x) for normal positive x; absolute error below 1e-7 times max(1, |ln x|).
///
/// x = 2^n m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s), s = (m - 1) / (m + 1), by its series.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let n = (bits.wrapping_sub(SQRT_HALF) as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((n << 23) as u32));
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let mut sum = 1.0 / 9.0;
    for coefficient in [1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0] {
        sum = sum * t + coefficient;
    }
    n as f32 * std::f32::consts::LN_2 + 2.0 * (s + s * t * sum)
}

/// The sum of an array, in halves: an order that vectors can follow.
#[inline(always)]
pub(super) fn sum(values: [f32; LANES]) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|lane| values[lane] + values[lane + 8]);
    let four: [f32; 4] = std::array::from_fn(|lane| eight[lane] + eight[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_ln_agree_with_the_library() {
        for step in 0..200_000 {
            let x = -87.0 + step as f32 * (175.0 / 200_000.0);
            let exact = f64::from(x).exp();
            let relative = (f64::from(exp(x)) / exact - 1.0).abs();
            assert!(relative < 3e-7, "exp({x}): {relative:e}");
            let (value, logarithm) = (exact as f32, f64::from(exact as f32).ln());
            let error = (f64::from(ln(value)) - logarithm).abs() / logarithm.abs().max(1.0);
            assert!(error < 1.5e-7, "ln({value}): {error:e}");
        }
    }
}
