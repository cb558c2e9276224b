//! The page that shows all figures: one file beside the pictures, readable without a network.

use crate::sheet::{Sheet, Table};

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>Anisotropic consensus-based optimization: the figures</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1300px; margin: 2em auto; padding: 0 1em; color: #222; }
img { width: 100%; max-width: 1280px; border: 1px solid #ddd; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 0.2em 0.8em; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
.verdict { border-left: 4px solid #009E73; padding-left: 0.8em; }
.verdict.off { border-color: #D55E00; }
</style>
</head>
<body>
<h1>Convergence of anisotropic consensus-based optimization in mean-field law</h1>
<p>The figures of the paper, computed by cbo: measured beside expected.</p>
";

/// The page, with a note on what is missing.
pub fn page(sheets: &[Sheet], missing: Option<&str>) -> String {
    let note = missing.map_or(String::new(), |note| format!("<p>Not here: {}.</p>\n", escaped(note)));
    HEAD.to_string() + &sheets.iter().map(section).collect::<String>() + &note + "</body>\n</html>\n"
}

fn section(sheet: &Sheet) -> String {
    let Sheet { name, title, about, verdict, .. } = sheet;
    let class = if sheet.agrees { "verdict" } else { "verdict off" };
    format!(
        "<section id=\"{name}\">\n<h2>{}</h2>\n<p>{}</p>\n<p><img src=\"{name}.svg\" alt=\"{}\"></p>\n\
         <p class=\"{class}\">{}</p>\n{}<p>Files: <a href=\"{name}.svg\">SVG</a>, <a href=\"{name}.png\">PNG</a>, \
         <a href=\"{name}.csv\">CSV</a>, <a href=\"{name}.json\">JSON</a></p>\n</section>\n",
        escaped(title),
        escaped(about),
        escaped(title),
        escaped(verdict),
        table(&sheet.table)
    )
}

fn table(table: &Table) -> String {
    let cells = |tag: &str, row: &mut dyn Iterator<Item = &str>| {
        let cells: String = row.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = cells("th", &mut table.head.iter().copied());
    let rows: String = table.rows.iter().map(|row| cells("td", &mut row.iter().map(String::as_str))).collect();
    format!("<div class=\"table\"><table>\n{head}{rows}</table></div>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
