//! Colours of topics.

use std::sync::LazyLock;

use crate::error::{Error, Result};

/// An sRGB colour.
pub type Rgb = [u8; 3];

/// The ten colours of tinytopics: Observable's palette in the order of D3's category10.
const TEN: [Rgb; 10] = [
    [0x42, 0x69, 0xD0],
    [0xEF, 0xB1, 0x18],
    [0x3C, 0xA9, 0x51],
    [0xFF, 0x72, 0x5C],
    [0xA4, 0x63, 0xF2],
    [0x9C, 0x6B, 0x4E],
    [0xFF, 0x8A, 0xB7],
    [0x94, 0x98, 0xA0],
    [0x6C, 0xC5, 0xB0],
    [0x97, 0xBB, 0xF5],
];

/// The colours of charts of `k` topics, one per topic, as `#rrggbb`.
///
/// These fill the areas of a structure plot. Lines, points and texts are darker where a colour is too light for a white page.
/// Up to ten topics have the ten colours of tinytopics. For more topics a cubic spline through the ten colours in
/// CIELAB (not-a-knot, as in tinytopics 0.9) is sampled evenly, and clipped to sRGB.
///
/// ```
/// assert_eq!(topicbook::palette(2), ["#4269d0", "#efb118"]);
/// assert_eq!(topicbook::palette(25).len(), 25);
/// ```
pub fn palette(k: usize) -> Vec<String> {
    colours(k)
        .into_iter()
        .map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}"))
        .collect()
}

/// [`palette`] as numbers.
pub fn colours(k: usize) -> Vec<Rgb> {
    if k <= TEN.len() {
        return TEN[..k].to_vec();
    }
    (0..k)
        .map(|index| to_rgb(SPLINE.at(index as f64 / (k - 1) as f64)))
        .collect()
}

/// Names of CSS for colours that people name.
const NAMED: [(&str, u32); 27] = [
    ("black", 0x000000),
    ("blue", 0x0000FF),
    ("brown", 0xA52A2A),
    ("coral", 0xFF7F50),
    ("crimson", 0xDC143C),
    ("cyan", 0x00FFFF),
    ("gold", 0xFFD700),
    ("gray", 0x808080),
    ("green", 0x008000),
    ("grey", 0x808080),
    ("indigo", 0x4B0082),
    ("lightgray", 0xD3D3D3),
    ("lime", 0x00FF00),
    ("magenta", 0xFF00FF),
    ("maroon", 0x800000),
    ("navy", 0x000080),
    ("olive", 0x808000),
    ("orange", 0xFFA500),
    ("pink", 0xFFC0CB),
    ("purple", 0x800080),
    ("red", 0xFF0000),
    ("salmon", 0xFA8072),
    ("skyblue", 0x87CEEB),
    ("steelblue", 0x4682B4),
    ("teal", 0x008080),
    ("tomato", 0xFF6347),
    ("yellow", 0xFFFF00),
];

