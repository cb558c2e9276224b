//! The picture of a certificate: V, the consensus point, Lemma 1 and the mass, each with its bound.

use super::*;
use crate::numbers::short;
use cbo_lab::certificate::{Certificate, CertificateRecord};
use cbo_problems::Problem;

/// Bounds on a rate are cut off this many times the size of the rate below it: they may be arbitrarily bad.
const RATES_SHOWN: f64 = 3.0;

/// The four panels.
pub fn overview(problem: &Problem, certificate: &Certificate, format: Format) -> Result<Vec<u8>, CliError> {
    let end = certificate.records().last().map_or(0.0, |r| r.time);
    let panels =
        [decay_panel(certificate), consensus_panel(certificate), lemma_panel(certificate), mass_panel(certificate)];
    let (plots, layouts) = panels.into_iter().map(|(plots, layout)| (plots, framed(layout, end))).unzip();
    let dims = if problem.dim() == 1 { "dimension" } else { "dimensions" };
    let title = format!("Certificate of a run: {} in {} {dims}", problem.description(), problem.dim());
    let figure = Figure::new(2, 2).with_figure_size(1180.0, 900.0).with_plots(plots).with_layouts(layouts);
    render(figure.with_title(title).with_title_size(16).render(), format)
}

/// The same times in each panel, and the legend under it.
fn framed(layout: Layout, end: f64) -> Layout {
    below(until(layout, end)).with_title_size(14).with_legend_col_limit(2)
}

fn over(certificate: &Certificate, value: impl Fn(&CertificateRecord) -> Option<f64>) -> Vec<(f64, f64)> {
    certificate.records().iter().filter_map(|r| value(r).map(|v| (r.time, v))).collect()
}

/// A line that only its legend shows: what would be here, and why it is not.
fn absent(words: &str) -> Plot {
    LinePlot::new().with_color("#FFFFFF").with_data(Vec::<(f64, f64)>::new()).with_legend(words).into()
}

fn decay_panel(certificate: &Certificate) -> Panel {
    let records = certificate.records();
    let measured =
        curve(over(certificate, |r| Some(r.v)).into_iter(), BLUE, 2.8).map(|c| c.named("V of the particles"));
    let reference = certificate.rate().zip(records.first().zip(records.last())).and_then(|(rate, (start, end))| {
        // Straight on this axis: two points, so that its dashes show.
        let points = [(0.0, start.v), (end.time, start.v * (-rate * end.time).exp())];
        let name = format!("V(0) exp({}{} t)", if rate >= 0.0 { "-" } else { "" }, short(rate.abs()));
        curve(points.into_iter(), BLACK, 1.4).map(|c| Curve { line: c.line.with_dashed(), ..c }.named(&name))
    });
    let curves = measured.into_iter().chain(reference).collect();
    let (plots, layout) = over_time(curves, "V", "the swarm sits on the minimiser");
    (plots, layout.with_title("Distance to the minimiser, V = W_2^2 / 2"))
}

fn consensus_panel(certificate: &Certificate) -> Panel {
    let distance = over(certificate, |r| Some(r.distance));
    let bound = over(certificate, |r| r.laplace.map(|l| l.value));
    let silent = bound.len() < 2;
    let curves = [
        curve(distance.into_iter(), BLUE, 2.8).map(|c| c.named("|v_a - v*|")),
        curve(bound.into_iter(), VERMILLION, 1.4).map(|c| c.named("at most this, by Proposition 1")),
    ];
    let nothing = "the consensus point sits on the minimiser";
    let (mut plots, layout) = over_time(curves.into_iter().flatten().collect(), "distance", nothing);
    if silent {
        plots.push(absent("Proposition 1 is silent"));
    }
    (plots, layout.with_title("Distance of the consensus point (Proposition 1)"))
}

/// Rates of decay: -dV/dt over V, and what Lemma 1 says it is at least.
fn lemma_panel(certificate: &Certificate) -> Panel {
    let rates =
        |part: fn(&CertificateRecord) -> f64| over(certificate, |r| Some(-part(r) / r.v).filter(|x| x.is_finite()));
    let measured = rates(|r| r.derivative);
    let (paper, sharp) = (rates(|r| r.lemma_bound), rates(|r| r.lemma_bound_sharp));
    let (low, _) = range(paper.iter().map(|p| p.1));
    let (least, most) = range(measured.iter().map(|p| p.1));
    let floor = low.max(least - RATES_SHOWN * least.abs().max(most.abs()));
    let line = |points: Vec<(f64, f64)>, colour: &str, width: f64, name: &str| -> Plot {
        let shown: Vec<(f64, f64)> = points.into_iter().map(|(t, y)| (t, y.max(floor))).collect();
        LinePlot::new().with_data(shown).with_color(colour).with_stroke_width(width).with_legend(name).into()
    };
    let plots = if measured.is_empty() {
        vec![absent("the swarm sits on the minimiser")]
    } else {
        vec![
            line(measured, BLUE, 2.8, "-(dV/dt) / V of the particles"),
            line(paper, VERMILLION, 1.4, "at least this, by Lemma 1"),
            line(sharp, GREEN, 1.4, "with |lambda - sigma^2| in Lemma 1"),
        ]
    };
    let mut layout = Layout::auto_from_plots(&plots).with_x_label("time").with_y_label("rate");
    let margin = 0.05 * (most - floor).max(0.01 * most.abs());
    if margin > 0.0 && margin.is_finite() {
        layout = layout.with_y_axis_min(floor - margin).with_y_axis_max(most + margin);
    }
    (plots, layout.with_title("Rate of decay of V (Lemma 1)"))
}

/// The mass by its negative logarithm in decades, because its lower bound soon has thousands of digits.
fn mass_panel(certificate: &Certificate) -> Panel {
    let mass = over(certificate, |r| Some(-r.log_mass));
    let paper = over(certificate, |r| r.log_mass_bound.map(|b| -b));
    let sharp = over(certificate, |r| r.log_mass_bound_sharp.map(|b| -b));
    let why = match paper.first() {
        None => Some("no bound for this noise"),
        Some((_, bound)) if bound.is_infinite() => Some("bound 0: none there at the start"),
        Some(_) => None,
    };
    let curves = [
        curve(mass.into_iter(), BLUE, 2.8).map(|c| c.named("particles")),
        curve(paper.into_iter(), VERMILLION, 1.4).map(|c| c.named("bound of Proposition 2, to stay below")),
        curve(sharp.into_iter(), GREEN, 1.4).map(|c| c.named("with the least p of its proof")),
    ];
    let nothing = "all particles there, or none";
    let (mut plots, layout) = over_time(curves.into_iter().flatten().collect(), "-log(mass)", nothing);
    plots.extend(why.map(absent));
    let radius = short(certificate.mass_radius());
    (plots, layout.with_title(format!("Mass within {radius} of the minimiser (Proposition 2)")))
}
