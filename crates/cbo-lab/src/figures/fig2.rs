//! Figure 2: the decomposition of the box Omega_r into the three sets of the mass bound's proof, and a check on a fine grid
//! that every sign and lower bound claimed by the proof holds.
//!
//! All that the proof says about coordinate k depends on `x = (v - v*)_k` and `a = (v_a - v*)_k` alone, once it is divided by
//! phi_r; so the grid is one of x, for each coordinate. Here v* = 0.

use super::{FigureError, experiment};
use crate::theory::mass::Ball;
use serde::{Deserialize, Serialize};

/// `experiments/fig2.toml`.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// What is decomposed.
    pub parameters: Parameters,
}

/// What is decomposed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// lambda.
    pub lambda: f64,
    /// The radius r.
    pub r: f64,
    /// The constant c.
    pub c: f64,
    /// Points of the fine grid.
    pub grid: usize,
    /// Consensus points and sigmas.
    pub settings: Vec<Setting>,
}

/// One panel of the figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// The consensus point.
    pub consensus: Vec<f64>,
    /// sigma.
    pub sigma: f64,
}

/// The three sets of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Region {
    /// `K_1k^c`: |x| <= sqrt(c) r.
    Inner,
    /// `K_1k` without `K_2k`: near the edge, the noise outweighs the drift.
    Noise,
    /// `K_1k` and `K_2k`: near the edge, the drift outweighs the noise.
    Drift,
}

impl Region {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Inner, Self::Noise, Self::Drift];

    /// The set in the paper's letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inner => "K1^c",
            Self::Noise => "K1 and K2^c",
            Self::Drift => "K1 and K2",
        }
    }

    /// The set that x lies in.
    pub fn of(ball: &Ball, c: f64, x: f64, a: f64) -> Self {
        let Ball { lambda, sigma, r, .. } = *ball;
        if x.abs() <= c.sqrt() * r {
            return Self::Inner;
        }
        let drift = -lambda * (x - a) * x * ((r - x) * (r + x)).powi(2);
        let noise = (2.0 * c - 1.0) * r * r * 0.5 * sigma * sigma * (x - a).powi(2) * x * x;
        if drift > noise { Self::Drift } else { Self::Noise }
    }
}

/// One claim of the proof, checked on the grid.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Which of the settings.
    pub setting: usize,
    /// Which coordinate, from 1.
    pub coordinate: usize,
    /// Where it is claimed.
    pub set: &'static str,
    /// What is claimed.
    pub claim: &'static str,
    /// The least value found there, over phi_r; absent if the grid has no point there.
    pub minimum: Option<f64>,
    /// Where it was found.
    pub at: Option<f64>,
    /// The bound that is claimed for it.
    pub bound: f64,
    /// Whether the claim holds.
    pub holds: bool,
}

/// One setting: the sets, and the checks.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The setting.
    pub setting: Setting,
    /// For each coordinate, the set of every point of the grid.
    pub regions: Vec<Vec<Region>>,
}

/// The figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is decomposed.
    pub parameters: Parameters,
    /// The grid of x, in (-r, r).
    pub grid: Vec<f64>,
    /// One for each setting.
    pub panels: Vec<Panel>,
    /// All claims.
    pub checks: Vec<Check>,
}

/// The experiment as the paper has it.
pub fn load() -> Result<Experiment, FigureError> {
    experiment("fig2", include_str!("../../experiments/fig2.toml"))
}

/// Computes the figure.
pub fn figure(parameters: &Parameters) -> Figure {
    let Parameters { lambda, r, c, grid: count, .. } = *parameters;
    // Cell centres: the open box has no edge.
    let grid: Vec<f64> = (0..count).map(|i| r * ((2 * i + 1) as f64 / count as f64 - 1.0)).collect();
    let mut panels = Vec::new();
    let mut checks = Vec::new();
    for (number, setting) in parameters.settings.iter().enumerate() {
        let b = setting.consensus.iter().fold(0.0, |b: f64, a| b.max(a.abs()));
        let ball = Ball { lambda, sigma: setting.sigma, r, b };
        let mut regions = Vec::new();
        for (k, &a) in setting.consensus.iter().enumerate() {
            let of: Vec<Region> = grid.iter().map(|&x| Region::of(&ball, c, x, a)).collect();
            checks.extend(check(&ball, c, a, &grid, &of).into_iter().map(|check| Check {
                setting: number + 1,
                coordinate: k + 1,
                ..check
            }));
            regions.push(of);
        }
        panels.push(Panel { setting: setting.clone(), regions });
    }
    Figure { parameters: parameters.clone(), grid, panels, checks }
}

