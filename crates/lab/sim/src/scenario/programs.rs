//! `[[program]]`: programs on real hosts. The laboratory runs them; the simulator ignores them.

use fanfare_proto::Duration;

use super::{fields::Fields, nodes::Nodes, units};
use crate::network::Host;

/// A program of a scenario, on one of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where.
    pub host: Host,
    /// What.
    pub command: ProgramCommand,
    /// When it is started.
    pub start: Duration,
    /// When it is told to stop; `None` leaves its end to itself.
    pub stop: Option<Duration>,
    /// How it has to end.
    pub expect: ExpectedExit,
    /// It serves the others: when they have ended it is stopped.
    pub background: bool,
}

/// A command as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramCommand {
    /// Text for a shell.
    Shell(String),
    /// The program and its arguments.
    Words(Vec<String>),
}

/// How a program has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedExit {
    /// With this exit code.
    Code(u8),
    /// However it likes.
    Any,
}

/// A program as the file describes it; nodes by number.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) nodes: Vec<usize>,
    program: Program,
}

impl Entry {
    /// Reads one `[[program]]`.
    pub(super) fn read(fields: &Fields<'_>, nodes: &Nodes) -> Option<Self> {
        let on = nodes.of(fields, "node", "\"name\"");
        let command = fields.need("command", command(fields), "\"ping -c 3 10.77.0.2\"");
        let expect = fields.read("expect", |text| match text {
            "any" => Ok(ExpectedExit::Any),
            code => units::count(code, 0..=255).map(|code| ExpectedExit::Code(code as u8)),
        });
        let background = fields.flag("background").unwrap_or(false);
        let default = if background { ExpectedExit::Any } else { ExpectedExit::Code(0) };
        let program = Program {
            host: Host(0),
            command: command.unwrap_or(ProgramCommand::Words(Vec::new())),
            start: fields.read("start", units::time).unwrap_or_default(),
            stop: fields.read("stop", units::time),
            expect: expect.unwrap_or(default),
            background,
        };
        if program.stop.is_some_and(|stop| stop <= program.start) {
            fields.mistakes.note(fields.at, "program.stop: must be later than its start");
        }
        fields.finish();
        Some(Self { nodes: on, program })
    }

    /// One for each of its nodes.
    pub(super) fn programs(&self, nodes: &Nodes) -> impl Iterator<Item = Program> {
        self.nodes
            .iter()
            .filter_map(|node| nodes.host(*node))
            .map(|host| Program { host, ..self.program.clone() })
    }
}

/// Text is for a shell; a list is the program and its arguments.
fn command(fields: &Fields<'_>) -> Option<ProgramCommand> {
    let value = fields.get("command")?;
    let words = fields.words("command")?;
    let list = value.get_ref().as_array().is_some();
    if words.iter().all(|(word, _)| word.trim().is_empty()) {
        fields.wrong("command", value, "is empty. Write a program and its arguments");
        return None;
    }
    let mut words = words.into_iter().map(|(word, _)| word.to_owned());
    match list {
        true => Some(ProgramCommand::Words(words.collect())),
        false => words.next().map(ProgramCommand::Shell),
    }
}
