//! Pictures of how digits were classified: the confusion matrix, and a sheet of the misclassified ones.

use super::*;
use kuva::plot::annotations::TextAnnotation;

/// Counts of test images: rows are the true classes, columns the predicted ones.
pub type Confusion = [[usize; 10]; 10];

/// The confusion matrix with its counts. The diagonal is blue, mistakes are orange; shades follow the cube root of the share
/// of the row, so that a few mistakes among a thousand images show.
pub fn confusion(matrix: &Confusion, title: &str, format: Format) -> Result<Vec<u8>, CliError> {
    let mut plots: Vec<Plot> = Vec::new();
    let mut texts = Vec::new();
    for (class, row) in matrix.iter().enumerate() {
        let total: usize = row.iter().sum();
        // The first class is the uppermost.
        let y = 9.0 - class as f64;
        for (predicted, &count) in row.iter().enumerate() {
            let x = predicted as f64;
            let shade = (count as f64 / total.max(1) as f64).cbrt();
            // The library writes in black only, which must be readable on the darkest.
            let (colour, darkest) = if class == predicted { (BLUE, 0.6) } else { (VERMILLION, 0.8) };
            plots.push(cell(x, y, &mixed(colour, darkest * shade)));
            if count > 0 {
                texts.push(text(count.to_string(), x, y, 13));
            }
        }
        let share = match total {
            0 => "no images".to_string(),
            _ => format!("{:.1} %", 100.0 * row[class] as f64 / total as f64),
        };
        texts.push(text(share, 10.15, y, 13));
        texts.push(text(class.to_string(), -0.8, y, 14));
        texts.push(text(class.to_string(), class as f64, 9.75, 14));
    }
    texts.push(text("correct".into(), 10.15, 9.75, 13));
    texts.push(text("predicted".into(), 4.5, 10.3, 14));
    texts.push(text("true".into(), -0.8, 9.75, 14));
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_title_size(16)
        .with_show_grid(false)
        .with_x_axis_min(-1.2)
        .with_x_axis_max(11.0)
        .with_y_axis_min(-0.6)
        .with_y_axis_max(10.6)
        .with_width(760.0)
        .with_height(640.0);
    (layout.suppress_x_ticks, layout.suppress_y_ticks, layout.show_colorbar) = (true, true, false);
    layout.theme.axis_color = "#FFFFFF".into();
    let layout = texts.into_iter().fold(layout, |layout, text| layout.with_annotation(text));
    render(render_multiple(plots, layout), format)
}

/// A text with its middle at a point.
fn text(text: String, x: f64, y: f64, size: u32) -> TextAnnotation {
    // The library draws it above the point.
    TextAnnotation::new(text, x, y - 0.22).with_font_size(size)
}

fn cell(x: f64, y: f64, colour: &str) -> Plot {
    let colour = colour.to_string();
    Heatmap::new()
        .with_data(vec![vec![0.0]])
        .with_cell_size(1.0)
        .with_color_map(ColorMap::Custom(Arc::new(move |_| colour.clone())))
        .with_x_range(x - 0.48, x + 0.48)
        .with_y_range(y - 0.48, y + 0.48)
        .into()
}

/// A colour on white: 0 is nearly white, 1 the colour itself.
fn mixed(colour: &str, shade: f64) -> String {
    let channel = |at: usize| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let mix = |at: usize| (247.0 + shade.clamp(0.0, 1.0) * (f64::from(channel(at)) - 247.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5))
}

/// A misclassified image.
#[derive(Clone, Copy, Debug)]
pub struct Wrong<'a> {
    /// 28 rows of 28 pixels, 0 is paper and 255 is ink.
    pub pixels: &'a [u8],
    /// Its true class.
    pub label: u8,
    /// The class that it was taken for; none if the network gave no numbers.
    pub predicted: Option<u8>,
}

/// Images in a row of the sheet, and rows.
const ACROSS: usize = 10;

/// Pixels of an image along an edge.
const IMAGE: usize = 28;

/// How much an image is enlarged.
const ZOOM: usize = 3;

/// Between images, and around the sheet.
const GAP: usize = 12;

/// How much letters are enlarged.
const LETTERS: usize = 2;

/// The height of a line of text, with the space below.
const LINE: usize = 9 * LETTERS + 4;

