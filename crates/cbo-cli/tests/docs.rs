//! The documentation is true: its commands run, its flags and defaults are the program's, its links lead somewhere.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The Markdown files of a folder, in order.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    pages
}

/// README, CONTRIBUTING, CHANGELOG and the guide.
fn all_pages() -> Vec<PathBuf> {
    [pages(&root()), pages(&root().join("docs"))].concat()
}

/// A fenced block of code.
struct Block {
    language: String,
    /// The line of its first line, from 1.
    line: usize,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                open = Some(Block { language: language.into(), line: index + 2, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text += &format!("{line}\n"),
            (None, None) => (),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// What to do with a line of an `sh` block.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// Nothing: a comment, or a command that the tests run elsewhere.
    Skip,
    /// With this instruction set, or the default, run `cbo` with these arguments, as a shell reads them, and expect this exit code.
    Run(Option<&'a str>, &'a str, i32),
    /// Not known.
    Unknown,
}

fn classify(line: &str) -> Line<'_> {
    let line = line.trim();
    let skipped = ["#", "make", "cargo test", "python3"];
    if line.is_empty() || skipped.iter().any(|s| line.starts_with(s)) {
        return Line::Skip;
    }
    let (set, line) = match line.strip_prefix("CBO_SIMD=").and_then(|rest| rest.split_once(' ')) {
        Some((set, line)) => (Some(set), line),
        None => (None, line),
    };
    let Some(arguments) = line.strip_prefix("cbo ").or(line.strip_prefix("cargo run --release -- ")) else {
        return Line::Unknown;
    };
    match arguments.split_once("# exit ") {
        Some((arguments, code)) => code.trim().parse().map_or(Line::Unknown, |code| Line::Run(set, arguments, code)),
        None => Line::Run(set, arguments, 0),
    }
}

#[test]
fn lines_are_classified() {
    assert_eq!(classify("cbo list"), Line::Run(None, "list", 0));
    assert_eq!(classify("cargo run --release -- list --json"), Line::Run(None, "list --json", 0));
    assert_eq!(classify("cbo list foo  # exit 2"), Line::Run(None, "list foo  ", 2));
    assert_eq!(classify("cbo list foo # exit soon"), Line::Unknown);
    assert_eq!(classify("CBO_SIMD=avx2 cbo list"), Line::Run(Some("avx2"), "list", 0));
    assert_eq!(classify("PATH=/tmp cbo list"), Line::Unknown);
    assert_eq!(classify("make test"), Line::Skip);
    assert_eq!(classify("cargo test -p cbo"), Line::Skip);
    assert_eq!(classify("curl example.org | sh"), Line::Unknown);
    assert_eq!(classify("cargo publish"), Line::Unknown);
}

#[test]
fn every_line_of_every_sh_block_is_known() {
    for page in all_pages() {
        for block in blocks(&read(&page)).iter().filter(|b| b.language == "sh") {
            for (index, line) in block.text.lines().enumerate() {
                let place = format!("{} line {}", page.display(), block.line + index);
                assert_ne!(classify(line), Line::Unknown, "{place}: use a `console` block for: {line}");
            }
        }
    }
}

/// Runs the commands of each page in a fresh folder, with the files that its TOML blocks name.
#[cfg(unix)]
#[test]
fn every_command_runs() {
    let mut count = 0;
    // The README repeats commands of the guide: those are run there, where others use what they leave.
    let (readme, guide): (Vec<_>, Vec<_>) = all_pages().into_iter().partition(|page| page.ends_with("README.md"));
    let mut done = HashSet::new();
    for page in guide.into_iter().chain(readme) {
        let folder = tempfile::tempdir().expect("a folder");
        for block in blocks(&read(&page)) {
            let name = block.text.lines().next().and_then(|l| l.strip_prefix("# ")).filter(|n| n.ends_with(".toml"));
            if let ("toml", Some(name)) = (block.language.as_str(), name) {
                fs::write(folder.path().join(name), &block.text).expect("a file is written");
            }
            if block.language != "sh" {
                continue;
            }
            for (index, line) in block.text.lines().enumerate() {
                let Line::Run(set, arguments, expected) = classify(line) else { continue };
                let is_new = done.insert(line.split(" --out ").next().unwrap_or(line).to_owned());
                if page.ends_with("README.md") && !is_new {
                    continue;
                }
                let output = Command::new("sh")
                    .args(["-c", &format!("\"$CBO\" {arguments}")])
                    .env("CBO", env!("CARGO_BIN_EXE_cbo"))
                    .envs(set.map(|set| ("CBO_SIMD", set)))
                    .env("CBO_CACHE", folder.path().join("cache")) // not what this user happens to have fetched
                    .current_dir(folder.path())
                    .stdin(Stdio::null())
                    .output()
                    .expect("a shell starts");
                let place = format!("{} line {}: {line}", page.display(), block.line + index);
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(expected), "{place}\n{said}");
                count += 1;
            }
        }
    }
    assert!(count > 20, "only {count} commands were found");
}

