//! The landscape of a function in one or two dimensions: its values on a grid, scaled to be seen.

use cbo_problems::Problem;

/// Points of a curve.
const CURVE: usize = 801;

/// Cells of a map along each side.
const MAP: usize = 100;

/// Values on a grid over the view.
#[derive(Clone, Debug)]
pub struct Landscape {
    /// The part of space that is shown, one or two coordinates.
    pub view: Vec<(f64, f64)>,
    /// What is shown of the function.
    pub relief: Relief,
}

/// A function to look at.
#[derive(Clone, Debug)]
pub enum Relief {
    /// Of one coordinate: points of its graph.
    Curve(Vec<(f64, f64)>),
    /// Of two: heights between 0 and 1 in the middles of cells, one row per value of the second coordinate.
    Map(Vec<Vec<f64>>),
}

impl Landscape {
    /// The landscape of `problem`, of one or two coordinates, in `view`.
    pub fn new(problem: &Problem, view: &[(f64, f64)]) -> Self {
        let at = |(low, high): (f64, f64), part: f64| low + (high - low) * part;
        let relief = match *view {
            [x, y, ..] => {
                let middle = |i: usize| (i as f64 + 0.5) / MAP as f64;
                let row = |j| (0..MAP).map(|i| problem.value(&[at(x, middle(i)), at(y, middle(j))])).collect();
                Relief::Map(heights((0..MAP).map(row).collect(), problem.minimum()))
            }
            _ => {
                let x = (0..CURVE).map(|i| at(view[0], i as f64 / (CURVE - 1) as f64));
                Relief::Curve(x.map(|x| (x, problem.value(&[x]))).filter(|(_, e)| e.is_finite()).collect())
            }
        };
        Self { view: view.to_vec(), relief }
    }

    /// Whether a point is in view.
    pub fn shows(&self, point: &[f64; 2]) -> bool {
        self.view.iter().zip(point).all(|((low, high), x)| (low..=high).contains(&x))
    }
}

/// Energies as heights from 0 to 1, on a scale that shows valleys as well as walls: logarithmic above the lowest tenth.
fn heights(energies: Vec<Vec<f64>>, minimum: f64) -> Vec<Vec<f64>> {
    let mut sorted: Vec<f64> = energies.iter().flatten().map(|e| e - minimum).filter(|e| e.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let tenth = sorted.get(sorted.len() / 10).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let scale = |e: f64| ((e - minimum).max(0.0) / tenth).ln_1p();
    let highest = sorted.last().map_or(1.0, |e| scale(e + minimum)).max(f64::MIN_POSITIVE);
    // Infeasible points are as high as the highest wall.
    let height = |e: f64| if e.is_finite() { (scale(e) / highest).min(1.0) } else { 1.0 };
    energies.into_iter().map(|row| row.into_iter().map(height).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_run_from_valley_to_wall() {
        let problem = Problem::named("rosenbrock", 2).expect("a problem");
        let landscape = Landscape::new(&problem, problem.domain());
        let Relief::Map(rows) = landscape.relief else { panic!("two coordinates make a map") };
        let all: Vec<f64> = rows.iter().flatten().copied().collect();
        assert_eq!(all.len(), MAP * MAP);
        assert!(all.iter().all(|h| (0.0..=1.0).contains(h)));
        assert!(all.contains(&1.0) && all.iter().any(|h| *h < 0.05));
        let middle = all.iter().filter(|h| (0.2..0.8).contains(*h)).count();
        assert!(middle > all.len() / 3, "only {middle} of {} heights can be told apart", all.len());
    }

    #[test]
    fn infeasible_points_are_walls() {
        let heights = heights(vec![vec![0.0, 1.0], vec![f64::INFINITY, f64::NAN]], 0.0);
        assert_eq!(heights[1], [1.0, 1.0]);
        assert_eq!(heights[0][0], 0.0);
    }
}
