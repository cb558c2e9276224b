//! Methods as text: their names, and the settings that they have of their own.

use super::{TextError, number, refuse};
use crate::auto::Auto;
use crate::method::{Memory, Method, Polarised, Sampling};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

impl Method {
    /// The names of the methods.
    pub const NAMES: &'static [&'static str] = &[
        "auto",
        "cbo",
        "memory",
        "hopping",
        "polarised",
        "sampling",
        "jumps",
        "adam",
        "mirror",
        "sphere",
        "hypersurface",
    ];

    /// Every method, with its own default settings.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().filter_map(|name| name.parse().ok())
    }

    /// Its name, without its settings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cbo => "cbo",
            Self::Jumps(_) => "jumps",
            Self::Adam(_) => "adam",
            Self::Mirror(_) => "mirror",
            Self::Sphere(_) => "sphere",
            Self::Hypersurface(_) => "hypersurface",
            Self::Memory(_) => "memory",
            Self::Hopping(_) => "hopping",
            Self::Polarised(_) => "polarised",
            Self::Sampling(_) => "sampling",
            Self::Auto(_) => "auto",
        }
    }
}

/// The name of a method, and its settings where they are not the default: `memory:drift=0.5,beta=100`.
///
/// ```
/// use cbo::{Memory, Method};
/// assert_eq!("cbo".parse(), Ok(Method::Cbo));
/// assert_eq!("memory:drift=0.5".parse(), Ok(Method::Memory(Memory { drift: 0.5, ..Memory::default() })));
/// assert_eq!(Method::Memory(Memory::default()).to_string(), "memory");
/// ```
impl FromStr for Method {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let (name, settings) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let known = match name {
            "cbo" if settings.is_empty() => Ok(Self::Cbo),
            "cbo" => {
                refuse("the method cbo has no settings of its own; lambda, sigma, alpha and dt are those of the run")
            }
            "jumps" => settings.parse().map(Self::Jumps),
            "adam" => settings.parse().map(Self::Adam),
            "mirror" => settings.parse().map(Self::Mirror),
            "sphere" => settings.parse().map(Self::Sphere),
            "hypersurface" => settings.parse().map(Self::Hypersurface),
            "memory" => settings.parse().map(Self::Memory),
            "hopping" => settings.parse().map(Self::Hopping),
            "polarised" => settings.parse().map(Self::Polarised),
            "sampling" => settings.parse().map(Self::Sampling),
            "auto" => settings.parse().map(Self::Auto),
            _ => refuse(format!("it is one of {}", Self::NAMES.join(", "))),
        };
        known.map_err(|error| TextError(error.0 + &elsewhere(name, settings)))
    }
}

/// The settings that a method has of its own.
fn own_settings(method: &str) -> &'static [&'static str] {
    match method {
        "auto" => &["local"],
        "memory" => &["drift", "noise", "beta", "kappa", "theta", "gradient", "gradient-noise"],
        "hopping" => &["momentum", "rate", "cosine", "antithetic", "weights", "start"],
        "polarised" => &["kappa", "kernel"],
        "sampling" => &["law"],
        "jumps" => &["rate", "size"],
        "adam" => &["beta1", "beta2", "epsilon"],
        "mirror" => &["map", "temperature", "radius", "centre", "threshold"],
        "sphere" => &["radius"],
        "hypersurface" => &["surface", "radius", "major", "minor", "columns", "factor"],
        _ => &[],
    }
}

/// Of settings that a method does not have, the first that others have, and which: the end of a sentence, or nothing.
fn elsewhere(method: &str, settings: &str) -> String {
    let names = settings.split(',').map(|setting| setting.split('=').next().unwrap_or_default().trim());
    let having = |name: &str| -> Vec<&str> {
        Method::NAMES.iter().copied().filter(|other| own_settings(other).contains(&name)).collect()
    };
    let unknown = |name: &&str| Method::NAMES.contains(&method) && !own_settings(method).contains(name);
    let Some((name, others)) = names.filter(unknown).map(|name| (name, having(name))).find(|(_, h)| !h.is_empty())
    else {
        return String::new();
    };
    let have = if others.len() == 1 { "has" } else { "have" };
    format!("; {} {have} `{name}`", others.join(", "))
}

