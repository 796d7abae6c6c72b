//! The release is built twice from one commit, in two places that have nothing in common: clones in
//! folders of other names, other folders for what is built, another home of cargo. What comes out is
//! compared byte for byte, by its sums.
//!
//! Not part of `ci`: it compiles the programs twice for each target.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use crate::step;

/// What is made: `packaging/release.sh` begins with one that runs on the build machine.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// Where a release is built, and where it goes.
struct Place {
    tree: PathBuf,
    built: PathBuf,
    cargo_home: PathBuf,
    out: PathBuf,
}

/// `release-twice [--target TRIPLE]... [--dir DIR]`: DIR keeps all that is made, else nothing is kept.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let (mut targets, mut kept) = (Vec::new(), None);
    let mut words = args.iter();
    while let Some(name) = words.next() {
        match (name.as_str(), words.next()) {
            ("--target", Some(target)) => targets.push(target.as_str()),
            ("--dir", Some(dir)) => kept = Some(PathBuf::from(dir)),
            (name, _) => {
                eprintln!("error: {name}: it is --target TRIPLE or --dir DIR");
                return ExitCode::from(2);
            }
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    let dir = kept.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("fanfare-release-{}", std::process::id()))
    });
    let outcome = twice(&dir, &targets);
    if kept.is_none() {
        let _ = fs::remove_dir_all(&dir);
    }
    match outcome {
        Ok(differing) if differing.is_empty() => {
            println!("all are the same");
            ExitCode::SUCCESS
        }
        Ok(differing) => {
            eprintln!("error: not the same: {}", differing.join(", "));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("error: release-twice: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Builds both, prints a table, and returns the names that differ.
fn twice(dir: &Path, targets: &[&str]) -> Result<Vec<String>, String> {
    let text = step::output("git", &["status", "--porcelain"])?;
    if !text.trim().is_empty() {
        eprintln!("note: what is not committed is left out");
    }
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let dir = dir.canonicalize().map_err(|error| format!("{}: {error}", dir.display()))?;
    let home = cargo_home()?;
    let places = [
        Place {
            tree: dir.join("one"),
            built: dir.join("one/target"),
            cargo_home: home.clone(),
            out: dir.join("first"),
        },
        Place {
            tree: dir.join("another/folder/of-the-same"),
            built: dir.join("built-elsewhere"),
            cargo_home: dir.join("home-of-cargo"),
            out: dir.join("second"),
        },
    ];
    copy_sources(&home, &places[1].cargo_home)?;
    for place in &places {
        let begun = Instant::now();
        place.build(targets)?;
        println!("{}: {} s", place.out.display(), begun.elapsed().as_secs());
    }
    let [first, second] = [sums(&places[0].out)?, sums(&places[1].out)?];
    println!("| file | bytes | SHA-256 | both |\n|---|---|---|---|");
    for (name, sum) in &first {
        let bytes = fs::metadata(places[0].out.join(name)).map_or(0, |found| found.len());
        let both = if second.get(name) == Some(sum) { "the same" } else { "**not the same**" };
        println!("| {name} | {bytes} | `{}…` | {both} |", sum.get(..16).unwrap_or(sum));
    }
    Ok(differing(&first, &second))
}

impl Place {
    fn build(&self, targets: &[&str]) -> Result<(), String> {
        let text = |path: &Path| path.display().to_string();
        let _ = fs::remove_dir_all(&self.tree);
        let clone = ["clone", "--quiet", ".", &text(&self.tree)];
        step::output("git", &clone)?;
        let script = self.tree.join("packaging/release.sh");
        let status = Command::new(&script)
            .arg(&self.out)
            .args(targets)
            .env("CARGO_TARGET_DIR", &self.built)
            .env("CARGO_HOME", &self.cargo_home)
            // What cargo has set for this program is not for those.
            .env_remove("CARGO_MANIFEST_DIR")
            .status()
            .map_err(|error| format!("{}: {error}", script.display()))?;
        if status.success() { Ok(()) } else { Err(format!("{}: {status}", script.display())) }
    }
}

fn cargo_home() -> Result<PathBuf, String> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    set.or_else(usual).ok_or_else(|| "neither CARGO_HOME nor HOME is set".into())
}

/// What has been downloaded is not downloaded again; it is unpacked again.
fn copy_sources(from: &Path, to: &Path) -> Result<(), String> {
    let text = |path: &Path| path.display().to_string();
    fs::create_dir_all(to.join("registry")).map_err(|error| format!("{}: {error}", text(to)))?;
    for part in ["registry/index", "registry/cache", "config.toml"] {
        if from.join(part).exists() && !to.join(part).exists() {
            step::output("cp", &["-a", &text(&from.join(part)), &text(&to.join(part))])?;
        }
    }
    Ok(())
}

fn sums(out: &Path) -> Result<BTreeMap<String, String>, String> {
    let path = out.join("SHA256SUMS");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(parse_sums(&text))
}

/// Lines of `sha256sum`: a sum, two spaces, a name.
fn parse_sums(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once("  "));
    pairs.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}

/// The names that only one has, or with another sum.
fn differing(first: &BTreeMap<String, String>, second: &BTreeMap<String, String>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    names.into_iter().filter(|name| first.get(*name) != second.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_or_is_missing_from_either_release_is_named() {
        let first = parse_sums("aa  a.deb\nbb  b.rpm\ncc  c.tar\n");
        let second = parse_sums("aa  a.deb\nb0  b.rpm\ndd  d.tar\n");
        assert_eq!(differing(&first, &second), ["b.rpm", "c.tar", "d.tar"]);
        assert_eq!(differing(&second, &first), ["b.rpm", "c.tar", "d.tar"]);
        assert_eq!(differing(&first, &first), [""; 0]);
    }
}
