//! Other people's code: its licences, versions that come twice, and where it is from.
//!
//! `deny.toml` says what may be. It is the file of cargo-deny, which runs where it is installed. It
//! takes long to build, so what does not need the network is checked here, too, from the same file.
//! Known holes (advisories) are for cargo-deny alone.
//!
//! - `licence`: SPDX expressions

mod licence;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::step::{self, Outcome};

const POLICY: &str = "deny.toml";

/// Checks, by ourselves and with cargo-deny.
pub(crate) fn check() -> Outcome {
    let findings = match findings() {
        Ok(findings) => findings,
        Err(why) => return Outcome::Failed(why),
    };
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    if !findings.is_empty() {
        return Outcome::Failed(format!("{} findings against {POLICY}", findings.len()));
    }
    if !step::answers("cargo", &["deny", "--version"]) {
        eprintln!("note: known holes were not looked for: `cargo install --locked cargo-deny`");
        return Outcome::Passed;
    }
    match step::cargo(&["deny", "check", "licenses", "bans", "sources"], &[]) {
        Outcome::Passed => {}
        other => return other,
    }
    if step::answers("cargo", &["deny", "fetch"]) {
        return step::cargo(&["deny", "check", "--disable-fetch", "advisories"], &[]);
    }
    eprintln!("note: known holes were not looked for: the list of them cannot be reached");
    Outcome::Passed
}

fn findings() -> Result<Vec<String>, String> {
    let text = fs::read_to_string(POLICY).map_err(|error| format!("{POLICY}: {error}"))?;
    let policy = Policy::parse(&text)?;
    let metadata = ["metadata", "--format-version", "1", "--locked", "--all-features"];
    let metadata = step::output("cargo", &metadata)?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    Ok(policy.judge(&packages(&metadata)))
}

/// A package that others have written.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    licence: String,
    source: String,
}

fn packages(metadata: &Value) -> Vec<Package> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.filter(|package| !package["source"].is_null())
        .map(|package| Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]),
            source: text(&package["source"]),
        })
        .collect()
}

/// What may be.
#[derive(Debug)]
struct Policy {
    licences: BTreeSet<String>,
    /// Name and beginning of the version.
    skipped: Vec<(String, String)>,
    registries: Vec<String>,
}

impl Policy {
    fn parse(text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| format!("{POLICY}: {error}"))?;
        let list = |section: &str, key: &str| -> Vec<&DeValue<'_>> {
            let list = table.get_ref().get(section).and_then(|at| at.get_ref().get(key));
            let list = list.and_then(|at| at.get_ref().as_array());
            list.into_iter().flatten().map(toml::Spanned::get_ref).collect()
        };
        let words = |section: &str, key: &str| -> Vec<String> {
            list(section, key).into_iter().filter_map(DeValue::as_str).map(str::to_owned).collect()
        };
        let skipped = list("bans", "skip").into_iter().filter_map(|skip| {
            let (name, version) = skip.get("crate")?.get_ref().as_str()?.split_once('@')?;
            Some((name.to_owned(), version.to_owned()))
        });
        Ok(Self {
            licences: words("licenses", "allow").into_iter().collect(),
            skipped: skipped.collect(),
            registries: words("sources", "allow-registry"),
        })
    }

    fn judge(&self, packages: &[Package]) -> Vec<String> {
        let mut findings = Vec::new();
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut used = BTreeSet::new();
        for Package { name, version, licence, source } in packages {
            if !licence::allows(licence, &|one| self.licences.contains(one)) {
                findings.push(format!("{name} {version}: its licence '{licence}' is not allowed"));
            }
            let registry = source.strip_prefix("registry+").unwrap_or(source);
            if !self.registries.iter().any(|allowed| allowed == registry) {
                findings.push(format!("{name} {version}: comes from {source}"));
            }
            match self.skipped.iter().find(|skip| skip.0 == *name && begins(version, &skip.1)) {
                Some(skip) => drop(used.insert(skip)),
                None => drop(versions.entry(name).or_default().insert(version)),
            }
        }
        for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
            let versions: Vec<&str> = versions.iter().copied().collect();
            findings.push(format!("{name}: comes as {}", versions.join(" and ")));
        }
        let idle = self.skipped.iter().filter(|skip| !used.contains(skip));
        findings
            .extend(idle.map(|(name, version)| format!("{name}@{version}: need not be skipped")));
        findings
    }
}

/// Whether a version is meant by `0.2` or `2`.
fn begins(version: &str, with: &str) -> bool {
    version.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[licenses]
allow = ["MIT"]
[bans]
skip = [{ crate = "old@0.2", reason = "x" }]
[sources]
allow-registry = ["https://here"]
"#;

    fn package(name: &str, version: &str, licence: &str, source: &str) -> Package {
        let [name, version, licence, source] = [name, version, licence, source].map(str::to_owned);
        Package { name, version, licence, source }
    }

    #[test]
    fn a_licence_a_second_version_and_a_foreign_source_are_each_found() {
        let policy = Policy::parse(TEXT).unwrap();
        let at = "registry+https://here";
        let good = [
            package("a", "1.0.0", "MIT", at),
            package("old", "0.2.7", "MIT OR GPL-3.0-only", at),
            package("old", "0.3.0", "MIT", at),
        ];
        assert_eq!(policy.judge(&good), Vec::<String>::new());
        let bad = [
            package("a", "1.0.0", "MIT", at),
            package("a", "2.0.0", "GPL-3.0-only", at),
            package("b", "1.0.0", "MIT", "git+https://there"),
        ];
        assert_eq!(
            policy.judge(&bad),
            [
                "a 2.0.0: its licence 'GPL-3.0-only' is not allowed",
                "b 1.0.0: comes from git+https://there",
                "a: comes as 1.0.0 and 2.0.0",
                "old@0.2: need not be skipped",
            ]
        );
    }

    #[test]
    fn the_beginning_of_a_version_ends_at_a_dot() {
        assert!(begins("0.2.17", "0.2") && begins("2.0.1", "2") && begins("1.0.0", "1.0.0"));
        assert!(!begins("0.21.0", "0.2") && !begins("20.0.1", "2"));
    }
}
