//! What is said is true, reads well, and cannot disturb a terminal.

use crate::common::{assert_usage, cbo, command, object, path, stderr, stdout, words};
use std::fs;
use std::path::Path;

/// The text of an SVG.
fn text_of(file: &Path) -> String {
    fs::read_to_string(file).expect("a picture")
}

#[test]
fn the_picture_of_a_run_of_one_step_shows_it() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("z.svg");
    let plot = |more: &str| {
        let output = words(&format!("minimize sphere --dim 2 {more} --quiet --plot {}", path(&file)));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        text_of(&file)
    };
    let one = plot("--particles 50 --steps 0");
    assert!(
        !one.contains("at once") && !one.contains("from the start"),
        "the swarm is no point, and has not found the minimum"
    );
    assert!(one.contains("best value so far") && one.contains("#009e73"), "the value and the spread are dots");
    let point = plot("--particles 50 --steps 0 --init normal:0,0");
    assert!(
        point.contains("the minimum was found at once") && point.contains("the swarm was one point from the start")
    );
    // A program has no known minimum.
    let line = "minimize --dim 1 --bounds -1,1 --particles 3 --steps 0 --quiet --plot";
    let mut arguments: Vec<&str> = line.split(' ').collect();
    arguments.extend([path(&file), "--command", "sh -c 'echo 1' {x}"]);
    assert_eq!(cbo(&arguments).status.code(), Some(0));
    assert!(text_of(&file).contains("the first step has the best value"));
}

