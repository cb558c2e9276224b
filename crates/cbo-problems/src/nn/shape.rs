//! Shapes: what flows between two layers for one image.

use std::fmt;

/// The values of one image between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Feature maps, stored map after map, each row after row.
    Maps {
        /// Number of maps.
        maps: usize,
        /// Rows of a map.
        height: usize,
        /// Columns of a map.
        width: usize,
    },
    /// A plain list of values.
    Flat(usize),
}

impl Shape {
    /// An MNIST digit: one map of 28 x 28 grey values.
    pub const DIGIT: Self = Self::Maps { maps: 1, height: 28, width: 28 };

    /// Number of values, `usize::MAX` if there are more.
    pub fn values(self) -> usize {
        self.channels().saturating_mul(self.area())
    }

    /// What batch normalisation keeps apart: the maps, or each value of a flat list.
    pub fn channels(self) -> usize {
        match self {
            Self::Maps { maps, .. } => maps,
            Self::Flat(values) => values,
        }
    }

    /// Values in one channel: the pixels of a map, or one.
    pub fn area(self) -> usize {
        match self {
            Self::Maps { height, width, .. } => height.saturating_mul(width),
            Self::Flat(_) => 1,
        }
    }
}

/// `4@24x24` for maps, `192 values` for a flat list.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Maps { maps, height, width } => write!(f, "{maps}@{height}x{width}"),
            Self::Flat(1) => write!(f, "1 value"),
            Self::Flat(values) => write!(f, "{values} values"),
        }
    }
}
