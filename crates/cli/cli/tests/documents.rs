//! The commands in README, tutorial, how-to pages and reference exist, with the options that they are
//! given there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What ends a command in a shell, or takes its output elsewhere.
const ENDS: [&str; 6] = ["&", "&&", "|", ">", "<", ";"];

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { &mut folders } else { &mut pages }.push(path);
        }
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// The lines of all blocks of code that a person could type; a backslash joins two.
fn typed_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let (kind, code) = block.split_once('\n').unwrap_or_default();
        if ["sh", "text", ""].contains(&kind) {
            lines.extend(code.replace("\\\n", " ").lines().map(str::to_owned));
        }
    }
    lines
}

/// Splits a line as a shell does, as far as the documents need it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            (None, ';') => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(";".into());
            }
            (None, _) => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The arguments of each `fanfare` in a line, such as two in `fanfare lab exec pc1 -- fanfare recv`.
pub(crate) fn commands(line: &str) -> Vec<Vec<String>> {
    let words = words(line);
    let starts: Vec<usize> = (0..words.len())
        .filter(|&at| words[at] == "fanfare" && (at == 0 || can_precede(&words[at - 1])))
        .collect();
    let arguments = |&at: &usize| {
        let ends =
            |word: &String| word == "--" || word.starts_with('>') || ENDS.contains(&word.as_str());
        words[at + 1..].iter().take_while(|word| !ends(word)).cloned().collect()
    };
    starts.iter().map(arguments).collect()
}

/// The arguments with `--help`. Before the help is shown, what precedes it must have been understood.
/// What follows `norm-exec` is another program's, up to the end.
pub(crate) fn with_help(mut arguments: Vec<String>) -> Vec<String> {
    let runs_another = arguments.first().is_some_and(|command| command == "norm-exec");
    let at = if runs_another { 1 } else { arguments.len() };
    arguments.insert(at, "--help".to_owned());
    arguments
}

/// A prompt, `sudo`, or the end of what is before a command of its own.
fn can_precede(word: &str) -> bool {
    ["sudo", "--", "&&", "|", "do", "$"].contains(&word) || word.ends_with('$')
}

#[test]
fn every_command_in_the_documents_is_one_that_the_program_takes() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in typed_lines(&text) {
            for arguments in commands(&line) {
                if !arguments.first().is_some_and(|command| crate::takes(command)) {
                    continue;
                }
                let typed = arguments.into_iter().filter(|word| !["…", "..."].contains(&&word[..]));
                let asked = with_help(typed.collect());
                let output = Command::new(crate::PROGRAM).args(asked).output().unwrap();
                let told = String::from_utf8_lossy(&output.stderr);
                if !output.status.success() {
                    wrong.push(format!("{}: '{line}': {told}", page.display()));
                }
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 40, "{tried} commands were found");
}

#[test]
fn an_option_that_is_not_there_would_be_noticed() {
    let lines = ["fanfare send x --expct 30", "sudo fanfare lab up x --sead 1", "fanfare sned x"];
    for line in lines.into_iter().filter(|line| crate::takes(&commands(line)[0][0])) {
        let output =
            Command::new(crate::PROGRAM).args(&commands(line)[0]).arg("--help").output().unwrap();
        assert!(!output.status.success(), "{line}");
    }
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    let line = "sudo fanfare lab exec pc1 -- fanfare pub 'a/#' --message \"1 2\" --x; y # z";
    assert_eq!(
        commands(line),
        [vec!["lab", "exec", "pc1"], vec!["pub", "a/#", "--message", "1 2", "--x"],]
    );
}
