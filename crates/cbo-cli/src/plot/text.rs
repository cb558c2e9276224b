//! Text in pictures: letters that the font has, and lines that fit into the picture.

use kuva::render::render::{Primitive, Scene, TextAnchor};

/// How much a line may shrink before it is cut.
const SHRINK: f64 = 0.75;

/// Between a text and the edge of the picture.
const EDGE: f64 = 6.0;

/// The width of a text of this size, about: advances of the font's letters by kind.
pub fn width(text: &str, size: f64) -> f64 {
    let advance = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.29,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'I' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '\\' | '"' => 0.41,
        'm' | 'M' | 'W' | '@' | '%' => 0.97,
        'A'..='Z' => 0.70,
        c if (c as u32) < 0x2E80 => 0.63,
        // Ideographs are square.
        _ => 1.0,
    };
    size * text.chars().map(advance).sum::<f64>()
}

/// Whether the font of PNG files, DejaVu Sans, has a letter. Scripts that are written from right to left are left out: the
/// library would set them the wrong way round.
fn drawn(letter: char) -> bool {
    matches!(letter as u32,
        0x20..=0x7E | 0xA0..=0x2AF | 0x300..=0x34F | 0x370..=0x373 | 0x374..=0x377 | 0x37A..=0x37E | 0x384..=0x38A | 0x38E..=0x3A1
        | 0x3A3..=0x3FF | 0x400..=0x523 | 0x1E00..=0x1E9F | 0x2010..=0x2027 | 0x2030..=0x205E | 0x2070..=0x2071 | 0x2074..=0x208E
        | 0x20A0..=0x20B5 | 0x2100..=0x2109 | 0x2190..=0x22FF | 0x25A0..=0x25FF)
}

/// The text with letters that the font lacks by their numbers, such as U+6F22; otherwise they would be boxes.
pub fn readable(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match drawn(letter) {
            true => out.push(letter),
            false if letter.is_whitespace() || letter.is_control() => out.push(' '),
            false => {
                if !out.is_empty() && !out.ends_with([' ', '/']) {
                    out.push(' ');
                }
                out += &format!("U+{:04X}", letter as u32);
            }
        }
    }
    out
}

/// The text and size that fit into a room: smaller down to a limit, then with an ellipsis for its middle.
pub fn fitted(text: &str, size: u32, room: f64) -> (String, u32) {
    let fits = |text: &str, size: u32| width(text, f64::from(size)) <= room;
    let least = (SHRINK * f64::from(size)).ceil() as u32;
    if let Some(size) = (least..=size).rev().find(|size| fits(text, *size)) {
        return (text.to_string(), size);
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| {
        let head = kept.div_ceil(2);
        let tail = letters.len() - (kept - head);
        letters[..head].iter().chain(&['…']).chain(&letters[tail..]).collect::<String>()
    };
    let longest = (0..letters.len()).rev().map(cut).find(|text| fits(text, least));
    (longest.unwrap_or_default(), least)
}

/// Where the origin of a group lies in the picture.
pub fn shifted((x, y): (f64, f64), transform: Option<&str>) -> (f64, f64) {
    let inner = transform.and_then(|t| t.strip_prefix("translate(")).and_then(|t| t.strip_suffix(')'));
    let mut parts = inner.unwrap_or("").split(',').map(|part| part.trim().parse().unwrap_or(0.0));
    (x + parts.next().unwrap_or(0.0), y + parts.next().unwrap_or(0.0))
}

/// Makes every text of a picture fit into it; with `plain` letters that the font has.
pub fn fit(scene: &mut Scene, plain: bool) {
    let (across, down) = (scene.width, scene.height);
    let mut origins = vec![(0.0, 0.0)];
    for element in &mut scene.elements {
        let origin = origins.last().copied().unwrap_or_default();
        match element {
            Primitive::GroupStart { transform, .. } => origins.push(shifted(origin, transform.as_deref())),
            Primitive::GroupEnd => {
                origins.pop();
            }
            Primitive::Text { x, y, content, size, anchor, rotate, .. } => {
                if plain {
                    *content = readable(content);
                }
                let (before, after) = match rotate {
                    None => (*x, across - origin.0 - *x),
                    Some(_) => (down - origin.1 - *y, *y + origin.1),
                };
                let room = match anchor {
                    TextAnchor::Start => after,
                    TextAnchor::Middle => 2.0 * before.min(after),
                    TextAnchor::End => before + origin.0,
                };
                (*content, *size) = fitted(content, *size, room - EDGE);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_the_font_lacks_are_numbers() {
        assert_eq!(readable("Größe σ², 10⁻⁶ → Ω"), "Größe σ², 10⁻⁶ → Ω");
        assert_eq!(readable("漢字 7"), "U+6F22 U+5B57 7");
        assert_eq!(readable("runs/漢\t😀"), "runs/U+6F22 U+1F600");
    }

    #[test]
    fn long_titles_shrink_and_are_cut_in_the_middle() {
        assert_eq!(fitted("short", 16, 400.0), ("short".into(), 16));
        let text = "a title of some sixty letters, which is too long for this";
        let (same, smaller) = fitted(text, 16, 0.85 * width(text, 16.0));
        assert!(same == text && (12..16).contains(&smaller));
        let long = format!("./simulate {} in 3 dimensions", "x".repeat(300));
        let (cut, size) = fitted(&long, 16, 500.0);
        assert!(width(&cut, f64::from(size)) <= 500.0 && cut.chars().count() > 40);
        assert!(cut.starts_with("./simulate") && cut.contains('…') && cut.ends_with("dimensions"));
        assert_eq!(fitted("漢字", 12, -3.0).0, "");
    }
}
