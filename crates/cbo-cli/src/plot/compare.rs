//! Methods side by side: the part of all targets that is reached, over evaluations, each curve with its band and its name at its end.

use super::*;
use cbo_lab::compare::curves::Point;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, TextAnchor};

/// A colour for each method, without the yellow that is hard to see on white. From the eighth on they repeat, dashed.
const METHODS: [&str; 7] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK];

/// The frame of a panel.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 330.0;

/// Room around it: for numbers and a label to the left and below, for a title above.
const LEFT: f64 = 64.0;
const ABOVE: f64 = 40.0;
const BELOW: f64 = 58.0;

/// From the frame to the names of curves, and the least distance of two of them.
const GAP: f64 = 22.0;
const LINE: f64 = 15.0;

/// Room for a title.
const TITLE_ROOM: f64 = WIDTH + 70.0;

/// Sizes of letters.
const TITLE: u32 = 14;
const LABEL: u32 = 14;
const NUMBERS: u32 = 12;
const NAMES: u32 = 12;

/// Dashes and the gaps between them.
const DASHES: (f64, f64) = (7.0, 4.0);

/// Panels in a row.
const COLUMNS: usize = 2;

/// Decades of evaluations that are shown before the last whole one: earlier there is little to see.
const EARLIER: f64 = 3.0;

/// The widest name, beyond which names are cut.
const MOST_NAME: f64 = 170.0;

/// One problem.
pub struct Panel<'a> {
    /// Its title.
    pub title: String,
    /// The end of the axis of evaluations.
    pub budget: u64,
    /// The methods and their curves.
    pub curves: Vec<(&'a str, &'a [Point])>,
}

