//! The figures of the paper.

use super::*;
use cbo_lab::figures::{fig1a, fig1b, fig2};
use kuva::plot::legend::{LegendEntry, LegendShape};

/// A colour for each of the dimensions of Figure 1b.
const DIMS: [&str; 4] = [BLUE, GREEN, ORANGE, VERMILLION];

/// Dots for references: `stroke-dasharray` of SVG.
const DOTS: &str = "3 6";

/// Dashes of isotropic noise.
const DASHES: &str = "12 9";

/// Figure 1a: the function, and its local minima.
pub fn fig1a(figure: &fig1a::Figure, format: Format) -> Result<Vec<u8>, CliError> {
    let curve = LinePlot::new().with_data(figure.curve.clone()).with_color(BLUE).with_stroke_width(2.0);
    let dots = |global: bool| {
        let chosen = figure.minima.iter().filter(move |m| (m.energy == 0.0) == global);
        chosen.map(|m| (m.v, m.energy)).collect::<Vec<_>>()
    };
    let local = ScatterPlot::new().with_data(dots(false)).with_color(VERMILLION).with_size(5.0);
    let global = ScatterPlot::new().with_data(dots(true)).with_color(BLACK).with_size(9.0);
    let plots: Vec<Plot> = vec![
        curve.with_legend("E(v) = v^2 + 5/2 (1 - cos 2 pi v)").into(),
        local.with_legend("spurious local minima").into(),
        global.with_marker(MarkerShape::Star).with_legend("global minimiser v* = 0").into(),
    ];
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Figure 1a: the Rastrigin function in one coordinate")
        .with_title_size(16)
        .with_x_label("v")
        .with_y_label("energy")
        .with_x_axis_min(figure.parameters.low)
        .with_x_axis_max(figure.parameters.high)
        .with_y_axis_min(-1.0)
        .with_width(720.0)
        .with_height(480.0);
    render(render_multiple(plots, below(layout)), format)
}

/// Figure 1b: V(t)/V(0) on a linear and on a logarithmic axis.
pub fn fig1b(parameters: &fig1b::Parameters, curves: &[fig1b::Curve], format: Format) -> Result<Vec<u8>, CliError> {
    let colour = |dim: usize| {
        let place = parameters.dims.iter().position(|d| *d == dim).unwrap_or(0);
        DIMS[place % DIMS.len()]
    };
    let isotropic = |c: &fig1b::Curve| c.diffusion == "isotropic";
    let (mut linear, mut decades): (Vec<Plot>, Vec<Curve>) = (Vec::new(), Vec::new());
    let mut draw = |mut points: Vec<(f64, f64)>, colour: &str, width: f64, dashes: Option<&str>| {
        if dashes.is_some() {
            // The library restarts its dashes at each point: between near points only a solid line would be left.
            let last = points.len().saturating_sub(1);
            points = points.into_iter().enumerate().filter(|(i, _)| i % 4 == 0 || *i == last).map(|p| p.1).collect();
        }
        let style = |line: LinePlot| match dashes {
            Some(dashes) => line.with_line_style(LineStyle::Custom(dashes.into())),
            None => line,
        };
        let line = LinePlot::new().with_data(points.clone()).with_color(colour).with_stroke_width(width);
        linear.push(style(line).into());
        decades.extend(curve(points.into_iter(), colour, width).map(|c| Curve { line: style(c.line), ..c }));
    };
    for c in curves {
        let points = c.times.iter().zip(&c.v).map(|(t, v)| (*t, v / c.v[0])).collect();
        draw(points, colour(c.dim), 2.2, isotropic(c).then_some(DASHES));
    }
    // The references last, thin and above the curves that they belong to; all anisotropic ones are the same.
    let references = curves.iter().filter(|c| isotropic(c)).chain(curves.iter().find(|c| !isotropic(c)));
    for c in references {
        let points = c.times.iter().map(|t| (*t, (-c.rate_continuous * t).exp())).collect();
        draw(points, if isotropic(c) { colour(c.dim) } else { BLACK }, 1.3, Some(DOTS));
    }
    let layout = Layout::auto_from_plots(&linear)
        .with_x_label("time")
        .with_y_label("V(t) / V(0)")
        .with_y_axis_min(0.0)
        .with_y_axis_max(1.0)
        .with_x_axis_max(parameters.time);
    let (log_plots, log_layout) = over_time(decades, "V(t) / V(0)", "nothing to draw");
    let entry = |label: String, color: &str, dashes: Option<&str>| LegendEntry {
        label,
        color: color.into(),
        shape: LegendShape::Line,
        dasharray: dashes.map(Into::into),
    };
    let of_dims = |kind: &str, dashes: Option<&str>| {
        let line = |dim: &usize| entry(format!("{kind}, d = {dim}"), colour(*dim), dashes);
        parameters.dims.iter().map(line).collect::<Vec<_>>()
    };
    let mut legend = of_dims("anisotropic", None);
    legend.extend(of_dims("isotropic", Some(DASHES)));
    legend.push(entry("exp(-(2 lambda - sigma^2) t)".into(), BLACK, Some(DOTS)));
    legend.push(entry("exp(-(2 lambda - d sigma^2) t), by d".into(), "#777777", Some(DOTS)));
    let figure = Figure::new(1, 2)
        .with_figure_size(1280.0, 480.0)
        .with_title("Figure 1b: decay of V, anisotropic (solid) and isotropic (dashed) noise")
        .with_title_size(16)
        .with_plots(vec![linear, log_plots])
        .with_layouts(vec![layout, log_layout.with_x_axis_max(parameters.time)])
        .with_shared_legend_entries(legend)
        .with_shared_legend_right_middle();
    render(figure.render(), format)
}

