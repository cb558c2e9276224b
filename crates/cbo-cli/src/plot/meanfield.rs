//! Pictures of the mean-field law beside the particles: density, V over time, distance over N, frames.

use super::*;
use crate::meanfield::Outcome;
use crate::meanfield::swarm_name;
use cbo_lab::meanfield::{Law, Marginal, Snapshot, frozen_v};
use kuva::plot::legend::{LegendEntry, LegendShape};

/// Rows of the picture of the density over time.
const ROWS: usize = 240;

/// Its columns.
const COLUMNS: usize = 320;

/// Cells of the raster of the plane, in each direction.
const MAP: usize = 100;

/// Cells of a map of the plane, in each direction.
const CELLS: usize = 200;

/// Bins of a histogram.
const BINS: usize = 60;

/// Particles drawn in the plane: more would hide the density.
const DOTS: usize = 600;

/// Colours of the swarms, the largest first.
const SWARMS: [&str; 5] = [BLUE, ORANGE, GREEN, PURPLE, VERMILLION];

/// The density over time.
pub(crate) fn density(outcome: &Outcome, format: Format) -> Result<Vec<u8>, CliError> {
    let flat = outcome.plan.problem.dim() == 1;
    let (panels, figure) = if flat {
        (vec![over_time_map(outcome), rescaled(outcome)], Figure::new(1, 2).with_figure_size(1120.0, 460.0))
    } else {
        let snapshots = compared(outcome);
        let view = plane(outcome);
        let mut panels: Vec<Panel> = snapshots.iter().map(|s| map(outcome, s, &view, None)).collect();
        if let Some(last) = snapshots.last() {
            let (plots, layout) = map(outcome, last, &close(&last.law), None);
            panels.push((plots, layout.with_title(format!("time {:.2}, closer", last.time))));
        }
        let rows = panels.len().div_ceil(3);
        let sheet = Figure::new(rows, 3).with_figure_size(1480.0, 330.0 * rows as f64);
        (panels, sheet.with_shared_legend_entries(marks()).with_shared_legend_right_middle())
    };
    let panels_with_maps = if flat { 1 } else { panels.len() };
    let (plots, layouts) = panels.into_iter().unzip();
    let figure = figure.with_plots(plots).with_layouts(layouts).with_title(title(outcome)).with_title_size(16);
    let bars = vec![bar(); panels_with_maps];
    render_with(figure.render(), &bars, format)
}

/// What the colours of a density mean.
fn bar() -> Bar {
    let ticks = [0.0f64, 0.1, 0.25, 0.5, 0.75, 1.0].map(|part| (shade(part), value(part)));
    Bar { label: "density / its maximum".into(), ticks: ticks.to_vec() }
}

/// The height of a density in a map, relative to its maximum: thin tails are to be seen.
fn shade(part: f64) -> f64 {
    part.max(0.0).sqrt()
}

/// One legend for all maps of the plane.
fn marks() -> Vec<LegendEntry> {
    let mark = |label: &str, colour: &str, shape| LegendEntry {
        label: label.into(),
        color: colour.into(),
        shape: LegendShape::Marker(shape),
        dasharray: None,
    };
    vec![mark("minimiser", PURPLE, MarkerShape::Star), mark("consensus", BLACK, MarkerShape::Diamond)]
}

/// V over time: of the law, of the particles and of the theory.
pub(crate) fn energy(outcome: &Outcome, format: Format) -> Result<Vec<u8>, CliError> {
    let Outcome { plan, trajectory, swarms, .. } = outcome;
    let records = &trajectory.records;
    let mut curves = Vec::new();
    // A straight line in decades: two points, for dashes between many would run together.
    let ends = records.first().into_iter().chain(records.last());
    let theory = curve(ends.map(|r| (r.time, outcome.theory(r.time))), "#999999", 1.6);
    curves.extend(theory.map(|c| dashed(c).named("exp(-(2 lambda - sigma^2) t)")));
    let exact = records.iter().filter_map(|r| Some((r.time, frozen_v(&plan.settings, &trajectory.minimiser, r.time)?)));
    curves.extend(curve(exact, VERMILLION, 4.5).map(|c| c.named("exact, consensus frozen")));
    let largest_first = swarms.iter().zip(&plan.particles).rev();
    for ((swarm, n), colour) in largest_first.zip(SWARMS.iter().cycle()) {
        let points = records.iter().zip(&swarm.v).map(|(r, v)| (r.time, *v));
        curves.extend(curve(points, colour, 2.2).map(|c| c.named(&swarm_name(*n))));
    }
    curves.extend(curve(records.iter().map(|r| (r.time, r.v)), BLACK, 1.3).map(|c| c.named("law")));
    let (plots, layout) = over_time(curves, "V", "V was zero from the start");
    // Outside: V may fall or grow, and curves may be anywhere.
    let end = records.last().map_or(0.0, |r| r.time);
    let layout = until(layout, end).with_legend_position(LegendPosition::OutsideRightTop);
    let layout = layout.with_title(title(outcome)).with_title_size(14).with_width(960.0).with_height(520.0);
    render(render_multiple(plots, layout), format)
}

