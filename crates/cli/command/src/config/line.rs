//! A command line that names a file, and what the file adds to it.

use std::{ffi::OsString, path::PathBuf};

use crate::{Failure, OutputArgs};
use clap::{ArgMatches, FromArgMatches as _, parser::ValueSource};

use super::{
    grammar::{Grammar, Table, options_of},
    settings::{self, Contents, Setting},
};

/// A command line that names a file.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    pub(super) grammar: &'static Grammar,
    pub(super) words: Vec<OsString>,
    pub(super) table: Table,
    pub(super) file: PathBuf,
    /// Ids of the options on it, and of those that exclude them: the file has no say in these.
    pub(super) given: Vec<String>,
}

impl CommandLine {
    /// `option`: by which it names the file.
    pub(super) fn naming_a_file(
        grammar: &'static Grammar,
        words: &[OsString],
        option: &str,
    ) -> Option<(Self, OutputArgs)> {
        // What else may be wrong with it shows when it is read with what the file adds.
        let matches = (grammar.program)().ignore_errors(true).try_get_matches_from(words).ok()?;
        let (name, matches) = matches.subcommand()?;
        let table = grammar.tables().into_iter().find(|table| table.name == name)?;
        let file = matches.try_get_one::<PathBuf>(option).ok()??.clone();
        let output = OutputArgs::from_arg_matches(matches).ok()?;
        let given = given(&(table.command)(), matches);
        Some((Self { grammar, words: words.to_vec(), table, file, given }, output))
    }

    /// What the file sets of what the command line leaves open; else all its mistakes, and whether
    /// it asks for JSON.
    pub(super) fn read_file(&self) -> Result<Contents, (Vec<Failure>, bool)> {
        let mut contents = settings::read(&self.file, self.grammar, self.table)?;
        self.leave_out_given(&mut contents.settings);
        Ok(contents)
    }

    /// What the command line says itself counts.
    pub(super) fn leave_out_given(&self, settings: &mut Vec<Setting>) {
        settings.retain(|setting| !self.given.contains(&setting.id));
    }

    /// The command line as it would be without the file.
    pub(super) fn with(&self, settings: &[Setting]) -> Vec<OsString> {
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
