//! Maps of values in the plane: their colours, which are the same in all pictures and in Python, their bars, and their place
//! in an SVG file.

use super::text;
use super::*;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};

/// Rectangles drawn together are a map if they are at least so many.
const MANY: usize = 1000;

/// Shades of a map: more cannot be told apart, and fewer make smaller files.
const SHADES: f64 = 127.0;

/// From a map to its bar.
const GAP: f64 = 12.0;

/// The width of a bar.
const WIDTH: f64 = 12.0;

/// Slices of a bar.
const SLICES: usize = 128;

/// Size of the numbers of a bar.
const NUMBERS: u32 = 12;

/// Size of the label of a bar.
const LABEL: u32 = 14;

/// Room to the right of a map for a bar, its numbers and its label.
pub const ROOM: f64 = 108.0;

/// Viridis, whose steps look even to every eye: low is dark, high is light.
pub fn colour(height: f64) -> String {
    let shade = (height.clamp(0.0, 1.0) * SHADES).round() / SHADES;
    ColorMap::Viridis.map(shade)
}

/// All colours of maps.
pub fn shades() -> impl Iterator<Item = String> {
    (0..=SHADES as usize).map(|k| colour(k as f64 / SHADES))
}

/// A map of heights from 0 to 1, one row per value of the second coordinate.
pub fn map(rows: Vec<Vec<f64>>, x: (f64, f64), y: (f64, f64)) -> Plot {
    let (low, high) = range(rows.iter().flatten().copied());
    Heatmap::new()
        .with_data(rows)
        .with_x_range(x.0, x.1)
        .with_y_range(y.0, y.1)
        .with_cell_size(1.0)
        // The library stretches what is there to the whole of the colours.
        .with_color_map(ColorMap::Custom(Arc::new(move |part| colour(low + (high - low) * part))))
        .into()
}

/// The bar of a map.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What the colours stand for.
    pub label: String,
    /// Heights from 0 to 1, and the numbers there.
    pub ticks: Vec<(f64, String)>,
}

/// Where the map lies that such rectangles make: left, top, right and bottom; none if it is no map.
fn frame(element: &Primitive) -> Option<[f64; 4]> {
    let Primitive::RectBatch { x, y, w, h, .. } = element else { return None };
    let (left, last) = range(x.iter().copied());
    let (top, lowest) = range(y.iter().copied());
    // They overlap by half a unit.
    (x.len() >= MANY).then(|| [left, top, last + w[0] - 0.5, lowest + h[0] - 0.5])
}

/// Draws the bars beside the maps, in their order.
pub fn draw_bars(scene: &mut Scene, bars: &[Bar]) {
    let mut bars = bars.iter();
    let mut waiting: Option<([f64; 4], &Bar)> = None;
    let mut elements = Vec::with_capacity(scene.elements.len());
    for element in scene.elements.drain(..) {
        if let Some(frame) = frame(&element) {
            waiting = bars.next().map(|bar| (frame, bar));
        }
        // What is cut off at the panel's frame ends first.
        let ends = matches!(element, Primitive::ClipEnd);
        let closes = matches!(element, Primitive::GroupEnd);
        if closes && let Some((frame, bar)) = waiting.take() {
            elements.extend(drawn(bar, frame));
        }
        elements.push(element);
        if ends && let Some((frame, bar)) = waiting.take() {
            elements.extend(drawn(bar, frame));
        }
    }
    elements.extend(waiting.into_iter().flat_map(|(frame, bar)| drawn(bar, frame)));
    scene.elements = elements;
}