fn dashed(curve: Curve) -> Curve {
    Curve { line: curve.line.with_dashed(), ..curve }
}

/// The distance to the law over the number of particles.
pub(crate) fn distance(outcome: &Outcome, format: Format) -> Result<Vec<u8>, CliError> {
    let ends: Vec<_> = outcome.swarms.iter().filter_map(|s| s.distances.last()).collect();
    let places: Vec<f64> = ends.iter().map(|d| (d.particles as f64).log10()).collect();
    let (first, last) = range(places.iter().copied());
    let (first, last) = (first - 0.25, last + 0.25);
    let mut plots: Vec<Plot> = Vec::new();
    let line = |a: f64, b: f64, colour: &str| {
        LinePlot::new().with_data([(first, a), (last, b)]).with_color(colour).with_stroke_width(1.6)
    };
    if let (Some(fit), Some(start)) = (outcome.fit, ends.first()) {
        let height = |x: f64| fit.at(10f64.powf(x)).log10();
        let name = format!("fit: N^{:.3} +- {:.3}", fit.exponent, fit.standard_error);
        plots.push(line(height(first), height(last), BLACK).with_legend(name).into());
        let half = |x: f64| start.mean.w1.log10() - 0.5 * (x - places[0]);
        plots.push(line(half(first), half(last), "#999999").with_dashed().with_legend("slope -1/2").into());
    }
    let floor = outcome.floor.last().map_or(0.0, |d| d.w1);
    if floor > 0.0 {
        let level = line(floor.log10(), floor.log10(), VERMILLION).with_dotted();
        plots.push(level.with_legend("floor of the time step").into());
    }
    let mut heights = if floor > 0.0 { vec![floor.log10()] } else { Vec::new() };
    type Pick = fn(&cbo_lab::meanfield::Distance) -> f64;
    let kinds: [(&str, &str, Pick); 2] = [("W1", BLUE, |d| d.w1), ("W2", ORANGE, |d| d.w2)];
    for (name, colour, pick) in kinds {
        // A standard error in decades, to first order.
        let error =
            |d: &cbo_lab::meanfield::Distances| pick(&d.standard_error) / (pick(&d.mean) * std::f64::consts::LN_10);
        let rows = ends.iter().zip(&places).filter(|(d, _)| pick(&d.mean) > 0.0);
        let points: Vec<(f64, f64)> = rows.clone().map(|(d, x)| (*x, pick(&d.mean).log10())).collect();
        heights.extend(points.iter().map(|p| p.1));
        let errors: Vec<f64> = rows.map(|(d, _)| error(d)).collect();
        let dots = ScatterPlot::new().with_data(points).with_y_err(errors).with_color(colour).with_size(5.0);
        plots.push(dots.with_legend(name).into());
    }
    let (low, high) = range(heights.into_iter());
    let label = if outcome.plan.problem.dim() == 1 { "distance to the law" } else { "distance of the marginals" };
    let layout = Layout::auto_from_plots(&plots)
        .with_x_label("particles N")
        .with_y_label(label)
        .with_x_tick_format(TickFormat::Custom(Arc::new(decade)))
        .with_y_tick_format(TickFormat::Custom(Arc::new(decade)))
        .with_x_tick_step(1.0)
        .with_x_axis_min(first.floor())
        .with_x_axis_max(last.ceil())
        .with_y_tick_step(1.0)
        .with_y_axis_min((low - 0.1).floor())
        .with_y_axis_max((high + 0.3).ceil())
        .with_legend_position(LegendPosition::InsideTopRight)
        .with_title(title(outcome))
        .with_title_size(14)
        .with_width(680.0)
        .with_height(520.0);
    render(render_multiple(plots, layout), format)
}

