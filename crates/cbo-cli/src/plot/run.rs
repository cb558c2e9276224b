//! Pictures of one run: energy and spread over time, the swarm in its landscape.

use super::*;
use crate::film::Snapshot;
use crate::landscape::{Landscape, Relief};
use crate::minimize::target::Target;
use crate::text::one_line;
use cbo::{Objective, Record};
use cbo_problems::Problem;

/// What the horizontal axis counts.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The time of the dynamics.
    Time,
    /// Evaluations, where there is no such time; with those at which phases ended.
    Evaluations {
        /// These.
        ends: Vec<f64>,
    },
}

impl Clock {
    fn at(&self, record: &Record) -> f64 {
        match self {
            Self::Time => record.time,
            Self::Evaluations { .. } => record.evaluations as f64,
        }
    }

    /// The end of the axis, which all panels of a run share.
    fn end(&self, records: &[Record]) -> f64 {
        records.iter().map(|r| self.at(r)).fold(0.0, f64::max)
    }

    /// The axis of a panel, with a thin line where a phase ended.
    fn mark(&self, (plots, layout): Panel, end: f64) -> Panel {
        let layout = until(layout, end);
        let Self::Evaluations { ends } = self else { return (plots, layout) };
        let line = |at: &f64| ReferenceLine::vertical(*at).with_color("#999999").with_stroke_width(0.6);
        (plots, ends.iter().map(line).fold(layout.with_x_label("evaluations"), Layout::with_reference_line))
    }
}

/// The side of a map: two pixels for each of its cells.
const SIDE: f64 = 400.0;

/// To the left of a map, for the numbers of its axis.
const LEFT: f64 = 66.0;

/// Energy and spread over time, and the swarm at its start and end where the landscape can be drawn.
pub fn overview(
    target: &Target,
    records: &[Record],
    swarm: Option<(&Problem, &Landscape, (&Snapshot, &Snapshot))>,
    clock: &Clock,
    format: Format,
) -> Result<Vec<u8>, CliError> {
    let mut panels = vec![energy_panel(target.function_with_minimum(), records, clock), spread_panel(records, clock)];
    let mut figure = match swarm {
        Some(_) => Figure::new(2, 2)
            .with_structure(vec![vec![0], vec![1, 3], vec![2]])
            .with_figure_size(1180.0, 585.0)
            // The upper one has a legend.
            .with_row_height(0, 280.0)
            .with_col_width(1, LEFT + SIDE + maps::ROOM),
        None => Figure::new(1, 2).with_figure_size(1120.0, 420.0),
    };
    let mut bars = Vec::new();
    if let Some((problem, landscape, (start, end))) = swarm {
        let (plots, layout) = overview_swarm(problem, landscape, records, start, end);
        bars.extend(bar(landscape));
        // Both curves have the axis below the lower one.
        panels[0].1.x_label = None;
        // What is left of the height is for the axis and the legend.
        panels.insert(1, (plots, squared(layout, landscape, 20.0, 535.0)));
    }
    let dim = Objective::<f64>::dim(target);
    let (plots, layouts) = panels.into_iter().unzip();
    figure =
        figure.with_plots(plots).with_layouts(layouts).with_title(title(target.description(), dim)).with_title_size(16);
    render_with(figure.render(), &bars, format)
}

/// A layout whose map is a square of [`SIDE`], in a panel of this height.
fn squared(layout: Layout, landscape: &Landscape, top: f64, height: f64) -> Layout {
    match landscape.relief {
        Relief::Map(_) => layout.with_force_margins(LEFT, maps::ROOM).with_force_margins_y(top, height - top - SIDE),
        Relief::Curve(_) => layout,
    }
}

/// The layout of a picture that is one map alone.
pub(super) fn square_sheet(layout: Layout, landscape: &Landscape) -> Layout {
    let size = LEFT + SIDE + maps::ROOM;
    squared(layout.with_width(size).with_height(size), landscape, 40.0, size)
}

/// What the colours of a map mean.
pub(super) fn bar(landscape: &Landscape) -> Option<Bar> {
    let Relief::Map(map) = &landscape.relief else { return None };
    let ticks = map.scale.ticks().into_iter().map(|v| (map.scale.height(v), value(v))).collect();
    Some(Bar { label: "energy above the minimum".into(), ticks })
}

/// One frame of an animation, as PNG: the swarm and the path of the consensus point so far.
pub fn frame(
    problem: &Problem,
    landscape: &Landscape,
    now: &Snapshot,
    past: &[Snapshot],
    clock: &Clock,
) -> Result<Vec<u8>, CliError> {
    let path: Vec<[f64; 2]> = past.iter().map(|s| s.consensus).collect();
    let swarms = [(&now.points[..], VERMILLION, "particles")];
    let (plots, layout) = swarm_panel(problem, landscape, &swarms, &path);
    // Of fixed width, so that the title does not jump.
    let when = match clock {
        Clock::Time => format!("time {:.2}", now.time),
        Clock::Evaluations { .. } => format!("round {}", now.step),
    };
    let heading = format!("{}, {when}", title(problem.description(), problem.dim()));
    let layout = square_sheet(layout.with_title(heading).with_title_size(14), landscape);
    render_with(render_multiple(plots, layout), bar(landscape).as_slice(), Format::Png)
}