/// Draws the parts of targets reached, a panel for each problem.
pub fn targets(panels: &[Panel<'_>], format: Format) -> Result<Vec<u8>, CliError> {
    let names = panels.iter().flat_map(|panel| &panel.curves).map(|(name, _)| text::width(name, f64::from(NAMES)));
    let right = GAP + names.fold(0.0, f64::max).min(MOST_NAME) + 14.0;
    let columns = panels.len().clamp(1, COLUMNS);
    let rows = panels.len().div_ceil(columns).max(1);
    let (across, down) = (LEFT + WIDTH + right, ABOVE + HEIGHT + BELOW);
    let mut scene = Scene::new(across * columns as f64, down * rows as f64);
    // The same for all, as small as the longest needs it.
    let sizes = panels.iter().map(|panel| text::fitted(&panel.title, TITLE, TITLE_ROOM).1);
    let size = sizes.min().unwrap_or(TITLE);
    for (index, panel) in panels.iter().enumerate() {
        let corner = (across * (index % columns) as f64 + LEFT, down * (index / columns) as f64 + ABOVE);
        let last = (panel.budget.max(2) as f64).log10();
        let first = (last.floor() - EARLIER).max(0.0);
        let frame = Frame { left: corner.0, top: corner.1, first, last };
        frame.draw(panel, (right, size), &mut scene.elements);
    }
    render(scene, format)
}

/// Where a panel lies, and the evaluations that it shows, by their logarithms.
struct Frame {
    left: f64,
    top: f64,
    first: f64,
    last: f64,
}

impl Frame {
    fn x(&self, evaluations: f64) -> f64 {
        self.at(evaluations.log10())
    }

    fn at(&self, exponent: f64) -> f64 {
        self.left + WIDTH * (exponent.clamp(self.first, self.last) - self.first) / (self.last - self.first)
    }

    fn y(&self, part: f64) -> f64 {
        self.top + HEIGHT * (1.0 - part)
    }

    fn draw(&self, panel: &Panel<'_>, (right, size): (f64, u32), to: &mut Vec<Primitive>) {
        self.axes(panel, size, to);
        let styles = (0..panel.curves.len()).map(|k| (METHODS[k % METHODS.len()], (k / METHODS.len()) % 2 == 1));
        for ((_, curve), (colour, _)) in panel.curves.iter().zip(styles.clone()) {
            to.extend(self.band(curve, colour));
        }
        for ((_, curve), (colour, dashed)) in panel.curves.iter().zip(styles.clone()) {
            let line = self.stairs(curve);
            let pieces = if dashed { dashes(&line) } else { vec![line] };
            to.extend(pieces.into_iter().map(|points| stroke(points, colour, 2.0)));
        }
        self.names(panel, styles.collect(), right, to);
    }

    fn axes(&self, panel: &Panel<'_>, size: u32, to: &mut Vec<Primitive>) {
        let (right, bottom) = (self.left + WIDTH, self.top + HEIGHT);
        for k in 0..=5 {
            let part = f64::from(k) / 5.0;
            let y = self.y(part);
            to.push(line((self.left, y), (right, y), GRID));
            to.push(line((self.left - 5.0, y), (self.left, y), BLACK));
            to.push(words(&crate::numbers::short(part), (self.left - 9.0, y + 4.0), NUMBERS, TextAnchor::End));
        }
        for exponent in self.first as u32..=self.last as u32 {
            let exponent = f64::from(exponent);
            let x = self.at(exponent);
            to.push(line((x, self.top), (x, bottom), GRID));
            to.push(line((x, bottom), (x, bottom + 5.0), BLACK));
            to.push(words(&decade(exponent), (x, bottom + 20.0), NUMBERS, TextAnchor::Middle));
            let between = (2..10).map(|digit| exponent + f64::from(digit).log10()).filter(|at| *at <= self.last);
            to.extend(between.map(|at| line((self.at(at), bottom), (self.at(at), bottom + 3.0), BLACK)));
        }
        to.push(line((self.left, self.top), (self.left, bottom), BLACK));
        to.push(line((self.left, bottom), (right, bottom), BLACK));
        let middle = 0.5 * (self.left + right);
        let (title, _) = text::fitted(&panel.title, size, TITLE_ROOM);
        to.push(words(&title, (middle, self.top - 16.0), size, TextAnchor::Middle));
        to.push(words("evaluations", (middle, bottom + 42.0), LABEL, TextAnchor::Middle));
        let mut label =
            words("targets reached", (self.left - 46.0, self.top + 0.5 * HEIGHT), LABEL, TextAnchor::Middle);
        if let Primitive::Text { rotate, .. } = &mut label {
            *rotate = Some(-90.0);
        }
        to.push(label);
    }

    /// The corners of a curve: what is reached stays until more is.
    fn corners(&self, curve: &[Point], pick: fn(&Point) -> f64) -> Vec<(f64, f64)> {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        // What was reached before the axis begins, it begins with.
        let early = curve.iter().rposition(|point| (point.evaluations as f64).log10() <= self.first);
        for point in &curve[early.unwrap_or(0)..] {
            let (x, y) = (self.x(point.evaluations as f64), self.y(pick(point)));
            match corners.last() {
                Some((_, last)) if *last == y => (),
                Some((_, last)) => corners.extend([(x, *last), (x, y)]),
                None => corners.push((x, y)),
            }
        }
        let end = curve.last().map(|point| (self.x(point.evaluations as f64), self.y(pick(point))));
        corners.extend(end);
        corners
    }

    fn stairs(&self, curve: &[Point]) -> Vec<(f64, f64)> {
        self.corners(curve, |point| point.reached)
    }

    fn band(&self, curve: &[Point], colour: &str) -> Option<Primitive> {
        let (upper, mut lower) = (self.corners(curve, |point| point.high), self.corners(curve, |point| point.low));
        lower.reverse();
        let corner = |(x, y): &(f64, f64)| format!("{x:.2} {y:.2}");
        let edge: Vec<String> = upper.iter().chain(&lower).map(corner).collect();
        let fill = Some(Color::from(colour));
        let path = PathData {
            d: format!("M {} Z", edge.join(" L ")),
            fill,
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(0.13),
            stroke_dasharray: None,
        };
        (edge.len() > 3).then(|| Primitive::Path(Box::new(path)))
    }

    /// The names at the ends of their curves, moved apart where these are near each other.
    fn names(&self, panel: &Panel<'_>, styles: Vec<(&str, bool)>, right: f64, to: &mut Vec<Primitive>) {
        let ends: Vec<f64> =
            panel.curves.iter().map(|(_, curve)| self.y(curve.last().map_or(0.0, |point| point.reached))).collect();
        let places = apart(&ends, LINE, (self.top + 4.0, self.top + HEIGHT - 2.0));
        for (((name, _), (colour, dashed)), (end, place)) in
            panel.curves.iter().zip(styles).zip(ends.iter().zip(places))
        {
            let edge = self.left + WIDTH;
            let leader =
                vec![(edge + 2.0, *end), (edge + 7.0, *end), (edge + GAP - 9.0, place), (edge + GAP - 4.0, place)];
            let pieces = if dashed { dashes(&leader) } else { vec![leader] };
            to.extend(pieces.into_iter().map(|points| stroke(points, colour, 1.0)));
            let (name, size) = text::fitted(name, NAMES, right - GAP - 6.0);
            let mut label = words(&name, (edge + GAP, place + 4.0), size, TextAnchor::Start);
            if let Primitive::Text { color, .. } = &mut label {
                *color = Some(Color::from(colour));
            }
            to.push(label);
        }
    }
}

/// The colour of grid lines.
const GRID: &str = "#DDDDDD";

fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) -> Primitive {
    Primitive::Line { x1, y1, x2, y2, stroke: Color::from(colour), stroke_width: 1.0, stroke_dasharray: None }
}

