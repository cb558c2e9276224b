//! The figures of the paper: numbers, files, pictures.

use crate::common::{assert_usage, cbo, command, object, path, read_png, stderr, stdout, words};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("JSON")
}

/// All figures, small: every number that they print.
#[test]
fn all_figures_in_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("figures");
    fs::create_dir(&out).expect("a folder");
    fs::write(out.join("thesis.tex"), "mine").expect("a file of the user's");
    let all = object(&cbo(&["paper", "all", "--quick", "--out", path(&out), "--json"]));
    let figures = all["figures"].as_array().expect("figures");
    assert_eq!(
        figures.iter().map(|f| f["figure"].as_str().expect("a name")).collect::<Vec<_>>(),
        ["fig1a", "fig1b", "fig2", "fig3"]
    );
    for figure in figures {
        let name = figure["figure"].as_str().expect("a name");
        assert_eq!(figure["agrees"], true, "{name}");
        assert_eq!(&json(&out.join(format!("{name}.json"))), figure, "the file is what was printed");
        let svg = fs::read_to_string(out.join(format!("{name}.svg"))).expect("SVG");
        assert!(svg.contains("<svg") && svg.contains("Figure"));
        let (width, height, colours) = read_png(&out.join(format!("{name}.png")));
        assert!(width > 1000 && height > 800 && colours.len() > 20, "{name}: {} colours", colours.len());
        let (colour, lines) = if name == "fig3" { ([0x00, 0x72, 0xB2], 16) } else { ([0xD5, 0x5E, 0x00], 100) };
        assert!(colours.contains(&colour), "{name}: what is drawn is seen");
        assert!(fs::read_to_string(out.join(format!("{name}.csv"))).expect("CSV").lines().count() > lines);
    }
    assert_eq!(fs::read_to_string(out.join("thesis.tex")).expect("still there"), "mine");
    let page = fs::read_to_string(out.join("index.html")).expect("the page");
    for part in ["fig1a.svg", "fig1b.svg", "fig2.svg", "1.90564", "holds", "N = 8 000", "T1 &gt;= -p3 phi"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("http"), "the page needs no network");
    figure_1b(&figures[1]);
    figure_2(&figures[2]);
    figure_3(&figures[3]);
}

/// Rates of seed 0 with 8 000 particles, as they were when the figure was first checked by eye; the engine gives the same
/// bits on every machine, so that a change is a change of the method.
fn figure_1b(figure: &Value) {
    assert_eq!(figure["scheme"], "euler-maruyama");
    assert_eq!(figure["parameters"]["particles"], 8000);
    let known = [
        ("anisotropic", 4, 1.89737, 1.90504),
        ("anisotropic", 8, 1.75378, 1.90186),
        ("anisotropic", 12, 1.42299, 1.90243),
        ("anisotropic", 16, 1.76727, 1.90147),
        ("isotropic", 4, 1.58637, 1.60138),
        ("isotropic", 8, 1.05016, 1.17561),
        ("isotropic", 12, 0.68965, 0.76019),
        ("isotropic", 16, 0.27857, 0.34806),
    ];
    let runs = figure["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), known.len());
    for (run, (diffusion, dim, rate, frozen)) in runs.iter().zip(known) {
        let number = |key: &str| run[key].as_f64().unwrap_or_else(|| panic!("{key} is missing"));
        assert_eq!((run["diffusion"].as_str(), run["dim"].as_u64()), (Some(diffusion), Some(dim)));
        assert!((number("rate") - rate).abs() < 2e-5, "{run}");
        assert!((number("rate_frozen") - frozen).abs() < 2e-5, "{run}");
        assert!(number("z_frozen").abs() <= 4.0 && number("standard_error") > 0.0);
        let k = if diffusion == "isotropic" { dim as f64 } else { 1.0 };
        let growth = 0.99f64.powi(2) + k * 0.32 * 0.32 * 0.01;
        assert!((number("rate_discrete") + growth.ln() / 0.01).abs() < 1e-9);
        assert!((number("rate_continuous") - (2.0 - k * 0.32 * 0.32)).abs() < 1e-9);
        assert!((number("v_end_ratio_discrete") - growth.powi(400)).abs() < 1e-9);
        assert!(number("v_end_ratio") > 0.0 && number("v_end_ratio_frozen") > 0.0);
    }
}

fn figure_2(figure: &Value) {
    let checks = figure["checks"].as_array().expect("checks");
    assert_eq!(checks.len(), 36);
    for check in checks {
        assert_eq!(check["holds"], true);
        let bound = check["bound"].as_f64().expect("a bound");
        assert!(check["minimum"].is_null() || check["minimum"].as_f64().expect("a number") >= bound);
    }
    // The tightest of the bounds: p3 = 4 lambda^2 / ((2c - 1) sigma^2) for sigma = 0.2 and sigma = 1.
    let p3 = |sigma: f64| -4.0 / (0.28 * sigma * sigma);
    let of = |setting: u64| {
        let chosen =
            checks.iter().find(|c| c["setting"] == setting && c["coordinate"] == 2 && c["claim"] == "T1 >= -p3 phi");
        let check = chosen.expect("the check");
        (check["minimum"].as_f64().expect("found"), check["bound"].as_f64().expect("claimed"))
    };
    for (setting, sigma) in [(2, 0.2), (3, 1.0)] {
        let (minimum, bound) = of(setting);
        assert!((bound / p3(sigma) - 1.0).abs() < 1e-12);
        assert!(minimum < 0.95 * bound, "this bound is nearly attained: {minimum} of {bound}");
    }
}

fn figure_3(figure: &Value) {
    let networks = figure["networks"].as_array().expect("networks");
    let counts: Vec<u64> = networks.iter().map(|n| n["parameters"].as_u64().expect("a count")).collect();
    assert_eq!(counts, [7850, 2112]);
    for network in networks {
        let layers = network["layers"].as_array().expect("layers");
        let sum: u64 = layers.iter().map(|l| l["parameters"].as_u64().expect("a count")).sum();
        assert_eq!(sum, network["parameters"].as_u64().expect("a count"), "the layers make up the whole");
    }
}

#[test]
fn the_other_scheme_has_other_rates_and_agrees_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!("paper fig1b --quick --scheme drift-first --seed 3 --json --out {}", path(folder.path()));
    let figure = object(&words(&line));
    assert_eq!((figure["scheme"].as_str(), figure["seed"].as_u64()), (Some("drift-first"), Some(3)));
    let isotropic = &figure["runs"][7];
    assert_eq!((isotropic["diffusion"].as_str(), isotropic["dim"].as_u64()), (Some("isotropic"), Some(16)));
    assert!((isotropic["rate_discrete"].as_f64().expect("a rate") - 0.38494).abs() < 5e-6);
    assert_eq!(figure["agrees"], true);
    assert!(!folder.path().join("index.html").exists(), "the page belongs to `all`");
    assert!(!folder.path().join("fig1a.svg").exists());
}

