//! What is made of the definition of a command line: completions, man pages, and a page of reference.

use std::{fs, io, path::Path};

use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{Exit, Failure};

/// The completions of a shell.
#[must_use]
pub fn completions(shell: Shell, command: &mut Command, program: &str) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, program, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The man page of the program, or of the command that these words name.
///
/// # Errors
/// There is no such command.
pub fn man(mut program: Command, words: &[String]) -> Result<String, Failure> {
    program.build();
    let mut command = &program;
    for word in words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = visible(command).map(Command::get_name).collect();
            let text = format!("command ({word}): is not known. Use one of: {}", known.join(", "));
            Failure::usage("usage", text)
        })?;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(|error| {
        let text = format!("man page ({error}): cannot be made. Use --help");
        Failure::new(Exit::Failed, "man.failed", text)
    })?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes the man pages of all commands.
///
/// # Errors
/// The directory cannot be written.
pub fn write_man(program: Command, dir: &Path) -> Result<(), Failure> {
    let written = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(program, dir));
    written.map_err(|error: io::Error| {
        let shown = dir.display();
        let text = format!("directory ({shown}): cannot be written ({error}). Use another");
        Failure::new(Exit::Resource, "directory.not_writable", text)
    })
}

/// All commands and options as a page of reference, in Markdown.
#[must_use]
pub fn reference(mut program: Command, head: &str) -> String {
    program.build();
    let mut page = head.trim_end().to_owned() + "\n";
    // Commands of another program have its own page.
    for command in visible(&program).filter(|one| !one.is_disable_help_flag_set()) {
        describe(command, &mut page);
    }
    page
}

/// Compares the page of reference with the file in the tree, for a test; writes it instead where
/// `FANFARE_UPDATE` is set.
///
/// # Panics
/// They differ, or the command line contradicts itself.
pub fn check_reference(program: Command, head: &str, path: &Path) {
    program.clone().debug_assert();
    let page = reference(program, head);
    if std::env::var_os("FANFARE_UPDATE").is_some() {
        let written = fs::write(path, &page);
        assert!(written.is_ok(), "{}: cannot be written", path.display());
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = page.lines().zip(found.lines()).find(|(now, then)| now != then);
    let shown = path.display();
    assert!(
        page == found,
        "{shown} is not what the program says: {differs:?}. Make it again: FANFARE_UPDATE=1 cargo test \
         -p fanfare-cli -p fanfare-lab --features fanfare-cli/nats page_of_reference"
    );
}

/// The commands that are shown; clap's own `help` is on every page.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let is_shown = |one: &&Command| !one.is_hide_set() && one.get_name() != "help";
    command.get_subcommands().filter(is_shown)
}

fn describe(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    *page += &format!("\n## {name}\n\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    *page += &format!("{}\n\n", paragraphs(&about));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace("\n       ", "\n");
    *page += &format!("```usage\n{usage}\n```\n");
    let shown = |arg: &&Arg| !arg.is_hide_set() && !asks_for_help(arg);
    let args: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    let mut headings: Vec<&str> = vec!["Arguments", "Options"];
    for arg in &args {
        let heading = heading(arg);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for name in headings {
        let rows: Vec<String> =
            args.iter().filter(|arg| heading(arg) == name).map(|arg| row(arg)).collect();
        if !rows.is_empty() {
            *page += &format!("\n| {name} | |\n|---|---|\n{}", rows.concat());
        }
    }
    if let Some(end) = command.get_after_long_help() {
        *page += &format!("\n```text\n{end}\n```\n");
    }
    for one in visible(command) {
        describe(one, page);
    }
}

fn asks_for_help(arg: &Arg) -> bool {
    let action = arg.get_action();
    matches!(
        action,
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

fn heading(arg: &Arg) -> &str {
    let usual = if arg.is_positional() { "Arguments" } else { "Options" };
    arg.get_help_heading().unwrap_or(usual)
}

/// An option, and what it means.
fn row(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let value = match takes && !arg.is_positional() {
        true => values.iter().map(|name| format!(" {name}")).collect(),
        false => String::new(),
    };
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        (None, None) => values.first().map_or(arg.get_id().as_str(), |name| name).to_owned(),
    };
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = help.map(ToString::to_string).unwrap_or_default().replace("\n\n", ". ");
    let possible = arg.get_possible_values();
    if takes && !possible.is_empty() && !arg.is_hide_possible_values_set() {
        text += &choices(&possible);
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        text += &format!(" [default: {}]", defaults.join(","));
    }
    format!("| `{}` | {} |\n", escaped(&(name + &value)), escaped(&one_line(&text)))
}

/// Values that an option takes, with what each does where that is said.
fn choices(possible: &[clap::builder::PossibleValue]) -> String {
    let one = |value: &clap::builder::PossibleValue| match value.get_help() {
        Some(help) => format!("`{}`: {help}", value.get_name()),
        None => format!("`{}`", value.get_name()),
    };
    let described = possible.iter().any(|value| value.get_help().is_some());
    let all: Vec<String> = possible.iter().filter(|value| !value.is_hide_set()).map(one).collect();
    match described {
        true => format!(". {}.", all.join(". ")),
        false => format!(" ({})", all.join(", ")),
    }
}

/// A bar would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Paragraphs in lines of a width that a page bears.
fn paragraphs(text: &str) -> String {
    const COLUMNS: usize = 98;
    let mut lines = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if line.chars().count() + word.chars().count() + 1 > COLUMNS {
                lines.push(std::mem::take(&mut line));
            }
            line += if line.is_empty() { "" } else { " " };
            line += word;
        }
        lines.push(line);
        lines.push(String::new());
    }
    lines.join("\n").trim_end().to_owned()
}