/// The colour of a text: `#rrggbb`, or a name.
pub fn parse(text: &str) -> Result<Rgb> {
    let named = NAMED
        .iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name));
    let digits = text.strip_prefix('#').filter(|digits| {
        digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    let hex = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let Some(value) = named.map(|named| named.1).or(hex) else {
        let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        return Err(
            Error::drawing(format!("`{text}` is not a colour")).fix(format!(
                "write it as \"#4269d0\", or name one of {}",
                names.join(", ")
            )),
        );
    };
    let [_, red, green, blue] = value.to_be_bytes();
    Ok([red, green, blue])
}

static SPLINE: LazyLock<Spline> = LazyLock::new(|| Spline::through(TEN.map(to_lab)));

/// A cubic spline through ten evenly spaced points in three dimensions.
struct Spline {
    points: [[f64; 3]; 10],
    /// Second derivatives at the points, for unit spacing.
    curvatures: [[f64; 3]; 10],
}

impl Spline {
    /// The not-a-knot spline: the third derivative is continuous at the second and the last but one point too.
    ///
    /// The second derivatives of a cubic spline solve a tridiagonal system. By the not-a-knot condition, the derivatives at
    /// the second and the last but one point are a sixth of their right-hand sides. Gauss-Seidel finds the others.
    fn through(points: [[f64; 3]; 10]) -> Self {
        let mut curvatures = [[0.0; 3]; 10];
        for axis in 0..3 {
            let right = |i: usize| {
                6.0 * (points[i - 1][axis] - 2.0 * points[i][axis] + points[i + 1][axis])
            };
            let mut curvature = [0.0; 10];
            curvature[1] = right(1) / 6.0;
            curvature[8] = right(8) / 6.0;
            // Diagonally dominant: each Gauss-Seidel sweep at least halves the error.
            for _ in 0..64 {
                for i in 2..8 {
                    curvature[i] = (right(i) - curvature[i - 1] - curvature[i + 1]) / 4.0;
                }
            }
            curvature[0] = 2.0 * curvature[1] - curvature[2];
            curvature[9] = 2.0 * curvature[8] - curvature[7];
            for i in 0..10 {
                curvatures[i][axis] = curvature[i];
            }
        }
        Self { points, curvatures }
    }

    /// The point at `position` between 0 and 1.
    fn at(&self, position: f64) -> [f64; 3] {
        let position = 9.0 * position;
        let left = (position.floor() as usize).min(8);
        let b = position - left as f64;
        let a = 1.0 - b;
        std::array::from_fn(|axis| {
            a * self.points[left][axis]
                + b * self.points[left + 1][axis]
                + ((a.powi(3) - a) * self.curvatures[left][axis]
                    + (b.powi(3) - b) * self.curvatures[left + 1][axis])
                    / 6.0
        })
    }
}

/// Linear sRGB to CIE XYZ (IEC 61966-2-1, rounded as in scikit-image).
const XYZ_OF_RGB: [[f64; 3]; 3] = [
    [0.412453, 0.357580, 0.180423],
    [0.212671, 0.715160, 0.072169],
    [0.019334, 0.119193, 0.950227],
];
/// The D65 white point of the 2-degree observer.
const WHITE: [f64; 3] = [0.95047, 1.0, 1.08883];

pub fn to_lab(rgb: Rgb) -> [f64; 3] {
    let linear = rgb.map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c > 0.04045 {
            ((c + 0.055) / 1.055).powf(2.4)
        } else {
            c / 12.92
        }
    });
    let xyz = multiply(&XYZ_OF_RGB, linear);
    let [x, y, z] = std::array::from_fn(|i| {
        let t = xyz[i] / WHITE[i];
        if t > 0.008856 {
            t.cbrt()
        } else {
            7.787 * t + 16.0 / 116.0
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

pub fn to_rgb([l, a, b]: [f64; 3]) -> Rgb {
    let y = (l + 16.0) / 116.0;
    let t = [y + a / 500.0, y, (y - b / 200.0).max(0.0)];
    let xyz: [f64; 3] = std::array::from_fn(|i| {
        let value = if t[i] > 0.2068966 {
            t[i].powi(3)
        } else {
            (t[i] - 16.0 / 116.0) / 7.787
        };
        value * WHITE[i]
    });
    multiply(&inverse(&XYZ_OF_RGB), xyz).map(|linear| {
        let c = if linear > 0.0031308 {
            1.055 * linear.powf(1.0 / 2.4) - 0.055
        } else {
            12.92 * linear
        };
        (255.0 * c.clamp(0.0, 1.0)).round() as u8
    })
}

fn multiply(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(m, v)| m * v).sum())
}

/// The inverse by cofactors. Cyclic indices make their signs positive.
fn inverse(m: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let cofactor = |i: usize, j: usize| {
        let [r, s] = [(i + 1) % 3, (i + 2) % 3];
        let [c, d] = [(j + 1) % 3, (j + 2) % 3];
        m[r][c] * m[s][d] - m[r][d] * m[s][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * cofactor(0, j)).sum();
    std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / determinant))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_to_lab_and_back_gives_the_same_colour() {
        for colour in TEN
            .into_iter()
            .chain([[0, 0, 0], [255, 255, 255], [1, 2, 3]])
        {
            assert_eq!(to_rgb(to_lab(colour)), colour);
        }
    }

    #[test]
    fn the_spline_passes_through_the_ten_colours() {
        for (index, &colour) in TEN.iter().enumerate() {
            assert_eq!(to_rgb(SPLINE.at(index as f64 / 9.0)), colour);
        }
    }
}
