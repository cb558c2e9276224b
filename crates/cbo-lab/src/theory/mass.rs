//! The lower bound for the mass near the minimiser (Proposition 2 of the paper): `rho_t(B_r(v*)) >= exp(-p t) int phi_r drho_0`
//! while the consensus point stays within distance B of v* in the maximum norm.
//!
//! With x = (v - v*)_k and a = (v_a - v*)_k the proof bounds, for each coordinate, `(T_1 + T_2) / phi_r` from below, where
//! `T_1 / phi_r = -lambda (x - a) (d_k phi_r / phi_r)` and `T_2 / phi_r = sigma^2/2 (x - a)^2 (d_kk phi_r / phi_r)`.

use super::mollifier::{curvature_ratio, slope_ratio};

/// What the bound depends on, besides the dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// lambda.
    pub lambda: f64,
    /// sigma.
    pub sigma: f64,
    /// The radius r.
    pub r: f64,
    /// The bound B for the distance of the consensus point from v*, in the maximum norm.
    pub b: f64,
}

/// The decay rate p of the mass, as the paper has it: `p = d max(inner, outer)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// The constant c that splits the box.
    pub c: f64,
    /// `p_1 + p_2`, from the set where |x| <= sqrt(c) r.
    pub inner: f64,
    /// `p_3`, from the part of the rest where the drift outweighs the noise.
    pub outer: f64,
    /// The rate p.
    pub p: f64,
}

/// The least admissible c, where `(1 - c)^2 = (2c - 1) c`: (sqrt 5 - 1) / 2. Admissible are [this, 1).
pub fn least_c() -> f64 {
    (5f64.sqrt() - 1.0) / 2.0
}

impl Ball {
    /// `T_1 / phi_r` of the coordinate at offset x when the consensus point is at offset a.
    pub fn drift(&self, x: f64, a: f64) -> f64 {
        -self.lambda * (x - a) * slope_ratio(self.r, x)
    }

    /// `T_2 / phi_r`, likewise.
    pub fn diffusion(&self, x: f64, a: f64) -> f64 {
        0.5 * self.sigma * self.sigma * (x - a) * (x - a) * curvature_ratio(self.r, x)
    }

    /// p_1: `T_1 >= -p_1 phi_r` where |x| <= sqrt(c) r.
    pub fn p1(&self, c: f64) -> f64 {
        2.0 * self.lambda * (c.sqrt() * self.r + self.b) * c.sqrt() / ((1.0 - c).powi(2) * self.r)
    }

    /// p_2: `T_2 >= -p_2 phi_r` where |x| <= sqrt(c) r.
    pub fn p2(&self, c: f64) -> f64 {
        let square = c * self.r * self.r + self.b * self.b;
        2.0 * self.sigma.powi(2) * square * (2.0 * c + 1.0) / ((1.0 - c).powi(4) * self.r * self.r)
    }

    /// p_3: `T_1 >= -p_3 phi_r` where |x| > sqrt(c) r and the drift outweighs the noise. Infinite without noise.
    pub fn p3(&self, c: f64) -> f64 {
        4.0 * self.lambda.powi(2) / ((2.0 * c - 1.0) * self.sigma.powi(2))
    }

    /// The paper's p in `dim` dimensions for a given c.
    pub fn decay_at(&self, dim: usize, c: f64) -> Decay {
        let (inner, outer) = (self.p1(c) + self.p2(c), self.p3(c));
        Decay { c, inner, outer, p: dim as f64 * inner.max(outer) }
    }

    /// The paper's p with the best admissible c: the first branch grows with c, the second falls.
    pub fn decay(&self, dim: usize) -> Decay {
        let gap = |c: f64| self.p1(c) + self.p2(c) - self.p3(c);
        let (mut low, mut high) = (least_c(), 1.0 - f64::EPSILON);
        if gap(low) >= 0.0 {
            return self.decay_at(dim, low);
        }
        while high - low > 1e-15 {
            let middle = 0.5 * (low + high);
            if gap(middle) < 0.0 { low = middle } else { high = middle }
        }
        let (below, above) = (self.decay_at(dim, low), self.decay_at(dim, high));
        if below.p <= above.p { below } else { above }
    }

