//! The house rules that a program can check. Each finding names file, line and rule.

use crate::{circles, floors, links, prose, step::Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file before its tests; beyond, the file must say why in a line with this mark.
const FILE_LINES: usize = 700;
const LONG_FILE_REASON: &str = "Long because";
/// Lines of a function.
const FUNCTION_LINES: usize = 120;
/// Crates without clock, chance or unordered maps of their own.
const CORE: [&str; 6] = [
    "crates/core/wire/src",
    "crates/core/fec/src",
    "crates/core/congestion/src",
    "crates/core/proto/src",
    "crates/core/messaging/src",
    "crates/lab/sim/src",
];
const BANNED_IN_CORE: [&str; 7] =
    ["Instant::now", "SystemTime", "thread::sleep", "rand::", "HashMap", "HashSet", "UdpSocket"];
const UNFINISHED: [&str; 4] = ["todo!(", "unimplemented!(", "FIXME", "#[ignore"];
const EMPTY_NAMES: [&str; 6] =
    ["utils.rs", "util.rs", "helpers.rs", "common.rs", "manager.rs", "misc.rs"];

/// Checks the tree below the present directory.
pub(crate) fn check() -> Outcome {
    let mut findings = Vec::new();
    for path in files(Path::new("."), "rs") {
        let text = fs::read_to_string(&path).unwrap_or_default();
        check_source(&path, &text, &mut findings);
    }
    check_dependencies(&mut findings);
    floors::check(&mut findings);
    circles::check(&mut findings);
    let pages = files(Path::new("."), "md");
    links::check(&pages, &mut findings);
    prose::check(&pages, &mut findings);
    check_named_tests(&mut findings);
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    match findings.len() {
        0 => Outcome::Passed,
        n => Outcome::Failed(format!("{n} findings")),
    }
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // A link is read where it leads to.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if name != "target" && name != ".git" {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn check_source(path: &Path, text: &str, findings: &mut Vec<String>) {
    let shown = path.strip_prefix("./").unwrap_or(path).display().to_string();
    if path.file_name().and_then(|n| n.to_str()).is_some_and(|n| EMPTY_NAMES.contains(&n)) {
        findings.push(format!("{shown}: a file is a noun of the glossary"));
    }
    let code: Vec<&str> = text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).collect();
    if code.len() > FILE_LINES && !text.contains(LONG_FILE_REASON) {
        findings.push(format!(
            "{shown}: {} lines before its tests: look for the second idea, or say '{LONG_FILE_REASON} …'",
            code.len()
        ));
    }
    long_functions(&shown, &code, findings);
    for (number, name) in included_from_outside(&shown, &code) {
        findings.push(format!(
            "{shown}:{number}: `{name}` is not in the package of its crate. Put a symbolic link to it there"
        ));
    }
    if shown.starts_with("xtask/") {
        return;
    }
    let core = CORE.iter().any(|dir| shown.starts_with(dir));
    for (number, line) in
        text.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//"))
    {
        let banned = BANNED_IN_CORE.iter().filter(|_| core).chain(&UNFINISHED);
        for word in banned.filter(|word| line.contains(**word)) {
            findings.push(format!("{shown}:{}: `{word}` does not belong here", number + 1));
        }
    }
}

/// Files that are included, and lie outside the crate: its package is compiled without them. With the
/// numbers of their lines.
fn included_from_outside<'a>(shown: &str, code: &[&'a str]) -> Vec<(usize, &'a str)> {
    let published = shown.starts_with("crates/") && !shown.ends_with("tests.rs");
    // Of `crates/AREA/NAME/src/a.rs` all but the crate's folder and the file itself are to be climbed.
    let depth = shown.split('/').count().saturating_sub(4);
    let mut found = Vec::new();
    for (index, line) in code.iter().enumerate().filter(|_| published && !shown.contains("/tests/"))
    {
        let Some((_, name)) = line.split_once("include_").filter(|(_, rest)| rest.contains("!(\""))
        else {
            continue;
        };
        let name = name.split('"').nth(1).unwrap_or_default();
        let only_for_tests = index > 0 && code[index - 1].contains("cfg(doctest)");
        if name.matches("../").count() > depth && !only_for_tests {
            found.push((index + 1, name));
        }
    }
    found
}