fn stroke(points: Vec<(f64, f64)>, colour: &str, stroke_width: f64) -> Primitive {
    Primitive::PolyLine { points, stroke: Color::from(colour), stroke_width, stroke_dasharray: None }
}

fn words(content: &str, (x, y): (f64, f64), size: u32, anchor: TextAnchor) -> Primitive {
    Primitive::Text { x, y, content: content.into(), size, anchor, rotate: None, bold: false, color: None }
}

/// A line in dashes. The library's begin anew at every point.
fn dashes(line: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let mut pieces = vec![line.first().map(|point| vec![*point]).unwrap_or_default()];
    let (mut on, mut left) = (true, DASHES.0);
    for pair in line.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length < left {
                left -= length;
                if on && let Some(piece) = pieces.last_mut() {
                    piece.push(to);
                }
                break;
            }
            let share = left / length;
            from = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            match on {
                true => pieces.last_mut().into_iter().for_each(|piece| piece.push(from)),
                false => pieces.push(vec![from]),
            }
            on = !on;
            left = if on { DASHES.0 } else { DASHES.1 };
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

/// Places near the wanted ones, in the same order, that lie `least` apart, and within the ends if there is room.
fn apart(wanted: &[f64], least: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    // Groups that touch: their wanted middles, and how many they are.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let reach = |count: usize| 0.5 * least * (count - 1) as f64;
    let inside = |middle: f64, count: usize| middle.min(high - reach(count)).max(low + reach(count));
    for index in &order {
        let (mut middle, mut count) = (inside(wanted[*index], 1), 1);
        while let Some((before, others)) = groups.last().copied()
            && before + reach(others) + least > middle - reach(count)
        {
            let sum = before * others as f64 + middle * count as f64;
            count += others;
            middle = inside(sum / count as f64, count);
            groups.pop();
        }
        groups.push((middle, count));
    }
    let places = groups
        .iter()
        .flat_map(|(middle, count)| (0..*count).map(move |k| middle + least * (k as f64 - 0.5 * (count - 1) as f64)));
    let mut moved = vec![0.0; wanted.len()];
    order.iter().zip(places).for_each(|(index, place)| moved[*index] = place);
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_apart_in_their_order() {
        assert_eq!(apart(&[10.0, 50.0], 15.0, (0.0, 100.0)), [10.0, 50.0]);
        assert_eq!(apart(&[52.0, 50.0], 10.0, (0.0, 100.0)), [56.0, 46.0]);
        // At the end there is no room below.
        assert_eq!(apart(&[100.0, 99.0, 100.0], 10.0, (0.0, 100.0)), [90.0, 80.0, 100.0]);
        let many: Vec<f64> = (0..8).map(|k| f64::from(k * k % 7)).collect();
        let places = apart(&many, 15.0, (0.0, 500.0));
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 15.0 - 1e-9), "{places:?}");
        assert!(apart(&[], 1.0, (0.0, 1.0)).is_empty());
    }

    #[test]
    fn dashes_follow_the_line_around_corners() {
        let pieces = dashes(&[(0.0, 0.0), (10.0, 0.0), (10.0, 8.0)]);
        assert_eq!(pieces, [vec![(0.0, 0.0), (7.0, 0.0)], vec![(10.0, 1.0), (10.0, 8.0)]]);
        assert!(dashes(&[]).is_empty() && dashes(&[(1.0, 1.0)]).is_empty());
    }

    #[test]
    fn anything_can_be_drawn() {
        let point = |evaluations, reached| Point { evaluations, reached, low: 0.0, high: 1.0 };
        let curve = [point(1, 0.0), point(2, 0.5), point(10, 0.5)];
        let long = "memory:drift=0.5,beta=100,kappa=0.3,theta=0.1,noise=7";
        let curves: Vec<(&str, &[Point])> = vec![("pso", &curve), (long, &curve[..1]), ("none", &[])];
        let curves = curves.into_iter().cycle().take(30).collect::<Vec<_>>();
        for (count, budget) in [(0, 1), (1, 1), (3, 10), (30, u64::MAX)] {
            let panel = || Panel { title: "a function".into(), budget, curves: curves[..count].to_vec() };
            for panels in [vec![], vec![panel()], vec![panel(), panel(), panel()]] {
                let svg = String::from_utf8(targets(&panels, Format::Svg).expect("a picture")).expect("text");
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{count} {budget}");
                assert!(panels.is_empty() || svg.contains("targets reached"));
            }
        }
    }
}
