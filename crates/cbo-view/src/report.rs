//! One self-contained HTML file with everything about a run, or about all runs below a folder.

use crate::evaluations::{self, Question};
use crate::find::{self, Item};
use crate::{assets, outputs, run};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Bytes of swarms and pictures in a report at most; what does not fit is left out, and the page says so.
const BYTES: usize = 24 << 20;

/// Rows of a store in a report.
const ROWS: u64 = 200;

/// Items in a report at most.
const ITEMS: usize = 100;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Nothing is there.
    #[error("{} cannot be read: {error}", .path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Nothing to show.
    #[error("{} holds no run, comparison or experiment, nor do the folders below it", .0.display())]
    Nothing(PathBuf),
}

/// The report of a folder, as HTML.
pub fn of_folder(folder: &Path) -> Result<String, ReportError> {
    let unreadable = |error| ReportError::Unreadable { path: folder.into(), error };
    let real = folder.canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&real).map_err(unreadable)?;
    let items = find::search(&[real]);
    if items.is_empty() {
        return Err(ReportError::Nothing(folder.into()));
    }
    Ok(html(&data(&items)))
}

/// What the pages are to show.
fn data(items: &[Item]) -> Value {
    let mut room = BYTES;
    let mut fits = |bytes: Vec<u8>| {
        room = room.checked_sub(bytes.len())?;
        Some(base64(&bytes))
    };
    let (mut shorts, mut items_of) = (Vec::new(), Map::new());
    for item in items.iter().take(ITEMS) {
        let question = Question { limit: ROWS, sort: "value".into(), way: "up".into(), ..Question::default() };
        let whole = run::whole(item, true);
        shorts.push(whole["short"].clone());
        let pictures: Map<String, Value> = ["misclassified", "experiment"]
            .iter()
            .filter_map(|name| Some((name.to_string(), fits(outputs::picture(item, name)?)?.into())))
            .collect();
        let value = json!({
            "page": evaluations::page(&item.path, &question).ok(),
            "swarm": run::swarm(item, None).and_then(&mut fits),
            "pictures": pictures,
            "whole": whole,
        });
        items_of.insert(item.id.clone(), value);
    }
    json!({ "left_out": items.len().saturating_sub(ITEMS), "runs": shorts, "items": items_of })
}

/// The pages with `data` in them. Nothing in it can end its place in the page, and nothing but our own script is run.
pub fn html(data: &Value) -> String {
    let data = data.to_string().replace('<', "\\u003c");
    let script = assets::SCRIPT.replace("</script", "<\\/script");
    let sum = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        sum(&script),
        sum(assets::STYLE)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>cbo report</title>\n\
         <style>{}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <script id=\"data\" type=\"application/json\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        assets::STYLE
    )
}

/// Bytes as text, by the standard alphabet.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0u32, |n, byte| n << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = ALPHABET[(number >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_text() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn data_cannot_leave_its_place() {
        let page = html(&json!({ "name": "</script><script>alert(1)</script><!--" }));
        assert!(!page.contains("<script>alert"));
        // After this a script would not end where it does; our own script and style have none of it either.
        assert!(!page.contains("<!--") && page.matches("<script").count() == 2 && page.matches("</style").count() == 1);
    }
}
