//! What a command line and the file that it names come to together.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{Failure, OutputArgs};
use clap::Args;

use super::{
    grammar::{Grammar, Named},
    groups::GroupTable,
    line::CommandLine,
    settings::{Contents, Setting},
    streams::{self, StreamWords},
};
use crate::config::gateway_plan::GatewayPlan;

/// Where options come from besides the command line.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// Read more options from this file; the command line wins. SIGHUP reads it again
    #[arg(long, value_name = "FILE", help_heading = "Configuration file", hide_short_help = true)]
    config: Option<PathBuf>,
}

/// A command line, and what its file adds to it.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub(super) line: CommandLine,
    pub(super) settings: Vec<Setting>,
}

impl Loaded {
    /// The command line as it would be without the file.
    pub fn words(&self) -> Vec<OsString> {
        self.line.with(&self.settings)
    }
}

/// Why there is nothing to run: the file, and how that is shown.
#[derive(Debug)]
pub struct Refusal {
    /// All mistakes.
    pub failures: Vec<Failure>,
    /// Whether as JSON, and how much.
    pub output: OutputArgs,
}

/// What a command line names.
#[derive(Debug)]
pub enum Found {
    /// No file.
    Nothing,
    /// A file of options; for a node, with its groups and the gateways between them.
    Config(Box<Loaded>, Vec<Named>, Vec<GatewayPlan>),
    /// A file of several sendings, at least one.
    Streams(Vec<StreamWords>),
}

/// Looks for the file that a command line names, and reads it.
pub fn load(words: &[OsString], grammar: &'static Grammar) -> Result<Found, Refusal> {
    if let Some((line, output)) = CommandLine::naming_a_file(grammar, words, "streams") {
        let refused = |(failures, json)| refusal(failures, output, json);
        return streams::read(&line).map(Found::Streams).map_err(refused);
    }
    let Some((line, output)) = CommandLine::naming_a_file(grammar, words, "config") else {
        return Ok(Found::Nothing);
    };
    let contents = line.read_file();
    let Contents { settings, tables } =
        contents.map_err(|(failures, json)| refusal(failures, output, json))?;
    let groups = named(&line, tables.groups);
    Ok(Found::Config(Box::new(Loaded { line, settings }), groups, tables.gateways))
}

/// Groups with what the command line says: it wins over the file in each.
fn named(line: &CommandLine, tables: Vec<GroupTable>) -> Vec<Named> {
    let named = |GroupTable { name, mut settings, .. }: GroupTable| {
        line.leave_out_given(&mut settings);
        Named { name, words: line.with(&settings) }
    };
    tables.into_iter().map(named).collect()
}

fn refusal(failures: Vec<Failure>, output: OutputArgs, json: bool) -> Refusal {
    let mut output = output;
    output.json |= json;
    Refusal { failures, output }
}

/// What a node calls a group of its file, and the command line that would have it alone.
pub type NodeGroup = (Option<String>, Vec<OsString>);

/// The groups of a node's file, for who does not run it: those in tables of their own, with their
/// names, or the one of `[node]`. Errors: all mistakes.
pub fn node_groups(file: &Path, grammar: &'static Grammar) -> Result<Vec<NodeGroup>, Vec<Failure>> {
    let words = ["fanfare", "node"].map(OsString::from).to_vec();
    let (table, file, given) = (grammar.node, file.to_owned(), Vec::new());
    let line = CommandLine { grammar, words, table, file, given };
    let Contents { settings, tables } = line.read_file().map_err(|(failures, _)| failures)?;
    let groups = named(&line, tables.groups);
    match groups.is_empty() {
        true => Ok(vec![(None, line.with(&settings))]),
        false => Ok(groups.into_iter().map(|group| (Some(group.name), group.words)).collect()),
    }
}
