//! Comma-separated numbers and words, as the command line writes them.

/// A table: names of columns, and the cells of each row.
#[derive(Debug, Default)]
pub struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a table of at most `most` rows.
    pub fn read(text: &str, most: usize) -> Self {
        let mut lines = text.lines();
        let names = lines.next().map(cells).unwrap_or_default();
        let rows = lines.take(most).map(cells).filter(|row| row.len() == names.len()).collect();
        Self { names, rows }
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Where the column of this name is.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|found| found == name)
    }

    /// The numbers of a column; what is none becomes NaN.
    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        let place = self.place(name)?;
        Some(self.rows.iter().map(|row| row[place].parse().unwrap_or(f64::NAN)).collect())
    }
}

/// The cells of a line, quoted as in RFC 4180. Our own files have no line breaks in cells.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_quoted_and_wrong_rows_are_left_out() {
        let table = Table::read("a,b\n1,\"x,\"\"y\"\"\"\n2\n3,4\n", 10);
        assert_eq!(table.rows(), [["1", "x,\"y\""], ["3", "4"]]);
        assert_eq!(table.numbers("a"), Some(vec![1.0, 3.0]));
        assert!(table.numbers("b").is_some_and(|b| b[0].is_nan()) && table.numbers("c").is_none());
        assert_eq!(Table::read("", 1).rows().len(), 0);
    }
}
