//! Eigenvectors of small symmetric matrices.

/// Maximum number of sweeps of rotations; a few hundred rows take about ten.
const MAX_SWEEPS: usize = 50;

/// The eigenvalues of a symmetric `n` x `n` matrix and their eigenvectors of length one, the largest value first. The largest
/// entry of each vector is positive, so that its sign does not depend on rounding.
///
/// Cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5) until what is left off the diagonal is 1e-12
/// of the matrix; O(n³) operations a sweep. A matrix with NaN has NaN among its eigenvalues.
pub(super) fn eigen(mut matrix: Vec<f64>, n: usize) -> Vec<(f64, Vec<f64>)> {
    debug_assert_eq!(matrix.len(), n * n);
    // Row i becomes the i-th eigenvector.
    let mut vectors = vec![0.0; n * n];
    for i in 0..n {
        vectors[i * n + i] = 1.0;
    }
    let all: f64 = matrix.iter().map(|value| value * value).sum();
    for _ in 0..MAX_SWEEPS {
        let off: f64 = (0..n * n)
            .filter(|at| at / n != at % n)
            .map(|at| matrix[at] * matrix[at])
            .sum();
        // Also false for NaN.
        let is_left = off > 1e-24 * all;
        if !is_left {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut matrix, &mut vectors, n, p, q);
            }
        }
    }
    let mut pairs: Vec<(f64, Vec<f64>)> = (0..n)
        .map(|i| {
            let vector = vectors[i * n..(i + 1) * n].to_vec();
            (matrix[i * n + i], with_fixed_sign(vector))
        })
        .collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    pairs
}

/// Rotates rows and columns `p` and `q`, so that their common entry becomes zero.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let common = matrix[p * n + q];
    if common == 0.0 {
        return;
    }
    let ratio = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * common);
    let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    let turn = |values: &mut [f64], first: usize, second: usize| {
        let (x, y) = (values[first], values[second]);
        values[first] = cosine * x - sine * y;
        values[second] = sine * x + cosine * y;
    };
    for i in 0..n {
        turn(matrix, i * n + p, i * n + q);
    }
    for i in 0..n {
        turn(matrix, p * n + i, q * n + i);
        turn(vectors, p * n + i, q * n + i);
    }
}

/// The vector or its opposite: the first of its largest entries is positive.
fn with_fixed_sign(mut vector: Vec<f64>) -> Vec<f64> {
    let largest = vector
        .iter()
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    // Entries of equal size may differ in their last bits.
    let first = vector
        .iter()
        .find(|value| value.abs() >= (1.0 - 1e-9) * largest);
    if first.is_some_and(|&value| value < 0.0) {
        vector.iter_mut().for_each(|value| *value = -*value);
    }
    vector
}

/// The part of the sum of all eigenvalues, `all`, that these axes show: 1 where there is nothing to show.
pub(super) fn shown(axes: &[(f64, Vec<f64>)], all: f64) -> f64 {
    let largest: f64 = axes.iter().map(|(value, _)| value).sum();
    match all > 0.0 {
        true => (largest / all).min(1.0),
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::stream;
    use rand::RngExt;

    #[test]
    fn eigenvectors_satisfy_their_equation_and_are_orthonormal() {
        for n in [1, 2, 3, 7, 20] {
            let mut random = stream(1, crate::system::Purpose::Split, n as u64);
            let mut matrix = vec![0.0; n * n];
            for row in 0..n {
                for column in 0..=row {
                    let value: f64 = random.random_range(-1.0..1.0);
                    matrix[row * n + column] = value;
                    matrix[column * n + row] = value;
                }
            }
            let pairs = eigen(matrix.clone(), n);
            assert!(pairs.windows(2).all(|two| two[0].0 >= two[1].0));
            for (index, (value, vector)) in pairs.iter().enumerate() {
                for row in 0..n {
                    let product: f64 = (0..n).map(|i| matrix[row * n + i] * vector[i]).sum();
                    assert!((product - value * vector[row]).abs() < 1e-10);
                }
                for (other, (_, second)) in pairs.iter().enumerate() {
                    let dot: f64 = vector.iter().zip(second).map(|(a, b)| a * b).sum();
                    let expected = f64::from(u8::from(index == other));
                    assert!((dot - expected).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn a_diagonal_matrix_and_nan_end_the_rotations() {
        let pairs = eigen(vec![1.0, 0.0, 0.0, 3.0], 2);
        assert_eq!(pairs, [(3.0, vec![0.0, 1.0]), (1.0, vec![1.0, 0.0])]);
        let pairs = eigen(vec![f64::NAN; 4], 2);
        assert!(pairs.iter().any(|(value, _)| value.is_nan()));
        assert!(eigen(Vec::new(), 0).is_empty());
    }
}