impl Display for Method {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let settings = match self {
            Self::Cbo => String::new(),
            Self::Jumps(jumps) => jumps.to_string(),
            Self::Adam(adam) => adam.to_string(),
            Self::Mirror(mirror) => mirror.to_string(),
            Self::Sphere(sphere) => sphere.to_string(),
            Self::Hypersurface(surface) => surface.to_string(),
            Self::Memory(memory) => memory.to_string(),
            Self::Hopping(hopping) => hopping.to_string(),
            Self::Polarised(polarised) => polarised.to_string(),
            Self::Sampling(sampling) => sampling.to_string(),
            Self::Auto(auto) => auto.to_string(),
        };
        f.pad(&format!("{}{}{settings}", self.name(), if settings.is_empty() { "" } else { ":" }))
    }
}

/// The only setting of a method, `NAME=true` or `NAME=false`; nothing is the default.
fn only_setting(method: &str, setting: &str, text: &str) -> Result<bool, TextError> {
    let Some((name, value)) = text.split_once('=') else {
        return if text.trim().is_empty() {
            Ok(false)
        } else {
            refuse(format!("{method} has one setting, {setting}=true"))
        };
    };
    match value.trim().parse() {
        _ if name.trim() != setting => {
            refuse(format!("`{}` is not a setting of {method}; it has {setting}", name.trim()))
        }
        Ok(value) => Ok(value),
        Err(_) => refuse(format!("{setting} is true or false, not `{}`", value.trim())),
    }
}

/// `local=true` or `local=false`; nothing is the default.
impl FromStr for Auto {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        only_setting("auto", "local", text).map(|local| Self { local })
    }
}

/// `law=true` or `law=false`; nothing is the default.
impl FromStr for Sampling {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        only_setting("sampling", "law", text).map(|law| Self { law })
    }
}

/// The setting, where it is not the default.
impl Display for Sampling {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(if self.law { "law=true" } else { "" })
    }
}

/// `kappa=NUMBER` and `kernel=WORD`, separated by commas.
impl FromStr for Polarised {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut polarised = Self::default();
        for setting in text.split(',').filter(|setting| !setting.trim().is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                return refuse(format!("`{}` needs a value, as in kappa=0.5", setting.trim()));
            };
            match name.trim() {
                "kappa" => polarised.kappa = number(value)?,
                "kernel" => polarised.kernel = value.parse()?,
                other => return refuse(format!("`{other}` is not a setting of polarised; it has kappa, kernel")),
            }
        }
        Ok(polarised)
    }
}

/// The settings that are not the default.
impl Display for Polarised {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let kappa = (self.kappa != usual.kappa).then(|| format!("kappa={:?}", self.kappa));
        let kernel = (self.kernel != usual.kernel).then(|| format!("kernel={}", self.kernel));
        f.pad(&[kappa, kernel].into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

/// The setting, where it is not the default.
impl Display for Auto {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(if self.local { "local=true" } else { "" })
    }
}

/// `NAME=NUMBER`, separated by commas: the names are those of the fields.
impl FromStr for Memory {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut memory = Self::default();
        for setting in text.split(',').filter(|setting| !setting.trim().is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                return refuse(format!("`{}` needs a number, as in drift=0.5", setting.trim()));
            };
            let place = match name.trim().replace('_', "-").as_str() {
                "drift" => &mut memory.drift,
                "noise" => &mut memory.noise,
                "beta" => &mut memory.beta,
                "kappa" => memory.kappa.insert(0.0),
                "theta" => &mut memory.theta,
                "gradient" => &mut memory.gradient,
                "gradient-noise" => &mut memory.gradient_noise,
                other => {
                    return refuse(format!(
                        "`{other}` is not a setting of memory; it has drift, noise, beta, kappa, theta, gradient, gradient-noise"
                    ));
                }
            };
            *place = number(value)?;
        }
        Ok(memory)
    }
}

