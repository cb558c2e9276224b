//! Bad input: exit code 2, one message that names field, value and remedy, and nothing written.

use crate::common::{assert_usage, cbo, path, words};
use std::fs;

/// Command lines and what their messages must contain.
const CASES: &[(&str, &[&str])] = &[
    ("minimize rastrign --dim 2", &["unknown function", "`rastrign`", "did you mean `rastrigin`?"]),
    ("minimize", &["no function given", "cbo list"]),
    ("minimize rastrigin", &["dim is missing", "--dim 10"]),
    ("minimize rastrigin --dim 0", &["dim = 0", "at least 1"]),
    ("minimize rosenbrock --dim 1", &["dim = 1", "at least 2"]),
    ("minimize himmelblau --dim 3", &["dim = 3", "2 dimensions"]),
    ("minimize rastrigin --dim 2.5", &["--dim", "2.5", "whole number"]),
    ("minimize sphere --dim 2 --particles 0", &["particles = 0", "at least 1"]),
    ("minimize sphere --dim 2 --particles -5", &["--particles", "-5", "whole number"]),
    ("minimize sphere --dim 2 --particles 100 --batch 7", &["batch = 7", "must divide", "100"]),
    ("minimize sphere --dim 2 --particles 100 --batch 0", &["batch = 0", "must divide"]),
    ("minimize sphere --dim 2 --update partial", &["update = partial", "batch"]),
    ("minimize sphere --dim 2 --dt -0.1", &["dt = -0.1", "positive finite"]),
    ("minimize sphere --dim 2 --dt nan", &["dt = NaN", "positive finite"]),
    ("minimize sphere --dim 2 --dt inf", &["dt = inf", "positive finite"]),
    ("minimize sphere --dim 2 --dt 0", &["dt = 0", "positive finite"]),
    ("minimize sphere --dim 2 --sigma -1", &["sigma = -1", "positive finite"]),
    ("minimize sphere --dim 2 --sigma nan", &["sigma = NaN", "positive finite"]),
    ("minimize sphere --dim 2 --sigma -inf", &["sigma = -inf", "positive finite"]),
    ("minimize sphere --dim 2 --sigma inf", &["sigma = inf", "positive finite"]),
    ("minimize sphere --dim 2 --lambda -1", &["lambda = -1", "positive finite"]),
    ("minimize sphere --dim 2 --lambda nan", &["lambda = NaN", "positive finite"]),
    ("minimize sphere --dim 2 --lambda inf", &["lambda = inf", "positive finite"]),
    ("minimize sphere --dim 2 --alpha -1", &["alpha = -1", "inf is allowed"]),
    ("minimize sphere --dim 2 --alpha nan", &["alpha = NaN", "inf is allowed"]),
    ("minimize sphere --dim 2 --alpha ess:1.5", &["alpha = ess:1.5", "between 0 and 1"]),
    ("minimize sphere --dim 2 --alpha soft", &["--alpha", "soft", "not a number"]),
    ("minimize sphere --dim 2 --diffusion cubic", &["--diffusion", "cubic", "anisotropic, isotropic"]),
    ("minimize sphere --dim 2 --precision f16", &["--precision", "f16", "f32, f64"]),
    ("minimize sphere --dim 2 --device gpu", &["--device", "gpu", "cpu, cuda or cuda:N"]),
    ("minimize sphere --dim 2 --device cuda:x", &["--device", "cuda:x", "cpu, cuda or cuda:N"]),
    // Nobody has so many; elsewhere there is no driver.
    ("minimize sphere --dim 2 --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("minimize g06 --device cuda", &["device = cuda:", "constraints"]),
    ("bench --device cuda:999", &["device = cuda:999"]),
    ("view nowhere --no-open", &["folder = nowhere", "give a folder that exists"]),
    ("view . --port 99999 --no-open", &["--port", "99999", "65535"]),
    ("report", &["<FOLDER>"]),
    ("report nowhere --out report.html", &["nowhere"]),
    ("report . --out report.html", &["holds no run"]),
    ("report . --out report.txt", &["out = report.txt", ".html"]),
    ("mnist train --epochs 1 --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("success sphere --dim 2 --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("success g06 --device cuda", &["device = cuda:", "constraints", "--device cpu"]),
    ("compare sphere --dim 2 --methods cbo --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("compare sphere --dim 2 --methods pso,de --device cuda", &["device = cuda:", "none of the methods"]),
    ("experiment phase --quick --out experiments --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("experiment truncation --quick --out experiments --device cuda:999", &["device = cuda:999", "--device cpu"]),
    ("experiment canyon --quick --out experiments --device cuda", &["device = cuda:", "phase and truncation"]),
    (
        "minimize sphere --dim 2 --steps 10 --time 10 --dt 0.1",
        &["steps = 10", "contradicts time = 10", "one of the two"],
    ),
    (
        "minimize sphere --dim 2 --particles 100 --max-evaluations 5",
        &["max-evaluations = 5", "contradicts the first step"],
    ),
    ("minimize sphere --dim 2 --bounds 3,3", &["bounds = 3,3", "low must be below high"]),
    ("minimize sphere --dim 2 --bounds 4,-4", &["bounds = 4,-4", "low must be below high"]),
    ("minimize sphere --dim 2 --bounds -1;-1;-1,1", &["bounds = 3 numbers", "2 coordinates"]),
    ("minimize sphere --dim 2 --bounds 0,inf", &["init", "finite box"]),
    ("minimize sphere --dim 2 --bounds missing.csv", &["bounds file missing.csv", "cannot be read", "LOW,HIGH"]),
    ("minimize sphere --dim 2 --init uniform:1,0", &["init", "low must be below high"]),
    ("minimize sphere --dim 2 --init normal:0,-1", &["init", "variance -1", "zero or positive"]),
    ("minimize sphere --dim 2 --init normal:0;0;0,1", &["init = 3 numbers", "2 coordinates"]),
    ("minimize sphere --dim 2 --init gauss:0,1", &["--init", "gauss:0,1", "normal:MEAN,VARIANCE"]),
    ("minimize sphere --dim 2 --init file:missing.csv", &["init file missing.csv", "cannot be read"]),
    ("minimize sphere --dim 2 --freeze 1,2,3", &["freeze = 3 numbers", "2 coordinates"]),
    ("minimize sphere --dim 2 --kick -1", &["kick = -1", "positive finite"]),
    ("minimize sphere --dim 2 --amplitude 3", &["sphere", "amplitude"]),
    ("minimize rastrigin --dim 2 --amplitude -3", &["amplitude", "-3"]),
    ("minimize eggholder --shift 1", &["shift 1", "eggholder", "domain"]),
    ("minimize sphere --dim 2 --shift 1,2,3", &["shift", "3 coordinates", "2 numbers"]),
    ("minimize sphere --dim 2 --target nan", &["target = NaN", "must be a number"]),
    ("minimize sphere --dim 2 --max-seconds -1", &["max-seconds = -1", "positive finite"]),
    ("minimize sphere --dim 2 --stagnation 0", &["stagnation = 0", "at least 1"]),
    ("minimize sphere --dim 2 --reduction 2,3", &["reduction = 2 and 3", "[0, 1]"]),
    ("minimize sphere --dim 2 --plot picture.pdf", &["plot = picture.pdf", ".svg or .png"]),
    ("minimize sphere --dim 3 --animate frames", &["animate = frames", "1-D and 2-D", "dim = 3"]),
    ("minimize sphere --dim 2 --threads 100000", &["threads = 100000", "at most 1024"]),
    ("success sphere --dim 2 --threads 100000", &["threads = 100000", "at most 1024"]),
    ("minimize sphere --dim 2 --config missing.toml", &["missing.toml", "cannot be read"]),
    ("minimize sphere --dim 2 --unknown 3", &["unknown flag `--unknown`", "`cbo minimize --help` shows all"]),
    (
        "minimize sphere --dim 2 --partikles 3",
        &["unknown flag `--partikles`", "did you mean `--particles`? `cbo minimize --help`"],
    ),
    ("minimize sphere --dim 2 --maxiter=3", &["unknown flag `--maxiter", "--steps N", "--max-evaluations N"]),
    ("minimize sphere --dim 2 --popsize 3", &["unknown flag `--popsize`", "--particles N is the size of the swarm"]),
    ("minimize sphere --dim 2 --n_particles 3", &["--particles N"]),
    ("minimize sphere --dim 2 --max_it 3", &["--steps N"]),
    ("minimize sphere --dim 2 --maxfevals 3", &["--max-evaluations N"]),
    ("minimize sphere --dim 2 --sigma0 3", &["no first step size", "--init normal:MEAN,VARIANCE"]),
    ("minimize sphere --dim 2 --x0 3", &["--init normal:X1;X2,VARIANCE", "--init file:PATH"]),
    ("success sphere --dim 2 --ftol 3", &["--stagnation STEPS", "--target VALUE"]),
    ("success sphere --dim 2 --noise isotropic", &["--diffusion"]),
    ("resume run --maxiter 3", &["--steps N"]),
    ("bench --ftol 3", &["unknown flag `--ftol`; `cbo bench --help` shows all"]),
    ("minimize sphere --dim 2 --steps 1e16", &["steps = 10000000000000000", "too large", "9007199254740992 (2^53)"]),
    ("minimize sphere --dim 2 --seed 18446744073709551616", &["too large", "18446744073709551615 (2^64 - 1)"]),
    ("minimize sphere --dim 2 --particles 1e300", &["--particles", "too large"]),
    ("minimize sphere --dim 2 --seed 2.5", &["not a whole number"]),
    ("minimize sphere --dim 2 --time 1e300", &["time = 1e300: is too large", "2^53", "time 9.0071992547"]),
    ("minimize sphere --dim 2 --kick -1e-300", &["kick = -1e-300: "]),
    ("minimize sphere --dim 2 --alpha -1e300", &["alpha = -1e300: "]),
    ("minimize sphere --dim 2 --shift nan", &["shift is NaN in x1"]),
    ("help polish", &["polish"]),
    ("man polish", &["polish", "cbo --help"]),
    ("completions tcsh", &["tcsh", "bash"]),
    ("minimize sphere --dim 2 --sample --constraint sum>=1", &["a law is not under constraints", "infinite"]),
    ("minimize sphere --dim 2 --method hopping --update partial", &["update = partial", "of method hopping; cbo, "]),
    ("minimize sphere --dim 2 --method jumps:momentum=0.5", &["not a setting of jumps", "; hopping has `momentum`"]),
    ("experiment phase --out experiments --runs 1000001", &["runs = 1000001", "between 1 and 1 000 000"]),
    ("success sphere --dim 2 --runs 0", &["runs = 0", "between 1 and"]),
    ("success sphere --dim 2 --tolerance -1", &["tolerance = -1", "positive finite"]),
    ("success sphere --dim 2 --tolerance nan", &["tolerance = NaN", "positive finite"]),
    ("success sphere", &["dim is missing"]),
    ("list rastrign", &["unknown function", "did you mean `rastrigin`?"]),
    ("polish", &["polish"]),
];

#[test]
fn every_wrong_setting_is_named_with_its_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    for (line, parts) in CASES {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output =
            crate::common::command(&arguments).current_dir(folder.path()).output().expect("the program starts");
        println!("{line}");
        assert_usage(&output, parts);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "{line} wrote something");
    }
}

#[test]
fn huge_swarms_are_refused_before_they_are_allocated() {
    if !std::path::Path::new("/proc/meminfo").exists() {
        return; // only Linux tells how much memory is free
    }
    assert_usage(
        &words("minimize sphere --dim 1000 --particles 1000000000000"),
        &["particles = 1000000000000", "dim = 1000", "GiB", "fewer"],
    );
    assert_usage(&words("minimize sphere --dim 1e15"), &["dim = 1000000000000000", "GiB"]);
    assert_usage(
        &words("minimize sphere --dim 1e6 --particles 1 --rotate 1"),
        &["dim = 1000000", "GiB", "no rotation"],
    );
    // 2^63 particles of 2^63 coordinates: the size itself does not fit into 64 bits.
    assert_usage(&words("minimize sphere --dim 9223372036854775808 --particles 9223372036854775808"), &["GiB"]);
}

#[test]
fn point_files_name_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("points.csv");
    let init = format!("file:{}", path(&file));
    let run = |contents: &str, more: &[&str]| {
        fs::write(&file, contents).expect("written");
        let mut arguments = vec!["minimize", "sphere", "--dim", "2", "--init", &init];
        arguments.extend(more);
        cbo(&arguments)
    };
    assert_usage(&run("1,2\n3,4\n5\n", &[]), &["points.csv", "line 3", "1 numbers", "line 1 has 2"]);
    assert_usage(&run("1,2\n3,x\n", &[]), &["points.csv", "line 2, column 2", "`x` is not a number"]);
    assert_usage(&run("1,2,3\n", &[]), &["points.csv", "3 numbers", "dim = 2"]);
    assert_usage(&run("", &[]), &["points.csv", "no points"]);
    assert_usage(&run("1,2\n3,inf\n", &[]), &["points.csv: line 2, column 2: inf", "finite"]);
    assert_usage(&run("# x\r1,2\r\rnan,4\r", &[]), &["points.csv: line 4, column 1: NaN", "finite"]);
    assert_usage(&run("1,2\n3,4\n", &["--particles", "3"]), &["init = 4 numbers", "3 particles"]);
    let npy = folder.path().join("points.npy");
    fs::write(&npy, "not numpy").expect("written");
    let init = format!("file:{}", path(&npy));
    assert_usage(&cbo(&["minimize", "sphere", "--dim", "2", "--init", &init]), &["points.npy", "not an NPY file"]);
    fs::write(&file, "-1,1\n-2,2\n0\n").expect("written");
    assert_usage(&cbo(&["minimize", "sphere", "--dim", "3", "--bounds", path(&file)]), &["bounds file", "line 3"]);
    fs::write(&file, "-1,1\n2,-2\n").expect("written");
    assert_usage(
        &cbo(&["minimize", "sphere", "--dim", "2", "--bounds", path(&file)]),
        &["bounds = 2,-2", "below high"],
    );
    fs::write(&file, "-1,1\n").expect("written");
    assert_usage(
        &cbo(&["minimize", "sphere", "--dim", "2", "--bounds", path(&file)]),
        &["1 lines", "2 lines of LOW,HIGH"],
    );
}

#[test]
fn faults_of_a_config_file_name_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    let run = |contents: &str| {
        fs::write(&file, contents).expect("written");
        cbo(&["minimize", "--config", path(&file)])
    };
    let good = "objective = 'sphere'\ndim = 2\n";
    let wrong = |line: &str| run(&format!("{good}{line}\n"));
    assert_usage(&wrong("partikles = 5"), &["run.toml line 3", "unknown key `partikles`", "did you mean `particles`?"]);
    assert_usage(&wrong("maxiter = 5"), &["run.toml line 3", "unknown key `maxiter`; steps N limits"]);
    assert_usage(&wrong("bounds = [[-1, 1]]\nfunction = 'x'"), &["run.toml line 4", "`objective` names the function"]);
    assert_usage(&wrong("bounds = [[-1, 1], [-2, 2], [-3, 3]]"), &["run.toml line 3", "bounds = 3 numbers"]);
    assert_usage(&wrong("max_evaluation = 5"), &["run.toml line 3", "did you mean `max-evaluations`?"]);
    assert_usage(&wrong("alpha = 'soft'"), &["run.toml line 3", "alpha = soft", "not a number"]);
    assert_usage(&wrong("precision = 'f16'"), &["run.toml line 3", "precision = f16", "f32, f64"]);
    assert_usage(&wrong("particles = -3"), &["run.toml line 3", "particles = -3", "whole number"]);
    assert_usage(&wrong("dt = -0.5"), &["run.toml line 3", "dt = -0.5", "positive finite"]);
    assert_usage(&wrong("particles = 10\nbatch = 3"), &["run.toml line 4", "batch = 3", "must divide"]);
    assert_usage(&wrong("plot = 'a.pdf'"), &["run.toml line 3", "a.pdf", ".svg or .png"]);
    assert_usage(&wrong("dt = "), &["run.toml line 3", "not valid TOML"]);
    assert_usage(&wrong("dt = 0.1\ndt = 0.2"), &["run.toml line 4", "not valid TOML"]);
    assert_usage(&wrong("config = 'other.toml'"), &["run.toml line 3", "unknown key `config`"]);
    assert_usage(&wrong("runs = 3"), &["run.toml line 3", "unknown key `runs`"]);
    assert_usage(&run("objective = 'spher'\ndim = 2\n"), &["run.toml line 1", "did you mean `sphere`?"]);
    assert_usage(&run("objective = 'himmelblau'\n\ndim = 3\n"), &["run.toml line 3", "dim = 3"]);
    // The command line overrides the file, so the error does not blame the file.
    fs::write(&file, format!("{good}dt = 0.1\n")).expect("written");
    let output = cbo(&["minimize", "--config", path(&file), "--dt", "-1"]);
    assert_usage(&output, &["dt = -1"]);
    assert!(!crate::common::stderr(&output).contains("run.toml"));
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file.txt");
    fs::write(&file, "mine").expect("written");
    // So many steps that a run, once begun, would not end.
    let run = |flag: &str, value: &str| {
        cbo(&["minimize", "sphere", "--dim", "2", "--method", "cbo", "--steps", "1e15", flag, value])
    };
    let under = format!("{}/below", path(&file));
    assert_usage(&run("--out", &under), &["cannot write", "below", "choose"]);
    assert_usage(&run("--animate", &under), &["cannot write", "below", "choose"]);
    assert_usage(&run("--plot", &format!("{under}.svg")), &["cannot write", "below.svg", "choose"]);
    assert_usage(&run("--history", &format!("{under}.csv")), &["cannot write", "below.csv", "choose"]);
    assert_usage(&run("--history", path(folder.path())), &["cannot write", "is not a file"]);
    // A folder of something else is left alone.
    assert_usage(&run("--out", path(folder.path())), &["holds file.txt", "empty or a new folder"]);
    assert_usage(&run("--animate", path(folder.path())), &["holds file.txt", "empty or a new folder"]);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    assert_eq!(fs::read_to_string(&file).expect("still there"), "mine");
}