/// The part of a page from a heading to the next of the same level.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let level = heading.split_once(' ').expect("a heading").0;
    rest.split_once(&format!("\n{level} ")).map_or(rest, |(section, _)| section)
}

/// The cells of the table row about a flag.
fn row<'a>(text: &'a str, flag: &str) -> Option<Vec<&'a str>> {
    let about = |line: &&str| {
        let rest = line.strip_prefix(&format!("| `--{flag}"));
        rest.is_some_and(|r| r.starts_with(['`', ' ']))
    };
    let line = text.lines().find(about)?;
    // A bar in a cell is written \|.
    let line = line.trim_matches('|');
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in line.match_indices('|').filter(|(at, _)| !line[..*at].ends_with('\\')) {
        cells.push(line[start..at].trim());
        start = at + 1;
    }
    cells.push(line[start..].trim());
    Some(cells)
}

/// The commands that do something, with their names: `minimize`, `mnist fetch`.
fn leaves<'a>(command: &'a clap::Command, name: &str) -> Vec<(String, &'a clap::Command)> {
    let inner = |c: &'a clap::Command| leaves(c, format!("{name} {}", c.get_name()).trim());
    let found: Vec<_> = command.get_subcommands().flat_map(inner).collect();
    if found.is_empty() { vec![(name.to_string(), command)] } else { found }
}

#[test]
fn every_flag_is_documented_with_its_default() {
    let page = read(&root().join("docs/cli.md"));
    let command = cbo_cli::command();
    let minimize = section(&page, "## cbo minimize");
    let original = command.find_subcommand("minimize").expect("the command");
    let in_common = |argument: &clap::Arg| {
        let same =
            |other: &&clap::Arg| other.get_long() == argument.get_long() && other.get_help() == argument.get_help();
        original.get_arguments().find(same).is_some()
    };
    for (name, subcommand) in leaves(&command, "") {
        let own = section(&page, &format!("## cbo {name}"));
        for argument in subcommand.get_arguments() {
            let Some(flag) = argument.get_long().filter(|f| *f != "help") else { continue };
            // What a command has in common with `minimize` is documented once.
            let shared = row(minimize, flag).filter(|_| in_common(argument));
            let cells =
                row(own, flag).or(shared).unwrap_or_else(|| panic!("docs/cli.md has no row for {name} --{flag}"));
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let in_words = help.rsplit_once("[default: ").map(|(_, text)| text.trim_end_matches(']').to_string());
            let given = argument.get_default_values().first().map(|v| v.to_string_lossy().into_owned());
            let takes_value = argument.get_num_args().is_none_or(|n| n.takes_values());
            let Some(default) = in_words.or(given.filter(|_| takes_value)) else { continue };
            let documented = cells.last().expect("a cell").replace('`', "");
            let same = documented == default || documented.replace(';', ",") == default.replace(';', ",");
            assert!(same, "docs/cli.md: default of {name} --{flag} is `{default}`, not `{documented}`");
        }
    }
}