/// One frame, as PNG: the law and the particles at a snapshot.
pub(crate) fn frame(outcome: &Outcome, at: usize) -> Result<Vec<u8>, CliError> {
    let snapshot = &outcome.trajectory.snapshots[at];
    let positions = outcome.positions.get(at).map_or(&[][..], |p| p);
    let largest = outcome.plan.particles.last().copied().unwrap_or(0);
    let heading = format!("{}, time {:.2}", outcome.plan.problem.description(), snapshot.time);
    let (plots, layout) = if outcome.plan.problem.dim() == 1 {
        let marginal = snapshot.law.marginal(0);
        let (middle, reach) = (marginal.mean(), 4.0 * marginal.variance().sqrt());
        let (low, high) = (middle - reach, middle + reach);
        let bars = histogram(positions, low, high);
        let top = density_in(&marginal, low, high).iter().chain(&bars).map(|p| p.1).fold(0.0, f64::max);
        let name = swarm_name(largest);
        let bars = LinePlot::new().with_data(bars).with_color(ORANGE).with_stroke_width(1.2);
        let curve = LinePlot::new().with_data(density_in(&marginal, low, high)).with_color(BLUE).with_stroke_width(2.2);
        let mut plots: Vec<Plot> =
            vec![bars.with_fill().with_fill_opacity(0.35).with_legend(name).into(), curve.with_legend("law").into()];
        let a = snapshot.consensus[0];
        if (low..=high).contains(&a) {
            let line = LinePlot::new().with_data([(a, 0.0), (a, 1.05 * top)]).with_color(BLACK).with_stroke_width(1.4);
            plots.push(line.with_dashed().with_legend("consensus").into());
        }
        let layout = Layout::auto_from_plots(&plots)
            .with_x_axis_min(low)
            .with_x_axis_max(high)
            .with_y_axis_min(0.0)
            .with_y_axis_max(1.1 * top)
            .with_x_label("v (four standard deviations about the mean)")
            .with_y_label("density")
            .with_legend_position(LegendPosition::InsideTopRight);
        (plots, layout)
    } else {
        map(outcome, snapshot, &plane(outcome), Some((positions, "particles")))
    };
    let layout = layout.with_title(heading).with_title_size(14).with_width(640.0).with_height(560.0);
    render_with(render_multiple(plots, layout), &[bar()], Format::Png)
}

/// The density on the raster of the pictures of the plane: v1, v2 and density.
pub(crate) fn raster(outcome: &Outcome, law: &Law) -> Vec<[f64; 3]> {
    let view = plane(outcome);
    let cells = (0..MAP).flat_map(|j| (0..MAP).map(move |i| (i, j)));
    cells
        .map(|(i, j)| {
            let (v1, v2) = (middle(view[0], i, MAP), middle(view[1], j, MAP));
            [v1, v2, law.density_at(&[v1, v2])]
        })
        .collect()
}

fn title(outcome: &Outcome) -> String {
    let plan = &outcome.plan;
    let alpha = crate::numbers::short(plan.settings.alpha);
    format!("Mean-field law: {}, sigma {}, alpha {alpha}", plan.problem.description(), plan.settings.sigma)
}

/// The snapshots at the times of the comparison.
fn compared(outcome: &Outcome) -> Vec<&Snapshot> {
    outcome.trajectory.snapshots.iter().filter(|s| outcome.plan.compared.contains(&s.step)).collect()
}

fn middle((low, high): (f64, f64), i: usize, count: usize) -> f64 {
    low + (high - low) * (i as f64 + 0.5) / count as f64
}

/// Where coordinate k of the law is at the times of the comparison, with the minimiser.
fn reach(outcome: &Outcome, k: usize) -> (f64, f64) {
    let marginals = compared(outcome).into_iter().map(|s| s.law.marginal(k));
    let ends = marginals.flat_map(|m| [m.quantile(0.003), m.quantile(0.997)]);
    let (low, high) = range(ends.chain(outcome.trajectory.minimiser.get(k).copied()));
    let margin = 0.05 * (high - low);
    (low - margin, high + margin)
}

