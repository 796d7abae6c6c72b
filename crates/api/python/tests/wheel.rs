//! Builds the wheel, installs it into a folder, and runs the tests in Python with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Beside the test's own executable.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    let name = "libfanfare_python.so";
    let places = [deps.join(name), deps.parent().unwrap().join(name)];
    places.into_iter().find(|place| place.exists()).expect("cargo builds the shared object, too")
}

/// Runs Python; what it says goes where the test's own words go.
fn python(words: &[&str], packages: &Path) -> String {
    let mut command = Command::new("python3");
    // The sources, without the library, lie where the test begins.
    command
        .args(words)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap_or_else(|error| panic!("python3: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    format!("{}{told}", String::from_utf8_lossy(&output.stdout))
}

#[test]
fn the_wheel_installs_and_its_tests_and_examples_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("py-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (builder, library) = (root.join("build_wheel.py"), library());
    let words = [&builder, &library, &folder].map(|path| path.to_str().unwrap().to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wheel = python(&words, &folder);
    let packages = folder.join("packages");
    python(&["-m", "zipfile", "-e", wheel.trim(), packages.to_str().unwrap()], &folder);
    let tests = root.join("tests");
    let told = python(&["-m", "unittest", "discover", "-s", tests.to_str().unwrap()], &packages);
    assert!(told.contains("\nOK"), "{told}");
    fs::remove_dir_all(&folder).unwrap();
}
