//! The texts of settings: the same words on the command line, in TOML files and in Python. What is written is read as the same.

mod hopping;
mod named;

pub(crate) use named::{named, number_of, unusual};

use crate::auto::Auto;
use crate::bounds::BoundHandling;
use crate::config::Update;
use crate::initial::{Coordinates, InitialLaw};
use crate::method::{Diffusion, HoppingStart, HoppingWeights, Memory, Method, Polarised, Sampling, Scheme};
use crate::pairs::Similarity;
use crate::schedule::{Alpha, Clock, Geometric, Reduction, Sigma};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A text that is not the setting it should be; says what was wrong or what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextError(String);

impl From<TextError> for String {
    fn from(error: TextError) -> Self {
        error.0
    }
}

pub(crate) fn refuse<T>(sentence: impl Into<String>) -> Result<T, TextError> {
    Err(TextError(sentence.into()))
}

/// A number: decimal, scientific, `inf` or `nan` (what is sensible where is checked later).
fn number(text: &str) -> Result<f64, TextError> {
    let text = text.trim();
    text.parse().or_else(|_| refuse(format!("`{text}` is not a number")))
}

/// One of a few words.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, TextError> {
    let wanted = text.trim().replace('_', "-");
    let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = words.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, value)| *value).ok_or_else(|| TextError(format!("it is one of {}", names())))
}

/// Settings that are one of a few words: the list of them, and how they are read.
macro_rules! words {
    ($($type:ident: $($name:literal => $value:ident),*;)*) => {$(
        impl $type {
            /// Its values and their names.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),*];
        }

        impl FromStr for $type {
            type Err = TextError;
            fn from_str(text: &str) -> Result<Self, TextError> {
                word(text, Self::WORDS)
            }
        }

        impl Display for $type {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$value => $name),*
                })
            }
        }
    )*};
}

words! {
    Diffusion: "anisotropic" => Anisotropic, "isotropic" => Isotropic;
    Scheme: "euler-maruyama" => EulerMaruyama, "drift-first" => DriftFirst;
    Update: "full" => Full, "partial" => Partial;
    BoundHandling: "reflect" => Reflect, "clip" => Clip, "none" => None;
    Clock: "step" => Step, "epoch" => Epoch;
    HoppingWeights: "energies" => Energies, "ranks" => Ranks;
    HoppingStart: "law" => Law, "point" => Point;
    Similarity: "gaussian" => Gaussian, "laplace" => Laplace, "inverse-quadratic" => InverseQuadratic;
}

/// The numbers of a schedule, and its clock if one is named at the end.
fn schedule(text: &str) -> Result<(Vec<f64>, Clock), TextError> {
    let named = text.rsplit_once(',').and_then(|(front, back)| Some((front, back.parse().ok()?)));
    let (numbers, clock) = named.unwrap_or((text, Clock::Step));
    Ok((numbers.split(',').map(number).collect::<Result<_, _>>()?, clock))
}

fn geometric(text: &str) -> Result<Geometric, TextError> {
    let (numbers, clock) = schedule(text)?;
    let open = |factor: f64| if factor >= 1.0 { f64::INFINITY } else { 0.0 };
    match numbers[..] {
        [start, factor] => Ok(Geometric { start, factor, cap: open(factor), clock }),
        [start, factor, cap] => Ok(Geometric { start, factor, cap, clock }),
        _ => refuse("a geometric schedule is geometric:START,FACTOR[,CAP][,step|epoch]"),
    }
}

fn logarithmic(text: &str) -> Result<(f64, Clock), TextError> {
    match schedule(text)? {
        (numbers, clock) if numbers.len() == 1 => Ok((numbers[0], clock)),
        _ => refuse("a logarithmic schedule is log:START[,step|epoch]"),
    }
}

impl Display for Geometric {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "geometric:{:?},{:?},{:?}", self.start, self.factor, self.cap)?;
        write_clock(f, self.clock)
    }
}

fn write_logarithmic(f: &mut Formatter<'_>, start: f64, clock: Clock) -> fmt::Result {
    write!(f, "log:{start:?}")?;
    write_clock(f, clock)
}

/// Steps need not be named.
fn write_clock(f: &mut Formatter<'_>, clock: Clock) -> fmt::Result {
    if clock == Clock::Step { Ok(()) } else { write!(f, ",{clock}") }
}

