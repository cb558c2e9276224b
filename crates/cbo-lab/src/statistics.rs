//! Statistics: regression lines.

/// The weights by which the least squares slope of y over `x` is a sum of y: `slope = sum w_i y_i`.
pub fn slope_weights(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    x.iter().map(|x| (x - mean) / squares).collect()
}

/// The least squares slope of y over x.
pub fn slope(x: &[f64], y: &[f64]) -> f64 {
    slope_weights(x).iter().zip(y).map(|(w, y)| w * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope() {
        let x = [0.0, 1.0, 4.0, 9.0];
        let y = x.map(|x| 3.0 - 2.0 * x);
        assert!((slope(&x, &y) + 2.0).abs() < 1e-14);
        // Worked by hand: mean of x 2, of y 5; sum of products 13, of squares 6.
        assert!((slope(&[0.0, 2.0, 3.0, 3.0], &[1.0, 4.0, 7.0, 8.0]) - 13.0 / 6.0).abs() < 1e-14);
    }
}