fn long_functions(shown: &str, code: &[&str], findings: &mut Vec<String>) {
    let mut begun: Option<(usize, usize, String)> = None;
    for (number, line) in code.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match &begun {
            None => {
                if let Some(name) = function_name(line) {
                    begun = Some((number, indent, name));
                }
            }
            Some((start, at, name)) if indent == *at && line.trim_start().starts_with('}') => {
                let lines = number - start + 1;
                if lines > FUNCTION_LINES {
                    findings.push(format!("{shown}:{}: fn {name} has {lines} lines", start + 1));
                }
                begun = None;
            }
            Some((_, at, _)) if indent <= *at && line.trim_end().ends_with(';') => begun = None,
            Some(_) => {}
        }
        if line.contains("fn ")
            && (line.trim_end().ends_with('}') || line.trim_end().ends_with(';'))
        {
            begun = None;
        }
    }
}

fn function_name(line: &str) -> Option<String> {
    let words = line.trim_start();
    if words.starts_with("//") {
        return None;
    }
    let after = words.split_once("fn ")?;
    let is_item = after.0.split_whitespace().all(|w| {
        w.starts_with("pub") || ["const", "unsafe", "async", "extern", "\"C\""].contains(&w)
    });
    is_item.then(|| after.1.split(['(', '<']).next().unwrap_or_default().to_owned())
}

/// Every dependency of the workspace has its line in docs/dependencies.md.
fn check_dependencies(findings: &mut Vec<String>) {
    let manifest = fs::read_to_string("Cargo.toml").unwrap_or_default();
    let listed = fs::read_to_string("docs/dependencies.md").unwrap_or_default();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    for line in section.lines().take_while(|line| !line.starts_with('[')) {
        let Some((name, _)) = line.split_once('=') else { continue };
        let name = name.trim();
        if !name.starts_with("fanfare") && !listed.contains(&format!("`{name}`")) {
            findings.push(format!("docs/dependencies.md: no line for `{name}`"));
        }
    }
}

/// Tests that the notes on the RFC name do exist. A name is a sentence in backquotes.
fn check_named_tests(findings: &mut Vec<String>) {
    let notes = fs::read_to_string("docs/reference/rfc5740-notes.md").unwrap_or_default();
    let sources: Vec<String> = files(Path::new("."), "rs")
        .iter()
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect();
    for name in notes.split('`').skip(1).step_by(2).filter(|name| is_test_name(name)) {
        let begun = format!("fn {name}(");
        if !sources.iter().any(|text| text.contains(&begun)) {
            findings.push(format!("docs/reference/rfc5740-notes.md: there is no test `{name}`"));
        }
    }
}

fn is_test_name(name: &str) -> bool {
    name.matches('_').count() >= 3
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_the_crate_cannot_be_included_but_in_tests() {
        let outside = r#"const A: &str = include_str!("../../../docs/a.md");"#;
        let inside = r#"const A: &str = include_str!("../a.md");"#;
        let at = |path, lines: &[&'static str]| included_from_outside(path, lines);
        assert_eq!(at("crates/core/a/src/lib.rs", &["", outside]), [(2, "../../../docs/a.md")]);
        assert_eq!(at("crates/core/a/src/lib.rs", &[inside]), []);
        assert_eq!(at("crates/core/a/src/lib.rs", &["#[cfg(doctest)]", outside]), []);
        assert_eq!(at("crates/core/a/src/b_tests.rs", &[outside]), []);
        assert_eq!(at("crates/core/a/tests/b.rs", &[outside]), []);
        assert_eq!(at("xtask/src/b.rs", &[outside]), []);
    }
}