#[test]
fn every_key_of_the_json_objects_is_documented() {
    let page = read(&root().join("docs/cli.md"));
    let runs = [
        ("minimize", "minimize sphere --dim 2 --method cbo --steps 3 --json"),
        ("minimize", "minimize sphere --dim 2 --max-evaluations 500 --explain --json"),
        ("minimize", "minimize g24 --max-evaluations 50 --json"),
        ("minimize", "minimize himmelblau --method polarised --json"),
        ("minimize", "minimize sphere --dim 2 --sample --json"),
        ("success", "success sphere --dim 2 --max-evaluations 50 --runs 2 --json"),
        ("success", "success g24 --max-evaluations 50 --runs 2 --json --verbose"),
        ("success", "success sphere --dim 2 --method cbo --steps 3 --runs 2 --json --verbose"),
        ("compare", "compare sphere --dim 2 --methods cbo,pso --steps 3 --runs 2 --quiet --json"),
        ("compare", "compare eggholder --bounds 1e6,2e6 --methods random --max-evaluations 5 --runs 2 --json"),
        ("list", "list rastrigin --json"),
        ("list", "list g06 --json"),
        ("paper", "paper fig1a --json --out FOLDER"),
        ("paper", "paper fig2 --json --out FOLDER"),
        ("paper", "paper fig3 --json --out FOLDER"),
        ("theory", "theory sphere --dim 2 --sharp --json"),
        ("meanfield", "meanfield --quick --particles 10 20 --repeats 2 --json"),
        (
            "mnist fetch",
            "mnist fetch --mirror file://ROOT/crates/cbo-problems/data --checksums \
             ROOT/crates/cbo-cli/tests/common/subset.sha256 --to FOLDER/mnist --json",
        ),
        ("scaling", "scaling --seconds 0.01 --json"),
        ("bench", "bench --particles 10 --dim 2 --seconds 0.001 --threads 1 --json"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (name, line) in runs {
        let line = line.replace("FOLDER", folder.path().to_str().expect("a path of text"));
        let line = line.replace("ROOT", root().to_str().expect("a path of text"));
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = Command::new(env!("CARGO_BIN_EXE_cbo"))
            .args(arguments)
            .env("CBO_CACHE", folder.path().join("cache"))
            .output()
            .expect("the program starts");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let object = value.as_object().expect("an object");
        let nested = [
            "outcomes",
            "rows",
            "parameters",
            "minima",
            "checks",
            "networks",
            "advice",
            "distances",
            "files",
            "phases",
            "problems",
            "minimisers",
        ]
        .iter()
        .filter_map(|k| object.get(*k)?.get(0)?.as_object())
        .chain(object.get("sample").and_then(|sample| sample.as_object()));
        let deeper =
            ["rows", "tests"].iter().filter_map(|k| object.get("problems")?.get(0)?.get(*k)?.get(0)?.as_object());
        for key in nested.chain(deeper).flat_map(|o| o.keys()).chain(object.keys()) {
            assert!(section(&page, &format!("## cbo {name}")).contains(&format!("`{key}`")), "{name}: {key}");
        }
    }
}

/// The table of docs/functions.md, made from the list of the program.
fn function_table() -> String {
    let mut table = String::from("| name | dimensions | domain | minimum | formula |\n|---|---|---|---|---|\n");
    for info in cbo_problems::all() {
        let interval = |(low, high): &(f64, f64)| format!("[{low}, {high}]");
        let domain = info.domain.iter().map(interval).collect::<Vec<_>>().join(" × ");
        let star = if info.confined { " *" } else { "" };
        let cell = |text: &str| text.replace('|', "\\|");
        let (optimum, formula) = (cell(info.optimum), cell(info.formula));
        table += &format!("| `{}` | {} | {domain}{star} | {optimum} | `{formula}` |\n", info.name, info.dims);
    }
    table
}

#[test]
fn the_table_of_functions_is_the_programs() {
    let table = function_table();
    let page = read(&root().join("docs/functions.md"));
    assert!(page.contains(&table), "the table of docs/functions.md should be\n\n{table}");
    let count = format!("{} benchmark functions", cbo_problems::all().len());
    assert!(read(&root().join("README.md")).contains(&count), "README should say: {count}");
}

/// The table of baselines in docs/compare.md, made from the list of the program.
fn baseline_table() -> String {
    let mut table = String::from("| name | method | settings, with their defaults | source |\n|---|---|---|---|\n");
    for kind in cbo_lab::baselines::ALL {
        let setting = |s: &cbo_lab::baselines::Setting| format!("`{}` {}: {}", s.name, s.default.words(), s.meaning);
        let settings = kind.settings.iter().map(setting).collect::<Vec<_>>().join("; ");
        let settings = if settings.is_empty() { "none".into() } else { settings };
        table += &format!("| `{}` | {} | {settings} | {} |\n", kind.name, kind.title, kind.source);
    }
    table
}

#[test]
fn the_table_of_baselines_is_the_programs() {
    let table = baseline_table();
    let page = read(&root().join("docs/compare.md"));
    assert!(page.contains(&table), "the table of docs/compare.md should be\n\n{table}");
    // Their files begin with the same source, and the help and the guide of the command name all of them.
    let help =
        cbo_cli::command().find_subcommand("compare").expect("the command").clone().render_long_help().to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let names = cbo_lab::baselines::Baseline::names().collect::<Vec<_>>();
    assert!(help.contains(&names.join(", ")), "{help}");
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    assert!(read(&root().join("docs/cli.md")).contains(&quoted.join(", ")));
    for kind in cbo_lab::baselines::ALL {
        let file = root().join("crates/cbo-lab/src/baselines").join(format!("{}.rs", kind.name.replace('-', "_")));
        let head: String = read(&file).lines().take_while(|line| line.starts_with("//!")).collect();
        let doi = kind.source.split("doi:").nth(1).expect("a DOI");
        assert!(head.contains(doi) && head.contains("- formula:") && head.contains("- settings:"), "{}", kind.name);
    }
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines < 100, "{lines} lines");
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[test]
fn every_relative_link_leads_somewhere() {
    for page in all_pages() {
        let text = read(&page);
        for (_, rest) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
            let target = rest.split_once(')').expect("a link is closed").0;
            if target.contains("://") {
                continue;
            }
            let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            assert!(file.exists(), "{}: {target} is not there", page.display());
            if !fragment.is_empty() {
                let there = read(&file);
                let found = there.lines().filter(|l| l.starts_with('#')).any(|l| anchor(l) == fragment);
                assert!(found, "{}: {target} has no such heading", page.display());
            }
        }
    }
}

#[test]
fn every_page_of_the_guide_is_in_its_summary() {
    let folder = root().join("docs");
    let summary = read(&folder.join("SUMMARY.md"));
    for page in pages(&folder) {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name} is not in the summary");
    }
}
