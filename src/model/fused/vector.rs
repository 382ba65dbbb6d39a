//! exp and ln over short arrays, in plain arithmetic that compiles to vector instructions.
//!
//! Multiply-adds are fused by name (`mul_add`, which is exact everywhere), so every machine gives the same bits.

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
    // Comparisons, where `clamp` would also look for NaN.
    let x = if x > -87.0 { x } else { -87.0 };
    let x = if x < 88.0 { x } else { 88.0 };
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut sum: f32 = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum.mul_add(r, coefficient);
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
    let mut sum: f32 = 1.0 / 9.0;
    for coefficient in [1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0] {
        sum = sum.mul_add(t, coefficient);
    }
    (n as f32).mul_add(std::f32::consts::LN_2, 2.0 * (s * t).mul_add(sum, s))
}

/// A register's values, each from its lane. Short steps by this stay in registers, where one long loop over the lanes
/// would keep its sums in memory.
#[inline(always)]
pub(crate) fn each(value: impl Fn(usize) -> f32) -> [f32; LANES] {
    let mut values = [0.0; LANES];
    for (lane, place) in values.iter_mut().enumerate() {
        *place = value(lane);
    }
    values
}

/// The larger of two numbers that are numbers: `max` would also look for NaN.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
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
