//! exp, ln and softmax in branch-free scalar code, which the compiler vectorises over lanes.
//!
//! Fused multiply-adds are explicit (`mul_add` rounds once on every machine), so every machine gives the same bits.

use super::simd::simd_dispatch;

/// Number of `f32` values in a vector: one AVX-512 register, or two AVX2 registers.
pub const LANES: usize = 16;

/// exp(x), for x clamped to [-87, 88]; relative error below 3e-7.
///
/// exp(x) = 2^n exp(r) with n the integer nearest to x / ln 2; exp(r) by its Taylor polynomial of degree 6.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 = high + low; the high part has few bits, so that n * high is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Comparisons instead of `clamp`, which would also test for NaN.
    let x = if x > -87.0 { x } else { -87.0 };
    let x = if x < 88.0 { x } else { 88.0 };
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut sum: f32 = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum.mul_add(r, coefficient);
    }
    // The low bits of `rounded` are n, in [-126, 127]; the shift drops the bits of ROUND above them. Adding n to the exponent
    // multiplies the sum by 2^n, and the result is a normal number.
    f32::from_bits(sum.to_bits().wrapping_add(rounded.to_bits() << 23))
}

/// ln(x) for normal positive x; absolute error below 1e-7 times max(1, |ln x|).
///
/// x = 2^n (1 + d) with 1 + d in [sqrt(1/2), sqrt(2)); ln(1 + d) = d + d^2 p(d). The polynomial p of degree 7 is a
/// least-squares fit with a largest error of 7e-9 before rounding.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits();
    let n = (bits.wrapping_sub(SQRT_HALF) as i32) >> 23;
    let d = f32::from_bits(bits.wrapping_sub((n << 23) as u32)) - 1.0;
    let mut sum: f32 = 0.087_336_26;
    for coefficient in [
        -0.144_418_78,
        0.149_792_9,
        -0.165_523_35,
        0.199_536_13,
        -0.250_024_9,
        0.333_342_25,
        -0.499_999_82,
    ] {
        sum = sum.mul_add(d, coefficient);
    }
    (n as f32).mul_add(std::f32::consts::LN_2, (d * d).mul_add(sum, d))
}

/// A vector whose lanes are `value(lane)`.
///
/// A sequence of such short loops keeps intermediate vectors in registers. One long loop over the lanes would keep its sums in
/// memory.
#[inline(always)]
pub fn per_lane(value: impl Fn(usize) -> f32) -> [f32; LANES] {
    lanes(value)
}

/// [`per_lane`], of any number of lanes.
#[inline(always)]
pub fn lanes<const N: usize>(value: impl Fn(usize) -> f32) -> [f32; N] {
    let mut values = [0.0; N];
    for (lane, slot) in values.iter_mut().enumerate() {
        *slot = value(lane);
    }
    values
}

/// The sum of the lanes by pairwise halving, an order that vector instructions can follow.
#[inline(always)]
pub fn sum(values: [f32; LANES]) -> f32 {
    let mut eight = [0.0; 8];
    for lane in 0..8 {
        eight[lane] = values[lane] + values[lane + 8];
    }
    let mut four = [0.0; 4];
    for lane in 0..4 {
        four[lane] = eight[lane] + eight[lane + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}

/// The maximum of the lanes; no lane may be NaN.
#[inline(always)]
pub fn max(values: [f32; LANES]) -> f32 {
    let eight: [f32; 8] = lanes(|lane| max_of_numbers(values[lane], values[lane + 8]));
    let four: [f32; 4] = lanes(|lane| max_of_numbers(eight[lane], eight[lane + 4]));
    let two: [f32; 2] = lanes(|lane| max_of_numbers(four[lane], four[lane + 2]));
    max_of_numbers(two[0], two[1])
}

/// The maximum of two numbers that are not NaN. One instruction, unlike `f32::max`, which also tests for NaN.
#[inline(always)]
pub fn max_of_numbers(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

simd_dispatch! {
    /// Replaces a row of logits by its softmax: weights that sum to one.
    pub fn softmax(row: &mut [f32]) {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let mut sum = 0.0;
        for value in row.iter_mut() {
            *value = exp(*value - largest);
        }
        for value in &*row {
            sum += *value;
        }
        row.iter_mut().for_each(|value| *value /= sum);
    }
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
