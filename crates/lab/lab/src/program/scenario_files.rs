//! Scenario and experiment files, read with every mistake in them, and their variables.

use std::path::{Path, PathBuf};

use fanfare_command::Failure;
use fanfare_sim::{
    Experiment, Scenario, Values,
    scenario::{Mistake, ReadFile},
};

/// The text of a scenario or experiment file.
pub(crate) fn text_of(path: &Path) -> Result<String, Vec<Failure>> {
    let unreadable = |error: std::io::Error| {
        let shown = path.display();
        let text = format!("scenario ({shown}): cannot be read ({error}). Name a .toml file");
        vec![Failure::usage("scenario.unreadable", text)]
    };
    std::fs::read_to_string(path).map_err(unreadable)
}

/// How a file gets at those that it names: they are beside it.
fn read_beside(path: &Path) -> impl Fn(&str) -> Result<String, String> {
    let beside = path.parent().unwrap_or(Path::new(".")).to_path_buf();
    move |file| {
        let text = std::fs::read_to_string(beside.join(file));
        text.map_err(|error| {
            format!("cannot be read ({error}). Put it beside {}", beside.display())
        })
    }
}

fn invalid(path: &Path, mistakes: Vec<Mistake>) -> Vec<Failure> {
    let failure = |mistake: Mistake| {
        Failure::usage("scenario.invalid", format!("{} {mistake}", path.display()))
    };
    mistakes.into_iter().map(failure).collect()
}

/// Reads a scenario file; every mistake in it is a failure.
pub(crate) fn load(path: &Path, values: &Values) -> Result<Scenario, Vec<Failure>> {
    load_with(path, |text, read| Scenario::parse_with(text, values, read))
}

/// The same for the simulator, or for the laboratory.
pub(crate) fn load_with(
    path: &Path,
    parse: impl Fn(&str, &ReadFile<'_>) -> Result<Scenario, Vec<Mistake>>,
) -> Result<Scenario, Vec<Failure>> {
    let text = text_of(path)?;
    parse(&text, &read_beside(path)).map_err(|mistakes| invalid(path, mistakes))
}

/// Reads an experiment file.
pub(crate) fn load_experiment(path: &Path) -> Result<Experiment, Vec<Failure>> {
    let text = text_of(path)?;
    Experiment::parse(&text, &read_beside(path)).map_err(|mistakes| invalid(path, mistakes))
}

/// What a file says that it is.
pub(crate) fn is_experiment(path: &Path) -> bool {
    text_of(path).is_ok_and(|text| text.lines().any(|line| line.trim() == "[experiment]"))
}

/// The .toml files of a directory, by name.
pub(crate) fn toml_files(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(dir).map_err(|error| {
        let text = format!("directory ({}): cannot be read ({error}). Name another", dir.display());
        Failure::usage("directory.missing", text)
    })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

/// The directories in a directory, by name.
pub(crate) fn folders_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
}

/// `loss=1%`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("not a variable. Write it as loss=1%")?;
    Ok((name.to_owned(), value.to_owned()))
}