fn title(description: &str, dim: usize) -> String {
    format!("{} in {dim} {}", one_line(description), if dim == 1 { "dimension" } else { "dimensions" })
}

fn energy_panel(problem: Option<&Problem>, records: &[Record], clock: &Clock) -> Panel {
    // Where nobody knows the minimum, the best that was found stands in for it.
    // A point that violates its constraints is no best value yet.
    let best_of = |r: &Record| if r.violation.is_some_and(|violation| violation > 0.0) { f64::NAN } else { r.best };
    let found = records.iter().map(best_of).fold(f64::INFINITY, f64::min);
    let (minimum, label) = match problem {
        Some(problem) => (problem.minimum(), "energy above the minimum"),
        None => (found, "value above the best found"),
    };
    let energies = |pick: fn(&Record) -> f64| records.iter().map(move |r| (clock.at(r), pick(r) - minimum));
    // The thin line above the thick one: for long stretches they are the same.
    let best = curve(energies(best_of), BLUE, 3.4);
    let least = curve(energies(|r| r.least), ORANGE, 1.3);
    let curves = match (best, least) {
        (Some(best), Some(least)) if coincide(&best, &least) => {
            vec![best.named("best value so far, least of each step")]
        }
        (best, least) => {
            let named =
                [best.map(|c| c.named("best value so far")), least.map(|c| c.named("least energy of the step"))];
            named.into_iter().flatten().collect()
        }
    };
    let nothing = match problem {
        Some(_) => "the minimum was found at once",
        None => "the first step has the best value",
    };
    clock.mark(over_time(curves, label, nothing), clock.end(records))
}

/// Whether two curves cannot be told apart: they differ by less than a hundredth of the axis.
fn coincide(one: &Curve, other: &Curve) -> bool {
    let (low, high) = whole_decades(range(one.points.iter().chain(&other.points).map(|p| p.1)));
    let near = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 0.01 * (high - low);
    one.points.len() == other.points.len() && one.points.iter().zip(&other.points).all(near)
}

fn spread_panel(records: &[Record], clock: &Clock) -> Panel {
    // A round may have one point alone: the size of steps says more.
    let (pick, label, nothing): (fn(&Record) -> f64, _, _) = match clock {
        Clock::Time => (|r| r.spread, "rms distance to the mean", "the swarm was one point from the start"),
        Clock::Evaluations { .. } => {
            (|r| r.sigma, "size of steps, relative to the box", "the run ended before its first step")
        }
    };
    let spread = curve(records.iter().map(|r| (clock.at(r), pick(r))), GREEN, 1.8);
    clock.mark(over_time(spread.into_iter().collect(), label, nothing), clock.end(records))
}

fn overview_swarm(
    problem: &Problem,
    landscape: &Landscape,
    records: &[Record],
    start: &Snapshot,
    end: &Snapshot,
) -> Panel {
    let place = |x: &Vec<f64>| [x.first().copied().unwrap_or(f64::NAN), x.get(1).copied().unwrap_or(0.0)];
    let path: Vec<[f64; 2]> = records.iter().map(|r| place(&r.consensus)).chain([end.consensus]).collect();
    let swarms = [(&start.points[..], SKY, "start"), (&end.points[..], VERMILLION, "end")];
    swarm_panel(problem, landscape, &swarms, &path)
}

