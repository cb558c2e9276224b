//! Pictures of training runs: test accuracy and loss over the epochs.

use super::*;
use kuva::plot::annotations::TextAnnotation;
use kuva::plot::legend::{LegendEntry, LegendShape};

/// A colour for each run; from the eighth on they repeat, dashed.
const RUNS: [&str; 7] = [BLUE, VERMILLION, GREEN, ORANGE, PURPLE, "#56B4E9", BLACK];

/// How many runs can be told apart in one picture.
pub const MOST_RUNS: usize = 2 * RUNS.len();

/// Dashes of the runs from the eighth on.
const DASHES: &str = "8 5";

/// Up to this many points, each is marked.
const FEW: usize = 25;

/// The least loss that the axis shows, which is that of the library.
const LEAST_LOSS: f64 = 1e-9;

/// What was measured at a time of a training run; what was not is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingPoint {
    /// Epochs since the start.
    pub epoch: f64,
    /// Loss on training images.
    pub loss: f64,
    /// Part of the training images that are classified correctly, from 0 to 1.
    pub train_accuracy: f64,
    /// Part of the test images that are classified correctly, from 0 to 1.
    pub test_accuracy: f64,
}

/// A training run.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name in the legend.
    pub label: String,
    /// What was measured, in order.
    pub points: &'a [TrainingPoint],
}

/// Test accuracy and training loss over the epochs, like Figure 4 of the paper. For a single run the training accuracy is shown
/// too, and its label is the title.
pub fn learning_curves(series: &[Series], format: Format) -> Result<Vec<u8>, CliError> {
    let title = match series {
        [one] => one.label.as_str(),
        _ => "Test accuracy and training loss",
    };
    draw(series, &[], title, format)
}

/// Figure 4: the same for runs of the paper's experiment, with expected test accuracies (epoch, fraction) as marks.
pub fn fig4(series: &[Series], expected: &[(f64, f64)], format: Format) -> Result<Vec<u8>, CliError> {
    let title = match series {
        [one] => format!("Figure 4: {}, trained without gradients", one.label),
        _ => "Figure 4: networks trained without gradients".to_string(),
    };
    draw(series, expected, &title, format)
}

/// A curve of one of the panels.
struct Trace {
    /// Pieces between what cannot be drawn.
    pieces: Vec<Vec<(f64, f64)>>,
    colour: &'static str,
    width: f64,
    dashed: bool,
}

impl Trace {
    fn heights(&self) -> impl Iterator<Item = f64> {
        self.pieces.iter().flatten().map(|p| p.1)
    }

    fn plots(&self) -> Vec<Plot> {
        let mut plots: Vec<Plot> = Vec::new();
        let few = self.pieces.iter().map(Vec::len).sum::<usize>() <= FEW;
        for piece in &self.pieces {
            if few || piece.len() == 1 {
                let dots = ScatterPlot::new().with_data(piece.clone()).with_color(self.colour);
                plots.push(dots.with_size(1.2 + self.width).into());
            }
            let line = LinePlot::new().with_color(self.colour).with_stroke_width(self.width);
            plots.push(match self.dashed {
                true => line.with_line_style(LineStyle::Custom(DASHES.into())).with_data(thinned(piece)).into(),
                false => line.with_data(piece.clone()).into(),
            });
        }
        plots
    }
}

/// Some 30 of the points: the library restarts its dashes at each, and between near ones only a solid line would be left.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (every, last) = (points.len().div_ceil(30).max(1), points.len().saturating_sub(1));
    points.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last).map(|p| *p.1).collect()
}

