//! Pictures: the only module that knows the plotting library. What they share is here; each kind of picture has its own
//! file. Colours are those of Okabe and Ito, which colour-blind people can tell apart; maps are in viridis.

pub mod certificate;
pub mod compare;
pub mod digits;
pub mod experiments;
pub mod figures;
mod maps;
pub mod meanfield;
pub mod networks;
mod raster;
pub mod run;
pub mod runs;
pub mod scaling;
mod text;
pub mod training;

use crate::error::CliError;
use kuva::prelude::*;
use kuva::render::render::Scene;
use maps::Bar;
use std::path::Path;
use std::sync::Arc;

const BLACK: &str = "#000000";
const ORANGE: &str = "#E69F00";
const BLUE: &str = "#0072B2";
const VERMILLION: &str = "#D55E00";
const PURPLE: &str = "#CC79A7";
const GREEN: &str = "#009E73";
const SKY: &str = "#56B4E9";

/// Colours that mean something.
const COLOURS: [&str; 10] = ["#FFFFFF", "#1A1A1A", BLACK, ORANGE, BLUE, VERMILLION, PURPLE, GREEN, SKY, "#BBD5EA"];

/// A kind of picture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Vectors.
    Svg,
    /// Pixels.
    Png,
}

impl Format {
    /// The format that the name of a file asks for.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().map(|e| e.to_string_lossy().to_lowercase()).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(format!("plot = {}: the name must end in .svg or .png", path.display())),
        }
    }
}

/// One panel: what is drawn, and its frame.
type Panel = (Vec<Plot>, Layout);

fn render(scene: Scene, format: Format) -> Result<Vec<u8>, CliError> {
    render_with(scene, &[], format)
}

/// A picture whose maps have bars.
fn render_with(mut scene: Scene, bars: &[Bar], format: Format) -> Result<Vec<u8>, CliError> {
    maps::draw_bars(&mut scene, bars);
    // SVG is shown with the fonts of whoever looks at it.
    text::fit(&mut scene, format == Format::Png);
    match format {
        Format::Svg => Ok(maps::svg(&mut scene)?.into_bytes()),
        Format::Png => raster::png(&mut scene),
    }
}

/// A curve over time, in decades.
struct Curve {
    points: Vec<(f64, f64)>,
    line: LinePlot,
}

impl Curve {
    fn named(self, name: &str) -> Self {
        Self { line: self.line.with_legend(name), ..self }
    }

    /// A line, or a dot where there is one point alone.
    fn plot(self) -> Plot {
        let Self { points, line } = self;
        if points.len() > 1 {
            return line.into();
        }
        let dot = ScatterPlot::new().with_color(line.color).with_size(1.5 + line.stroke_width).with_data(points);
        line.legend_label.into_iter().fold(dot, ScatterPlot::with_legend).into()
    }
}

/// A curve of positive values; a logarithmic axis has no place for others.
fn curve(points: impl Iterator<Item = (f64, f64)>, colour: &str, width: f64) -> Option<Curve> {
    let positive = points.filter(|(_, y)| *y > 0.0 && y.is_finite());
    let points: Vec<(f64, f64)> = positive.map(|(t, y)| (t, y.log10())).collect();
    let line = LinePlot::new().with_color(colour).with_stroke_width(width).with_data(points.clone());
    (!points.is_empty()).then_some(Curve { points, line })
}

/// A panel of curves over time in whole decades; if there is nothing to draw, an empty one that says so.
///
/// We take the logarithm ourselves: the library's axis ends at 1e-10.
fn over_time(curves: Vec<Curve>, label: &str, nothing: &str) -> Panel {
    let (low, high) = whole_decades(range(curves.iter().flat_map(|c| c.points.iter().map(|p| p.1))));
    let mut plots: Vec<Plot> = curves.into_iter().map(Curve::plot).collect();
    let empty = plots.is_empty();
    if empty {
        // One point is no line, but the library wants some.
        let invisible = LinePlot::new().with_color("#FFFFFF").with_data([(0.0, 0.0)]);
        plots.push(invisible.with_legend(nothing).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_x_label("time")
        .with_y_label(label)
        .with_label_size(14)
        .with_y_tick_format(TickFormat::Custom(Arc::new(decade)))
        .with_y_axis_min(low)
        .with_y_axis_max(high)
        .with_y_tick_step(((high - low) / 10.0).ceil());
    let layout = if empty { until(layout, 1.0) } else { layout };
    (plots, below(layout).with_legend_col_limit(2))
}

/// The legend under a panel, where no curve is.
fn below(layout: Layout) -> Layout {
    layout.with_legend_box(false).with_legend_position(LegendPosition::OutsideBottomColumns)
}

/// A panel from time 0 to `end`; panels that are compared have the same.
fn until(layout: Layout, end: f64) -> Layout {
    if end > 0.0 { layout.with_x_axis_min(0.0).with_x_axis_max(end) } else { layout }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// The decades about a range, at least one.
fn whole_decades((low, high): (f64, f64)) -> (f64, f64) {
    match (low.floor(), high.ceil()) {
        (low, high) if low < high => (low, high),
        (low, _) if low.is_finite() => (low - 1.0, low + 1.0),
        _ => (0.0, 1.0),
    }
}

/// The label of 10^exponent; nothing between decades.
fn decade(exponent: f64) -> String {
    let whole = exponent.round();
    match (exponent - whole).abs() < 1e-6 {
        true if whole == 0.0 => "1".into(),
        true => format!("10{}", raised(&format!("{whole}"))),
        false => String::new(),
    }
}

/// A whole number as an exponent.
fn raised(number: &str) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let one = |c: char| c.to_digit(10).map_or('⁻', |digit| digits[digit as usize]);
    number.chars().map(one).collect()
}

/// A value of a scale in words: a power of ten as one where it is far from 1.
fn value(number: f64) -> String {
    let exponent = number.log10();
    match (exponent - exponent.round()).abs() < 1e-9 && !(-2.0..2.5).contains(&exponent) {
        true => decade(exponent),
        false => crate::numbers::short(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_logarithmic_axes_are_decades() {
        let labels = [-12.0, -1.0, 0.0, 1.0, 3.0].map(decade);
        assert_eq!(labels, ["10⁻¹²", "10⁻¹", "1", "10¹", "10³"]);
        assert_eq!(decade(0.4), "", "2.51 is no decade");
        for (range, decades) in
            [((0.3, 0.6), (0.0, 1.0)), ((0.0, 0.0), (-1.0, 1.0)), ((-2.5, 1.1), (-3.0, 2.0)), ((0.9, 1.1), (0.0, 2.0))]
        {
            assert_eq!(whole_decades(range), decades);
        }
        assert_eq!(whole_decades((f64::INFINITY, f64::NEG_INFINITY)), (0.0, 1.0));
        let points = |high: f64| curve([(0.0, 1.5), (1.0, high)].into_iter(), BLUE, 1.0).expect("a curve");
        let (_, layout) = over_time(vec![points(1.9)], "y", "nothing");
        assert_eq!((layout.y_axis_min, layout.y_axis_max, layout.y_tick_step), (Some(0.0), Some(1.0), Some(1.0)));
    }

    #[test]
    fn values_are_short() {
        assert_eq!([0.0, 0.01, 5.0, 1000.0, 1e4, 1e-3].map(value), ["0", "0.01", "5", "10³", "10⁴", "10⁻³"]);
    }
}
