//! Pictures as pixels.

use super::text::{shifted, width};
use super::*;
use kuva::render::render::{Primitive, Scene, TextAnchor};
use std::collections::{HashMap, HashSet};

/// PNG pixels per SVG unit.
const SCALE: f32 = 2.0;

/// The colour of a text such as #0072B2.
fn rgb(text: &str) -> [u8; 3] {
    [1, 3, 5].map(|at| text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0))
}

/// Colours of pixels in rows, red, green, blue and opacity.
struct Pixels {
    width: usize,
    rgba: Vec<u8>,
}

/// The PNG of a scene.
pub fn png(scene: &mut Scene) -> Result<Vec<u8>, CliError> {
    let upright = take_upright(scene);
    let mut picture = pixels(scene)?;
    for (place, label) in upright {
        stamp(&mut picture, place, label)?;
    }
    encode_few(&picture)
}

fn failed(what: impl std::fmt::Display) -> CliError {
    CliError::Failed(format!("the picture could not be drawn: {what}"))
}

fn pixels(scene: &Scene) -> Result<Pixels, CliError> {
    let file = PngBackend::new().with_scale(SCALE).render_scene(scene).map_err(failed)?;
    let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().map_err(failed)?;
    let mut rgba = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let info = reader.next_frame(&mut rgba).map_err(failed)?;
    Ok(Pixels { width: info.width as usize, rgba })
}

/// Takes the labels of vertical axes out of a scene: their places in the picture, and the labels themselves, level.
fn take_upright(scene: &mut Scene) -> Vec<((f64, f64), Primitive)> {
    let mut origins = vec![(0.0, 0.0)];
    let mut labels = Vec::new();
    scene.elements.retain_mut(|element| {
        let origin = origins.last().copied().unwrap_or_default();
        match element {
            Primitive::GroupStart { transform, .. } => origins.push(shifted(origin, transform.as_deref())),
            Primitive::GroupEnd => {
                origins.pop();
            }
            Primitive::Text { x, y, rotate, .. } if *rotate == Some(-90.0) => {
                *rotate = None;
                labels.push(((origin.0 + *x, origin.1 + *y), std::mem::replace(element, Primitive::GroupEnd)));
                return false;
            }
            _ => {}
        }
        true
    });
    labels
}

/// Draws a level label turned to the left. The library does so too, but so heavily that it looks bold beside level ones.
fn stamp(picture: &mut Pixels, place: (f64, f64), mut label: Primitive) -> Result<(), CliError> {
    let Primitive::Text { x, y, content, size, anchor, .. } = &mut label else { return Ok(()) };
    if content.is_empty() {
        return Ok(());
    }
    let height = f64::from(*size);
    let mut scene = Scene::new((1.2 * width(content, height)).ceil() + 8.0, (2.0 * height).ceil());
    (*anchor, *x, *y) = (TextAnchor::Middle, 0.5 * scene.width, (1.4 * height).round());
    let pin = (*x * f64::from(SCALE), *y * f64::from(SCALE));
    scene.elements.push(label);
    let level = pixels(&scene)?;
    let (left, top) = (place.0 * f64::from(SCALE) - pin.1, place.1 * f64::from(SCALE) + pin.0);
    let rows = picture.rgba.len() / (4 * picture.width).max(1);
    for (number, pixel) in level.rgba.chunks_exact(4).enumerate().filter(|(_, pixel)| *pixel != [255; 4]) {
        let (along, down) = (number % level.width, number / level.width);
        let (column, row) = (left.round() + down as f64, top.round() - 1.0 - along as f64);
        if column < 0.0 || row < 0.0 || column as usize >= picture.width || row as usize >= rows {
            continue;
        }
        let at = 4 * (row as usize * picture.width + column as usize);
        for (ground, ink) in picture.rgba[at..at + 3].iter_mut().zip(pixel) {
            *ground = (u16::from(*ground) * u16::from(*ink) / 255) as u8;
        }
    }
    Ok(())
}

/// Pixels as a PNG file.
pub fn encode(rgb: &[u8], width: usize, height: usize) -> Result<Vec<u8>, CliError> {
    written(rgb, width, height, |encoder| encoder.set_color(png::ColorType::Rgb))
}

