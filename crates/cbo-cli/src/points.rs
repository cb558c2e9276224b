//! Files of points: numbers in lines (CSV and its relatives) or NumPy's NPY.

use crate::numbers::plain;
use std::fmt;
use std::fs;
use std::path::Path;

/// Points read from a file, one per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// All numbers, row after row.
    pub values: Vec<f64>,
    /// Numbers in a row.
    pub dim: usize,
    /// The line of each row, from 1; empty for a file without lines.
    pub lines: Vec<usize>,
}

impl Points {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// An error at the first number that is `wrong`, if there is one.
    pub fn refuse(&self, wrong: impl Fn(f64) -> bool, remedy: &str) -> Result<(), PointsError> {
        let Some(index) = self.values.iter().position(|v| wrong(*v)) else { return Ok(()) };
        let (row, column) = (index / self.dim, index % self.dim + 1);
        let message = format!("{} {remedy}", plain(self.values[index]));
        Err(match self.lines.get(row) {
            Some(line) => PointsError { column: Some(column), ..PointsError::at(*line, message) },
            None => PointsError::new(format!("row {}, column {column}: {message}", row + 1)),
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// What is wrong with a file, and in which line if it has lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointsError {
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl PointsError {
    fn new(message: impl Into<String>) -> Self {
        Self { line: None, column: None, message: message.into() }
    }

    fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), column: None, message: message.into() }
    }
}

impl fmt::Display for PointsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |name: &str, number: Option<usize>| number.map(|n| format!("{name} {n}"));
        let places: Vec<String> =
            [place("line", self.line), place("column", self.column)].into_iter().flatten().collect();
        if !places.is_empty() {
            write!(f, "{}: ", places.join(", "))?;
        }
        write!(f, "{}", self.message)
    }
}

/// Reads the points of a file: NPY if its name says so, else text.
pub fn read(path: &Path) -> Result<Points, PointsError> {
    let bytes = fs::read(path).map_err(|e| PointsError::new(format!("cannot be read: {e}")))?;
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy")) {
        return npy(&bytes);
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| PointsError::new("is not text; give lines of numbers, or NumPy's format in a file called .npy"))?;
    lines(&text)
}

/// Points in lines: numbers separated by commas, semicolons, tabs or spaces. Empty lines, comments (#) and a first line
/// of names are skipped.
pub fn lines(text: &str) -> Result<Points, PointsError> {
    let mut points = Points { values: Vec::new(), dim: 0, lines: Vec::new() };
    let mut first_line = 0;
    let mut may_be_names = true;
    // Lines end with LF, CR LF or CR alone.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fields = fields(line);
        let names = fields.iter().all(|f| f.parse::<f64>().is_err() && !f.is_empty());
        if std::mem::take(&mut may_be_names) && names {
            continue;
        }
        if points.dim == 0 {
            (points.dim, first_line) = (fields.len(), index + 1);
        } else if fields.len() != points.dim {
            let message = format!(
                "{} numbers, but line {first_line} has {}; all lines need the same number",
                fields.len(),
                points.dim
            );
            return Err(PointsError::at(index + 1, message));
        }
        points.lines.push(index + 1);
        for (column, field) in fields.into_iter().enumerate() {
            let fault = PointsError::at(index + 1, format!("`{field}` is not a number"));
            let value: f64 = field.parse().map_err(|_| PointsError { column: Some(column + 1), ..fault })?;
            points.values.push(value);
        }
    }
    if points.is_empty() {
        return Err(PointsError::new("holds no points; give one per line"));
    }
    Ok(points)
}

