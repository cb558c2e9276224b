//! Pictures and frames: they exist, can be read, and show something.

use crate::common::{object, path, read_png, words};
use std::collections::HashSet;
use std::fs;

const BLUE: [u8; 3] = [0x00, 0x72, 0xB2];
const VERMILLION: [u8; 3] = [0xD5, 0x5E, 0x00];
const GREEN: [u8; 3] = [0x00, 0x9E, 0x73];

#[test]
fn a_plot_in_many_dimensions_shows_energy_and_spread() {
    let folder = tempfile::tempdir().expect("a folder");
    let (svg, png) = (folder.path().join("run.svg"), folder.path().join("run.PNG"));
    for file in [&svg, &png] {
        object(&words(&format!("minimize rastrigin --dim 5 --method cbo --steps 50 --json --plot {}", path(file))));
    }
    let text = fs::read_to_string(&svg).expect("read");
    assert!(text.starts_with("<svg") || text.starts_with("<?xml"));
    assert!(text.contains("<path") || text.contains("<polyline"));
    for part in ["#0072B2", "#009E73", "energy above the minimum", "rastrigin"] {
        assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part}");
    }
    let (width, height, colours) = read_png(&png);
    assert!(width > 1000 && height > 400);
    assert!(colours.contains(&BLUE) && colours.contains(&GREEN));
}

#[test]
fn plots_in_one_and_two_dimensions_show_the_swarm() {
    let folder = tempfile::tempdir().expect("a folder");
    for problem in ["rastrigin --dim 1", "ackley --dim 2", "eggholder --rotate 1"] {
        let svg = folder.path().join("run.svg");
        let png = folder.path().join("run.png");
        // A start away from the minimum, and an end before the swarm has shrunk to a point.
        for file in [&svg, &png] {
            object(&words(&format!(
                "minimize {problem} --method cbo --sigma 0.5 --dt 0.1 --steps 12 --json --plot {}",
                path(file)
            )));
        }
        let (_, _, colours) = read_png(&png);
        assert!(colours.contains(&VERMILLION), "{problem}: particles at the end");
        let text = fs::read_to_string(&svg).expect("read");
        for part in ["minimiser", "consensus", "start", "end"] {
            assert!(text.contains(part), "{problem}: {part}");
        }
        let plane = !problem.contains("--dim 1");
        assert_eq!(text.matches("<image ").count(), usize::from(plane), "{problem}: one map");
        assert!(text.contains(">energy above the minimum<"), "{problem}: a bar or an axis says what is shown");
        let size = fs::metadata(&png).expect("a file").len();
        assert!(text.len() < 1_500_000 && size < 500_000, "{problem}: {} and {size} bytes", text.len());
    }
}

#[test]
fn a_swarm_that_starts_in_the_minimum_can_be_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let points = folder.path().join("points.csv");
    fs::write(&points, "0,0\n0,0\n").expect("written");
    let svg = folder.path().join("run.svg");
    object(&words(&format!(
        "minimize sphere --dim 2 --method cbo --kick off --init file:{} --steps 3 --json --plot {}",
        path(&points),
        path(&svg)
    )));
    assert!(fs::read_to_string(&svg).expect("read").contains("found at once"));
}

#[test]
fn an_animation_is_numbered_frames_that_differ() {
    let folder = tempfile::tempdir().expect("a folder");
    let frames = folder.path().join("frames");
    let run = |steps: u32| {
        object(&words(&format!(
            "minimize ackley --dim 2 --method cbo --steps {steps} --json --animate {}",
            path(&frames)
        )))
    };
    let names = || {
        let mut names: Vec<String> = fs::read_dir(&frames)
            .expect("read")
            .map(|e| e.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        names
    };
    run(6);
    let expected: Vec<String> = (0..=6).map(|i| format!("frame-{i:04}.png")).collect();
    assert_eq!(names(), expected);
    let bytes: HashSet<Vec<u8>> = expected.iter().map(|n| fs::read(frames.join(n)).expect("read")).collect();
    assert_eq!(bytes.len(), 7, "every frame is another");
    let (width, height, colours) = read_png(&frames.join("frame-0003.png"));
    assert!(width == height && colours.contains(&VERMILLION));
    // A shorter animation leaves no frames of the longer one behind.
    run(2);
    assert_eq!(names(), expected[..3]);
}

#[test]
fn a_swarm_that_left_the_picture_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let points = folder.path().join("points.csv");
    fs::write(&points, "700,700\n710,700\n700,710\n").expect("written");
    let svg = folder.path().join("run.svg");
    object(&words(&format!(
        "minimize ackley --dim 2 --method cbo --kick off --init file:{} --steps 2 --json --plot {}",
        path(&points),
        path(&svg)
    )));
    let text = fs::read_to_string(&svg).expect("read");
    for part in ["start (all outside)", "end (all outside)", "consensus (ends outside)"] {
        assert!(text.contains(part), "{part}");
    }
}