    /// The least p for which the argument of the proof holds: d times the supremum of `-(T_1 + T_2) / phi_r` over all x in
    /// (-r, r) and |a| <= B. Found numerically, to about nine digits.
    ///
    /// With s = x / r, w = (x - a) / r the quotient is `2 lambda w s / (1 - s^2)^2 + sigma^2 w^2 (3 s^4 - 1) / (1 - s^2)^4`:
    /// a quadratic in w, whose least value over an interval is known, so that only s is searched (s >= 0 by symmetry).
    pub fn sharp_decay(&self, dim: usize) -> f64 {
        if self.sigma == 0.0 {
            return f64::INFINITY;
        }
        let worst = |s: f64| self.worst_at(s);
        // The supremum lies inside: towards s = 1 the worst value tends to lambda^2 / (2 sigma^2), towards 0 to a finite one.
        let count = 20_000;
        let node = |i: usize| i as f64 / count as f64;
        let best = (0..count).max_by(|&i, &j| worst(node(i)).total_cmp(&worst(node(j)))).unwrap_or(0);
        let (mut low, mut high) = (node(best.saturating_sub(1)), node(best + 1).min(1.0 - 1e-9));
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        while high - low > 1e-12 {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if worst(left) >= worst(right) { high = right } else { low = left }
        }
        dim as f64 * worst(0.5 * (low + high)).max(worst(node(best)))
    }

    /// The largest `-(T_1 + T_2) / phi_r` over |a| <= B at x = s r.
    fn worst_at(&self, s: f64) -> f64 {
        let (gap, b, noise) = (1.0 - s * s, self.b / self.r, self.sigma * self.sigma);
        let linear = 2.0 * self.lambda * s / (gap * gap);
        let square = noise * (3.0 * s.powi(4) - 1.0) / gap.powi(4);
        let quotient = |w: f64| w * (linear + w * square);
        let (from, to) = (s - b, s + b);
        let mut least = quotient(from).min(quotient(to));
        if square > 0.0 {
            // Near s = 1 both coefficients are huge: the vertex is where their quotient says, inside the interval.
            let vertex = (-0.5 * linear / square).clamp(from, to);
            least = least.min(quotient(vertex));
        }
        -least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: Ball = Ball { lambda: 1.0, sigma: 0.32, r: 0.030143875130314433, b: 3.460911399967976 };

    /// The paper's own formula for p, typed from its statement.
    fn stated(ball: &Ball, dim: usize, c: f64) -> f64 {
        let Ball { lambda, sigma, r, b } = *ball;
        let first = lambda * (c * r + b * c.sqrt()) / ((1.0 - c).powi(2) * r)
            + sigma.powi(2) * (c * r * r + b * b) * (2.0 * c + 1.0) / ((1.0 - c).powi(4) * r * r);
        2.0 * dim as f64 * first.max(2.0 * lambda.powi(2) / ((2.0 * c - 1.0) * sigma.powi(2)))
    }

    #[test]
    fn the_rate_is_that_of_the_statement() {
        let wide = Ball { lambda: 1.0, sigma: 0.1, r: 5.0, b: 0.1 };
        for ball in [FIGURE, wide] {
            for c in [0.62, 0.7, 0.95] {
                let (ours, paper) = (ball.decay_at(4, c).p, stated(&ball, 4, c));
                assert!((ours / paper - 1.0).abs() < 1e-14);
            }
            let best = ball.decay(4);
            let grid = (0..100_000).map(|i| least_c() + (1.0 - least_c()) * f64::from(i) / 1e5);
            let least = grid.map(|c| stated(&ball, 4, c)).fold(f64::INFINITY, f64::min);
            assert!(best.p <= least * (1.0 + 1e-9) && best.p >= least * (1.0 - 1e-3), "{best:?} {least}");
        }
    }

    #[test]
    fn the_sharp_rate_bounds_every_point_and_is_attained() {
        for ball in
            [FIGURE, Ball { lambda: 1.0, sigma: 1.0, r: 1.0, b: 0.5 }, Ball { lambda: 2.0, sigma: 0.3, r: 1.0, b: 3.0 }]
        {
            let sharp = ball.sharp_decay(1);
            let mut found = f64::NEG_INFINITY;
            for i in 0..2000 {
                let x = ball.r * (f64::from(i) / 1000.0 - 1.0 + 0.0005);
                for j in 0..=400 {
                    let a = ball.b * (f64::from(j) / 200.0 - 1.0);
                    found = found.max(-(ball.drift(x, a) + ball.diffusion(x, a)));
                }
            }
            assert!(found <= sharp * (1.0 + 1e-9), "{ball:?}: {found} above {sharp}");
            assert!(found >= sharp * 0.99, "{ball:?}: only {found} of {sharp} is attained");
            assert!(sharp <= ball.decay(1).p);
        }
    }
}