fn fields(line: &str) -> Vec<&str> {
    match [',', ';', '\t'].into_iter().find(|c| line.contains(*c)) {
        Some(separator) => line.split(separator).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}

/// Points in NumPy's format: a 2-D array of little-endian f8 or f4 in C order.
pub fn npy(bytes: &[u8]) -> Result<Points, PointsError> {
    let cut = || PointsError::new("is not a complete NPY file");
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| PointsError::new("is not an NPY file"))?;
    let (&major, rest) = rest.split_first().ok_or_else(cut)?;
    let (length, rest) = match major {
        1 => rest.get(1..3).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]]))).zip(rest.get(3..)),
        2 | 3 => rest.get(1..5).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize).zip(rest.get(5..)),
        _ => return Err(PointsError::new(format!("is in version {major} of NPY; versions 1, 2 and 3 are read"))),
    }
    .ok_or_else(cut)?;
    let header = rest.get(..length).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| PointsError::new("has a header that is not text"))?;
    let data = &rest[length..];
    let width = match entry(header, "descr").map(|v| v.trim_matches(['\'', '"'])) {
        Some("<f8") => 8,
        Some("<f4") => 4,
        other => {
            let kind = other.unwrap_or("nothing");
            return Err(PointsError::new(format!("holds {kind}; little-endian floats, <f8 or <f4, are read")));
        }
    };
    if entry(header, "fortran_order") != Some("False") {
        return Err(PointsError::new("is in Fortran order; save numpy.ascontiguousarray of it"));
    }
    let shape = entry(header, "shape").and_then(shape).ok_or_else(|| PointsError::new("has no readable shape"))?;
    let [rows, dim] = shape[..] else {
        let message = format!("has {} axes; points are a 2-D array, one per row", shape.len());
        return Err(PointsError::new(message));
    };
    if rows == 0 || dim == 0 {
        return Err(PointsError::new(format!("has shape ({rows}, {dim}) and so holds no points")));
    }
    let wanted = rows.checked_mul(dim).and_then(|n| n.checked_mul(width));
    if wanted != Some(data.len()) {
        return Err(PointsError::new(format!("has shape ({rows}, {dim}) but {} bytes of numbers", data.len())));
    }
    let eight = |b: &[u8]| f64::from_le_bytes(std::array::from_fn(|i| b[i]));
    let four = |b: &[u8]| f64::from(f32::from_le_bytes(std::array::from_fn(|i| b[i])));
    let values = data.chunks_exact(width).map(|b| if width == 8 { eight(b) } else { four(b) }).collect();
    Ok(Points { values, dim, lines: Vec::new() })
}

/// The value of a key in the header, a Python dictionary.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = if value.starts_with('(') { value.find(')')? + 1 } else { value.find([',', '}'])? };
    Some(value[..end].trim())
}

fn shape(tuple: &str) -> Option<Vec<usize>> {
    let inside = tuple.strip_prefix('(')?.strip_suffix(')')?;
    inside.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_its_usual_forms() {
        let values = vec![1.0, 2.0, -3.0, 4e2];
        for text in [
            "1,2\n-3,4e2",
            "x,y\n1, 2\n\n# c\n-3 ,4e2\n",
            "1 2\r\n-3\t\t400",
            "1;2\n-3;400.0",
            "1,2\r-3,400\r",
            "x y\r\r1 2\r\n-3 400",
            "\u{feff}1\t2\n-3\t4e2",
        ] {
            if text.contains("\t\t") {
                assert_eq!(lines(text).unwrap_err().line, Some(2)); // an empty field between two tabs
            } else {
                let points = lines(text).expect("points");
                assert_eq!((points.values, points.dim), (values.clone(), 2), "{text:?}");
            }
        }
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(lines("1,2\n3,4\n5\n").unwrap_err().line, Some(3));
        assert_eq!(lines("1,2\n\n3,b\n").unwrap_err().line, Some(3));
        assert_eq!(lines("1,b\n").unwrap_err().line, Some(1)); // half a line of names is a line with a fault
        assert_eq!(lines("a,b\nc,d\n").unwrap_err().line, Some(2)); // one line of names, not two
        assert!(lines("# nothing\n").unwrap_err().message.contains("no points"));
    }

    fn array(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn numpy_arrays_of_both_precisions() {
        let header = |kind: &str, shape: &str| {
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}          \n")
        };
        let eight: Vec<u8> = [1.5f64, -2.0, 0.1].iter().flat_map(|v| v.to_le_bytes()).collect();
        let four: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let points = npy(&array(&header("<f8", "(1, 3)"), &eight)).expect("three numbers");
        assert_eq!((points.values, points.dim), (vec![1.5, -2.0, 0.1], 3));
        let points = npy(&array(&header("<f4", "(2, 1)"), &four)).expect("two numbers");
        let fault = points.refuse(|v| v < 0.0, "is wrong").unwrap_err();
        assert_eq!(fault.to_string(), "row 2, column 1: -2 is wrong");
        assert_eq!((points.values, points.dim), (vec![1.5, -2.0], 1));
        for (bytes, word) in [
            (array(&header(">f8", "(1, 3)"), &eight), "little-endian"),
            (array(&header("<f8", "(3,)"), &eight), "2-D"),
            (array(&header("<f8", "(2, 3)"), &eight), "bytes"),
            (array(&header("<f8", "(99999999999, 99999999999)"), &eight), "bytes"),
            (array(&header("<f8", "(0, 3)"), &[]), "no points"),
            (array(&header("<f8", "(1, 3)").replace("False", "True"), &eight), "Fortran"),
            (b"\x93NUMPY\x01".to_vec(), "complete"),
            (b"PK".to_vec(), "not an NPY"),
        ] {
            let error = npy(&bytes).unwrap_err();
            assert!(error.message.contains(word), "{error} lacks {word}");
        }
    }
}
