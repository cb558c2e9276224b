//! Several runs in one picture: best value over evaluations.

use super::*;

/// A colour for each line, without the yellow that is hard to see on white.
const LINES: [&str; 7] = [BLUE, VERMILLION, GREEN, ORANGE, PURPLE, BLACK, SKY];

/// Runs that can be told apart: thick and thin lines of each colour.
pub const MOST: usize = 2 * LINES.len();

/// From this ratio of the largest to the smallest on, values are drawn in decades.
const WIDE: f64 = 100.0;

/// Best value over evaluations of one run.
pub struct Curve {
    /// In the legend.
    pub name: String,
    /// Evaluations and the best value at that point, in order.
    pub points: Vec<(f64, f64)>,
}

/// How values become heights.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Axis {
    Linear,
    /// Decades above `base`; what is not `least` above it is drawn there.
    Decades {
        base: f64,
        least: f64,
    },
}

impl Axis {
    fn of(values: &[f64]) -> Self {
        let (low, _) = range(values.iter().copied());
        let base = if low > 0.0 { 0.0 } else { low };
        let gaps = || values.iter().map(|v| v - base).filter(|gap| *gap > 0.0);
        let (least, most) = range(gaps());
        match most >= WIDE * least {
            true if low > 0.0 => Self::Decades { base, least },
            // The least value itself has no place in decades: it is drawn one below all others.
            true => Self::Decades { base, least: least / 10.0 },
            false => Self::Linear,
        }
    }

    fn height(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Decades { base, least } => (value - base).max(least).log10(),
        }
    }

    fn label(self) -> String {
        match self {
            Self::Decades { base, .. } if base != 0.0 => {
                format!("best value so far, above {}", crate::numbers::short(base))
            }
            _ => "best value so far".into(),
        }
    }
}

/// The width of the picture.
const WIDTH: f64 = 860.0;

/// The name of a run in letters that can be drawn.
fn named(name: &str, format: Format) -> String {
    let name = crate::text::one_line(name);
    if format == Format::Png { text::readable(&name) } else { name }
}

/// Draws the runs.
pub fn compare(curves: &[Curve], format: Format) -> Result<Vec<u8>, CliError> {
    let values: Vec<f64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.1)).collect();
    let axis = Axis::of(&values);
    let mut plots: Vec<Plot> = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        let width = if index < LINES.len() { 3.0 } else { 1.2 };
        let points = stairs(&curve.points).into_iter().map(|(n, v)| (n, axis.height(v)));
        let line = LinePlot::new().with_color(LINES[index % LINES.len()]).with_stroke_width(width);
        plots.push(line.with_data(points.collect::<Vec<_>>()).with_legend(named(&curve.name, format)).into());
    }
    let widest = curves.iter().map(|c| text::width(&named(&c.name, format), 14.0)).fold(0.0, f64::max);
    let columns = ((WIDTH - 100.0) / (widest + 50.0)).floor().clamp(1.0, 4.0) as usize;
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_label("evaluations")
        .with_y_label(axis.label())
        .with_x_axis_min(0.0)
        .with_width(WIDTH)
        .with_height(520.0 + 20.0 * curves.len().div_ceil(columns) as f64);
    layout = below(layout).with_legend_col_limit(columns);
    if let Axis::Decades { .. } = axis {
        let (low, high) = range(values.iter().map(|v| axis.height(*v)));
        let (low, high) = (low.floor(), high.ceil());
        layout = layout
            .with_y_tick_format(TickFormat::Custom(Arc::new(decade)))
            .with_y_axis_min(low)
            .with_y_axis_max(high)
            .with_y_tick_step(((high - low) / 10.0).ceil());
    }
    render(render_multiple(plots, layout), format)
}

/// The corners of a step curve: a best value stays until there is a better one.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for (n, value) in points {
        match corners.last() {
            Some((_, last)) if last == value => (),
            Some((_, last)) => corners.extend([(*n, *last), (*n, *value)]),
            None => corners.push((*n, *value)),
        }
    }
    // To its end, and never a single point.
    corners.extend(points.last().copied());
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_have_corners_only() {
        let points = [(10.0, 5.0), (20.0, 5.0), (30.0, 2.0), (40.0, 2.0)];
        assert_eq!(stairs(&points), [(10.0, 5.0), (30.0, 5.0), (30.0, 2.0), (40.0, 2.0)]);
        assert_eq!(stairs(&points[..1]), [(10.0, 5.0), (10.0, 5.0)]);
        assert_eq!(stairs(&[]), []);
    }

    #[test]
    fn the_axis_fits_the_values() {
        assert_eq!(Axis::of(&[1.0, 3.0]), Axis::Linear);
        assert_eq!(Axis::of(&[2.0]), Axis::Linear);
        assert_eq!(Axis::of(&[0.0]), Axis::Linear);
        assert_eq!(Axis::of(&[1e-3, 10.0]), Axis::Decades { base: 0.0, least: 1e-3 });
        let axis = Axis::of(&[-2.0, -1.0, 998.0]);
        assert_eq!(axis, Axis::Decades { base: -2.0, least: 0.1 });
        assert_eq!((axis.height(-2.0), axis.height(998.0)), (-1.0, 3.0));
        assert_eq!(axis.label(), "best value so far, above -2");
    }
}
