//! Help of every command: `-h` is one screen, its examples are understood, slips are recognised.

use std::process::{Command, Output};

use crate::documents::{commands, with_help};

/// A small terminal.
pub(crate) const COLUMNS: usize = 80;
const LINES: usize = 30;
/// The list of commands has a line for nearly each.
pub(crate) const LIST_LINES: usize = 40;

fn run(words: &[String]) -> Output {
    let mut command = Command::new(crate::PROGRAM);
    command.args(words).env("COLUMNS", COLUMNS.to_string()).output().unwrap()
}

pub(crate) fn help(words: &[String], option: &str) -> String {
    let output = run(&[words, &[option.to_owned()]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What stands below a heading, up to an empty line.
fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// The commands in the list of the program, which may have them by area.
pub(crate) fn listed() -> Vec<String> {
    let text = help(&[], "-h");
    let lines = text.lines().skip_while(|line| !line.starts_with("Usage:"));
    let lines = lines.take_while(|line| !["Options:", "Examples:"].contains(line));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    let names = names.flat_map(|names| names.split(", ")).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Commands below this one, and whether it is one itself.
fn below(words: &[String]) -> (Vec<Vec<String>>, bool) {
    let text = help(words, "-h");
    let names = section(&text, "Commands:").into_iter().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    let commands = names.map(|name| [words, &[name]].concat()).collect();
    (commands, !text.contains("<COMMAND>\n\nCommands:"))
}

/// All commands, without those that only lead to others.
fn all() -> Vec<Vec<String>> {
    let ours = listed().into_iter().filter(|name| crate::takes(name));
    let mut left: Vec<Vec<String>> = ours.map(|name| vec![name]).collect();
    let mut found = Vec::new();
    while let Some(words) = left.pop() {
        let (more, is_command) = below(&words);
        left.extend(more);
        found.extend(is_command.then_some(words));
    }
    found
}

#[test]
fn short_help_of_every_command_fits_one_screen() {
    let all = all();
    assert!(all.len() > 10, "{all:?}");
    for words in all.iter().map(Vec::as_slice).chain([[].as_slice()]) {
        let text = help(words, "-h");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= COLUMNS, "{words:?}: {widest} columns\n{text}");
        let lines = text.lines().count();
        let most = if words.is_empty() { LIST_LINES } else { LINES };
        assert!(lines <= most, "{words:?}: {lines} lines\n{text}");
    }
}

#[test]
fn every_command_has_examples_that_are_understood_and_says_how_it_ends() {
    for words in all() {
        let text = help(&words, "--help");
        assert!(!section(&text, "Exit codes:").is_empty(), "{words:?}: no exit codes\n{text}");
        let examples = section(&text, "Examples:");
        let typed: Vec<Vec<String>> =
            examples.iter().filter_map(|line| commands(line).into_iter().next()).collect();
        assert!((2..=3).contains(&typed.len()), "{words:?}: {examples:?}");
        for example in typed {
            assert!(example.starts_with(&words), "{words:?}: {example:?}");
            let output = run(&with_help(example.clone()));
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{example:?}: {told}");
        }
    }
}

#[test]
fn help_and_man_page_of_every_command_name_exit_codes_environment_and_files() {
    for words in all() {
        let text = help(&words, "--help");
        let told: Vec<&str> = ["Exit codes:", "Environment:", "Files:"]
            .into_iter()
            .flat_map(|heading| section(&text, heading))
            .collect();
        assert!(!section(&text, "Environment:").is_empty(), "{words:?}: {text}");
        let options = text.lines().filter(|line| line.trim_start().starts_with('-'));
        let mut names = options.chain(text.lines().filter(|line| line.starts_with("Usage: ")));
        let has_files =
            names.any(|line| ["<FILE>", "<DIR>", "<SOCKET>"].iter().any(|v| line.contains(v)));
        let shown = section(&text, "Files:");
        assert!(!has_files || !shown.is_empty(), "{words:?} tells nothing of files: {text}");
        // A page of groff: dashes and dots are written otherwise.
        let page = run(&[&["man".to_owned()][..], &words].concat());
        let page = String::from_utf8(page.stdout).unwrap();
        let plain = |text: &str| -> String {
            text.replace("\\-", "-").replace("\\&", "").replace("\\*(Aq", "'").replace("\\(aq", "'")
        };
        let page = plain(&page);
        for line in told {
            assert!(
                page.contains(line.trim()),
                "{words:?}: '{line}' is not in its man page\n{page}"
            );
        }
    }
}

#[test]
fn a_slip_in_a_command_or_an_option_is_answered_with_the_nearest_one() {
    for words in all() {
        let text = help(&words, "--help");
        let options = text
            .lines()
            .filter(|line| line.starts_with("  "))
            .filter_map(|line| line.trim().split(' ').next());
        let is_name = |word: &str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let options: Vec<&str> =
            options.filter(|word| word.starts_with("--") && is_name(word)).collect();
        let shorter = |word: &str| word[..word.len() - 1].to_owned();
        let chosen =
            options.iter().find(|word| word.len() > 6 && !options.contains(&&*shorter(word)));
        let option = chosen.copied().unwrap_or("--help");
        // The last letter is missing.
        let slip = &option[..option.len() - 1];
        let output = run(&[&words[..], &[slip.to_owned(), "x".to_owned()]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?} {slip}: {told}");
        let meant = told.contains(&format!("Did you mean {option}?"));
        assert!(meant, "{words:?} {slip}: {told}");
        let (last, before) = words.split_last().unwrap();
        let wrong = format!("{last}x");
        let output = run(&[before, &[wrong]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
        assert!(told.contains(&format!("Did you mean {last}?")), "{words:?}: {told}");
    }
}