/// The claims of the proof about one coordinate.
pub fn check(ball: &Ball, c: f64, a: f64, grid: &[f64], regions: &[Region]) -> Vec<Check> {
    let drift = |x: f64| ball.drift(x, a);
    let noise = |x: f64| ball.diffusion(x, a);
    let both = |x: f64| drift(x) + noise(x);
    let (p1, p2, p3) = (ball.p1(c), ball.p2(c), ball.p3(c));
    let claim = |region: Option<Region>, claim: &'static str, term: &dyn Fn(f64) -> f64, bound: f64| {
        let inside = grid.iter().zip(regions).filter(|(_, of)| region.is_none_or(|region| region == **of));
        let least = inside.map(|(x, _)| (*x, term(*x))).min_by(|p, q| p.1.total_cmp(&q.1));
        Check {
            setting: 0,
            coordinate: 0,
            set: region.map_or("Omega_r", Region::name),
            claim,
            minimum: least.map(|p| p.1),
            at: least.map(|p| p.0),
            bound,
            holds: least.is_none_or(|p| p.1 >= bound),
        }
    };
    vec![
        claim(Some(Region::Inner), "T1 >= -p1 phi", &drift, -p1),
        claim(Some(Region::Inner), "T2 >= -p2 phi", &noise, -p2),
        claim(Some(Region::Noise), "T1 + T2 >= 0", &both, 0.0),
        claim(Some(Region::Drift), "T1 >= -p3 phi", &drift, -p3),
        claim(Some(Region::Drift), "T2 >= 0", &noise, 0.0),
        claim(None, "T1 + T2 >= -max(p1 + p2, p3) phi", &both, -(p1 + p2).max(p3)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::mass::least_c;
    use proptest::prelude::*;

    #[test]
    fn every_claim_holds_in_the_settings_of_the_paper() {
        let figure = figure(&load().expect("the experiment").parameters);
        assert_eq!(figure.checks.len(), 3 * 2 * 6);
        assert!(figure.checks.iter().all(|check| check.holds), "{:?}", figure.checks);
        // The three sets are all there, in at least one setting each, and the consensus point outside the box changes them.
        for region in Region::ALL {
            assert!(figure.panels.iter().any(|p| p.regions.iter().flatten().any(|of| *of == region)), "{region:?}");
        }
        assert_ne!(figure.panels[0].regions[1], figure.panels[1].regions[1]);
        assert_ne!(figure.panels[1].regions[1], figure.panels[2].regions[1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_claim_holds_for_any_admissible_setting(
            lambda in 0.01f64..10.0,
            sigma in 0.01f64..5.0,
            r in 0.01f64..10.0,
            share in 0.0f64..0.99,
            b in 0.001f64..20.0,
            side in -1.0f64..1.0,
        ) {
            let c = least_c() + share * (1.0 - least_c());
            let ball = Ball { lambda, sigma, r, b };
            let grid: Vec<f64> = (0..999).map(|i| r * (f64::from(2 * i + 1) / 999.0 - 1.0)).collect();
            let a = side * b;
            let regions: Vec<Region> = grid.iter().map(|&x| Region::of(&ball, c, x, a)).collect();
            for check in check(&ball, c, a, &grid, &regions) {
                // A sign is claimed of differences of large terms: rounding at the size of these is not a violation.
                let size = check.at.map_or(0.0, |x| ball.drift(x, a).abs() + ball.diffusion(x, a).abs());
                let holds = check.minimum.is_none_or(|m| m >= check.bound - 1e-12 * size);
                prop_assert!(holds, "{check:?}");
            }
        }

        #[test]
        fn outside_its_range_c_can_fail(sigma in 0.5f64..2.0) {
            // c = 0.55 is below (sqrt 5 - 1) / 2: T1 + T2 >= 0 is then wrong somewhere on K1 without K2.
            let ball = Ball { lambda: 1e-3, sigma, r: 1.0, b: 0.0 };
            let grid: Vec<f64> = (0..9999).map(|i| f64::from(2 * i + 1) / 9999.0 - 1.0).collect();
            let regions: Vec<Region> = grid.iter().map(|&x| Region::of(&ball, 0.55, x, 0.0)).collect();
            prop_assert!(check(&ball, 0.55, 0.0, &grid, &regions).iter().any(|check| !check.holds));
        }
    }
}