fn drawn(bar: &Bar, [_, top, right, bottom]: [f64; 4]) -> Vec<Primitive> {
    let (left, height) = (right + GAP, bottom - top);
    let slice = height / SLICES as f64;
    let at = |height_of: f64| bottom - height_of * height;
    let black = || Color::from(BLACK);
    let number = |y: f64, content: &str| Primitive::Text {
        x: left + WIDTH + 7.0,
        y: y + 4.0,
        content: content.into(),
        size: NUMBERS,
        anchor: TextAnchor::Start,
        rotate: None,
        bold: false,
        color: None,
    };
    let mut parts = vec![
        Primitive::RectBatch {
            x: vec![left; SLICES],
            y: (0..SLICES).map(|k| top + k as f64 * slice).collect(),
            w: vec![WIDTH; SLICES],
            // To the end, so that no seams show.
            h: (0..SLICES).map(|k| height - k as f64 * slice).collect(),
            fills: (0..SLICES).map(|k| Color::from(colour(1.0 - (k as f64 + 0.5) / SLICES as f64))).collect(),
        },
        Primitive::Rect {
            x: left,
            y: top,
            width: WIDTH,
            height,
            fill: Color::None,
            stroke: Some(black()),
            stroke_width: Some(1.0),
            opacity: None,
        },
    ];
    for (place, words) in &bar.ticks {
        let y = at(*place);
        parts.push(Primitive::Line {
            x1: left + WIDTH,
            y1: y,
            x2: left + WIDTH + 4.0,
            y2: y,
            stroke: black(),
            stroke_width: 1.0,
            stroke_dasharray: None,
        });
        parts.push(number(y, words));
    }
    let widest = bar.ticks.iter().map(|(_, words)| text::width(words, f64::from(NUMBERS))).fold(0.0, f64::max);
    parts.push(Primitive::Text {
        x: left + WIDTH + 7.0 + widest + 22.0,
        y: 0.5 * (top + bottom),
        content: bar.label.clone(),
        size: LABEL,
        anchor: TextAnchor::Middle,
        rotate: Some(-90.0),
        bold: false,
        color: None,
    });
    parts
}

/// The SVG of a scene with its maps as images: hundreds of thousands of rectangles would be a large and slow file.
pub fn svg(scene: &mut Scene) -> Result<String, CliError> {
    let mut images = Vec::new();
    let mut elements = Vec::with_capacity(scene.elements.len());
    for element in scene.elements.drain(..) {
        let Some(frame) = frame(&element) else {
            elements.push(element);
            continue;
        };
        let mark = format!("data-map=\"{}\"", images.len());
        images.push((format!("<g {mark}>"), image(&element, frame)?));
        elements.push(Primitive::GroupStart { transform: None, title: None, extra_attrs: Some(mark) });
        elements.push(Primitive::GroupEnd);
    }
    scene.elements = elements;
    let text = SvgBackend::new().render_scene(scene);
    Ok(images.iter().fold(text, |text, (place, image)| text.replacen(place, &format!("<g>{image}"), 1)))
}

/// A map as an element of SVG.
fn image(map: &Primitive, [left, top, right, bottom]: [f64; 4]) -> Result<String, CliError> {
    let Primitive::RectBatch { x, fills, .. } = map else { return Ok(String::new()) };
    let columns = x.windows(2).position(|pair| pair[1] < pair[0]).map_or(x.len(), |last| last + 1);
    let rgb = |colour: &Color| match colour {
        Color::Rgb(r, g, b) => [*r, *g, *b],
        _ => [255; 3],
    };
    // The first row is the lowest.
    let pixels: Vec<u8> = fills.chunks(columns).rev().flatten().flat_map(rgb).collect();
    let file = raster::encode(&pixels, columns, fills.len() / columns)?;
    Ok(format!(
        "<image x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" preserveAspectRatio=\"none\" \
         href=\"data:image/png;base64,{}\"/>",
        right - left,
        bottom - top,
        base64(&file)
    ))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by Rec. 709, without gamma.
    fn luminance(height: f64) -> f64 {
        let text = colour(height);
        let channel = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).expect("a colour"));
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn low_is_dark() {
        let levels: Vec<f64> = (0..=32).map(|k| luminance(f64::from(k) / 32.0)).collect();
        assert!(levels.windows(2).all(|pair| pair[1] > pair[0]), "{levels:?}");
        assert!(levels[0] < 30.0 && levels[32] > 200.0);
    }

    #[test]
    fn bytes_as_letters() {
        for (bytes, letters) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), letters);
        }
    }

    #[test]
    fn a_map_is_one_image_with_a_bar() {
        let rows = (0..40).map(|j| (0..50).map(|i| f64::from(i * j) / 2000.0).collect()).collect();
        let plots = vec![map(rows, (0.0, 1.0), (0.0, 1.0))];
        let mut layout = Layout::auto_from_plots(&plots).with_force_margins(60.0, ROOM);
        layout.show_colorbar = false;
        let bar = Bar { label: "height".into(), ticks: vec![(0.0, "low".into()), (1.0, "top".into())] };
        let picture = render_with(render_multiple(plots, layout), &[bar], Format::Svg).expect("a picture");
        let text = String::from_utf8(picture).expect("text");
        assert_eq!(text.matches("<image ").count(), 1);
        assert!(text.matches("<rect ").count() < 200, "no rectangle per cell");
        for part in [">height<", ">low<", ">top<"] {
            assert!(text.contains(part), "{part}");
        }
    }
}
