//! Tables for people: aligned columns, words to the left and numbers to the right.

use crate::text::one_line;

/// Rows under a heading. The first column is left-aligned, all others are right-aligned.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(|word| word.to_string()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let all = || std::iter::once(&heading).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    all().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [vec!["pso".to_string(), "7".to_string()], vec!["a\tb".to_string(), "1 000".to_string()]];
        assert_eq!(table(&["method", "n"], &rows), "method      n\npso         7\na\\tb    1 000\n");
    }
}