/// The settings that are not the default.
impl Display for Memory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let settings = [
            ("drift", self.drift, self.drift != usual.drift),
            ("noise", self.noise, self.noise != usual.noise),
            ("beta", self.beta, self.beta != usual.beta),
            ("kappa", self.kappa.unwrap_or_default(), self.kappa.is_some()),
            ("theta", self.theta, self.theta != usual.theta),
            ("gradient", self.gradient, self.gradient != usual.gradient),
            ("gradient-noise", self.gradient_noise, self.gradient_noise != usual.gradient_noise),
        ];
        let written = settings.into_iter().filter(|(.., unusual)| *unusual);
        f.pad(&written.map(|(name, value, _)| format!("{name}={value:?}")).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_their_settings() {
        let message = |text: &str| text.parse::<Method>().unwrap_err().to_string();
        assert_eq!(message("pso"), format!("it is one of {}", Method::NAMES.join(", ")));
        assert_eq!(message("auto:global=true"), "`global` is not a setting of auto; it has local");
        assert_eq!(message("auto:local=yes"), "local is true or false, not `yes`");
        assert_eq!("auto: local=false".parse(), Ok(Method::Auto(Auto::default())));
        assert!(message("cbo:drift=1").contains("no settings of its own"));
        assert!(message("memory:speed=1").contains("`speed` is not a setting of memory"));
        assert_eq!(
            message("mirror:map=cube"),
            "`cube` is not a map of mirror; it is one of box, simplex, ball, sparse"
        );
        assert_eq!(
            message("mirror:map=ball,threshold=1"),
            "`threshold` is not a setting of the map ball; it has radius, centre"
        );
        assert_eq!(message("mirror:radius=1"), "`radius` is not a setting of the map box; it has none");
        assert_eq!(
            message("hypersurface:surface=plane"),
            "`plane` is not a surface; it is one of sphere, torus, stiefel"
        );
        assert_eq!(message("hypersurface:minor=1"), "`minor` is not a setting of the surface sphere; it has radius");
        assert_eq!(
            message("hypersurface:surface=stiefel,radius=1"),
            "`radius` is not a setting of the surface stiefel; it has columns, factor"
        );
        // Who else has it.
        assert_eq!(
            message("jumps:momentum=0.5"),
            "`momentum` is not a setting of jumps; it has rate, size; hopping has `momentum`"
        );
        assert!(message("adam:kappa=1").ends_with("; memory, polarised have `kappa`"));
        assert!(message("cbo:drift=1").ends_with("; memory has `drift`"));
        for method in Method::NAMES {
            for setting in own_settings(method) {
                let said = format!("{method}:{setting}=?").parse::<Method>().map_err(|error| error.to_string());
                assert!(
                    said.err().is_none_or(|said| !said.contains(&format!("is not a setting of {method};"))),
                    "{method} {setting}"
                );
            }
        }
        assert!(message("hypersurface:surface=stiefel,factor=lu").contains("`lu` is not one of polar, qr"));
        assert!(message("hypersurface:surface=torus,factor=qr").contains("not a setting of the surface torus"));
        assert!(message("hypersurface:surface=stiefel,columns=1.5").contains("columns: `1.5` is not a whole number"));
        assert_eq!(message("memory:drift"), "`drift` needs a number, as in drift=0.5");
        assert_eq!(message("sampling:law=1"), "law is true or false, not `1`");
        assert_eq!(message("sampling:target=law"), "`target` is not a setting of sampling; it has law");
        assert_eq!(message("polarised:kernel=round"), "it is one of gaussian, laplace, inverse-quadratic");
        assert_eq!(message("polarised:width=1"), "`width` is not a setting of polarised; it has kappa, kernel");
        let memory = Memory { kappa: Some(2.0), beta: 10.0, ..Memory::default() };
        assert_eq!(" memory: beta=10, kappa=2 ".parse(), Ok(Method::Memory(memory)));
    }
}