/// The pieces of a curve at or above `low`, cut where it crosses; what is not a number leaves a gap.
fn above(points: impl Iterator<Item = (f64, f64)>, low: f64) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let mut last: Option<(f64, f64)> = None;
    for (x, y) in points {
        let now = (x.is_finite() && y.is_finite()).then_some((x, y));
        let crossing = last.zip(now).filter(|(a, b)| (a.1 < low) != (b.1 < low)).map(|(a, b)| {
            let share = (low - a.1) / (b.1 - a.1);
            (a.0 + share * (b.0 - a.0), low)
        });
        let inside = now.filter(|p| p.1 >= low);
        if let Some(piece) = pieces.last_mut() {
            piece.extend(crossing);
            piece.extend(inside);
        }
        if inside.is_none() {
            pieces.push(Vec::new());
        }
        last = now;
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn draw(series: &[Series], expected: &[(f64, f64)], title: &str, format: Format) -> Result<Vec<u8>, CliError> {
    let alone = series.len() == 1;
    let style = |run: usize| (RUNS[run % RUNS.len()], (run / RUNS.len()) % 2 == 1);
    let epochs = series.iter().flat_map(|s| s.points).map(|p| p.epoch).filter(|e| e.is_finite());
    let end = epochs.fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };

    let low = lowest(series, expected, end);
    let per_cent = |points: &[TrainingPoint], pick: fn(&TrainingPoint) -> f64| {
        above(points.iter().map(|p| (p.epoch, 100.0 * pick(p))), low)
    };
    let (mut accuracies, mut losses) = (Vec::new(), Vec::new());
    for (run, s) in series.iter().enumerate() {
        let (colour, dashed) = if alone { (VERMILLION, false) } else { style(run) };
        if alone {
            let pieces = per_cent(s.points, |p| p.train_accuracy);
            accuracies.push(Trace { pieces, colour: ORANGE, width: 1.3, dashed: false });
        }
        let pieces = per_cent(s.points, |p| p.test_accuracy);
        accuracies.push(Trace { pieces, colour, width: 2.0, dashed });
        let loss = |p: &TrainingPoint| (p.epoch, if p.loss > 0.0 { p.loss.max(LEAST_LOSS) } else { f64::NAN });
        let pieces = above(s.points.iter().map(loss), 0.0);
        losses.push(Trace { pieces, colour: if alone { BLUE } else { colour }, width: 2.0, dashed });
    }

    let mut legend = match alone {
        true => vec![
            entry("test accuracy", VERMILLION, LegendShape::Line, false),
            entry("training accuracy", ORANGE, LegendShape::Line, false),
            entry("loss on training images", BLUE, LegendShape::Line, false),
        ],
        false => {
            let of_run = |(run, s): (usize, &Series)| entry(&s.label, style(run).0, LegendShape::Line, style(run).1);
            series.iter().enumerate().map(of_run).collect()
        }
    };
    if !expected.is_empty() {
        let mark = LegendShape::Marker(MarkerShape::Diamond);
        legend.push(entry("expected test accuracy (another program, one seed)", MARKS, mark, false));
    }
    let label = if alone { "accuracy, per cent" } else { "test accuracy, per cent" };
    let panels = [accuracy_panel(&accuracies, expected, low, end, label), loss_panel(&losses, end)];
    let (plots, layouts) = panels.into_iter().unzip();
    let figure = Figure::new(1, 2)
        .with_figure_size(1280.0, 440.0 + 20.0 * legend.len() as f64)
        .with_title(title)
        .with_title_size(16)
        .with_plots(plots)
        .with_layouts(layouts)
        .with_shared_legend_entries(legend)
        .with_shared_legend_bottom_center();
    render(figure.render(), format)
}

/// The colour of expected values: dark, and used by no run.
const MARKS: &str = "#444444";

fn entry(label: &str, colour: &str, shape: LegendShape, dashed: bool) -> LegendEntry {
    LegendEntry { label: label.into(), color: colour.into(), shape, dasharray: dashed.then(|| DASHES.into()) }
}

/// The lower end of the axis of accuracies, in per cent. The rise of the first epoch may start below it: otherwise it would
/// leave no room for what happens later.
fn lowest(series: &[Series], expected: &[(f64, f64)], end: f64) -> f64 {
    let from = if end >= 2.0 { 1.0 } else { 0.0 };
    let shown = series.iter().flat_map(|s| s.points).filter(|p| p.epoch >= from).map(|p| p.test_accuracy);
    let shown = shown.chain(expected.iter().map(|e| e.1)).filter(|a| a.is_finite());
    let least = 100.0 * range(shown).0.min(0.95);
    let unit = match least {
        l if l < 50.0 => return 0.0,
        l if l < 70.0 => 10.0,
        _ => 5.0,
    };
    (unit * (least / unit).floor()).min(90.0)
}