/// Particles in their landscape, the path of the consensus point, and the minimisers.
fn swarm_panel(
    problem: &Problem,
    landscape: &Landscape,
    swarms: &[(&[[f64; 2]], &str, &str)],
    path: &[[f64; 2]],
) -> Panel {
    let flat = landscape.view.len() == 1;
    // In one dimension a point is drawn at its height.
    let place = |p: &[f64; 2]| (p[0], if flat { problem.value(&p[..1]) } else { p[1] });
    let shown = |points: &[[f64; 2]]| -> Vec<(f64, f64)> {
        points.iter().filter(|p| landscape.shows(p)).map(place).filter(|(_, y)| y.is_finite()).collect()
    };
    let mut plots: Vec<Plot> = ground(landscape);
    // Below the particles: at the end all of them may be there.
    let minimisers: Vec<[f64; 2]> =
        problem.minimisers().iter().map(|m| [m[0], m.get(1).copied().unwrap_or(0.0)]).collect();
    for (colour, size, name) in [("#FFFFFF", 11.0, None), (PURPLE, 9.0, Some("minimiser"))] {
        let star = ScatterPlot::new().with_color(colour).with_size(size).with_marker(MarkerShape::Star);
        let star = star.with_data(shown(&minimisers));
        plots.push(name.map_or(star.clone(), |name| star.with_legend(name)).into());
    }
    for (points, colour, name) in swarms {
        // A dark rim, to be seen on every colour of the map.
        let dots = |colour: &str, size| ScatterPlot::new().with_color(colour).with_size(size).with_data(shown(points));
        plots.push(dots("#1A1A1A", 2.9).into());
        let seen = points.iter().filter(|p| landscape.shows(p)).count();
        plots.push(dots(colour, 2.2).with_legend(missing(name, points.len() - seen, points.len())).into());
    }
    let way = shown(path);
    let ended = path.last().is_none_or(|end| landscape.shows(end));
    let name = if ended { "consensus" } else { "consensus (ends outside)" };
    if !flat && way.len() != 1 {
        let line =
            |colour: &str, width| LinePlot::new().with_data(way.clone()).with_color(colour).with_stroke_width(width);
        plots.push(line("#FFFFFF", 2.8).into());
        plots.push(line(BLACK, 1.4).with_legend(name).into());
    } else {
        let dot = ScatterPlot::new().with_color(BLACK).with_size(5.0).with_marker(MarkerShape::Diamond);
        plots.push(dot.with_data(way.last().copied()).with_legend(name).into());
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_axis_min(landscape.view[0].0)
        .with_x_axis_max(landscape.view[0].1)
        .with_x_label(if flat { "x" } else { "x1" })
        .with_y_label(if flat { "energy" } else { "x2" })
        .with_show_grid(false);
    // We draw it ourselves: the library knows no values of such a scale.
    layout.show_colorbar = false;
    let (low, high) = match &landscape.relief {
        Relief::Map(_) => landscape.view[1],
        Relief::Curve(points) => {
            let (low, high) = range(points.iter().map(|p| p.1));
            let margin = 0.05 * (high - low).max(f64::MIN_POSITIVE);
            (low - margin, high + margin)
        }
    };
    let names = swarms.iter().any(|(points, ..)| points.iter().any(|p| !landscape.shows(p))) || !ended;
    let layout = below(layout.with_y_axis_min(low).with_y_axis_max(high));
    // Long names need wide columns.
    (plots, layout.with_legend_col_limit(if names { 2 } else { 4 }))
}

/// The name of a swarm, and how much of it is not in the picture.
fn missing(name: &str, outside: usize, all: usize) -> String {
    match outside {
        0 => name.to_string(),
        _ if outside == all => format!("{name} (all outside)"),
        _ => format!("{name} ({outside} outside)"),
    }
}

/// The curve of a function of one coordinate; the map of one of two, with lines of equal height at the numbers of its bar and
/// between them.
pub(super) fn ground(landscape: &Landscape) -> Vec<Plot> {
    let map = match &landscape.relief {
        Relief::Curve(points) => {
            let line = LinePlot::new().with_data(points.clone()).with_color("#777777").with_stroke_width(1.5);
            return vec![line.into()];
        }
        Relief::Map(map) => map,
    };
    let (x, y) = (landscape.view[0], landscape.view[1]);
    let along = |(low, high): (f64, f64)| map.smooth.places.iter().map(|part| low + (high - low) * part).collect();
    let ticks: Vec<f64> = map.scale.ticks().into_iter().map(|v| map.scale.height(v)).chain([1.0]).collect();
    let levels: Vec<f64> = ticks.windows(2).flat_map(|pair| [0.5 * (pair[0] + pair[1]), pair[1]]).collect();
    let lines = ContourPlot::new()
        .with_grid(map.smooth.rows.clone(), along(x), along(y))
        .with_levels(&levels[..levels.len() - 1])
        .with_line_color("#FFFFFF")
        .with_line_width(0.5);
    vec![maps::map(map.rows.clone(), x, y), lines.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: f64, best: f64, least: f64) -> Record {
        Record {
            step: 0,
            time,
            evaluations: 0,
            best,
            violation: None,
            least,
            alpha: 1.0,
            sigma: 1.0,
            effective_sample_size: 1.0,
            spread: 1.0,
            consensus: Vec::new(),
        }
    }

    #[test]
    fn curves_that_coincide_are_one() {
        let drawn = |leasts: [f64; 3]| {
            let bests = [1.0, 0.1, 0.01];
            let records: Vec<Record> = (0..3).map(|k| record(k as f64, bests[k], leasts[k])).collect();
            energy_panel(Problem::named("sphere", 2).ok().as_ref(), &records, &Clock::Time).0.len()
        };
        assert_eq!(drawn([1.0, 0.1, 0.01]), 1);
        assert_eq!(drawn([1.0, 0.5, 0.01]), 2);
    }

    #[test]
    fn panels_of_a_run_share_their_time() {
        // The energy is at the minimum early; the spread lives on.
        let records: Vec<Record> = (0..20).map(|k| record(f64::from(k), if k < 8 { 1.0 } else { 0.0 }, 1.0)).collect();
        let (energy, spread) = (energy_panel(None, &records, &Clock::Time).1, spread_panel(&records, &Clock::Time).1);
        assert_eq!((energy.x_axis_min, energy.x_axis_max), (Some(0.0), Some(19.0)));
        assert_eq!((energy.x_axis_min, energy.x_axis_max), (spread.x_axis_min, spread.x_axis_max));
    }

    #[test]
    fn particles_outside_are_counted() {
        assert_eq!(
            [(0, 5), (2, 5), (5, 5), (0, 0)].map(|(out, all)| missing("end", out, all)),
            ["end", "end (2 outside)", "end (all outside)", "end"]
        );
    }
}
