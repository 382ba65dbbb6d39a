//! Systems of linear equations with a symmetric, positive definite matrix.

/// Replaces the lower triangle of a positive definite matrix by its Cholesky factor.
pub fn factor(matrix: &mut [f64], k: usize) {
    for row in 0..k {
        for column in 0..=row {
            let (above, line) = matrix.split_at_mut(row * k);
            let known = match column == row {
                true => line[..column].iter().map(|value| value * value).sum(),
                false => dot(&line[..column], &above[column * k..][..column]),
            };
            let rest = line[column] - known;
            line[column] = match column == row {
                // Pivots are above zero, but rounding may make the smallest ones zero.
                true => rest.max(f64::EPSILON * line[column].abs()).sqrt(),
                false => rest / above[column * k + column],
            };
        }
    }
}

/// The sum of the products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves a system, given its Cholesky factor.
pub fn solve(factor: &[f64], k: usize, right: &mut [f64]) {
    for row in 0..k {
        let known = dot(&factor[row * k..][..row], &right[..row]);
        right[row] = (right[row] - known) / factor[row * k + row];
    }
    for row in (0..k).rev() {
        let known: f64 = (row + 1..k)
            .map(|below| factor[below * k + row] * right[below])
            .sum();
        right[row] = (right[row] - known) / factor[row * k + row];
    }
}