/// `NUMBER`, `inf`, `ess:ETA`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
///
/// ```
/// use cbo::Alpha;
/// assert_eq!("ess:0.3".parse(), Ok(Alpha::EffectiveSampleSize(0.3)));
/// assert_eq!("inf".parse(), Ok(Alpha::Constant(f64::INFINITY)));
/// assert_eq!(Alpha::EffectiveSampleSize(0.3).to_string(), "ess:0.3");
/// ```
impl FromStr for Alpha {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("ess", eta)) => Ok(Self::EffectiveSampleSize(number(eta)?)),
            Some(("geometric", rest)) => Ok(Self::Geometric(geometric(rest)?)),
            Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Self::Logarithmic { start, clock }),
            Some((kind, _)) => refuse(format!("`{kind}` is not a schedule of alpha; use ess:, geometric: or log:")),
            None => Ok(Self::Constant(number(text)?)),
        }
    }
}

impl Display for Alpha {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value:?}"),
            Self::Geometric(g) => write!(f, "{g}"),
            Self::Logarithmic { start, clock } => write_logarithmic(f, *start, *clock),
            Self::EffectiveSampleSize(fraction) => write!(f, "ess:{fraction:?}"),
        }
    }
}

/// `NUMBER`, `geometric:START,FACTOR[,CAP][,step|epoch]`, `log:START[,step|epoch]` or `falling:START,END`.
impl FromStr for Sigma {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("geometric", rest)) => Ok(Self::Geometric(geometric(rest)?)),
            Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Self::Logarithmic { start, clock }),
            Some(("falling", rest)) => falling(rest),
            Some((kind, _)) => refuse(format!("`{kind}` is not a schedule of sigma; use geometric:, log: or falling:")),
            None => Ok(Self::Constant(number(text)?)),
        }
    }
}

impl Display for Sigma {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value:?}"),
            Self::Geometric(g) => write!(f, "{g}"),
            Self::Logarithmic { start, clock } => write_logarithmic(f, *start, *clock),
            Self::Falling { start, end } => write!(f, "falling:{start:?},{end:?}"),
        }
    }
}

fn falling(text: &str) -> Result<Sigma, TextError> {
    match text.split(',').map(number).collect::<Result<Vec<_>, _>>()?[..] {
        [start, end] => Ok(Sigma::Falling { start, end }),
        _ => refuse("a sigma that falls over the run is falling:START,END"),
    }
}

/// `on` or `STRENGTH,LEAST`. (`off` is the absence of a reduction.)
impl FromStr for Reduction {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match (text.trim(), text.split_once(',')) {
            ("on", _) => Ok(Self::default()),
            (_, Some((strength, least))) => Ok(Self { strength: number(strength)?, least: number(least)? }),
            _ => refuse("a reduction is on, off or STRENGTH,LEAST"),
        }
    }
}

impl Display for Reduction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?},{:?}", self.strength, self.least)
    }
}

/// One number for all coordinates, or one for each, separated by `;`.
impl FromStr for Coordinates {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let numbers = text.split(';').map(number).collect::<Result<Vec<_>, _>>()?;
        Ok(if let [one] = numbers[..] { Self::All(one) } else { Self::Each(numbers) })
    }
}

/// One number where all are the same.
impl Display for Coordinates {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = match self.values() {
            [first, rest @ ..] if rest.iter().all(|v| v.to_bits() == first.to_bits()) => std::slice::from_ref(first),
            values => values,
        };
        for (k, number) in shown.iter().enumerate() {
            write!(f, "{}{number:?}", if k == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

impl Coordinates {
    /// Two sets of coordinates, `A,B`, each one number or several separated by `;`.
    ///
    /// ```
    /// use cbo::Coordinates;
    /// assert_eq!(Coordinates::pair("2;0,1"), Ok((vec![2.0, 0.0].into(), 1.0.into())));
    /// ```
    pub fn pair(text: &str) -> Result<(Self, Self), TextError> {
        let (first, second) =
            text.split_once(',').ok_or_else(|| TextError(format!("`{text}` is not a pair of numbers `A,B`")))?;
        Ok((first.parse()?, second.parse()?))
    }
}

/// `normal:MEAN,VARIANCE` or `uniform:LOW,HIGH`, each one number, or one for each coordinate, separated by `;`.
impl FromStr for InitialLaw {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("normal", rest)) => Coordinates::pair(rest).map(|(mean, variance)| Self::Normal { mean, variance }),
            Some(("uniform", rest)) => Coordinates::pair(rest).map(|(low, high)| Self::Uniform { low, high }),
            _ => refuse("an initial law is normal:MEAN,VARIANCE or uniform:LOW,HIGH"),
        }
    }
}

