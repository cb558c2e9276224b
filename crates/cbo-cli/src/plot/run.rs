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

    /// The axis of a panel, with a thin line where a phase ended.
    fn mark(&self, (plots, layout): Panel) -> Panel {
        let Self::Evaluations { ends } = self else { return (plots, layout) };
        let line = |at: &f64| ReferenceLine::vertical(*at).with_color("#999999").with_stroke_width(0.6);
        (plots, ends.iter().map(line).fold(layout.with_x_label("evaluations"), Layout::with_reference_line))
    }
}

/// Energy and spread over time, and the swarm at its start and end where the landscape can be drawn.
pub fn overview(
    target: &Target,
    records: &[Record],
    swarm: Option<(&Problem, &Landscape, (&Snapshot, &Snapshot))>,
    clock: &Clock,
    format: Format,
) -> Result<Vec<u8>, CliError> {
    let mut panels = vec![energy_panel(target.function(), records, clock), spread_panel(records, clock)];
    let mut figure = match swarm {
        Some(_) => Figure::new(2, 2).with_structure(vec![vec![0], vec![1, 3], vec![2]]).with_figure_size(1120.0, 640.0),
        None => Figure::new(1, 2).with_figure_size(1120.0, 420.0),
    };
    if let Some((problem, landscape, (start, end))) = swarm {
        panels.insert(1, overview_swarm(problem, landscape, records, start, end));
    }
    let dim = Objective::<f64>::dim(target);
    let (plots, layouts) = panels.into_iter().unzip();
    figure =
        figure.with_plots(plots).with_layouts(layouts).with_title(title(target.description(), dim)).with_title_size(16);
    render(&figure.render(), format)
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
    let swarms = [(&now.points[..], BLUE, "particles")];
    let (plots, layout) = swarm_panel(problem, landscape, &swarms, &path);
    // Of fixed width, so that the title does not jump.
    let when = match clock {
        Clock::Time => format!("time {:.2}", now.time),
        Clock::Evaluations { .. } => format!("round {}", now.step),
    };
    let heading = format!("{}, {when}", title(problem.description(), problem.dim()));
    let layout = layout.with_title(heading).with_title_size(14).with_width(560.0).with_height(560.0);
    render(&render_multiple(plots, layout), Format::Png)
}

fn title(description: &str, dim: usize) -> String {
    format!("{} in {dim} {}", one_line(description), if dim == 1 { "dimension" } else { "dimensions" })
}

fn energy_panel(problem: Option<&Problem>, records: &[Record], clock: &Clock) -> Panel {
    // Where nobody knows the minimum, the best that was found stands in for it.
    let found = records.iter().map(|r| r.best).fold(f64::INFINITY, f64::min);
    let (minimum, label) = match problem {
        Some(problem) => (problem.minimum(), "energy above the minimum"),
        None => (found, "value above the best found"),
    };
    let energies = |pick: fn(&Record) -> f64| records.iter().map(move |r| (clock.at(r), pick(r) - minimum));
    // The thin line above the thick one: for long stretches they are the same.
    let best = curve(energies(|r| r.best), BLUE, 3.4).map(|c| c.named("best value so far"));
    let least = curve(energies(|r| r.least), ORANGE, 1.3).map(|c| c.named("least energy of the step"));
    let curves = best.into_iter().chain(least).collect();
    let nothing = match problem {
        Some(_) => "the minimum was found at once",
        None => "the first step has the best value",
    };
    clock.mark(over_time(curves, label, nothing))
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
    clock.mark(over_time(spread.into_iter().collect(), label, nothing))
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
    let swarms = [(&start.points[..], BLUE, "start"), (&end.points[..], VERMILLION, "end")];
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
    let mut plots: Vec<Plot> = vec![ground(landscape)];
    // Below the particles: at the end all of them may be there.
    let minimisers: Vec<[f64; 2]> =
        problem.minimisers().iter().map(|m| [m[0], m.get(1).copied().unwrap_or(0.0)]).collect();
    let star = ScatterPlot::new().with_color(PURPLE).with_size(11.0).with_marker(MarkerShape::Star);
    plots.push(star.with_data(shown(&minimisers)).with_legend("minimiser").into());
    for (points, colour, name) in swarms {
        let dots = ScatterPlot::new().with_color(*colour).with_size(2.6).with_marker_opacity(0.8).with_legend(*name);
        plots.push(dots.with_data(shown(points)).into());
    }
    let way = shown(path);
    if way.len() > 1 && !flat {
        plots.push(
            LinePlot::new().with_data(way).with_color(BLACK).with_stroke_width(1.6).with_legend("consensus").into(),
        );
    } else if let Some(last) = way.last() {
        let dot = ScatterPlot::new().with_color(BLACK).with_size(5.0).with_marker(MarkerShape::Diamond);
        plots.push(dot.with_data([*last]).with_legend("consensus").into());
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_axis_min(landscape.view[0].0)
        .with_x_axis_max(landscape.view[0].1)
        .with_x_label(if flat { "x" } else { "x1" })
        .with_y_label(if flat { "energy" } else { "x2" })
        .with_show_grid(false)
        .with_legend_box(false)
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    // Heights have no unit that a colour bar could show.
    layout.show_colorbar = false;
    let (low, high) = match &landscape.relief {
        Relief::Map(_) => landscape.view[1],
        Relief::Curve(points) => {
            let (low, high) = range(points.iter().map(|p| p.1));
            let margin = 0.05 * (high - low).max(f64::MIN_POSITIVE);
            (low - margin, high + margin)
        }
    };
    let layout = layout.with_y_axis_min(low).with_y_axis_max(high);
    (plots, layout)
}

/// The curve of a function of one coordinate, the map of one of two.
fn ground(landscape: &Landscape) -> Plot {
    let rows = match &landscape.relief {
        Relief::Curve(points) => {
            return LinePlot::new().with_data(points.clone()).with_color("#999999").with_stroke_width(1.5).into();
        }
        Relief::Map(rows) => rows.clone(),
    };
    // Greys, the valleys darkest: colours are for what moves.
    let grey = |t: f64| {
        let level = (140.0 + 110.0 * t.clamp(0.0, 1.0)) as u8;
        format!("#{level:02x}{level:02x}{level:02x}")
    };
    Heatmap::new()
        .with_data(rows)
        .with_x_range(landscape.view[0].0, landscape.view[0].1)
        .with_y_range(landscape.view[1].0, landscape.view[1].1)
        .with_cell_size(1.0)
        .with_color_map(ColorMap::Custom(Arc::new(grey)))
        .into()
}
