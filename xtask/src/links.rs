//! Relative links in the documents lead to a file, and to a heading where they name one.

use std::fs;
use std::path::{Path, PathBuf};

/// Checks the links of these pages.
pub(crate) fn check(pages: &[PathBuf], findings: &mut Vec<String>) {
    for path in pages {
        let text = fs::read_to_string(path).unwrap_or_default();
        for link in links(&text) {
            if let Some(why) = broken(path, &text, link) {
                findings.push(format!("{}: link to '{link}': {why}", path.display()));
            }
        }
    }
}

/// The addresses of all links of a page.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

fn broken(page: &Path, text: &str, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = page.parent().unwrap_or(Path::new(".")).join(file);
    if !file.is_empty() && !target.exists() {
        return Some("there is no such file");
    }
    if heading.is_empty() || !(file.is_empty() || target.extension().is_some_and(|e| e == "md")) {
        return None;
    }
    let other = if file.is_empty() { text.to_owned() } else { fs::read_to_string(target).ok()? };
    (!headings(&other).any(|one| one == heading)).then_some("there is no such heading")
}

/// The headings of a page as links name them, on the usual forges and in mdBook.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
}

/// Small letters, digits, `-` and `_`; a space becomes a `-`, everything else goes.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    heading.trim().to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_named_in_small_letters_with_hyphens() {
        assert_eq!(anchor(" `[[node]]`"), "node");
        assert_eq!(
            anchor(" Short paths: noise is not a queue"),
            "short-paths-noise-is-not-a-queue"
        );
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_broken() {
        let page = Path::new("./README.md");
        let text = "# One\n[a](#one) [b](#two)";
        let found: Vec<_> = links(text).map(|link| broken(page, text, link)).collect();
        assert_eq!(found, [None, Some("there is no such heading")]);
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_is_broken_and_one_to_elsewhere_is_not_looked_at() {
        let page = Path::new("./README.md");
        assert_eq!(broken(page, "", "nowhere/at-all.md"), Some("there is no such file"));
        assert_eq!(broken(page, "", "https://example.org/nowhere"), None);
    }
}
