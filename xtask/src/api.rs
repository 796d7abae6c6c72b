//! What a program can see of the crate `fanfare`, compared with the list of it that is checked in.
//!
//! A change of the API changes `crates/api/fanfare/public-api.txt`, so that whoever reviews it sees it.
//! The list is made from the source: what the facade exports is followed to where it stands, and is
//! shown with its fields, variants, methods and traits. Types that are only mentioned, and not
//! exported, are not followed.
//!
//! - `signature`: items as text; the modules of our crates are read by `source_tree`

mod signature;

use std::{collections::BTreeSet, fs, process::ExitCode};

use crate::{
    source_tree::{Place, Target, Tree},
    step::Outcome,
};

const SNAPSHOT: &str = "crates/api/fanfare/public-api.txt";
/// The most lines that differ and are told.
const TOLD: usize = 20;

/// Compares.
pub(crate) fn check() -> Outcome {
    let now = match listing() {
        Ok(now) => now,
        Err(why) => return Outcome::Failed(why),
    };
    let before = fs::read_to_string(SNAPSHOT).unwrap_or_default();
    if now == before {
        return Outcome::Passed;
    }
    for line in differences(&before, &now).iter().take(TOLD) {
        eprintln!("{line}");
    }
    Outcome::Failed(format!(
        "{SNAPSHOT} is not what a program sees now. If that is meant: cargo xtask api-update"
    ))
}

/// Writes the list anew.
pub(crate) fn update() -> ExitCode {
    let written = listing().and_then(|text| fs::write(SNAPSHOT, text).map_err(|e| e.to_string()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {SNAPSHOT}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn listing() -> Result<String, String> {
    let tree = Tree::read("crates")?;
    let mut text =
        "# What a program sees of the crate `fanfare`. `cargo xtask api-update` writes it.\n"
            .to_owned();
    let mut seen = BTreeSet::new();
    show(&tree, &Place::root("fanfare"), "fanfare", &mut seen, &mut text);
    Ok(text)
}

/// All that is public in a module, and then in the modules in it.
fn show(tree: &Tree, at: &Place, path: &str, seen: &mut BTreeSet<Place>, text: &mut String) {
    if !seen.insert(at.clone()) {
        return;
    }
    let mut modules = Vec::new();
    for (name, target) in tree.public(at) {
        let path = format!("{path}::{name}");
        match target {
            Target::Module(place) => modules.push((path, place)),
            Target::Item(place, name) => {
                text.push_str(&format!("\n{path}\n"));
                for line in signature::lines(tree, &place, &name) {
                    text.push_str(&format!("    {line}\n"));
                }
            }
        }
    }
    for (path, place) in modules {
        show(tree, &place, &path, seen, text);
    }
}

/// Lines that only one of both has, with the entry that they belong to.
fn differences(before: &str, now: &str) -> Vec<String> {
    let entries = |text: &str| -> BTreeSet<(String, String)> {
        let mut entry = String::new();
        let mut all = BTreeSet::new();
        for line in text.lines() {
            if !line.starts_with(' ') {
                line.clone_into(&mut entry);
            }
            all.insert((entry.clone(), line.trim().to_owned()));
        }
        all
    };
    let (before, now) = (entries(before), entries(now));
    let gone = before.difference(&now).map(|(entry, line)| format!("- {entry}: {line}"));
    let new = now.difference(&before).map(|(entry, line)| format!("+ {entry}: {line}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_only_one_list_has_is_told_with_its_entry() {
        let before = "a::B\n    fn x()\n    fn y()\n";
        let now = "a::B\n    fn x()\n    fn z()\n";
        assert_eq!(differences(before, now), ["- a::B: fn y()", "+ a::B: fn z()"]);
        assert!(differences(now, now).is_empty());
    }
}