fn accuracy_panel(traces: &[Trace], expected: &[(f64, f64)], low: f64, end: f64, label: &str) -> Panel {
    let highest = range(traces.iter().flat_map(Trace::heights)).1;
    let high = if highest > 70.0 { 100.0 } else { 10.0 * ((highest / 10.0).floor() + 1.0) };
    let high = high.max(low + 10.0);
    let step = match high - low {
        span if span <= 15.0 => 1.0,
        span if span <= 20.0 => 2.0,
        span if span <= 40.0 => 5.0,
        _ => 10.0,
    };
    let mut plots: Vec<Plot> = traces.iter().flat_map(Trace::plots).collect();
    let marks: Vec<(f64, f64)> = expected.iter().filter(|e| e.0 <= end).map(|e| (e.0, 100.0 * e.1)).collect();
    if !marks.is_empty() {
        let marks = ScatterPlot::new().with_data(marks).with_color(MARKS).with_size(4.0);
        plots.push(marks.with_marker(MarkerShape::Diamond).into());
    }
    let (plots, layout) = panel(plots, end, (low, high), label);
    (plots, layout.with_y_axis_min(low).with_y_axis_max(high).with_y_tick_step(step))
}

fn loss_panel(traces: &[Trace], end: f64) -> Panel {
    let (low, high) = range(traces.iter().flat_map(Trace::heights));
    let (low, high) = if low <= high { (round_down(low), 1.0 / round_down(1.0 / high)) } else { (0.1, 10.0) };
    // Room for three ticks at least.
    let low = round_down(low.min(high / 5.0));
    let plots = traces.iter().flat_map(Trace::plots).collect();
    let (plots, layout) = panel(plots, end, (low, high), "loss on training images (cross-entropy)");
    let layout = layout.with_log_y().with_y_tick_format(TickFormat::Custom(Arc::new(crate::numbers::short)));
    (plots, layout.with_y_axis_min(low).with_y_axis_max(high))
}

/// The next of 1, 2 and 5 times a power of ten that is at most the value.
fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let digit = [5.0, 2.0].into_iter().find(|digit| digit * decade <= value * (1.0 + 1e-9)).unwrap_or(1.0);
    digit * decade
}

/// A panel over epochs; if there is nothing to draw, an empty one that says so.
fn panel(mut plots: Vec<Plot>, end: f64, (low, high): (f64, f64), label: &str) -> Panel {
    let mut layout = Layout::new((0.0, end), (low, high));
    if plots.is_empty() {
        // The library drops a panel without any plot.
        plots.push(ScatterPlot::new().with_data([(0.0, low)]).with_size(0.0).into());
        let middle = if low > 0.0 { (low * high).sqrt() } else { 0.5 * (low + high) };
        let note = TextAnnotation::new("nothing to draw", 0.5 * end, middle);
        layout = layout.with_annotation(note).with_show_grid(false);
    }
    let layout = layout.with_x_label("epoch").with_y_label(label).with_x_axis_min(0.0).with_x_axis_max(end);
    (plots, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_cut_where_it_crosses_and_where_it_is_no_number() {
        let points = [(0.0, 0.0), (1.0, 10.0), (2.0, 10.0), (3.0, f64::NAN), (4.0, 8.0), (5.0, 2.0)];
        let known = [vec![(0.5, 5.0), (1.0, 10.0), (2.0, 10.0)], vec![(4.0, 8.0), (4.5, 5.0)]];
        assert_eq!(above(points.into_iter(), 5.0), known);
        assert!(above([(0.0, f64::INFINITY), (f64::NAN, 1.0)].into_iter(), 0.0).is_empty());
    }

    #[test]
    fn ends_of_the_loss_axis() {
        for (value, down) in [(0.13, 0.1), (2.3, 2.0), (0.5, 0.5), (0.049, 0.02), (1.0, 1.0), (1e-9, 1e-9)] {
            assert!((round_down(value) / down - 1.0).abs() < 1e-9, "{value}: {}", round_down(value));
        }
    }

    #[test]
    fn anything_can_be_drawn() {
        let odd = |epoch, loss| TrainingPoint { epoch, loss, train_accuracy: f64::NAN, test_accuracy: f64::NAN };
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let cases: [&[TrainingPoint]; 5] =
            [&[], &[odd(0.0, nan)], &[odd(0.0, inf), odd(1.0, 0.0)], &[odd(nan, 1.0)], &[odd(0.0, 1.0)]];
        for points in cases {
            let one = Series { label: "one".into(), points };
            for series in [vec![], vec![one.clone()], vec![one; MOST_RUNS]] {
                let svg = learning_curves(&series, Format::Svg).expect("a picture");
                let text = String::from_utf8(svg).expect("text");
                assert!(text.contains("nothing to draw"), "{points:?}");
                assert!(!text.contains("NaN") && !text.contains("inf"), "{points:?}");
            }
        }
    }
}
