//! The warning about a swarm that cannot contract, by one rule for settings that are given and for defaults.

use crate::numbers::{plain, short};
use cbo::{CboConfig, Method, Plan, Sampling, Sigma};
use cbo_lab::theory::stability::{contracting_sigmas, log_factor};

/// A warning when almost every particle moves away from a consensus point that stays where it is, so that the swarm cannot contract;
/// or when the drift is lost in rounding.
///
/// Between the bound of the mean square and this one single particles travel far while the swarm contracts: many good settings,
/// the default among them, lie there, and are nothing to warn of. `cbo theory` tells on which side of both a setting is.
///
/// For plain consensus-based optimization, for jumps, and for polarised particles, each of which has such a point of its own; nothing of the
/// kind is known of the others, and truncated noise takes nobody far away. Of sampling it is known that it contracts, or comes to rest,
/// with every dt, but only where the swarm is.
pub fn warning(plan: &Plan) -> Option<String> {
    let (config, dim) = (plan.config(), plan.dim());
    match config.method {
        Method::Cbo | Method::Jumps(_) | Method::Polarised(_) if config.truncation.is_none() => (),
        Method::Sampling(Sampling { law: false }) if config.particles <= dim => {
            return Some(format!(
                "particles = {}: they never leave the plane that they span at the beginning; take more than dim = {dim}",
                config.particles
            ));
        }
        _ => return None,
    }
    let (lambda, dt, drift) = (plain(config.lambda), plain(config.dt), config.lambda * config.dt);
    if 1.0 - drift == 1.0 {
        return Some(format!(
            "lambda = {lambda}, dt = {dt}: there is no drift, because 1 - lambda dt is rounded to 1; take a larger dt"
        ));
    }
    let last = CboConfig { sigma: Sigma::Constant(last_sigma(config.sigma)), ..config.clone() };
    if log_factor(&last, dim) <= 0.0 {
        return None;
    }
    let jumps = config.method.jump_variance() > 0.0;
    let remedy = match contracting_sigmas(&last, dim) {
        None if jumps => "no sigma makes it contract; let it jump less often, or less far".to_string(),
        None => "no sigma makes it contract; take a smaller dt".to_string(),
        Some((0.0, high)) => format!("sigma below {} makes it contract", short(high)),
        Some((low, high)) => format!("sigma between {} and {} makes it contract", short(low), short(high)),
    };
    Some(format!(
        "sigma = {}: the swarm cannot contract, because noise this strong takes almost every particle away from the consensus point \
         (lambda = {lambda}, dt = {dt}, {} noise{}); {remedy}",
        plain(last_sigma(config.sigma)),
        config.diffusion,
        if jumps { format!(", {}", config.method) } else { String::new() }
    ))
}

/// Where sigma ends: a schedule that falls lets the swarm contract later.
fn last_sigma(sigma: Sigma) -> f64 {
    match sigma {
        Sigma::Geometric(g) if g.factor == 1.0 => g.start,
        Sigma::Geometric(g) => g.cap,
        Sigma::Logarithmic { .. } => 0.0,
        other => other.largest(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cbo::{Diffusion, Jumps};

    fn with(sigma: &str, diffusion: Diffusion, dim: usize) -> Option<String> {
        let sigma = sigma.parse().expect("a sigma");
        let config = CboConfig { sigma, diffusion, ..CboConfig::default() };
        warning(&config.check(dim).expect("settings that make sense"))
    }

    #[test]
    fn one_rule_for_defaults_and_given_values() {
        for sigma in ["2", "3", "4"] {
            assert_eq!(with(sigma, Diffusion::Anisotropic, 20), None);
        }
        let text = with("9", Diffusion::Anisotropic, 20).expect("too strong");
        assert!(text.starts_with("sigma = 9: the swarm cannot contract") && text.contains("sigma below"), "{text}");
        // The sigma that it names is where the warning ends.
        let edge: f64 =
            text.rsplit_once("below ").and_then(|(_, t)| t.split(' ').next()?.parse().ok()).expect("a number");
        assert_eq!(with(&(edge * 0.999).to_string(), Diffusion::Anisotropic, 20), None);
        assert!(with(&(edge * 1.001).to_string(), Diffusion::Anisotropic, 20).is_some());
        // Isotropic noise adds up over the coordinates, in the limit (d - 2) sigma^2 < 2 lambda.
        assert_eq!(with("3", Diffusion::Isotropic, 1), None);
        assert!(with("3", Diffusion::Isotropic, 20).is_some());
    }

    #[test]
    fn a_falling_sigma_contracts_later() {
        for (sigma, warned) in
            [("log:20", false), ("geometric:20,0.9", false), ("geometric:20,0.9,10", true), ("geometric:1,2,20", true)]
        {
            assert_eq!(with(sigma, Diffusion::Anisotropic, 2).is_some(), warned, "{sigma}");
        }
    }

    #[test]
    fn jumps_are_noise_too() {
        let with = |jumps, sigma| {
            let config =
                CboConfig { method: Method::Jumps(jumps), sigma: Sigma::Constant(sigma), ..CboConfig::default() };
            warning(&config.check(3).expect("settings"))
        };
        assert_eq!(with(Jumps::default(), 3.0), None);
        assert_eq!(with(Jumps { rate: 1.0, size: 0.0 }, 3.0), None);
        let often = with(Jumps { rate: 100.0, size: 4.0 }, 1.0).expect("too far");
        assert!(often.contains("jumps:rate=100.0,size=4.0); no sigma makes it contract; let it jump less"), "{often}");
        let text = with(Jumps { rate: 1.0, size: 2.0 }, 9.0).expect("too strong");
        assert!(text.contains("anisotropic noise, jumps:size=2.0); sigma below"), "{text}");
    }

    #[test]
    fn steps_that_are_too_long_or_too_short() {
        let warned =
            |lambda, dt| warning(&CboConfig { lambda, dt, ..CboConfig::default() }.check(2).expect("settings"));
        assert!(warned(30.0, 0.1).expect("lambda dt = 3").contains("contract"));
        for dt in [1e-17, 1e-300] {
            let text = warned(1.0, dt).expect("no drift");
            assert!(text.contains(&format!("dt = {dt:e}: there is no drift")) && text.len() < 200, "{text}");
        }
        assert_eq!(warned(1.0, 1e-12), None);
    }
}