/// Points are only counted: they have no text.
impl Display for InitialLaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal { mean, variance } => write!(f, "normal:{mean},{variance}"),
            Self::Uniform { low, high } => write!(f, "uniform:{low},{high}"),
            Self::Points(points) => write!(f, "{} numbers", points.len()),
        }
    }
}

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
    fn schedules_in_all_their_forms() {
        let doubled = Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch };
        assert_eq!("geometric:50,2,epoch".parse(), Ok(Alpha::Geometric(doubled)));
        let falling = Geometric { start: 1.0, factor: 0.9, cap: 0.0, clock: Clock::Step };
        assert_eq!("geometric:1,0.9".parse(), Ok(Sigma::Geometric(falling)));
        assert_eq!("log:3,epoch".parse(), Ok(Sigma::Logarithmic { start: 3.0, clock: Clock::Epoch }));
        for wrong in ["", "a", "geometric:1", "geometric:1,2,3,4", "log:1,2", "ess:", "cosine:1"] {
            assert!(wrong.parse::<Alpha>().is_err() && wrong.parse::<Sigma>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_may_have_underscores_and_errors_list_them() {
        assert_eq!(" euler_maruyama ".parse(), Ok(Scheme::EulerMaruyama));
        assert_eq!("clip".parse(), Ok(BoundHandling::Clip));
        let error = "round".parse::<Diffusion>().unwrap_err();
        assert_eq!(error.to_string(), "it is one of anisotropic, isotropic");
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        fn both<T: FromStr + Display>(texts: &[&str]) {
            for text in texts {
                let setting: T = text.parse().unwrap_or_else(|_| panic!("{text} is not read"));
                assert_eq!(setting.to_string(), *text);
            }
        }
        both::<Alpha>(&["inf", "1e300", "ess:0.3", "geometric:50.0,2.0,inf,epoch", "geometric:1.0,2.0,8.0", "log:3.0"]);
        both::<Sigma>(&[
            "falling:1.0,1e-9",
            "0.0",
            "0.25",
            "geometric:1.0,0.9,0.0",
            "geometric:1.0,0.9,0.1,epoch",
            "log:3.0,epoch",
        ]);
        both::<Reduction>(&["0.2,0.8"]);
        both::<Coordinates>(&["1.0", "1.0;-2.5;3.0"]);
        both::<InitialLaw>(&["normal:2.0;0.0,1.0", "uniform:-3.0,3.0"]);
        both::<Method>(&[
            "cbo",
            "auto",
            "auto:local=true",
            "adam",
            "adam:beta1=0.5,epsilon=0.001",
            "hypersurface",
            "hypersurface:radius=2.0",
            "hypersurface:surface=torus",
            "hypersurface:surface=torus,major=3.0,minor=0.25",
            "hypersurface:surface=stiefel,columns=2",
            "hypersurface:surface=stiefel,factor=qr",
            "hypersurface:surface=stiefel,columns=2,factor=qr",
            "jumps",
            "jumps:rate=0.5,size=4.0",
            "memory",
            "memory:drift=0.5,beta=100.0,kappa=2.0,theta=0.1",
            "memory:noise=0.0",
            "polarised",
            "polarised:kappa=inf",
            "polarised:kappa=0.25,kernel=inverse-quadratic",
            "sampling",
            "sampling:law=true",
            "mirror",
            "mirror:map=simplex",
            "mirror:map=ball,radius=2.0,centre=-1.0",
            "mirror:map=sparse,threshold=0.1",
            "sphere",
            "sphere:radius=3.0",
        ]);
        both::<Diffusion>(&["anisotropic", "isotropic"]);
        both::<Scheme>(&["euler-maruyama", "drift-first"]);
        both::<Update>(&["full", "partial"]);
        both::<BoundHandling>(&["reflect", "clip", "none"]);
        both::<Clock>(&["step", "epoch"]);
        assert_eq!(Coordinates::Each(vec![2.0; 3]).to_string(), "2.0");
        assert_eq!(format!("{:>8}", Update::Full), "    full");
    }

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
                assert!(said.err().is_none_or(|said| !said.contains(&format!("of {method};"))), "{method} {setting}");
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

    #[test]
    fn reductions_and_laws() {
        assert_eq!("on".parse(), Ok(Reduction::default()));
        assert_eq!("0.5,0.9".parse(), Ok(Reduction { strength: 0.5, least: 0.9 }));
        assert!("off".parse::<Reduction>().is_err());
        let law = InitialLaw::Normal { mean: vec![2.0, 0.0].into(), variance: 1.0.into() };
        assert_eq!("normal:2;0,1".parse(), Ok(law));
        assert!("normal:1".parse::<InitialLaw>().is_err());
    }
}
