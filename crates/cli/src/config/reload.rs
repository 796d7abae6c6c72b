//! SIGHUP: the file is read again, and what can change while the command runs takes effect.

use std::path::Path;

use clap::Parser;
use fanfare_files::Transfer;

use super::{CommandLine, FileArgs, Loaded, settings::Setting};
use crate::{
    Cli, Command,
    exit::Failure,
    interrupt,
    json::{Line, Reloaded},
    progress::Output,
    recv::RecvArgs,
    send_args::SendArgs,
};

/// Options of a command of which some can change while it runs.
pub(crate) trait Live: Sized {
    /// Those; docs/reference/configuration.md names them, too.
    const KEYS: &'static [&'static str];

    /// Those of this command.
    fn of(command: Command) -> Option<Self>;

    /// Puts them into force at a node that works by `old`. Names those that cannot be after all.
    fn put_into_force(
        &self,
        old: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure>;
}

impl Live for SendArgs {
    const KEYS: &'static [&'static str] = &["rate", "min-rate", "slow", "verbose"];

    fn of(command: Command) -> Option<Self> {
        if let Command::Send(args) = command { Some(args) } else { None }
    }

    fn put_into_force(
        &self,
        old: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure> {
        let (old, new) = (old.plan()?, self.plan()?);
        output.set_verbose(self.output);
        // Layers are announced once, and nobody waits for who is slow.
        if old.layered.is_some() {
            return Ok(&["rate", "min-rate", "slow"]);
        }
        node.set_slow(new.options.slow);
        node.set_rate(new.rate);
        Ok(&[])
    }
}

impl Live for RecvArgs {
    const KEYS: &'static [&'static str] = &["overwrite", "keep", "verbose"];

    fn of(command: Command) -> Option<Self> {
        if let Command::Recv(args) = command { Some(args) } else { None }
    }

    fn put_into_force(
        &self,
        _: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure> {
        output.set_verbose(self.output);
        node.set_conflict(self.plan()?.1.conflict);
        Ok(&[])
    }
}

/// The file that a running command was started with, and what it is in force of it.
#[derive(Debug)]
pub(crate) struct Reload {
    loaded: Option<Loaded>,
}

/// What came of reading it again.
#[derive(Debug, Default)]
struct Outcome {
    changed: Vec<String>,
    restart: Vec<String>,
}

impl Reload {
    /// Without a file there is nothing to read again.
    pub(crate) fn new(args: &FileArgs) -> Self {
        Self { loaded: args.loaded.clone() }
    }

    /// Reads the file again if SIGHUP came.
    pub(crate) fn on_hangup<A: Live>(&mut self, node: &Transfer, output: &Output) {
        let Some(loaded) = self.loaded.as_mut().filter(|_| interrupt::take_hangup()) else {
            return;
        };
        let outcome = loaded.read_again::<A>(node, output);
        tell(&loaded.line.file, outcome, output);
    }
}

impl Loaded {
    fn read_again<A: Live>(
        &mut self,
        node: &Transfer,
        output: &Output,
    ) -> Result<Outcome, Vec<Failure>> {
        let contents = self.line.read_file().map_err(|(failures, _)| failures)?;
        let settings = contents.settings;
        let is_live = |setting: &&Setting| A::KEYS.contains(&setting.key.as_str());
        let kept = self.settings.iter().filter(|setting| !is_live(setting));
        let next: Vec<Setting> = kept.chain(settings.iter().filter(is_live)).cloned().collect();
        if differences(&self.settings, &next).is_empty() {
            let restart = differences(&self.settings, &settings);
            return Ok(Outcome { restart, ..Outcome::default() });
        }
        let one = |failure| vec![failure];
        let (old, new) = (self.line.args::<A>(&self.settings), self.line.args::<A>(&next));
        let (old, new) = (old.map_err(one)?, new.map_err(one)?);
        let not_after_all = new.put_into_force(&old, node, output).map_err(one)?;
        let is_kept = |setting: &&Setting| not_after_all.contains(&setting.key.as_str());
        let in_force: Vec<Setting> = next
            .iter()
            .filter(|setting| !is_kept(setting))
            .chain(self.settings.iter().filter(is_kept))
            .cloned()
            .collect();
        let changed = differences(&self.settings, &in_force);
        let restart = differences(&in_force, &settings);
        self.settings = in_force;
        Ok(Outcome { changed, restart })
    }
}

impl CommandLine {
    /// The options of the command line and of these settings.
    fn args<A: Live>(&self, settings: &[Setting]) -> Result<A, Failure> {
        let refused = |why: &str| Failure::usage("config.invalid", why.to_owned());
        let cli = Cli::try_parse_from(self.with(settings))
            .map_err(|error| refused(&Failure::from(&error).text))?;
        A::of(cli.command).ok_or_else(|| refused("another command"))
    }
}

/// Keys that only one of them has, or that differ.
fn differences(a: &[Setting], b: &[Setting]) -> Vec<String> {
    let lacks = |list: &[Setting], one: &Setting| !list.iter().any(|other| other.is_as(one));
    let only_a = a.iter().filter(|setting| lacks(b, setting));
    let only_b = b.iter().filter(|setting| lacks(a, setting));
    let mut keys: Vec<String> = only_a.chain(only_b).map(|setting| setting.key.clone()).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn tell(path: &Path, outcome: Result<Outcome, Vec<Failure>>, output: &Output) {
    let file = path.display().to_string();
    match outcome {
        Ok(Outcome { changed, restart }) => {
            let news = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
            output.text(&format!("{file} was read again: {news} changed"));
            if !restart.is_empty() {
                let keys = restart.join(", ");
                let text = format!("{file}: {keys}: cannot change while it runs. Start it again");
                output.warn("config.restart", text);
            }
            output.event(&Line::Reloaded(Reloaded { file, ok: true, changed, restart }));
        }
        Err(failures) => {
            for failure in failures {
                output.warn(failure.code, failure.text);
            }
            output.text(&format!("{file} was read again: what was in force stays"));
            let (changed, restart) = (Vec::new(), Vec::new());
            output.event(&Line::Reloaded(Reloaded { file, ok: false, changed, restart }));
        }
    }
}
