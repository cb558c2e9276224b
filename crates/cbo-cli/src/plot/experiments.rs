//! The experiments of the method's authors.

use super::*;
use crate::landscape::Landscape;
use cbo_lab::experiments::canyon::{Path, Paths};
use cbo_lab::experiments::landscape::Landscape as Minimisers;
use cbo_lab::experiments::{Axis, Grid};
use cbo_problems::Problem;

/// Cells of a picture along each side, at least: a map of fewer is not taken for one.
const FINE: usize = 64;

/// Paths that are drawn: more would hide the landscape.
const DRAWN: usize = 12;

/// The words of a map of success rates.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    /// Its heading.
    pub title: &'static str,
    /// What runs along it.
    pub x: &'static str,
    /// What runs up.
    pub y: &'static str,
    /// Whether the values that run up are doubled from row to row.
    pub decades: bool,
}

/// Where the cells of an axis begin and end: half a cell beyond the first and the last value. A cell that is alone has width 1.
fn ends(values: &[f64]) -> (f64, f64) {
    let (first, last) = (values[0], values[values.len() - 1]);
    let half = if values.len() == 1 { 0.5 } else { 0.5 * (last - first) / (values.len() - 1) as f64 };
    (first - half, last + half)
}

/// The places of values along an axis; one without limit comes a step after the others.
fn places(axis: &Axis, logarithmic: bool) -> Vec<f64> {
    let mut places: Vec<f64> = axis.values.iter().map(|v| if logarithmic { v.log2() } else { *v }).collect();
    if let [.., before, last, end] = &mut places[..]
        && end.is_infinite()
    {
        *end = 2.0 * *last - *before;
    }
    places
}

/// Success rates as colours.
pub fn map(grid: &Grid, words: &Map, format: Format) -> Result<Vec<u8>, CliError> {
    let (x, y) = (ends(&places(&grid.x, false)), ends(&places(&grid.y, words.decades)));
    let (across, up) = (FINE.div_ceil(grid.x.values.len()), FINE.div_ceil(grid.y.values.len()));
    let row = |j: usize| -> Vec<f64> { grid.row(j).flat_map(|rate| std::iter::repeat_n(rate.rate, across)).collect() };
    let rows = (0..grid.y.values.len()).flat_map(|j| std::iter::repeat_n(row(j), up)).collect();
    let plots = vec![maps::map(rows, x, y)];
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(words.title)
        .with_title_size(16)
        .with_x_label(words.x)
        .with_y_label(words.y)
        .with_x_axis_min(x.0)
        .with_x_axis_max(x.1)
        .with_y_axis_min(y.0)
        .with_y_axis_max(y.1)
        .with_show_grid(false)
        .with_force_margins(70.0, maps::ROOM)
        .with_width(760.0)
        .with_height(560.0);
    layout.show_colorbar = false;
    let ticks = (0..=5).map(|k| (f64::from(k) / 5.0, format!("{} %", 20 * k))).collect();
    let bar = Bar { label: "runs that succeed".into(), ticks };
    render_with(render_multiple(plots, layout), &[bar], format)
}