fn plane(outcome: &Outcome) -> [(f64, f64); 2] {
    [reach(outcome, 0), reach(outcome, 1)]
}

/// Four standard deviations about the mean.
fn close(law: &Law) -> [(f64, f64); 2] {
    [0, 1].map(|k| {
        let marginal = law.marginal(k);
        let (mean, reach) = (marginal.mean(), 4.0 * marginal.variance().sqrt());
        (mean - reach, mean + reach)
    })
}

/// The density over time, relative to the largest of its time.
fn over_time_map(outcome: &Outcome) -> Panel {
    let view = reach(outcome, 0);
    let columns: Vec<(f64, Vec<f64>)> = outcome
        .trajectory
        .snapshots
        .iter()
        .map(|s| {
            let column: Vec<f64> = (0..ROWS).map(|i| s.law.density_at(&[middle(view, i, ROWS)])).collect();
            let largest = column.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            (s.time, column.iter().map(|d| shade(d / largest)).collect())
        })
        .collect();
    let end = outcome.trajectory.records.last().map_or(1.0, |r| r.time);
    let between: Vec<Vec<f64>> = (0..COLUMNS).map(|k| interpolated(&columns, middle((0.0, end), k, COLUMNS))).collect();
    let rows: Vec<Vec<f64>> = (0..ROWS).map(|i| between.iter().map(|c| c[i]).collect()).collect();
    let mut plots: Vec<Plot> = vec![maps::map(rows, (0.0, end), view)];
    let records = &outcome.trajectory.records;
    let line = |points: Vec<(f64, f64)>, colour: &str, width: f64| {
        LinePlot::new().with_data(points).with_color(colour).with_stroke_width(width)
    };
    let minimiser = outcome.trajectory.minimiser[0];
    // Wide and below: the consensus point often lies on it.
    plots.push(line(vec![(0.0, minimiser), (end, minimiser)], PURPLE, 6.0).with_legend("minimiser").into());
    let mean: Vec<(f64, f64)> = records.iter().map(|r| (r.time, r.mean[0])).collect();
    let consensus = records.iter().map(|r| (r.time, r.consensus[0])).filter(|p| (view.0..=view.1).contains(&p.1));
    let consensus: Vec<(f64, f64)> = consensus.collect();
    for (points, colour, name) in [(mean, VERMILLION, "mean"), (consensus, BLACK, "consensus")] {
        // A light rim, to be seen on every colour of the map.
        plots.push(line(points.clone(), "#FFFFFF", 2.8).into());
        plots.push(line(points, colour, 1.6).with_legend(name).into());
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_axis_min(0.0)
        .with_x_axis_max(end)
        .with_y_axis_min(view.0)
        .with_y_axis_max(view.1)
        .with_x_label("time")
        .with_y_label("v")
        .with_show_grid(false)
        .with_force_margins(66.0, maps::ROOM);
    layout.show_colorbar = false;
    (plots, below(layout).with_legend_col_limit(3))
}

/// The column at a time, between the two that are nearest.
fn interpolated(columns: &[(f64, Vec<f64>)], time: f64) -> Vec<f64> {
    let next = columns.partition_point(|(at, _)| *at < time);
    match (next.checked_sub(1).and_then(|k| columns.get(k)), columns.get(next)) {
        (Some((before, left)), Some((after, right))) => {
            let part = (time - before) / (after - before);
            left.iter().zip(right).map(|(a, b)| a + part * (b - a)).collect()
        }
        (Some((_, one)), None) | (None, Some((_, one))) => one.clone(),
        (None, None) => vec![0.0; ROWS],
    }
}

/// The density about its mean, in standard deviations: the shape behind the shrinking.
fn rescaled(outcome: &Outcome) -> Panel {
    let mut plots: Vec<Plot> = Vec::new();
    for (snapshot, colour) in compared(outcome).into_iter().zip([ORANGE, GREEN, PURPLE, VERMILLION, BLUE]) {
        let marginal = snapshot.law.marginal(0);
        let (mean, deviation) = (marginal.mean(), marginal.variance().sqrt());
        let points = density_in(&marginal, mean - 4.0 * deviation, mean + 4.0 * deviation);
        let points: Vec<(f64, f64)> = points.iter().map(|(v, d)| ((v - mean) / deviation, d * deviation)).collect();
        let line = LinePlot::new().with_data(points).with_color(colour).with_stroke_width(1.8);
        plots.push(line.with_legend(format!("time {:.2}", snapshot.time)).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_x_axis_min(-4.0)
        .with_x_axis_max(4.0)
        .with_y_axis_min(0.0)
        .with_x_label("standard deviations from the mean")
        .with_y_label("density")
        .with_legend_position(LegendPosition::InsideTopRight);
    (plots, layout)
}

/// The density in the cells between `low` and `high`.
fn density_in(marginal: &Marginal, low: f64, high: f64) -> Vec<(f64, f64)> {
    let points = marginal.positions().into_iter().zip(marginal.density());
    points.filter(|(v, _)| (low..=high).contains(v)).collect()
}

/// The outline of a histogram, its area the part of the particles that it shows.
fn histogram(positions: &[f64], low: f64, high: f64) -> Vec<(f64, f64)> {
    let width = (high - low) / BINS as f64;
    let mut counts = [0u32; BINS];
    for v in positions {
        let bin = ((v - low) / width).floor();
        if (0.0..BINS as f64).contains(&bin) {
            counts[bin as usize] += 1;
        }
    }
    let height = |count: u32| f64::from(count) / (positions.len().max(1) as f64 * width);
    let corners = |(i, count): (usize, &u32)| {
        [(low + i as f64 * width, height(*count)), (low + (i + 1) as f64 * width, height(*count))]
    };
    counts.iter().enumerate().flat_map(corners).collect()
}

/// The density in the plane, relative to its maximum, with particles, consensus and minimiser.
fn map(outcome: &Outcome, snapshot: &Snapshot, view: &[(f64, f64); 2], dots: Option<(&[f64], &str)>) -> Panel {
    let [x, y] = *view;
    let row = |j: usize| -> Vec<f64> {
        (0..CELLS).map(|i| snapshot.law.density_at(&[middle(x, i, CELLS), middle(y, j, CELLS)])).collect()
    };
    let rows: Vec<Vec<f64>> = (0..CELLS).map(row).collect();
    let largest = rows.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let heights = rows.iter().map(|row| row.iter().map(|d| shade(d / largest)).collect()).collect();
    let mut plots: Vec<Plot> = vec![maps::map(heights, x, y)];
    let inside = |p: &(f64, f64)| (x.0..=x.1).contains(&p.0) && (y.0..=y.1).contains(&p.1);
    if let Some((positions, name)) = dots {
        let points: Vec<(f64, f64)> =
            positions.chunks_exact(2).take(DOTS).map(|p| (p[0], p[1])).filter(inside).collect();
        let dots = |colour: &str, size| ScatterPlot::new().with_data(points.clone()).with_color(colour).with_size(size);
        plots.push(dots("#1A1A1A", 2.7).into());
        plots.push(dots(VERMILLION, 2.0).with_legend(name).into());
    }
    let marks = [
        // The larger below: often they lie at the same place.
        (&outcome.trajectory.minimiser, PURPLE, MarkerShape::Star, 9.0, "minimiser"),
        (&snapshot.consensus, BLACK, MarkerShape::Diamond, 4.0, "consensus"),
    ];
    for (point, colour, shape, size, name) in marks {
        let place: Vec<(f64, f64)> = [(point[0], point[1])].into_iter().filter(inside).collect();
        let mark = |colour: &str, size| ScatterPlot::new().with_data(place.clone()).with_color(colour).with_size(size);
        plots.push(mark("#FFFFFF", size + 2.0).with_marker(shape).into());
        plots.push(mark(colour, size).with_marker(shape).with_legend(name).into());
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_axis_min(x.0)
        .with_x_axis_max(x.1)
        .with_y_axis_min(y.0)
        .with_y_axis_max(y.1)
        .with_x_label("v1")
        .with_y_label("v2")
        .with_show_grid(false)
        .with_title(format!("time {:.2}", snapshot.time))
        .with_title_size(12)
        .with_force_margins(60.0, maps::ROOM);
    layout.show_colorbar = false;
    (plots, below(layout).with_legend_col_limit(3))
}
