//! The maps as text: `map=ball,radius=2`.

use super::Mirror;
use crate::text::{TextError, named, number_of, refuse, unusual};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

impl Mirror {
    /// The maps with their default settings, and their names.
    const MAPS: [(&'static str, Self); 4] = [
        ("box", Self::Box),
        // At a half V never moves faster than y.
        ("simplex", Self::Simplex { temperature: 0.5 }),
        ("ball", Self::Ball { radius: 1.0, centre: 0.0 }),
        ("sparse", Self::Sparse { threshold: 1.0 }),
    ];

    /// Its number in the list, and the names of its settings.
    fn kind(&self) -> (usize, &'static [&'static str]) {
        match self {
            Self::Box => (0, &[]),
            Self::Simplex { .. } => (1, &["temperature"]),
            Self::Ball { .. } => (2, &["radius", "centre"]),
            Self::Sparse { .. } => (3, &["threshold"]),
        }
    }

    /// The numbers of those settings.
    fn numbers(&self) -> [f64; 2] {
        match *self {
            Self::Box => [0.0; 2],
            Self::Simplex { temperature } => [temperature, 0.0],
            Self::Ball { radius, centre } => [radius, centre],
            Self::Sparse { threshold } => [threshold, 0.0],
        }
    }
}

/// `map=box|simplex|ball|sparse` and the settings of the map, separated by commas.
impl FromStr for Mirror {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let given = named("mirror", &["map", "temperature", "radius", "centre", "threshold"], text)?;
        let word = given.iter().find(|(name, _)| *name == "map").map_or("box", |(_, value)| value);
        let Some((name, mut map)) = Self::MAPS.into_iter().find(|(name, _)| *name == word) else {
            return refuse(format!(
                "`{word}` is not a map of mirror; it is one of {}",
                Self::MAPS.map(|m| m.0).join(", ")
            ));
        };
        for (setting, value) in given.into_iter().filter(|(name, _)| *name != "map") {
            match (&mut map, setting) {
                (Self::Simplex { temperature: place }, "temperature")
                | (Self::Ball { radius: place, .. }, "radius")
                | (Self::Ball { centre: place, .. }, "centre")
                | (Self::Sparse { threshold: place }, "threshold") => *place = number_of(setting, value)?,
                _ => {
                    let own = map.kind().1;
                    let own = if own.is_empty() { "none".into() } else { own.join(", ") };
                    return refuse(format!("`{setting}` is not a setting of the map {name}; it has {own}"));
                }
            }
        }
        Ok(map)
    }
}

/// The map, where it is not the default, and the settings that are not.
impl Display for Mirror {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (number, names) = self.kind();
        let (name, usual) = Self::MAPS[number];
        let numbers = self.numbers().into_iter().zip(usual.numbers());
        let settings: Vec<_> =
            names.iter().zip(numbers).map(|(name, (number, usual))| (*name, number, usual)).collect();
        let settings = unusual(&settings);
        f.pad(&match (number, settings.is_empty()) {
            (0, _) => String::new(),
            (_, true) => format!("map={name}"),
            (_, false) => format!("map={name},{settings}"),
        })
    }
}