#[cfg(unix)]
#[test]
fn a_run_without_a_folder_is_promised_nothing() {
    use crate::common::folders::{Process, command_of, line, wait_until};
    let place = tempfile::tempdir().expect("a folder");
    let (script, mark, said) = (place.path().join("hang.sh"), place.path().join("mark"), place.path().join("said"));
    fs::write(&script, format!("touch {}\nsleep 1000\n", path(&mark))).expect("a file");
    let mut arguments = line("minimize --dim 1 --bounds -1,1 --particles 4 --steps 4 --quiet --command");
    arguments.push(format!("sh {} {{x}}", path(&script)));
    let child = Process::start(command_of(&arguments).stderr(fs::File::create(&said).expect("a file")));
    wait_until("the program hangs", || mark.exists());
    child.signal("INT");
    let told = || fs::read_to_string(&said).is_ok_and(|text| text.contains("at once"));
    wait_until("a word on what the signal does", told);
    let text = fs::read_to_string(&said).expect("a file");
    assert!(text.contains("the run is lost, because --out FOLDER was not given"), "{text}");
    assert!(!text.contains("no finished evaluation is lost"), "{text}");
    // A signal right after the first is taken for its echo.
    std::thread::sleep(std::time::Duration::from_millis(200));
    child.signal("INT");
    assert_eq!(child.end().status.code(), Some(130));
    // A program that fails: the hint is about this run.
    let fails = |out: &[&str]| {
        let line = ["minimize", "--command", "false {x}", "--dim", "1", "--bounds", "-1,1", "--quiet"];
        let output = cbo(&[&line[..], out].concat());
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    let text = fails(&[]);
    assert!(!text.contains("cbo resume") && text.contains("with --out FOLDER, a run can be resumed"), "{text}");
    let run = place.path().join("run");
    assert!(fails(&["--out", path(&run)]).contains(&format!("cbo resume {} --retry-failed", path(&run))));
}

#[test]
fn counts_have_their_thousands_separated_and_values_do_not() {
    let run = stdout(&words("minimize sphere --dim 2 --particles 2000 --steps 5 --init normal:12345,1 --quiet"));
    assert!(run.contains("2 000 particles") && run.contains("evaluations  12 001"), "{run}");
    assert!(run.contains("distance     12348.7 to"), "{run}");
    let many = stdout(&words("success sphere --dim 2 --particles 1500 --steps 5 --runs 3 --verbose --quiet"));
    assert!(
        many.contains("1 500 particles") && many.contains("9 001 (median") && many.contains("evaluations 9 001"),
        "{many}"
    );
    let auto = stdout(&words("minimize rastrigin --dim 2 --max-evaluations 1200 --quiet"));
    assert!(!auto.contains("1200") && auto.contains("1 200"), "{auto}");
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("run");
    object(&words(&format!("minimize sphere --dim 2 --max-evaluations 20000 -jq -o {}", path(&out))));
    assert!(stdout(&cbo(&["runs", "show", path(&out)])).contains("budget       20 000 evaluations"));
    assert_eq!(object(&cbo(&["runs", "show", path(&out), "-j"]))["limits"]["max-evaluations"], "20000");
}

/// Folders whose names could move the cursor, and a program with a line break.
#[cfg(unix)]
#[test]
fn nothing_that_is_read_reaches_the_terminal_raw() {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("evil\u{1b}[2J\nrun  finished");
    let line =
        ["minimize", "--command", "sh -c 'echo \u{1b}[31m >&2; exit 3\n' {x}", "--dim", "1", "--bounds", "-1,1", "-q"];
    let output = cbo(&[&line[..], &["--out", path(&out)]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(!stderr(&output).contains('\u{1b}'));
    let spoken = |arguments: &[&str]| {
        let output = command(arguments).current_dir(place.path()).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        text
    };
    let list = spoken(&["runs", "list"]);
    assert!(list.contains("evil\\u{1b}[2J\\nrun  finished") && list.lines().count() == 2, "{list:?}");
    let show = spoken(&["runs", "show", path(&out)]);
    assert!(show.contains("exit 3\\n'") && show.contains("\\u{1b}[31m"), "{show:?}");
    let run = object(&cbo(&["runs", "show", path(&out), "--json"]));
    assert!(run["path"].as_str().is_some_and(|path| path.contains('\u{1b}')), "JSON has its own escapes");
}

#[test]
fn a_run_with_damaged_settings_is_not_an_ordinary_one() {
    let place = tempfile::tempdir().expect("a folder");
    for (name, config) in [("nonsense", "x"), ("other", "x = 1\n"), ("empty", "")] {
        let folder = place.path().join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("log.txt"), "").expect("a file");
        fs::write(folder.join("config.toml"), config).expect("a file");
        let text = stdout(&cbo(&["runs", "show", path(&folder)]));
        assert!(text.contains("state        damaged: it cannot be resumed"), "{text}");
        assert!(text.contains("fault        config.toml is damaged: ") && !text.contains("cbo resume"), "{text}");
        assert_eq!(object(&cbo(&["runs", "show", path(&folder), "--json"]))["state"], "damaged");
        assert_usage(&cbo(&["resume", path(&folder)]), &[]);
    }
    let list = stdout(&cbo(&["runs", "list", path(place.path())]));
    assert_eq!(
        (list.matches("  damaged  ").count(), list.matches(": config.toml is damaged").count()),
        (3, 3),
        "{list}"
    );
}

#[test]
fn points_and_bounds_in_their_usual_forms() {
    let place = tempfile::tempdir().expect("a folder");
    let (file, config) = (place.path().join("points.csv"), place.path().join("run.toml"));
    let run = |ends: &str| {
        fs::write(&file, ["1,2", "3,4", "5,6"].join(ends)).expect("a file");
        let init = format!("file:{}", path(&file));
        object(&cbo(&["minimize", "sphere", "-d", "2", "--method", "cbo", "--steps", "0", "-jq", "--init", &init]))
    };
    for ends in ["\n", "\r\n", "\r"] {
        assert_eq!((&run(ends)["particles"], &run(ends)["value"]), (&3.into(), &5.0.into()), "{ends:?}");
    }
    let bounded = |bounds: &str| {
        fs::write(&config, format!("objective = 'sphere'\ndim = 2\nmax-evaluations = 50\nbounds = {bounds}\n"))
            .expect("a file");
        object(&cbo(&["minimize", "--config", path(&config), "-jq"]))["x"].clone()
    };
    assert_eq!(bounded("[[-1, 1], [2, 3]]"), bounded("'-1;2,1;3'"));
    assert_ne!(bounded("[[-1, 1], [2, 3]]"), bounded("[-1, 3]"));
}

#[test]
fn functions_are_found_by_a_part_of_their_name() {
    assert!(stdout(&words("list RAST")).starts_with("name         rastrigin ("));
    assert_eq!(object(&words("list rastr --json"))["name"], "rastrigin");
    let several = stdout(&words("list ros"));
    assert!(
        several.contains("\nrosenbrock ") && several.contains(" functions. ") && !several.contains("\nsphere "),
        "{several}"
    );
    assert_usage(&words("list rastrign"), &["did you mean `rastrigin`?"]);
}