/// A sheet of misclassified digits as PNG, at most 100: under each "true > predicted".
pub fn misclassified(digits: &[Wrong<'_>], total_wrong: usize) -> Result<Vec<u8>, CliError> {
    let shown = &digits[..digits.len().min(ACROSS * ACROSS)];
    let heading = match (shown.len(), total_wrong.max(shown.len())) {
        (_, 0) => "no misclassified digits".to_string(),
        (shown, total) if shown == total => format!("{total} misclassified: true > predicted"),
        (shown, total) => format!("{shown} of {total} misclassified: true > predicted"),
    };
    let pitch = (IMAGE * ZOOM + GAP, IMAGE * ZOOM + LINE + GAP);
    let (columns, rows) = (shown.len().min(ACROSS), shown.len().div_ceil(ACROSS));
    let width = (GAP + columns * pitch.0).max(2 * GAP + Sheet::width_of(&heading));
    let mut sheet = Sheet::new(width, GAP + LINE + GAP + rows * pitch.1);
    sheet.write(&heading, (GAP, GAP), INK);
    for (number, digit) in shown.iter().enumerate() {
        let corner = (GAP + number % ACROSS * pitch.0, GAP + LINE + GAP / 2 + number / ACROSS * pitch.1);
        sheet.image(digit.pixels, corner);
        let name = |class: Option<u8>| class.filter(|c| *c < 10).map_or("?".into(), |c| c.to_string());
        let (label, predicted) = (format!("{} > ", name(Some(digit.label))), name(digit.predicted));
        let (first, both) = (Sheet::width_of(&label), Sheet::width_of(&(label.clone() + &predicted)));
        let left = corner.0 + (IMAGE * ZOOM - both) / 2;
        let top = corner.1 + IMAGE * ZOOM + 6;
        sheet.write(&label, (left, top), INK);
        sheet.write(&predicted, (left + first, top), MISTAKE);
    }
    sheet.png()
}

/// Colour of text.
const INK: [u8; 3] = [0x22, 0x22, 0x22];

/// Colour of what was predicted: vermillion.
const MISTAKE: [u8; 3] = [0xD5, 0x5E, 0x00];

/// Pixels, drawn by hand: an image must stay as sharp as it is.
struct Sheet {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Sheet {
    fn new(width: usize, height: usize) -> Self {
        Self { width, height, rgb: vec![255; 3 * width * height] }
    }

    /// A square of one colour; what lies outside is not drawn.
    fn square(&mut self, (x, y): (usize, usize), side: usize, colour: [u8; 3]) {
        for row in y..(y + side).min(self.height) {
            for column in x..(x + side).min(self.width) {
                self.rgb[3 * (row * self.width + column)..][..3].copy_from_slice(&colour);
            }
        }
    }

    /// An image with its upper left corner at a place, in a thin frame.
    fn image(&mut self, pixels: &[u8], (x, y): (usize, usize)) {
        self.square((x - 1, y - 1), IMAGE * ZOOM + 2, [0xCC; 3]);
        self.square((x, y), IMAGE * ZOOM, [255; 3]);
        for (i, ink) in pixels.iter().take(IMAGE * IMAGE).enumerate() {
            self.square((x + i % IMAGE * ZOOM, y + i / IMAGE * ZOOM), ZOOM, [255 - ink; 3]);
        }
    }

    /// A text with its upper left corner at a place.
    fn write(&mut self, text: &str, (x, y): (usize, usize), colour: [u8; 3]) {
        for (place, character) in text.chars().enumerate() {
            for (row, bits) in glyph(character).iter().enumerate() {
                for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                    let at = (x + (6 * place + column) * LETTERS, y + row * LETTERS);
                    self.square(at, LETTERS, colour);
                }
            }
        }
    }

    fn width_of(text: &str) -> usize {
        6 * LETTERS * text.chars().count()
    }

    fn png(&self) -> Result<Vec<u8>, CliError> {
        raster::encode(&self.rgb, self.width, self.height)
    }
}

/// A letter in 7 rows of 5 pixels, the two below the line added; only those that the sheet writes.
fn glyph(character: char) -> [u8; 9] {
    match character {
        '0' => [0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E, 0, 0],
        '1' => [0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E, 0, 0],
        '2' => [0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F, 0, 0],
        '3' => [0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E, 0, 0],
        '4' => [0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02, 0, 0],
        '5' => [0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E, 0, 0],
        '6' => [0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E, 0, 0],
        '7' => [0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08, 0, 0],
        '8' => [0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E, 0, 0],
        '9' => [0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C, 0, 0],
        '>' => [0x00, 0x04, 0x02, 0x1F, 0x02, 0x04, 0x00, 0, 0],
        '?' => [0x0E, 0x11, 0x01, 0x02, 0x04, 0x00, 0x04, 0, 0],
        ':' => [0x00, 0x0C, 0x0C, 0x00, 0x0C, 0x0C, 0x00, 0, 0],
        'a' => [0x00, 0x00, 0x0E, 0x01, 0x0F, 0x11, 0x0F, 0, 0],
        'c' => [0x00, 0x00, 0x0E, 0x11, 0x10, 0x11, 0x0E, 0, 0],
        'd' => [0x01, 0x01, 0x0F, 0x11, 0x11, 0x11, 0x0F, 0, 0],
        'e' => [0x00, 0x00, 0x0E, 0x11, 0x1F, 0x10, 0x0E, 0, 0],
        'f' => [0x06, 0x09, 0x08, 0x1C, 0x08, 0x08, 0x08, 0, 0],
        'g' => [0x00, 0x00, 0x0F, 0x11, 0x11, 0x11, 0x0F, 0x01, 0x0E],
        'i' => [0x04, 0x00, 0x0C, 0x04, 0x04, 0x04, 0x0E, 0, 0],
        'l' => [0x0C, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E, 0, 0],
        'm' => [0x00, 0x00, 0x1A, 0x15, 0x15, 0x15, 0x15, 0, 0],
        'n' => [0x00, 0x00, 0x1E, 0x11, 0x11, 0x11, 0x11, 0, 0],
        'o' => [0x00, 0x00, 0x0E, 0x11, 0x11, 0x11, 0x0E, 0, 0],
        'p' => [0x00, 0x00, 0x1E, 0x11, 0x11, 0x11, 0x1E, 0x10, 0x10],
        'r' => [0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10, 0, 0],
        's' => [0x00, 0x00, 0x0F, 0x10, 0x0E, 0x01, 0x1E, 0, 0],
        't' => [0x08, 0x08, 0x1C, 0x08, 0x08, 0x09, 0x06, 0, 0],
        'u' => [0x00, 0x00, 0x11, 0x11, 0x11, 0x13, 0x0D, 0, 0],
        _ => [0; 9],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Width, height and pixels of a sheet.
    fn pixels(png: &[u8]) -> (usize, usize, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a PNG");
        let mut rgb = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut rgb).expect("a picture");
        (info.width as usize, info.height as usize, rgb)
    }

    #[test]
    fn a_sheet_shows_the_images_as_they_are() {
        let image: Vec<u8> = (0..784).map(|i| (i % 251) as u8).collect();
        let wrong = Wrong { pixels: &image, label: 7, predicted: Some(1) };
        let (width, height, rgb) = pixels(&misclassified(&[wrong; 11], 300).expect("a sheet"));
        assert_eq!((width, height), (GAP + 10 * (84 + GAP), 2 * GAP + LINE + 2 * (84 + LINE + GAP)));
        // The eleventh lies below the first.
        let (left, top) = (GAP, GAP + LINE + GAP / 2 + 84 + LINE + GAP);
        for (i, ink) in image.iter().enumerate() {
            let middle = (top + i / 28 * 3 + 1) * width + left + i % 28 * 3 + 1;
            assert_eq!(rgb[3 * middle..3 * middle + 3], [255 - ink; 3], "pixel {i}");
        }
        assert!(rgb.chunks(3).any(|p| p == MISTAKE), "the label below");
    }

    #[test]
    fn sheets_of_any_number() {
        let wrong = Wrong { pixels: &[255; 784], label: 3, predicted: None };
        let size = |count: usize, total| {
            let (width, height, _) = pixels(&misclassified(&vec![wrong; count], total).expect("a sheet"));
            (width, height)
        };
        assert_eq!(size(100, 100).1, size(150, 400).1, "at most a hundred");
        assert_eq!(size(150, 400), size(100, 0));
        assert!(size(0, 0).1 < 60 && size(0, 0).0 < 400, "a small sheet that says so");
        // Images that are too short or classes that are none do not end the program.
        misclassified(&[Wrong { pixels: &[1, 2], label: 99, predicted: Some(10) }], 1).expect("a sheet");
    }

    #[test]
    fn every_letter_of_a_sheet_has_a_form() {
        let texts = "no misclassified digits 0123456789 of misclassified: true > predicted ?";
        for letter in texts.chars().filter(|c| *c != ' ') {
            assert_ne!(glyph(letter), [0; 9], "{letter}");
        }
    }

    #[test]
    fn a_matrix_has_its_counts_and_parts() {
        let mut matrix = [[0; 10]; 10];
        for (class, row) in matrix.iter_mut().enumerate().skip(1) {
            row[class] = 970 + class;
        }
        matrix[4][9] = 37;
        let svg = String::from_utf8(confusion(&matrix, "Confusion", Format::Svg).expect("a picture")).expect("text");
        for part in [">974<", ">37<", ">96.3 %<", ">100.0 %<", ">no images<", ">Confusion<"] {
            assert!(svg.contains(part), "{part}");
        }
        assert_eq!(mixed(BLUE, 1.0), "#0072b2");
    }
}
