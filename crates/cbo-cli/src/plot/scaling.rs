//! The efficiency of a step over the number of ranks.

use super::*;
use crate::scaling::model::Row;

/// Draws the rows of a model, one line for each dimension.
pub fn draw(rows: &[Row], format: Format) -> Result<Vec<u8>, CliError> {
    let mut plots: Vec<Plot> = Vec::new();
    for (of_dim, colour) in rows.chunk_by(|a, b| a.dim == b.dim).zip([BLUE, VERMILLION, GREEN, BLACK]) {
        let points = of_dim.iter().map(|row| ((row.ranks as f64).log10(), 100.0 * row.efficiency()));
        let line = LinePlot::new().with_color(colour).with_stroke_width(2.5);
        let name = format!("d = {}, {} particles each", of_dim[0].dim, of_dim[0].particles);
        plots.push(line.with_data(points.collect::<Vec<_>>()).with_legend(name).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_x_label("ranks")
        .with_y_label("efficiency in per cent")
        .with_x_tick_format(TickFormat::Custom(Arc::new(decade)))
        .with_x_tick_step(1.0)
        .with_x_axis_min(0.0)
        .with_x_axis_max(3.0)
        .with_y_axis_min(0.0)
        .with_y_axis_max(100.0)
        .with_width(720.0)
        .with_height(480.0);
    render(render_multiple(plots, below(layout).with_legend_col_limit(2)), format)
}
