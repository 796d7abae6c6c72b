//! Files that do not go in circles: they can be read one after the other.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::source_tree::{Arrows, Tree};

/// Files that name each other's definitions, all of them, must be read together. Two can be.
const CIRCLE_FILES: usize = 2;

/// Checks all crates below `crates`.
pub(crate) fn check(findings: &mut Vec<String>) {
    match Tree::read("crates") {
        Ok(tree) => check_circles(&tree.arrows(), findings),
        Err(why) => findings.push(why),
    }
}

fn check_circles(arrows: &Arrows, findings: &mut Vec<String>) {
    for circle in circles(arrows) {
        if circle.len() <= CIRCLE_FILES && are_together(&circle) {
            continue;
        }
        let shown: Vec<String> = circle.iter().map(|file| file.display().to_string()).collect();
        findings.push(format!(
            "{} files need each other: {}. Move what they share into a file below them",
            circle.len(),
            shown.join(", ")
        ));
    }
}

/// Whether files are in one folder. `names.rs` is in the folder `names`, too, where there is one.
fn are_together(files: &BTreeSet<&PathBuf>) -> bool {
    let is_in = |folder: &Path, file: &Path| {
        file.parent() == Some(folder) || (folder.is_dir() && file.with_extension("") == *folder)
    };
    let mut folders = files.iter().filter_map(|file| file.parent());
    folders.any(|folder| files.iter().all(|file| is_in(folder, file)))
}

/// Files that reach each other along the arrows, each set once.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<&PathBuf>> {
    let mut found: Vec<BTreeSet<&PathBuf>> = Vec::new();
    let mut settled = BTreeSet::new();
    for file in arrows.keys() {
        if settled.contains(file) {
            continue;
        }
        let reached = reached(arrows, file);
        if reached.contains(file) {
            let circle: BTreeSet<&PathBuf> = reached
                .into_iter()
                .filter(|other| self::reached(arrows, other).contains(file))
                .collect();
            settled.extend(circle.iter().copied());
            found.push(circle);
        }
    }
    found
}

/// All files that a file leads to, over however many others.
fn reached<'a>(arrows: &'a Arrows, file: &Path) -> BTreeSet<&'a PathBuf> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Path> = vec![file];
    while let Some(file) = next.pop() {
        for other in arrows.get(file).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn arrows(all: &[(&str, &str)]) -> Arrows {
        let mut arrows = Arrows::new();
        for (from, to) in all {
            arrows.entry(from.into()).or_default().insert(to.into());
            arrows.entry(to.into()).or_default();
        }
        arrows
    }

    fn found(all: &[(&str, &str)]) -> Vec<String> {
        let mut findings = Vec::new();
        check_circles(&arrows(all), &mut findings);
        findings
    }

    #[test]
    fn three_files_in_a_circle_are_found_and_two_beside_each_other_may_stay() {
        let three = [("x/a.rs", "x/b.rs"), ("x/b.rs", "x/c.rs"), ("x/c.rs", "x/a.rs")];
        let finding = "3 files need each other: x/a.rs, x/b.rs, x/c.rs. Move what they share into a \
                       file below them";
        assert_eq!(found(&three), [finding]);
        assert_eq!(found(&three[..2]), [""; 0]);
        assert_eq!(found(&[("x/a.rs", "x/b.rs"), ("x/b.rs", "x/a.rs")]), [""; 0]);
    }

    #[test]
    fn two_files_of_different_folders_are_no_pair() {
        assert_eq!(found(&[("x/a.rs", "y/b.rs"), ("y/b.rs", "x/a.rs")]).len(), 1);
    }

    #[test]
    fn circles_that_only_lead_to_each_other_are_told_each() {
        let two = [
            ("x/a.rs", "y/b.rs"),
            ("y/b.rs", "x/a.rs"),
            ("x/a.rs", "z/c.rs"),
            ("z/c.rs", "v/d.rs"),
            ("v/d.rs", "z/c.rs"),
        ];
        assert_eq!(found(&two).len(), 2);
    }

    /// A tree on disk, read, and gone with the test.
    fn read(name: &str, files: &[(&str, &str)]) -> Arrows {
        let id = std::process::id();
        let root = std::env::temp_dir().join(format!("fanfare-{name}-{id}"));
        let area = root.join("area");
        for (name, text) in [("a/Cargo.toml", "")].iter().chain(files) {
            let path = area.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::read(root.to_str().unwrap()).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let shown = |path: &PathBuf| path.strip_prefix(&area).unwrap().to_owned();
        let arrows = tree.arrows();
        let each = arrows.iter().map(|(file, to)| (shown(file), to.iter().map(shown).collect()));
        each.collect()
    }

    #[test]
    fn an_arrow_leads_to_the_definition_and_a_file_that_hands_a_name_on_is_not_tied_by_it() {
        let found = read(
            "re-exports",
            &[
                ("a/src/lib.rs", "mod up; mod low;"),
                (
                    "a/src/up.rs",
                    "use crate::low::Deep; fn f() { Deep::new(); crate::low::help(); }",
                ),
                (
                    "a/src/low/mod.rs",
                    "mod deep; pub(crate) use deep::Deep; pub(crate) fn help() {}",
                ),
                (
                    "a/src/low/deep.rs",
                    "pub(crate) struct Deep; fn f() { super::help() }\n\
                 #[cfg(test)] mod tests { use crate::up; }",
                ),
            ],
        );
        let expected = arrows(&[
            ("a/src/up.rs", "a/src/low/deep.rs"),
            ("a/src/up.rs", "a/src/low/mod.rs"),
            ("a/src/low/deep.rs", "a/src/low/mod.rs"),
        ]);
        let tied: Arrows = found.into_iter().filter(|(_, to)| !to.is_empty()).collect();
        let expected: Arrows = expected.into_iter().filter(|(_, to)| !to.is_empty()).collect();
        assert_eq!(tied, expected);
    }

    #[test]
    fn a_field_a_method_and_a_name_of_another_crate_are_no_arrows() {
        let found = read(
            "methods",
            &[
                ("a/src/lib.rs", "mod x; mod y; mod z;"),
                ("a/src/x.rs", "fn f(v: V) { v.help(); v.count; other::help(); }"),
                ("a/src/y.rs", "pub fn help() {} pub const count: u8 = 0;"),
                ("a/src/z.rs", "use crate::y::help as other; fn f() { other() }"),
            ],
        );
        assert!(found[Path::new("a/src/x.rs")].is_empty());
        assert_eq!(found[Path::new("a/src/z.rs")].len(), 1);
    }
}
