//! The page of `fanfare-monitor`: built by npm, and committed, so that a build of Fanfare needs no npm.
//!
//! `cargo xtask web` builds it anew; with `--check` it only compares. What is built in `target/web` does
//! not disturb the tree.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, GzBuilder};

use crate::step::{self, Outcome};

const SOURCES: &str = "crates/network/monitor/web";
const BUILT: &str = "crates/network/monitor/web/dist";
/// Most of its bytes.
const SCRIPT: &str = "page.js";
/// What is not copied for the build.
const NOT_SOURCES: [&str; 2] = ["dist", "node_modules"];

/// Builds the page, and puts it into the tree.
pub(crate) fn build() -> Outcome {
    match built() {
        Ok(folder) => match replace(&folder) {
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Failed(format!("{BUILT}: {error}")),
        },
        Err(outcome) => outcome,
    }
}

/// Whether the page in the tree is what its sources make.
pub(crate) fn check() -> Outcome {
    let folder = match built() {
        Ok(folder) => folder,
        Err(outcome) => return outcome,
    };
    match (read(&folder), read(Path::new(BUILT))) {
        (Ok(new), Ok(old)) if new == old => Outcome::Passed,
        (Ok(_), Ok(_)) => {
            Outcome::Failed(format!("{BUILT} is not what {SOURCES} makes: run `cargo xtask web`"))
        }
        (Err(error), _) | (_, Err(error)) => Outcome::Failed(format!("{BUILT}: {error}")),
    }
}

/// Builds it in a folder of its own; the folder with what came of it.
fn built() -> Result<PathBuf, Outcome> {
    if !step::answers("npm", &["--version"]) {
        return Err(Outcome::Skipped(
            "needs npm: the page is not compared with its sources".into(),
        ));
    }
    let folder = folder();
    let failed = |error: io::Error| Outcome::Failed(format!("{}: {error}", folder.display()));
    copy(Path::new(SOURCES), &folder).map_err(failed)?;
    let npm = |args: &[&str]| Command::new("npm").args(args).current_dir(&folder).status();
    match npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]) {
        Ok(status) if status.success() => {}
        // Without a network there is nothing to build with.
        _ => return Err(Outcome::Skipped("npm cannot install what the page is built with".into())),
    }
    for task in ["check", "build"] {
        match npm(&["run", "--silent", task]) {
            Ok(status) if status.success() => {}
            _ => return Err(Outcome::Failed(format!("npm run {task} in {SOURCES}"))),
        }
    }
    let dist = folder.join("dist");
    compress(&dist.join(SCRIPT)).map_err(failed)?;
    Ok(dist)
}

/// Every program carries the page, and all browsers unpack it.
fn compress(file: &Path) -> io::Result<()> {
    let packed = io::BufWriter::new(fs::File::create(file.with_extension("js.gz"))?);
    // Neither a time nor a name: the same script is the same file.
    let mut to = GzBuilder::new().write(packed, Compression::best());
    io::copy(&mut fs::File::open(file)?, &mut to)?;
    to.finish()?.into_inner()?.sync_all()?;
    fs::remove_file(file)
}

/// Where it is built.
pub(crate) fn folder() -> PathBuf {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    Path::new(&target).join("web")
}

fn replace(built: &Path) -> io::Result<()> {
    fs::remove_dir_all(BUILT)?;
    copy(built, Path::new(BUILT))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if NOT_SOURCES.iter().any(|other| name == *other) {
            continue;
        }
        match path.is_dir() {
            true => copy(&path, &to.join(name))?,
            false => drop(fs::copy(&path, to.join(name))?),
        }
    }
    Ok(())
}

/// Names and contents.
fn read(folder: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}
