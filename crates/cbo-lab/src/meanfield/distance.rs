//! Wasserstein distances on the line, by quantiles: exact for samples and for laws of constant density in each cell.

use super::law::Marginal;

/// Two Wasserstein distances between the same two laws.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distance {
    /// `W_1 = int |F^-1(u) - G^-1(u)| du`.
    pub w1: f64,
    /// `W_2 = (int |F^-1(u) - G^-1(u)|^2 du)^(1/2)`.
    pub w2: f64,
}

/// A piece of a quantile function: linear from the value `from` to the value `to` over levels of this mass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub mass: f64,
    pub from: f64,
    pub to: f64,
}

impl Marginal {
    /// The distance to the law that gives the same mass to each of `sorted` points, which must increase.
    pub fn distance_to_points(&self, sorted: &[f64]) -> Distance {
        let (origin, scale) = self.frame();
        let mass = 1.0 / sorted.len() as f64;
        let point = |x: &f64| {
            let y = (x - origin) / scale;
            Piece { mass, from: y, to: y }
        };
        let points: Vec<Piece> = sorted.iter().map(point).collect();
        transport(&self.pieces(origin, scale), &points).scaled(scale)
    }

    /// The distance to another law.
    pub fn distance_to(&self, other: &Marginal) -> Distance {
        let (origin, scale) = self.frame();
        transport(&self.pieces(origin, scale), &other.pieces(origin, scale)).scaled(scale)
    }
}

impl Distance {
    fn scaled(self, scale: f64) -> Self {
        Self { w1: self.w1 * scale, w2: self.w2 * scale }
    }

    /// For the marginals of two laws, the mean of their W_1 and the root mean square of their W_2. In one dimension the
    /// distance itself; in more, no more than the distance of the laws.
    pub fn over_coordinates(each: &[Self]) -> Self {
        let count = each.len().max(1) as f64;
        let w1 = each.iter().map(|d| d.w1).sum::<f64>() / count;
        Self { w1, w2: (each.iter().map(|d| d.w2 * d.w2).sum::<f64>() / count).sqrt() }
    }
}

/// Integrates the difference of two quantile functions, the lower half from below and the upper half from above: a tail of
/// mass 1e-30 may carry most of W_2, and levels next to 1 cannot tell it from nothing.
fn transport(a: &[Piece], b: &[Piece]) -> Distance {
    let mirror = |pieces: &[Piece]| -> Vec<Piece> {
        pieces.iter().rev().map(|p| Piece { mass: p.mass, from: -p.to, to: -p.from }).collect()
    };
    let (below, above) = (half(a, b), half(&mirror(a), &mirror(b)));
    Distance { w1: below.0 + above.0, w2: (below.1 + above.1).max(0.0).sqrt() }
}

/// The integrals of the difference and of its square up to the level 1/2, from one end of a piece to the next.
fn half(a: &[Piece], b: &[Piece]) -> (f64, f64) {
    let (mut w1, mut square, mut level) = (0.0, 0.0, 0.0);
    let (mut a, mut b) = (Cursor::new(a), Cursor::new(b));
    while let (Some(p), Some(q)) = (a.piece(), b.piece()) {
        let until = a.until.min(b.until).clamp(level, 0.5);
        let difference = |u: f64| a.value(p, u) - b.value(q, u);
        let (first, last) = (difference(level), difference(until));
        let (size, width) = (first.abs() + last.abs(), until - level);
        if size > 0.0 {
            let mean = if first * last >= 0.0 { 0.5 * size } else { 0.5 * (first * first + last * last) / size };
            w1 += width * mean;
            square += width * (first * first + first * last + last * last) / 3.0;
        }
        level = until;
        if level >= 0.5 {
            break;
        }
        a.pass(level);
        b.pass(level);
    }
    (w1, square)
}

/// A place in a row of pieces.
struct Cursor<'a> {
    rest: &'a [Piece],
    /// The levels at which the first of the rest begins and ends.
    begin: f64,
    until: f64,
}

impl<'a> Cursor<'a> {
    fn new(rest: &'a [Piece]) -> Self {
        Self { rest, begin: 0.0, until: rest.first().map_or(0.0, |p| p.mass) }
    }

    fn piece(&self) -> Option<&'a Piece> {
        self.rest.first()
    }

    /// The quantile at a level of this piece, the first of the rest.
    fn value(&self, piece: &Piece, level: f64) -> f64 {
        let part = if piece.mass > 0.0 { ((level - self.begin) / piece.mass).clamp(0.0, 1.0) } else { 0.0 };
        piece.from + part * (piece.to - piece.from)
    }

    /// Moves on to the next piece if this one ends here.
    fn pass(&mut self, level: f64) {
        if self.until <= level {
            self.rest = self.rest.get(1..).unwrap_or_default();
            self.begin = self.until;
            self.until += self.piece().map_or(0.0, |p| p.mass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_simple_laws_are_known() {
        let uniform = [Piece { mass: 1.0, from: 0.0, to: 1.0 }];
        let point = [Piece { mass: 1.0, from: 0.5, to: 0.5 }];
        let d = transport(&uniform, &point);
        assert!((d.w1 - 0.25).abs() < 1e-15 && (d.w2 - (1.0f64 / 12.0).sqrt()).abs() < 1e-15, "{d:?}");
        // Shifted by 2: both distances are 2.
        let moved = [Piece { mass: 0.3, from: 2.0, to: 2.3 }, Piece { mass: 0.7, from: 2.3, to: 3.0 }];
        let d = transport(&uniform, &moved);
        assert!((d.w1 - 2.0).abs() < 1e-15 && (d.w2 - 2.0).abs() < 1e-15, "{d:?}");
        let two = [Piece { mass: 0.5, from: -1.0, to: -1.0 }, Piece { mass: 0.5, from: 1.0, to: 1.0 }];
        assert_eq!(transport(&two, &two), Distance::default());
    }

    /// Tails of mass 1e-30 on either side, out to where they make up all of W_2: 1e-30 (1e20)^2 = 1e10 each.
    #[test]
    fn both_tails_count_however_little_they_weigh() {
        let tail = |v: f64| Piece { mass: 1e-30, from: v, to: v };
        let middle = Piece { mass: 1.0, from: 0.0, to: 0.0 };
        let d = transport(&[tail(-1e20), middle, tail(1e20)], &[middle]);
        assert!((d.w2 / 2e10f64.sqrt() - 1.0).abs() < 1e-12 && (d.w1 / 2e-10 - 1.0).abs() < 1e-12, "{d:?}");
        let other = transport(&[middle, tail(1e20)], &[tail(-1e20), middle]);
        assert!((other.w2 - d.w2).abs() < 1e-12 * d.w2, "{other:?}");
    }
}
