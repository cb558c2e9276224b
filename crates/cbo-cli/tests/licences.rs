//! Every dependency's licence must be one that MIT OR Apache-2.0 software may build on.

use serde_json::Value;
use std::process::Command;

const ALLOWED: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
    "Unlicense",
    "BSL-1.0",
    // For data, here the certificates that HTTPS trusts (webpki-roots): it asks only that its text goes along with them.
    "CDLA-Permissive-2.0",
];

/// Whether an SPDX expression can be met with allowed licences: OR needs one side, AND both.
fn acceptable(expression: &str) -> bool {
    let text = expression.trim();
    for (operator, all) in [(" OR ", false), ("/", false), (" AND ", true)] {
        let parts = split_outside_brackets(text, operator);
        if parts.len() > 1 {
            return if all { parts.iter().all(|p| acceptable(p)) } else { parts.iter().any(|p| acceptable(p)) };
        }
    }
    match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inner) => acceptable(inner),
        None => ALLOWED.contains(&text),
    }
}

fn split_outside_brackets<'a>(text: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && text[i..].starts_with(operator) {
            parts.push(&text[start..i]);
            start = i + operator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

#[test]
fn expressions_are_understood() {
    assert!(acceptable("MIT"));
    assert!(acceptable("GPL-3.0 OR MIT"));
    assert!(acceptable("MIT/Apache-2.0"));
    assert!(acceptable("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!acceptable("GPL-3.0"));
    assert!(!acceptable("MIT AND GPL-3.0"));
    assert!(!acceptable("(GPL-3.0 OR LGPL-2.1) AND MIT"));
}

#[test]
fn every_dependency_has_an_acceptable_licence() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 20, "only {} packages were looked at", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|p| !p["license"].as_str().is_some_and(acceptable))
        .map(|p| format!("{} {}: {}", p["name"], p["version"], p["license"]))
        .collect();
    assert!(refused.is_empty(), "not acceptable: {refused:#?}");
}
