//! What holds for all packages: every file of tests is run, no dependency asks for a newer Rust than ours, manifests say what
//! a registry shows, and kernels call no vector operation.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

/// A vector operation that the compiler has left outside its kernel, in a closure or behind a pointer, is a call for each, forty times
/// slower, and no result shows it.
#[cfg(target_arch = "x86_64")]
#[test]
fn vector_operations_are_inside_their_kernels() {
    let program = fs::read(env!("CARGO_BIN_EXE_cbo")).expect("the program");
    let has = |name: &str| program.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    // What is not optimised has calls everywhere.
    if cfg!(debug_assertions) {
        return;
    }
    assert!(has("run_on"), "a program without names tells nothing: was it stripped?");
    for operation in ["_mm256_fmadd_p", "_mm512_fmadd_p", "_mm256_set1_p", "_mm512_set1_p", "_mm512_maskz_loadu_p"] {
        assert!(!has(operation), "{operation} is called somewhere: `objdump --disassemble --demangle` says where");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn packages() -> Vec<Value> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(root())
        .output()
        .expect("cargo metadata runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages").clone();
    assert!(packages.len() > 20, "only {} packages were looked at", packages.len());
    packages
}

/// Ours have no source.
fn ours(package: &Value) -> bool {
    package["source"].is_null()
}

/// Tests are one program for each crate, which names its files: a file that it forgets would not be run.
#[test]
fn every_file_of_tests_is_in_the_program_of_its_crate() {
    let mut files = 0;
    for folder in fs::read_dir(root().join("crates")).expect("crates").map(|entry| entry.expect("a crate").path()) {
        if !folder.join("tests").exists() {
            continue; // its tests are elsewhere
        }
        let main = fs::read_to_string(folder.join("tests/main.rs")).expect("tests/main.rs");
        for file in fs::read_dir(folder.join("tests")).expect("tests").map(|entry| entry.expect("a file").path()) {
            let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
            let is_module = file.extension().is_some_and(|e| e == "rs") || file.join("mod.rs").exists();
            assert!(
                !is_module || name == "main" || main.contains(&format!("mod {name};")),
                "{} is not in main.rs",
                file.display()
            );
            files += usize::from(is_module);
        }
    }
    assert!(files > 50, "only {files} files");
}

fn version(text: &str) -> Vec<u64> {
    let parts = text.split('.').map(|part| part.parse().expect("a number"));
    parts.chain(iter::repeat(0)).take(3).collect()
}

#[test]
fn no_dependency_asks_for_a_newer_rust() {
    let packages = packages();
    let required = |package: &Value| package["rust_version"].as_str().map(version);
    let our = packages.iter().find(|p| p["name"] == "cbo").and_then(required).expect("rust-version of cbo");
    for package in &packages {
        assert!(!ours(package) || required(package).as_ref() == Some(&our), "{}", package["name"]);
        if let Some(theirs) = required(package) {
            assert!(theirs <= our, "{} {}: {}", package["name"], package["version"], package["rust_version"]);
        }
    }
}

#[test]
fn manifests_say_what_a_registry_shows() {
    let mut seen = 0;
    for package in packages().iter().filter(|p| ours(p) && p["publish"].is_null()) {
        let name = package["name"].as_str().expect("a name");
        for field in ["description", "license", "repository", "documentation", "readme"] {
            assert!(package[field].as_str().is_some_and(|text| !text.is_empty()), "{name}: {field}");
        }
        for field in ["keywords", "categories", "authors"] {
            assert!(package[field].as_array().is_some_and(|list| !list.is_empty()), "{name}: {field}");
        }
        assert_eq!(package["documentation"], format!("https://docs.rs/{name}"));
        let folder = Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a folder");
        assert!(folder.join("README.md").is_file() && folder.join("LICENSE-MIT").is_file(), "{name}");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let required = dependency["req"].as_str().expect("a requirement");
            assert!(required.starts_with('^'), "{name}: {} {required}", dependency["name"]);
        }
        seen += 1;
    }
    assert_eq!(seen, 8);
}