#[test]
fn figure_1b_agrees_in_single_precision() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!("paper fig1b --quick --precision f32 --json --out {}", path(folder.path()));
    let figure = object(&words(&line));
    assert_eq!((figure["precision"].as_str(), figure["device"].as_str()), (Some("f32"), Some("cpu")));
    assert_eq!(figure["agrees"], true);
}

#[test]
fn a_figure_for_people_is_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = cbo(&["paper", "fig2", "--out", path(folder.path())]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(stdout(&output).contains("all 36 claims of the proof hold"));
}

/// A figure is there as soon as it is done, whatever happens to those after it.
#[cfg(unix)]
#[test]
fn finished_figures_survive_the_end_of_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = command(&["paper", "all", "--quiet", "--out", path(folder.path())]).spawn().expect("started");
    let done = folder.path().join("fig1a.json");
    for _ in 0..600 {
        if done.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    for ending in ["svg", "png", "csv", "json"] {
        assert!(folder.path().join(format!("fig1a.{ending}")).exists(), "{ending}");
    }
    assert!(!folder.path().join("fig1b.json").exists() && !folder.path().join("index.html").exists());
}

/// Side lengths of the squares of Figure 3, as its SVG has them.
#[test]
fn square_maps_are_square() {
    let folder = tempfile::tempdir().expect("a folder");
    object(&cbo(&["paper", "fig3", "--json", "--out", path(folder.path())]));
    let svg = fs::read_to_string(folder.path().join("fig3.svg")).expect("SVG");
    let number = |rect: &str, name: &str| -> f64 {
        let rest = rect.split(&format!(" {name}=\"")).nth(1).expect("an attribute");
        rest.split('"').next().expect("a value").parse().expect("a number")
    };
    let maps: Vec<(f64, f64)> = svg
        .split("<rect")
        .filter(|rect| rect.to_lowercase().contains("#bbd5ea"))
        .map(|rect| (number(rect, "width"), number(rect, "height")))
        .collect();
    assert!(maps.len() > 30);
    assert!(maps.iter().all(|(width, height)| (width - height).abs() < 0.1), "{maps:?}");
}

#[test]
fn bad_input_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a-file");
    fs::write(&file, "").expect("a file");
    assert_usage(&cbo(&["paper", "fig2", "--out", path(&file)]), &["a-file"]);
    // A folder where a file should be.
    fs::create_dir(folder.path().join("fig2.csv")).expect("a folder");
    assert_usage(&cbo(&["paper", "fig2", "--out", path(folder.path())]), &["fig2.csv"]);
    assert!(!folder.path().join("fig2.svg").exists(), "nothing is half written");
    let page = folder.path().join("page");
    fs::create_dir_all(page.join("index.html")).expect("a folder");
    assert_usage(&cbo(&["paper", "all", "--quick", "--out", path(&page)]), &["index.html"]);
    for line in
        ["paper fig9 --out x", "paper fig2", "paper fig1b --out x --scheme runge", "paper fig1b --out x --seed -1"]
    {
        assert_usage(&words(line), &[]);
    }
    // Figures without particles.
    assert_usage(&words("paper fig1a --out x --device cuda"), &["device = cuda:", "only fig1b and all have particles"]);
    assert_usage(
        &words("paper fig3 --out x --precision f32"),
        &["precision = f32", "only fig1b and all have particles"],
    );
}
