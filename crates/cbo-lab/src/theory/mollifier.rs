//! The mollifier of the mass bound, `phi_r(v) = prod_k exp(1 - r^2 / (r^2 - x_k^2))` with x = v - v* and zero outside the box
//! of radius r, and its derivatives (Lemma 2 of the paper).

/// One factor, `exp(1 - r^2 / (r^2 - x^2))`.
pub fn factor(r: f64, x: f64) -> f64 {
    if x.abs() < r { (1.0 - r * r / ((r - x) * (r + x))).exp() } else { 0.0 }
}

/// phi_r at the offset `x = v - v*`.
pub fn value(r: f64, x: &[f64]) -> f64 {
    x.iter().map(|&x| factor(r, x)).product()
}

/// `d_k phi_r / phi_r`, a function of the offset x = (v - v*)_k in (-r, r).
pub fn slope_ratio(r: f64, x: f64) -> f64 {
    -2.0 * r * r * x / gap(r, x).powi(2)
}

/// `d_kk phi_r / phi_r`, a function of the offset x = (v - v*)_k in (-r, r).
pub fn curvature_ratio(r: f64, x: f64) -> f64 {
    let (r2, x2, gap) = (r * r, x * x, gap(r, x));
    2.0 * r2 * (2.0 * (2.0 * x2 - r2) * x2 - gap * gap) / gap.powi(4)
}

/// `r^2 - x^2`, without cancellation near the edge.
fn gap(r: f64, x: f64) -> f64 {
    (r - x) * (r + x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fourth-order finite differences of the whole mollifier, in two dimensions, against the formulas.
    #[test]
    fn derivatives_agree_with_finite_differences() {
        for r in [0.3, 1.0, 7.0] {
            for share in [-0.9, -0.5, -0.1, 0.0, 0.3, 0.6, 0.75, 0.9] {
                let (x, other) = (share * r, 0.4 * r);
                let h = 1e-3 * r * (1.0 - f64::abs(share));
                let at = |j: f64| value(r, &[x + j * h, other]);
                let slope = (at(-2.0) - 8.0 * at(-1.0) + 8.0 * at(1.0) - at(2.0)) / (12.0 * h);
                let curvature =
                    (-at(-2.0) + 16.0 * at(-1.0) - 30.0 * at(0.0) + 16.0 * at(1.0) - at(2.0)) / (12.0 * h * h);
                let phi = value(r, &[x, other]);
                assert!((slope - slope_ratio(r, x) * phi).abs() < 1e-8 / r, "r = {r}, x = {x}");
                assert!((curvature - curvature_ratio(r, x) * phi).abs() < 1e-5 / (r * r), "r = {r}, x = {x}");
            }
        }
    }

    #[test]
    fn it_is_one_at_the_minimiser_and_zero_outside() {
        assert_eq!(value(0.5, &[0.0, 0.0, 0.0]), 1.0);
        assert_eq!(value(0.5, &[0.1, 0.5]), 0.0);
        assert_eq!(value(0.5, &[0.1, -0.7]), 0.0);
        // On the half box each factor is at least e^{-1/3}, which the paper bounds by 1/2.
        assert!((factor(2.0, 1.0) - (-1.0f64 / 3.0).exp()).abs() < 1e-15);
    }
}
