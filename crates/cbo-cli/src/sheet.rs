//! A figure or an experiment as four files, SVG, PNG, CSV and JSON, and as a text with a table.

use crate::error::CliError;
use crate::files;
use crate::plot::Format;
use std::path::Path;

/// A finished figure.
pub struct Sheet {
    /// The name of its files.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Parameters, in a sentence.
    pub about: String,
    /// Measured beside expected.
    pub table: Table,
    /// What the comparison says, in a sentence.
    pub verdict: String,
    /// Whether measured and expected agree.
    pub agrees: bool,
    /// The picture as vectors.
    pub svg: Vec<u8>,
    /// As pixels.
    pub png: Vec<u8>,
    /// Its numbers as a table.
    pub csv: String,
    /// Measured and expected numbers as one object.
    pub json: String,
}

/// Numbers for people.
pub struct Table {
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The table in aligned columns.
    pub fn text(&self) -> String {
        let head: Vec<String> = self.head.iter().map(|h| h.to_string()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&self.rows).collect();
        let width = |k: usize| all.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
        let line = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(k, cell)| format!("{cell:>width$}", width = width(k)));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
        };
        all.iter().map(|row| line(row)).collect()
    }
}

/// Both files of a picture, drawn at once.
pub fn pictures(draw: impl Fn(Format) -> Result<Vec<u8>, CliError> + Sync) -> Result<(Vec<u8>, Vec<u8>), CliError> {
    let (svg, png) = rayon::join(|| draw(Format::Svg), || draw(Format::Png));
    Ok((svg?, png?))
}

/// Finds out before anything is computed whether the files of a sheet can be written.
pub fn check(folder: &Path, name: &str) -> Result<(), CliError> {
    ["svg", "png", "csv", "json"]
        .iter()
        .try_for_each(|ending| files::check_file(&folder.join(format!("{name}.{ending}"))))
}

impl Sheet {
    /// Writes its files; the JSON last, so that a sheet with a JSON is whole.
    pub fn write(&self, folder: &Path) -> Result<(), CliError> {
        let contents =
            [("svg", &self.svg[..]), ("png", &self.png), ("csv", self.csv.as_bytes()), ("json", self.json.as_bytes())];
        for (ending, bytes) in contents {
            files::write_whole(&folder.join(format!("{}.{ending}", self.name)), bytes)?;
        }
        Ok(())
    }

    /// What a person reads: heading, parameters, table, verdict, and where the files are.
    pub fn text(&self, folder: &Path) -> String {
        let file = folder.join(format!("{}.png", self.name));
        let Self { title, about, verdict, .. } = self;
        format!(
            "{title}\n{about}\n\n{}\n{verdict}\nwritten: {} (.svg, .csv, .json)\n",
            self.table.text(),
            file.display()
        )
    }
}
