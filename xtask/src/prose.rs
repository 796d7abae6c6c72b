//! How readable the documents are, as far as a program can tell: lines and sentences are short.
//! It is a floor: a page that passes can still be a riddle.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Columns of a line. A terminal beside an editor has about as many.
const LINE_COLUMNS: usize = 100;
/// Words of the middle sentence of a page: what is usually advised for technical texts is 15 to 20.
const MEDIAN_WORDS: usize = 18;
/// Words of the longest sentence. Two ideas hardly fit into fewer; a sentence has one.
const MOST_WORDS: usize = 40;
/// Shorter ones, such as "See below." or a name in a list, do not count for the median.
const SENTENCE_WORDS: usize = 4;

/// Checks one page; `shown` is its path below the root of the tree.
pub(crate) fn check_page(shown: &str, text: &str, findings: &mut Vec<String>) {
    for (number, line) in prose_lines(text) {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS && line.split_whitespace().count() > 1 {
            findings.push(format!("{shown}:{number}: line of {columns} columns"));
        }
    }
    let sentences = sentences(text);
    for sentence in sentences.iter().filter(|sentence| words(sentence) > MOST_WORDS) {
        let start: String = sentence.chars().take(60).collect();
        findings.push(format!("{shown}: sentence of {} words: '{start} …'", words(sentence)));
    }
    let median = median(&sentences);
    if median > MEDIAN_WORDS {
        findings.push(format!("{shown}: the middle sentence has {median} words"));
    }
}

/// The pages that are checked: what a user or a newcomer reads.
pub(crate) fn is_checked(shown: &str) -> bool {
    Path::new(shown).starts_with("docs")
        || ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].contains(&shown)
}

/// Reads and checks all of these.
pub(crate) fn check(pages: &[PathBuf], findings: &mut Vec<String>) {
    for path in pages {
        let shown = path.strip_prefix(".").unwrap_or(path).display().to_string();
        if is_checked(&shown) {
            check_page(&shown, &fs::read_to_string(path).unwrap_or_default(), findings);
        }
    }
}

/// Lines with their numbers, from 1 on, without code and tables.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        let is_prose = !fence && !in_code && !line.trim_start().starts_with('|');
        is_prose.then_some((index + 1, line))
    })
}

/// The sentences of paragraphs, of items of lists and of cells of tables. Headings are none.
fn sentences(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            paragraphs.push(String::new());
            continue;
        }
        if in_code || line.is_empty() || line.starts_with(['#', '<']) {
            paragraphs.push(String::new());
            continue;
        }
        if line.starts_with('|') {
            paragraphs.extend(line.split(" | ").map(str::to_owned));
            paragraphs.push(String::new());
            continue;
        }
        let item = begins_item(line);
        if item.is_some() {
            paragraphs.push(String::new());
        }
        if let Some(paragraph) = paragraphs.last_mut() {
            paragraph.push(' ');
            paragraph.push_str(item.unwrap_or(line));
        }
    }
    paragraphs.iter().flat_map(|paragraph| split_sentences(paragraph)).collect()
}

/// What follows the mark of an item: "- ", "* " or "1. ".
fn begins_item(line: &str) -> Option<&str> {
    let (mark, rest) = line.split_once(' ')?;
    let digits = mark.strip_suffix('.').is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    });
    (["-", "*"].contains(&mark) || digits).then_some(rest)
}

/// A sentence ends with a mark that a space and no small letter follow.
fn split_sentences(paragraph: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut rest = paragraph.split_whitespace().peekable();
    while let Some(word) = rest.next() {
        if let Some(sentence) = found.last_mut() {
            sentence.push_str(word);
            sentence.push(' ');
        }
        let ends = word.trim_end_matches(['*', '_', '`', ')', '"', '|']).ends_with(['.', '?', '!']);
        let goes_on = rest.peek().is_some_and(|next| next.starts_with(char::is_lowercase));
        if ends && !goes_on {
            found.push(String::new());
        }
    }
    found.retain(|sentence| words(sentence) > 0);
    found
}

/// Words, without what is no word, such as a dash, and without the addresses of links.
fn words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

fn median(sentences: &[String]) -> usize {
    let mut lengths: Vec<usize> =
        sentences.iter().map(|one| words(one)).filter(|length| *length >= SENTENCE_WORDS).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_page("docs/page.md", text, &mut findings);
        findings
    }

    /// A sentence of so many words.
    fn sentence(words: usize) -> String {
        format!("Word{}. ", " word".repeat(words - 1))
    }

    #[test]
    fn a_long_line_is_found_with_its_number() {
        let text = format!("# Title\n\n{}\n", "ab ".repeat(34));
        assert_eq!(findings(&text)[0], "docs/page.md:3: line of 102 columns");
    }

    #[test]
    fn lines_of_tables_and_code_may_be_long_and_so_may_one_word() {
        let long = "ab ".repeat(40);
        let text =
            format!("```\n{long}\n```\n| {} |\nhttps://{}\n", "a".repeat(120), "b".repeat(120));
        assert_eq!(findings(&text), Vec::<String>::new());
    }

    #[test]
    fn a_sentence_above_the_limit_is_found_over_line_breaks_and_in_a_table() {
        let broken = format!("{}\n{}\nword.", "word ".repeat(20), "word ".repeat(20));
        assert!(findings(&broken)[0].contains("sentence of 41 words"));
        assert!(findings(&format!("| {} | x |\n", sentence(41)))[0].contains("sentence of 41"));
        assert_eq!(findings(&"One two three.\n".repeat(30)), Vec::<String>::new());
    }

    #[test]
    fn items_of_a_list_are_sentences_of_their_own() {
        let text = "- one two three four five\n- one two three four five\n1. one two three four\n"
            .repeat(5);
        assert_eq!(findings(&text), Vec::<String>::new());
    }

    #[test]
    fn the_middle_sentence_counts_and_not_the_mean() {
        let many = format!("{}{}{}", sentence(5), sentence(6), sentence(39));
        assert!(!findings(&many.replace(". ", ".\n")).iter().any(|one| one.contains("middle")));
        let long = format!("{}{}{}", sentence(5), sentence(19), sentence(20));
        let found = findings(&long.replace(". ", ".\n\n"));
        assert!(found.iter().any(|one| one == "docs/page.md: the middle sentence has 19 words"));
    }

    #[test]
    fn a_point_within_a_number_or_before_a_small_letter_ends_nothing() {
        let text = "It takes 1.5 s, e.g. on a LAN. `fanfare` ends. Why? Because.";
        assert_eq!(split_sentences(text).len(), 4);
    }

    #[test]
    fn pages_for_readers_are_checked_and_results_are_not() {
        assert!(is_checked("README.md") && is_checked("docs/how-to/radio-network.md"));
        assert!(!is_checked("results/README.md") && !is_checked("ARCHITECTURE.md"));
    }
}
