//! Pictures: the only module that knows the plotting library. What they share is here; each kind of picture has its own
//! file. Colours are those of Okabe and Ito, which colour-blind people can tell apart.

pub mod certificate;
pub mod digits;
pub mod figures;
pub mod meanfield;
pub mod networks;
pub mod run;
pub mod runs;
pub mod training;

use crate::error::CliError;
use kuva::prelude::*;
use std::path::Path;
use std::sync::Arc;

const BLACK: &str = "#000000";
const ORANGE: &str = "#E69F00";
const BLUE: &str = "#0072B2";
const VERMILLION: &str = "#D55E00";
const PURPLE: &str = "#CC79A7";
const GREEN: &str = "#009E73";

/// PNG pixels per SVG unit.
const SCALE: f32 = 2.0;

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

fn render(scene: &kuva::render::render::Scene, format: Format) -> Result<Vec<u8>, CliError> {
    match format {
        Format::Svg => Ok(SvgBackend::new().render_scene(scene).into_bytes()),
        Format::Png => PngBackend::new()
            .with_scale(SCALE)
            .render_scene(scene)
            .map_err(|e| CliError::Failed(format!("the picture could not be drawn: {e}"))),
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

/// A panel of curves over time; if there is nothing to draw, an empty one that says so.
///
/// We take the logarithm ourselves: the library's axis ends at 1e-10.
fn over_time(curves: Vec<Curve>, label: &str, nothing: &str) -> Panel {
    let decades = || curves.iter().flat_map(|c| c.points.iter().map(|p| p.1));
    let (low, high) = range(decades());
    let mut plots: Vec<Plot> = curves.into_iter().map(Curve::plot).collect();
    if plots.is_empty() {
        let invisible = LinePlot::new().with_color("#FFFFFF").with_data([(0.0, 0.0), (1.0, 1.0)]);
        plots.push(invisible.with_legend(nothing).into());
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_label("time")
        .with_y_label(label)
        .with_y_tick_format(TickFormat::Custom(Arc::new(decade)))
        .with_legend_position(LegendPosition::InsideTopRight);
    if high - low >= 1.0 {
        let (low, high) = (low.floor(), high.ceil());
        layout = layout.with_y_axis_min(low).with_y_axis_max(high).with_y_tick_step(((high - low) / 10.0).ceil());
    }
    (plots, layout)
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// The label of 10^exponent.
fn decade(exponent: f64) -> String {
    let whole = exponent.round();
    match (exponent - whole).abs() < 1e-6 {
        true if !(-2.0..=3.0).contains(&whole) => format!("1e{whole}"),
        true => format!("{}", 10f64.powi(whole as i32)),
        false => {
            // Three digits are enough for a tick.
            let value = 10f64.powf(exponent);
            let unit = 10f64.powf(exponent.floor() - 2.0);
            crate::numbers::short((value / unit).round() * unit)
        }
    }
}
