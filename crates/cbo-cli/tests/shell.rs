//! Help, short flags, completions and manual pages.

use crate::common::{cbo, object, path, stderr, stdout, words};
use std::fs;
use std::process::Command;

#[test]
fn help_is_a_command() {
    for (help, flag) in
        [("help", "--help"), ("help minimize", "minimize --help"), ("help mnist train", "mnist train --help")]
    {
        let output = words(help);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{help}");
        assert_eq!(stdout(&output), stdout(&words(flag)), "{help}");
    }
}

#[test]
fn short_flags_are_the_long_ones() {
    let place = tempfile::tempdir().expect("a folder");
    let (a, b) = (place.path().join("a"), place.path().join("b"));
    let short = words(&format!("minimize sphere -d 2 -n 50 -s 3 --steps 5 -o {} -jq", path(&a)));
    let long = format!("minimize sphere --dim 2 --particles 50 --seed 3 --steps 5 --out {} --json --quiet", path(&b));
    let (short, long) = (object(&short), object(&words(&long)));
    for key in ["dim", "particles", "seed", "x", "value"] {
        assert_eq!(short[key], long[key], "{key}");
    }
    assert!(a.join("result.json").exists() && b.join("result.json").exists());
    assert_eq!(object(&words("success sphere -d 2 -n 20 -s 4 --steps 2 --runs 2 -jq"))["seed"], 4);
}

#[test]
fn every_command_has_a_manual_page() {
    let page = stdout(&words("man"));
    assert!(page.contains(".TH cbo 1") && page.contains("minimize"), "{page}");
    let train = stdout(&words("man mnist train"));
    assert!(train.contains(".TH cbo-mnist-train 1") && train.contains("epochs"), "{train}");
}

#[test]
fn every_shell_has_its_script() {
    for (shell, part) in [("bash", "complete -F _cbo"), ("zsh", "#compdef cbo"), ("fish", "complete -c cbo")] {
        let output = cbo(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains(part), "{shell}");
    }
}

/// What bash offers for a line that ends with an unfinished word.
#[cfg(unix)]
#[test]
fn bash_completes_commands_flags_and_functions() {
    let Ok(found) = Command::new("bash").arg("--version").output() else { return };
    assert!(found.status.success());
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join("cbo.bash"), stdout(&words("completions bash"))).expect("a file");
    let offers = |line: &str| {
        let script = format!(
            "source cbo.bash; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _cbo cbo \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &script])
            .current_dir(place.path())
            .output()
            .expect("bash starts");
        assert_eq!(stderr(&output), "", "{line}");
        stdout(&output).lines().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(offers("cbo min"), ["minimize"]);
    assert_eq!(offers("cbo minimize rastr"), ["rastrigin"]);
    assert_eq!(offers("cbo minimize sphere --max-e"), ["--max-evaluations"]);
    assert_eq!(offers("cbo minimize sphere --precision f"), ["f32", "f64"]);
    assert_eq!(offers("cbo mnist tr"), ["train"]);
    assert_eq!(offers("cbo list himm"), ["himmelblau"]);
}
