//! The floors that crates stand on: ARCHITECTURE.md says which, and no crate depends on its own floor
//! or a higher one.

use std::{collections::BTreeMap, fs, path::PathBuf};

use crate::source_tree;

const PAGE: &str = "ARCHITECTURE.md";

/// Compares the page with the manifests.
pub(crate) fn check(findings: &mut Vec<String>) {
    let floors = floors(&fs::read_to_string(PAGE).unwrap_or_default());
    for manifest in manifests() {
        let text = fs::read_to_string(&manifest).unwrap_or_default();
        check_manifest(&floors, &text, findings);
    }
}

fn manifests() -> Vec<PathBuf> {
    let folders = source_tree::crates("crates").unwrap_or_default();
    folders.into_iter().map(|folder| folder.join("Cargo.toml")).collect()
}

/// From the rows of the page's tables: `| 3 | `fanfare-group` | …`.
fn floors(page: &str) -> BTreeMap<String, u32> {
    let mut floors = BTreeMap::new();
    for line in page.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(floor), Some(crates)) = (cells.next(), cells.next()) else { continue };
        let Ok(floor) = floor.parse() else { continue };
        let names = crates.split('`').skip(1).step_by(2);
        floors.extend(names.map(|name| (name.to_owned(), floor)));
    }
    floors
}

fn check_manifest(floors: &BTreeMap<String, u32>, text: &str, findings: &mut Vec<String>) {
    let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or_default();
    let name = name.trim_matches('"');
    let Some(own) = floors.get(name) else {
        findings.push(format!("{PAGE}: no floor for `{name}`"));
        return;
    };
    for dependency in dependencies(text) {
        if floors.get(dependency).is_none_or(|floor| floor >= own) {
            findings.push(format!("{name}: depends on {dependency}, which is on no lower floor"));
        }
    }
}

/// Our own crates that a crate needs, not those of its tests.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut counts = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if counts && line.starts_with("fanfare") {
            found.extend(line.split(['.', ' ', '=']).next());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_depends_on_its_own_floor_or_has_none_is_found() {
        let page = "| floor | crate | what |\n|---|---|---|\n| 1 | `fanfare-a`, `fanfare-b` | x |\n\
                    | 2 | `fanfare-c` | y |\n";
        let check = |manifest: &str| {
            let mut findings = Vec::new();
            check_manifest(&floors(page), manifest, &mut findings);
            findings
        };
        let good = "name = \"fanfare-c\"\n[dependencies]\nfanfare-a.workspace = true\n\
                    [dev-dependencies]\nfanfare-d.workspace = true\n";
        assert_eq!(check(good), Vec::<String>::new());
        let level = "name = \"fanfare-a\"\n[dependencies]\nfanfare-b = { workspace = true }\n";
        assert_eq!(check(level), ["fanfare-a: depends on fanfare-b, which is on no lower floor"]);
        assert_eq!(check("name = \"fanfare-d\"\n"), ["ARCHITECTURE.md: no floor for `fanfare-d`"]);
    }
}
