//! Pictures of networks: the shapes between layers as stacks of maps.

use super::*;
use cbo_lab::figures::fig3::{Architecture, Block};
use cbo_problems::nn::Shape;
use kuva::plot::annotations::TextAnnotation;

/// From one block to the next.
const STEP: f64 = 1.9;

/// From one map of a stack to the next.
const OFFSET: f64 = 0.045;

/// The side of an image of 28 pixels.
const SIDE: f64 = 0.9;

/// Figure 3: the networks under one another.
pub fn fig3(networks: &[Architecture], format: Format) -> Result<Vec<u8>, CliError> {
    let blocks = networks.iter().map(|n| n.blocks.len()).max().unwrap_or(1);
    let (plots, layouts) = networks.iter().map(|network| panel(network, blocks)).unzip();
    let figure = Figure::new(networks.len().max(1), 1)
        .with_figure_size(1280.0, 330.0 * networks.len() as f64)
        .with_title("Figure 3: the networks of the machine learning example")
        .with_title_size(16)
        .with_plots(plots)
        .with_layouts(layouts);
    render(figure.render(), format)
}

fn panel(network: &Architecture, blocks: usize) -> Panel {
    let mut plots: Vec<Plot> = Vec::new();
    let mut texts = Vec::new();
    for (i, block) in network.blocks.iter().enumerate() {
        let x = STEP * i as f64;
        plots.extend(stack(block.shape, x));
        texts.push(TextAnnotation::new(block.shape.to_string(), x, -0.85));
        if i > 0 {
            let arrow = [(x - 0.66 * STEP, 0.0), (x - 0.36 * STEP, 0.0)];
            let head = [(arrow[1].0 - 0.05, 0.05), arrow[1], (arrow[1].0 - 0.05, -0.05)];
            for line in [&arrow[..], &head] {
                plots.push(LinePlot::new().with_data(line.to_vec()).with_color(BLACK).with_stroke_width(1.4).into());
            }
            texts.extend(words(block, 0.5 * (arrow[0].0 + arrow[1].0)));
        }
    }
    let title = format!("{}: {} parameters", network.name, crate::numbers::grouped(network.parameters as u64));
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_title_size(14)
        .with_show_grid(false)
        // Square maps are drawn as squares.
        .with_equal_aspect()
        .with_x_axis_min(-0.8)
        .with_x_axis_max(STEP * (blocks - 1) as f64 + 0.8)
        .with_y_axis_min(-1.1)
        .with_y_axis_max(1.3);
    (layout.suppress_x_ticks, layout.suppress_y_ticks, layout.show_colorbar) = (true, true, false);
    // There is nothing to measure along them.
    layout.theme.axis_color = "#FFFFFF".into();
    (plots, texts.into_iter().fold(layout, |layout, text| layout.with_annotation(text)))
}

/// What the layers before a block do, above the arrow that leads to it; their parameters below.
fn words(block: &Block, x: f64) -> Vec<TextAnnotation> {
    let above = block.layers.iter().rev().enumerate();
    let mut texts: Vec<TextAnnotation> =
        above.map(|(line, layer)| TextAnnotation::new(layer, x, 0.16 + 0.2 * line as f64)).collect();
    if block.parameters > 0 {
        texts.push(TextAnnotation::new(block.parameters.to_string(), x, -0.24).with_color(VERMILLION));
        texts.push(TextAnnotation::new("parameters", x, -0.43).with_color(VERMILLION));
    }
    texts
}

/// A shape about (x, 0): maps as squares behind one another, a flat list as a column of dots.
fn stack(shape: Shape, x: f64) -> Vec<Plot> {
    let (maps, height, width) = match shape {
        Shape::Maps { maps, height, width } => (maps, height as f64, width as f64),
        Shape::Flat(values) => {
            let gap = (1.4 / values as f64).min(0.12);
            let place = |i: usize| (x, gap * (i as f64 - 0.5 * (values - 1) as f64));
            let dots = ScatterPlot::new().with_data((0..values).map(place).collect::<Vec<_>>()).with_size(4.0);
            return vec![dots.with_color(BLUE).into()];
        }
    };
    let (half_width, half_height) = (0.5 * SIDE * width / 28.0, 0.5 * SIDE * height / 28.0);
    let mut plots: Vec<Plot> = Vec::new();
    // The last map first, so that the first lies in front.
    for map in (0..maps).rev() {
        let shift = OFFSET * (map as f64 - 0.5 * (maps - 1) as f64);
        let (left, right, low, high) =
            (x + shift - half_width, x + shift + half_width, shift - half_height, shift + half_height);
        let face = Heatmap::new()
            .with_data(vec![vec![0.0]])
            .with_cell_size(1.0)
            .with_color_map(ColorMap::Custom(Arc::new(|_| "#BBD5EA".to_string())));
        plots.push(face.with_x_range(left, right).with_y_range(low, high).into());
        let edge = [(left, low), (right, low), (right, high), (left, high), (left, low)];
        plots.push(LinePlot::new().with_data(edge).with_color(BLUE).with_stroke_width(1.0).into());
    }
    plots
}
