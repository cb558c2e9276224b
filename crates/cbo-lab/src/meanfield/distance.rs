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

/// A piece of a quantile function: linear from the value `from` to the value `to`, up to the level `until`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub until: f64,
    pub from: f64,
    pub to: f64,
}

impl Marginal {
    /// The distance to the law that gives the same mass to each of `sorted` points, which must increase.
    pub fn distance_to_points(&self, sorted: &[f64]) -> Distance {
        let (origin, scale) = self.frame();
        let count = sorted.len() as f64;
        let point = |(i, x): (usize, &f64)| {
            let y = (x - origin) / scale;
            Piece { until: (i + 1) as f64 / count, from: y, to: y }
        };
        let points: Vec<Piece> = sorted.iter().enumerate().map(point).collect();
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

    /// Of the marginals of two laws, the mean of their W_1 and the root mean square of their W_2. In one dimension the
    /// distance itself; in more, no more than the distance of the laws.
    pub fn over_coordinates(each: &[Self]) -> Self {
        let count = each.len().max(1) as f64;
        let w1 = each.iter().map(|d| d.w1).sum::<f64>() / count;
        Self { w1, w2: (each.iter().map(|d| d.w2 * d.w2).sum::<f64>() / count).sqrt() }
    }
}

/// Integrates the difference of two quantile functions, from one end of a piece to the next.
fn transport(a: &[Piece], b: &[Piece]) -> Distance {
    let (mut w1, mut square) = (0.0, 0.0);
    let (mut i, mut j, mut level) = (0, 0, 0.0);
    let (mut begin_a, mut begin_b) = (0.0, 0.0);
    while let (Some(p), Some(q)) = (a.get(i), b.get(j)) {
        let until = p.until.min(q.until).max(level);
        let value = |piece: &Piece, begin: f64, u: f64| {
            let width = piece.until - begin;
            let part = if width > 0.0 { ((u - begin) / width).clamp(0.0, 1.0) } else { 0.0 };
            piece.from + part * (piece.to - piece.from)
        };
        let difference = |u: f64| value(p, begin_a, u) - value(q, begin_b, u);
        let (first, last) = (difference(level), difference(until));
        let (size, width) = (first.abs() + last.abs(), until - level);
        if size > 0.0 {
            let mean = if first * last >= 0.0 { 0.5 * size } else { 0.5 * (first * first + last * last) / size };
            w1 += width * mean;
            square += width * (first * first + first * last + last * last) / 3.0;
        }
        level = until;
        if p.until <= until {
            (i, begin_a) = (i + 1, p.until);
        }
        if q.until <= until {
            (j, begin_b) = (j + 1, q.until);
        }
    }
    Distance { w1, w2: square.max(0.0).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_simple_laws_are_known() {
        let uniform = [Piece { until: 1.0, from: 0.0, to: 1.0 }];
        let point = [Piece { until: 1.0, from: 0.5, to: 0.5 }];
        let d = transport(&uniform, &point);
        assert!((d.w1 - 0.25).abs() < 1e-15 && (d.w2 - (1.0f64 / 12.0).sqrt()).abs() < 1e-15, "{d:?}");
        // Shifted by 2: both distances are 2.
        let moved = [Piece { until: 0.3, from: 2.0, to: 2.3 }, Piece { until: 1.0, from: 2.3, to: 3.0 }];
        let d = transport(&uniform, &moved);
        assert!((d.w1 - 2.0).abs() < 1e-15 && (d.w2 - 2.0).abs() < 1e-15, "{d:?}");
        let two = [Piece { until: 0.5, from: -1.0, to: -1.0 }, Piece { until: 1.0, from: 1.0, to: 1.0 }];
        assert_eq!(transport(&two, &two), Distance::default());
    }
}