/// Success over the number of measurements, with Wilson intervals as bands.
pub fn sensing(grid: &Grid, format: Format) -> Result<Vec<u8>, CliError> {
    let mut plots: Vec<Plot> = Vec::new();
    for (row, (colour, name)) in [(BLUE, "without gradient"), (VERMILLION, "with gradient")].into_iter().enumerate() {
        let rates: Vec<_> = grid.row(row).collect();
        let curve = |pick: fn(&cbo_lab::success::Rate) -> f64| -> Vec<(f64, f64)> {
            grid.x.values.iter().zip(&rates).map(|(m, rate)| (*m, 100.0 * pick(rate))).collect()
        };
        for edge in [curve(|r| r.low), curve(|r| r.high)] {
            plots.push(LinePlot::new().with_data(edge).with_color(colour).with_stroke_width(0.6).into());
        }
        let line = LinePlot::new().with_data(curve(|r| r.rate)).with_color(colour).with_stroke_width(2.4);
        plots.push(line.with_legend(name).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Compressed sensing: recovery of a sparse point")
        .with_title_size(16)
        .with_x_label("measurements m")
        .with_y_label("runs that succeed, per cent (thin: 95 % interval)")
        .with_y_axis_min(0.0)
        .with_y_axis_max(100.0)
        .with_width(760.0)
        .with_height(500.0);
    render(render_multiple(plots, below(layout)), format)
}

/// Paths through the canyon.
pub fn canyon(problem: &Problem, paths: &Paths, format: Format) -> Result<Vec<u8>, CliError> {
    let view = [(-3.0, 10.0), (-3.0, 10.0)];
    let landscape = Landscape::new(problem, &view);
    let shown =
        |path: &Path| -> Vec<(f64, f64)> { path.iter().filter(|p| landscape.shows(p)).map(|p| (p[0], p[1])).collect() };
    let line = |points: Vec<(f64, f64)>, colour: &str, width: f64| {
        LinePlot::new().with_data(points).with_color(colour).with_stroke_width(width)
    };
    let mut plots = run::ground(&landscape);
    for (number, path) in paths.consensus.iter().take(DRAWN).enumerate() {
        plots.push(line(shown(path), "#FFFFFF", 2.4).into());
        let thin = line(shown(path), BLACK, 1.1);
        plots.push(if number == 0 { thin.with_legend("consensus point, a few runs") } else { thin }.into());
    }
    plots.push(line(shown(&paths.descent), "#FFFFFF", 5.0).into());
    plots.push(line(shown(&paths.descent), VERMILLION, 3.0).with_legend("gradient descent").into());
    plots.extend(stars(&[vec![0.0, 0.0]]));
    on_ground(plots, &landscape, view, "The consensus point follows the canyon, not the ripples", format)
}

/// What swarms with the first choice of alpha returned, on the landscape.
pub fn landscape(problem: &Problem, found: &Minimisers, format: Format) -> Result<Vec<u8>, CliError> {
    let domain = problem.domain();
    let view = [domain[0], domain[1]];
    let landscape = Landscape::new(problem, &view);
    let mut plots = run::ground(&landscape);
    plots.extend(stars(&found.minimisers));
    let points: Vec<(f64, f64)> = found.outcomes[0]
        .found
        .iter()
        .filter(|f| landscape.shows(&[f.x[0], f.x[1]]))
        .map(|f| (f.x[0], f.x[1]))
        .collect();
    for (colour, size, name) in [("#FFFFFF", 4.0, None), (VERMILLION, 2.6, Some("returned by a run"))] {
        let dots = ScatterPlot::new().with_color(colour).with_size(size).with_data(points.clone());
        plots.push(name.map_or(dots.clone(), |name| dots.with_legend(name)).into());
    }
    on_ground(plots, &landscape, view, "All minimisers, found by one polarised swarm", format)
}

/// Minimisers as stars with a white edge.
fn stars(places: &[Vec<f64>]) -> impl Iterator<Item = Plot> {
    let places: Vec<(f64, f64)> = places.iter().map(|x| (x[0], x[1])).collect();
    [("#FFFFFF", 12.0, None), (PURPLE, 10.0, Some("minimiser"))].into_iter().map(move |(colour, size, name)| {
        let star = ScatterPlot::new().with_color(colour).with_size(size).with_marker(MarkerShape::Star);
        let star = star.with_data(places.clone());
        name.map_or(star.clone(), |name| star.with_legend(name)).into()
    })
}

/// A square picture of what lies on a landscape.
fn on_ground(
    plots: Vec<Plot>,
    landscape: &Landscape,
    view: [(f64, f64); 2],
    title: &str,
    format: Format,
) -> Result<Vec<u8>, CliError> {
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_title_size(15)
        .with_x_axis_min(view[0].0)
        .with_x_axis_max(view[0].1)
        .with_y_axis_min(view[1].0)
        .with_y_axis_max(view[1].1)
        .with_x_label("x1")
        .with_y_label("x2")
        .with_show_grid(false);
    layout.show_colorbar = false;
    let (layout, bars) = (below(layout).with_legend_col_limit(3), run::bar(landscape));
    let layout = run::square_sheet(layout, landscape);
    render_with(render_multiple(plots, layout), bars.as_slice(), format)
}
