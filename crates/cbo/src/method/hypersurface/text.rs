//! The surfaces as text: `surface=torus,major=3`.

use super::{FrameFactor, Hypersurface};
use crate::text::{TextError, named, number_of, refuse, unusual};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

impl Hypersurface {
    /// The surfaces with their default settings, and their names; the last is for programs only.
    const SURFACES: [(&'static str, Self); 4] = [
        ("sphere", Self::Sphere { radius: 1.0 }),
        ("torus", Self::Torus { major: 2.0, minor: 1.0 }),
        ("stiefel", Self::Stiefel { columns: 1, factor: FrameFactor::Polar }),
        ("level", Self::Level),
    ];

    /// The names of the settings that a surface has.
    fn own_settings(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "radius",
            Self::Torus { .. } => "major, minor",
            Self::Stiefel { .. } => "columns, factor",
            Self::Level => "none",
        }
    }

    /// Those of the surface `stiefel`.
    const FACTORS: [(&'static str, FrameFactor); 2] = [("polar", FrameFactor::Polar), ("qr", FrameFactor::Qr)];
}

/// `surface=sphere|torus|stiefel|level` and the settings of the surface, separated by commas.
impl FromStr for Hypersurface {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let given = named("hypersurface", &["surface", "radius", "major", "minor", "columns", "factor"], text)?;
        let word = given.iter().find(|(name, _)| *name == "surface").map_or("sphere", |(_, value)| value);
        let Some((name, mut surface)) = Self::SURFACES.into_iter().find(|(name, _)| *name == word) else {
            return refuse(format!("`{word}` is not a surface; it is one of sphere, torus, stiefel"));
        };
        for (setting, value) in given.into_iter().filter(|(name, _)| *name != "surface") {
            match (&mut surface, setting) {
                (Self::Sphere { radius: place }, "radius")
                | (Self::Torus { major: place, .. }, "major")
                | (Self::Torus { minor: place, .. }, "minor") => *place = number_of(setting, value)?,
                (Self::Stiefel { columns, .. }, "columns") => {
                    let whole = || refuse(format!("columns: `{value}` is not a whole number"));
                    *columns = value.parse().or_else(|_| whole())?;
                }
                (Self::Stiefel { factor, .. }, "factor") => match Self::FACTORS.iter().find(|(name, _)| *name == value)
                {
                    Some((_, known)) => *factor = *known,
                    None => return refuse(format!("factor: `{value}` is not one of polar, qr")),
                },
                (surface, _) => {
                    let own = surface.own_settings();
                    return refuse(format!("`{setting}` is not a setting of the surface {name}; it has {own}"));
                }
            }
        }
        Ok(surface)
    }
}

/// The surface, where it is not the default, and the settings that are not.
impl Display for Hypersurface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, settings) = match *self {
            Self::Sphere { radius } => ("", unusual(&[("radius", radius, 1.0)])),
            Self::Torus { major, minor } => ("surface=torus", unusual(&[("major", major, 2.0), ("minor", minor, 1.0)])),
            Self::Stiefel { columns, factor } => {
                let columns = (columns != 1).then(|| format!("columns={columns}"));
                let factor = (factor == FrameFactor::Qr).then(|| "factor=qr".to_string());
                ("surface=stiefel", columns.into_iter().chain(factor).collect::<Vec<_>>().join(","))
            }
            Self::Level => ("surface=level", String::new()),
        };
        let comma = if name.is_empty() || settings.is_empty() { "" } else { "," };
        f.pad(&format!("{name}{comma}{settings}"))
    }
}