#[test]
fn failures_underway_have_code_1() {
    // Nothing but infeasible points at the start.
    let output = words("minimize eggholder --method cbo --bounds off --init uniform:1e6,2e6 --bound-handling none");
    assert_eq!(output.status.code(), Some(1), "{}", crate::common::stderr(&output));
    assert!(
        crate::common::stderr(&output).starts_with("error: step 0: none of the"),
        "{}",
        crate::common::stderr(&output)
    );
    assert_eq!(crate::common::stdout(&output), "");
}

#[test]
fn an_instruction_set_that_is_not_there_is_refused_by_every_command() {
    let all: Vec<&str> = cbo::simd::available().iter().map(|set| set.name()).collect();
    let has = format!("machine has {}", all.join(", "));
    for line in ["minimize sphere --dim 2", "list", "bench", "theory sphere --dim 2", "runs list ."] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = crate::common::command(&arguments).env("CBO_SIMD", "mmx").output().expect("the program starts");
        assert_usage(&output, &["CBO_SIMD = mmx", "no such instruction set", &has]);
    }
    assert_usage(&words("bench --simd mmx"), &["simd = mmx", "no such instruction set", &has, "all"]);
    for missing in ["avx512", "avx2"].into_iter().filter(|set| !all.contains(set)) {
        let output = crate::common::command(&["list"]).env("CBO_SIMD", missing).output().expect("the program starts");
        assert_usage(&output, &["CBO_SIMD", missing, "this machine lacks that instruction set"]);
    }
}