/// A picture in 256 colours, and all others as the nearest of these: the file is a third of the size, and the difference is in
/// the edges of letters, where it is not seen. Colours that mean something are kept, however few pixels have them.
fn encode_few(picture: &Pixels) -> Result<Vec<u8>, CliError> {
    let lines = lines(picture);
    let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
    for Line { runs, times, .. } in &lines {
        for (colour, length) in runs {
            *counts.entry(*colour).or_default() += length * times;
        }
    }
    let meant: HashSet<[u8; 3]> =
        COLOURS.iter().map(|colour| colour.to_string()).chain(maps::shades()).map(|colour| rgb(&colour)).collect();
    let mut palette: Vec<([u8; 3], usize)> = counts.iter().map(|(colour, count)| (*colour, *count)).collect();
    // Of equally frequent ones always the same.
    palette.sort_by_key(|(colour, count)| (!meant.contains(colour), std::cmp::Reverse(*count), *colour));
    palette.truncate(256);
    let far = |a: &[u8; 3], b: &[u8; 3]| a.iter().zip(b).map(|(a, b)| i32::from(a.abs_diff(*b)).pow(2)).sum::<i32>();
    let nearest = |colour: &[u8; 3]| (0..palette.len()).min_by_key(|k| far(&palette[*k].0, colour)).unwrap_or(0) as u8;
    let places: HashMap<[u8; 3], u8> = counts.keys().map(|colour| (*colour, nearest(colour))).collect();
    let height = picture.rgba.len() / (4 * picture.width).max(1);
    let mut indices = Vec::with_capacity(picture.width * height);
    for Line { runs, times, .. } in &lines {
        let start = indices.len();
        for (colour, length) in runs {
            indices.resize(indices.len() + length, places[colour]);
        }
        for _ in 1..*times {
            indices.extend_from_within(start..start + picture.width);
        }
    }
    written(&indices, picture.width, height, |encoder| {
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(palette.iter().flat_map(|(colour, _)| *colour).collect::<Vec<u8>>());
        encoder.set_filter(png::Filter::NoFilter);
    })
}

/// A row of pixels.
struct Line<'a> {
    rgba: &'a [u8],
    /// Its colours, and how many pixels in turn have each.
    runs: Vec<([u8; 3], usize)>,
    /// How often it comes, one below the other.
    times: usize,
}

/// The rows of a picture. Many are as the one above, so that few pixels are looked at one by one.
fn lines(picture: &Pixels) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for rgba in picture.rgba.chunks_exact(4 * picture.width.max(1)) {
        match lines.last_mut() {
            Some(above) if above.rgba == rgba => above.times += 1,
            _ => {
                let runs = rgba.as_chunks().0.chunk_by(|a: &[u8; 4], b| a == b);
                let runs = runs.map(|run| ([run[0][0], run[0][1], run[0][2]], run.len())).collect();
                lines.push(Line { rgba, runs, times: 1 });
            }
        }
    }
    lines
}

fn written(
    pixels: &[u8],
    width: usize,
    height: usize,
    set: impl FnOnce(&mut png::Encoder<'_, &mut Vec<u8>>),
) -> Result<Vec<u8>, CliError> {
    let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size(width), size(height));
    encoder.set_depth(png::BitDepth::Eight);
    // A higher level would take as long as all the rest of a picture, for a fifth less of some 20 kB.
    encoder.set_compression(png::Compression::Balanced);
    set(&mut encoder);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ink of one word, level or upright, in the same picture.
    fn ink(rotate: Option<f64>) -> f64 {
        let mut scene = Scene::new(300.0, 300.0);
        scene.elements.push(Primitive::Text {
            x: 150.0,
            y: 150.0,
            content: "energy above".into(),
            size: 14,
            anchor: TextAnchor::Middle,
            rotate,
            bold: false,
            color: None,
        });
        let file = png(&mut scene).expect("a picture");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(&file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut rgb = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut rgb).expect("pixels");
        rgb.iter().map(|byte| f64::from(255 - byte)).sum()
    }

    #[test]
    fn colours_that_mean_something_are_kept() {
        // A thousand colours, many times each, and one pixel of our own.
        let mut rgba: Vec<u8> =
            (0..40_000u32).flat_map(|k| [(k % 25 * 10) as u8, (k / 25 % 40 * 6) as u8, 200, 255]).collect();
        rgba[..3].copy_from_slice(&[0xD5, 0x5E, 0x00]);
        let file = encode_few(&Pixels { width: 200, rgba }).expect("a picture");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(&file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!(pixels[..3], [0xD5, 0x5E, 0x00]);
        let colours: HashSet<&[u8]> = pixels.chunks_exact(3).collect();
        assert_eq!(colours.len(), 256);
    }

    #[test]
    fn upright_labels_are_as_heavy_as_level_ones() {
        let (level, upright) = (ink(None), ink(Some(-90.0)));
        assert!(level > 0.0 && (upright / level - 1.0).abs() < 0.01, "{level} and {upright}");
    }
}