/// The colour of a set of Figure 2.
fn region_colour(region: fig2::Region) -> &'static str {
    match region {
        fig2::Region::Inner => "#BBD5EA",
        fig2::Region::Noise => "#F3D48A",
        fig2::Region::Drift => VERMILLION,
    }
}

/// Figure 2: the three sets for each setting (columns) and each coordinate (rows).
pub fn fig2(figure: &fig2::Figure, format: Format) -> Result<Vec<u8>, CliError> {
    let r = figure.parameters.r;
    let coordinates = figure.panels.first().map_or(0, |p| p.regions.len());
    let (mut plots, mut layouts) = (Vec::new(), Vec::new());
    for k in 0..coordinates {
        for panel in &figure.panels {
            let mut drawn = strips(&panel.regions[k], k, r);
            let edge = [(-r, -r), (r, -r), (r, r), (-r, r), (-r, -r)];
            drawn.push(LinePlot::new().with_data(edge).with_color(BLACK).with_stroke_width(1.2).into());
            let dot = |marker, x: f64, y: f64| {
                ScatterPlot::new().with_data([(x, y)]).with_color(BLACK).with_size(7.0).with_marker(marker)
            };
            drawn.push(dot(MarkerShape::Star, 0.0, 0.0).into());
            drawn.push(dot(MarkerShape::Circle, panel.setting.consensus[0], panel.setting.consensus[1]).into());
            let (a, b) = (panel.setting.consensus[0], panel.setting.consensus[1]);
            let place = if a.abs().max(b.abs()) < r { "inside" } else { "outside" };
            let mut layout = Layout::auto_from_plots(&drawn)
                .with_title(format!("v_a = ({a}, {b}) {place}, sigma = {}, k = {}", panel.setting.sigma, k + 1))
                .with_title_size(13)
                .with_x_label("v1")
                .with_y_label("v2")
                .with_x_axis_min(-1.25 * r)
                .with_x_axis_max(1.25 * r)
                .with_y_axis_min(-1.25 * r)
                .with_y_axis_max(1.25 * r)
                .with_x_tick_step(0.5 * r)
                .with_y_tick_step(0.5 * r)
                .with_equal_aspect()
                .with_show_grid(false);
            plots.push(drawn);
            layout.show_colorbar = false;
            layouts.push(layout);
        }
    }
    let sets = fig2::Region::ALL.map(|region| {
        let label = match region {
            fig2::Region::Inner => "K1^c: |x| <= sqrt(c) r",
            fig2::Region::Noise => "K1 without K2: T1 + T2 >= 0",
            fig2::Region::Drift => "K1 and K2: T1 >= -p3 phi",
        };
        let color = region_colour(region).into();
        LegendEntry { label: label.into(), color, shape: LegendShape::Rect, dasharray: None }
    });
    let mark = |label: &str, shape| LegendEntry {
        label: label.into(),
        color: BLACK.into(),
        shape: LegendShape::Marker(shape),
        dasharray: None,
    };
    let marks = [mark("minimiser v*", MarkerShape::Star), mark("consensus point v_a", MarkerShape::Circle)];
    let sheet = Figure::new(coordinates.max(1), figure.panels.len().max(1))
        .with_figure_size(1280.0, 760.0)
        .with_title("Figure 2: the sets of the mass bound's proof, coordinate k")
        .with_title_size(16)
        .with_plots(plots)
        .with_layouts(layouts)
        .with_shared_legend_entries(sets.into_iter().chain(marks).collect())
        .with_shared_legend_right_middle();
    render(sheet.render(), format)
}

/// The sets of coordinate `k` as strips across the box: each lies where its coordinate says, whatever the other one is.
fn strips(regions: &[fig2::Region], k: usize, r: f64) -> Vec<Plot> {
    let node = |i: usize| r * (2.0 * i as f64 / regions.len() as f64 - 1.0);
    let mut plots = Vec::new();
    let mut from = 0;
    for to in 1..=regions.len() {
        if to < regions.len() && regions[to] == regions[from] {
            continue;
        }
        let colour = region_colour(regions[from]);
        let strip = Heatmap::new()
            .with_data(vec![vec![0.0]])
            .with_cell_size(1.0)
            .with_color_map(ColorMap::Custom(Arc::new(move |_| colour.to_string())));
        let (along, across) = ((node(from), node(to)), (-r, r));
        let ((left, right), (low, high)) = if k == 0 { (along, across) } else { (across, along) };
        plots.push(strip.with_x_range(left, right).with_y_range(low, high).into());
        from = to;
    }
    plots
}
