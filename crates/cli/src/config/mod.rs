//! Options from a file: `--config FILE`; docs/reference/configuration.md is for those who write one.
//!
//! - `file`: a file that may be relied on, as text
//! - `options`: what a command takes: no list of its own, but clap's
//! - `settings`: what a file sets, as words of the command line
//! - `streams`: the options of several sendings, of another file
//! - `groups`: a node's groups and the gateways between them: `[[group]]`, `[[gateway]]`
//! - `trial`: which of it is wrong, by itself or beside the rest
//! - `reload`: the same again while it runs; `check`: without running
//!
//! A file is right or wrong whatever the command line says: `config check` and a start agree.

mod check;
mod file;
mod groups;
mod options;
mod reload;
mod settings;
mod streams;
mod trial;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, parser::ValueSource};

pub(crate) use check::{ConfigArgs, run};
pub(crate) use groups::{GatewaySettings, GroupSettings};
pub(crate) use reload::Reload;
pub(crate) use streams::StreamSettings;

use crate::{Cli, Command, member::NodeArgs};
use fanfare_command::{Failure, OutputArgs};
use options::{Table, key_of, options_of};
use settings::{Contents, Setting};

/// Where options come from besides the command line.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Take options from this file, too: what is given here wins. SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What it said at the start.
    #[arg(skip)]
    loaded: Option<Loaded>,
}

impl FileArgs {
    pub(crate) fn is_given(&self) -> bool {
        self.loaded.is_some()
    }
}

/// A command line that names a file, and what the file adds to it.
#[derive(Debug, Clone)]
struct Loaded {
    line: CommandLine,
    settings: Vec<Setting>,
}

/// A command line that names a file.
#[derive(Debug, Clone)]
struct CommandLine {
    words: Vec<OsString>,
    table: Table,
    file: PathBuf,
    /// Ids of the options on it, and of those that exclude them: the file has no say in these.
    given: Vec<String>,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The command line.
    Line(clap::Error),
    /// The file; shown so.
    File(Vec<Failure>, OutputArgs),
}

/// The command line together with the file that it names, if it names one.
pub(crate) fn parse(words: &[OsString]) -> Result<Cli, Refusal> {
    if let Some((line, output)) = CommandLine::naming_a_file(words, "streams") {
        return streams::parse(&line, output);
    }
    let Some((line, output)) = CommandLine::naming_a_file(words, "config") else {
        return Cli::try_parse_from(words).map_err(Refusal::Line);
    };
    let Contents { settings, tables } = line.read_file().map_err(|(failures, json)| {
        let mut output = output;
        output.json |= json;
        Refusal::File(failures, output)
    })?;
    let mut cli = Cli::try_parse_from(line.with(&settings)).map_err(Refusal::Line)?;
    if let Command::Node(args) = &mut cli.command {
        (args.groups, args.gateways) = tables.complete(&line)?;
    }
    let loaded = Some(Loaded { line, settings });
    match &mut cli.command {
        Command::Send(args) => args.file.loaded = loaded,
        Command::Recv(args) => args.file.loaded = loaded,
        Command::Node(args) => args.file.loaded = loaded,
        _ => {}
    }
    Ok(cli)
}

/// The groups of a node's file, for who does not run it: those in tables of their own, with their
/// names, or the one of `[node]`. Errors: all mistakes.
pub(crate) fn node_groups(file: &Path) -> Result<Vec<(Option<String>, NodeArgs)>, Vec<Failure>> {
    let words = ["fanfare", "node"].map(OsString::from).to_vec();
    let line = CommandLine { words, table: Table::Node, file: file.to_owned(), given: Vec::new() };
    let refused = |error: &clap::Error| vec![Failure::from(error)];
    let Contents { settings, tables } = line.read_file().map_err(|(failures, _)| failures)?;
    let (groups, _) = tables.complete(&line).map_err(|refusal| match refusal {
        Refusal::Line(error) => refused(&error),
        Refusal::File(failures, _) => failures,
    })?;
    if !groups.is_empty() {
        return Ok(groups.into_iter().map(|group| (Some(group.name), group.args)).collect());
    }
    let cli = Cli::try_parse_from(line.with(&settings)).map_err(|error| refused(&error))?;
    match cli.command {
        Command::Node(args) => Ok(vec![(None, args)]),
        _ => Ok(Vec::new()),
    }
}

impl CommandLine {
    /// `option`: by which it names the file.
    fn naming_a_file(words: &[OsString], option: &str) -> Option<(Self, OutputArgs)> {
        // What else may be wrong with it shows when it is read with what the file adds.
        let matches = Cli::command().ignore_errors(true).try_get_matches_from(words).ok()?;
        let (name, matches) = matches.subcommand()?;
        let table = Table::ALL.into_iter().find(|table| table.name() == name)?;
        let file = matches.try_get_one::<PathBuf>(option).ok()??.clone();
        let output = OutputArgs::from_arg_matches(matches).ok()?;
        let given = given(&table.command(), matches);
        Some((Self { words: words.to_vec(), table, file, given }, output))
    }

    /// What the file sets of what the command line leaves open; else all its mistakes, and whether
    /// it asks for JSON.
    fn read_file(&self) -> Result<Contents, (Vec<Failure>, bool)> {
        let mut contents = settings::read(&self.file, self.table)?;
        self.leave_out_given(&mut contents.settings);
        Ok(contents)
    }

    /// What the command line says itself counts.
    fn leave_out_given(&self, settings: &mut Vec<Setting>) {
        settings.retain(|setting| !self.given.contains(&setting.id));
    }

    /// The command line as it would be without the file.
    fn with(&self, settings: &[Setting]) -> Vec<OsString> {
        // The name of the program and that of the command come first.
        let (names, rest) = self.words.split_at(2.min(self.words.len()));
        let mut words = names.to_vec();
        words.extend(settings.iter().flat_map(Setting::options).map(OsString::from));
        words.extend_from_slice(rest);
        let mut places = settings.iter().flat_map(Setting::places).peekable();
        if places.peek().is_some() && rest.iter().all(|word| word != "--") {
            words.push("--".into());
        }
        words.extend(places.map(OsString::from));
        words
    }
}

fn given(command: &clap::Command, matches: &ArgMatches) -> Vec<String> {
    let is_given =
        |id: &clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let excludes = |a: &clap::Arg, b: &clap::Arg| {
        command.get_arg_conflicts_with(a).iter().any(|arg| arg.get_id() == b.get_id())
    };
    let on_it: Vec<&clap::Arg> = options_of(command).filter(|arg| is_given(arg.get_id())).collect();
    let decided = |arg: &&clap::Arg| {
        on_it.iter().any(|on| on.get_id() == arg.get_id() || excludes(on, arg) || excludes(arg, on))
    };
    options_of(command).filter(decided).map(|arg| arg.get_id().to_string()).collect()
}

#[cfg(test)]
mod tests;
