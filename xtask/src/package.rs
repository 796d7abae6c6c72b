//! A package of every crate that is published can be made, with all its files, as the registry wants it.
//!
//! Not part of `ci`: it takes minutes, and `--verify` compiles all of them.

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode};

use crate::step::{self, Outcome};

/// `package [--verify]`: makes them all; with `--verify` each is compiled from its package.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut all = vec!["package", "--workspace", "--locked", "--allow-dirty"];
    match args {
        [] => all.push("--no-verify"),
        [option] if option == "--verify" => {}
        [option, ..] => {
            eprintln!("error: {option}: it is --verify, or nothing");
            return ExitCode::from(2);
        }
    }
    match made(&all) {
        Ok(names) => {
            println!("{} packages", names.len());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: package: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The packages, each of which is there now.
fn made(args: &[&str]) -> Result<BTreeSet<String>, String> {
    let text = step::output("cargo", &["metadata", "--format-version=1", "--no-deps", "--locked"])?;
    let metadata: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let folder = metadata["target_directory"].as_str().unwrap_or("target");
    let folder = Path::new(folder).join("package");
    // Those of an earlier time prove nothing.
    let _ = fs::remove_dir_all(&folder);
    if let Outcome::Failed(why) = step::cargo(args, &[]) {
        return Err(why);
    }
    let names = published(&metadata);
    match names.iter().find(|name| !folder.join(name).exists()) {
        Some(name) => Err(format!("{name} was not made")),
        None => Ok(names),
    }
}

/// The files that cargo makes of a workspace, of the crates that are to be published.
fn published(metadata: &serde_json::Value) -> BTreeSet<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages
        .iter()
        // `publish = false` is an empty list of registries.
        .filter(|package| package["publish"].as_array().is_none_or(|list| !list.is_empty()))
        .filter_map(|package| {
            let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
            Some(format!("{name}-{version}.crate"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_are_not_published_need_no_package() {
        let metadata = serde_json::json!({"packages": [
            {"name": "a", "version": "1.2.3", "publish": null},
            {"name": "b", "version": "1.2.3", "publish": []},
            {"name": "c", "version": "1.2.3", "publish": ["ours"]},
        ]});
        let names: Vec<String> = published(&metadata).into_iter().collect();
        assert_eq!(names, ["a-1.2.3.crate", "c-1.2.3.crate"]);
    }
}
