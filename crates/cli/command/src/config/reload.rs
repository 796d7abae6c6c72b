//! SIGHUP: the file is read again, and what can change while the command runs takes effect.

use std::{ffi::OsString, path::Path};

use crate::json::{Line, Reloaded};
use crate::{Failure, Output, interrupt};
use fanfare_files::Transfer;

use super::{found::Loaded, reader::Setting};

/// What a command does, of which some can change while it runs.
pub trait Live: Sized {
    /// Options that can; docs/reference/configuration.md names them, too.
    const KEYS: &'static [&'static str];

    /// Puts them into force at a node that works by `old`. Names those that cannot be after all.
    fn put_into_force(
        &self,
        old: &Self,
        node: &Transfer,
        output: &Output,
    ) -> Result<&'static [&'static str], Failure>;
}

/// How a command line is understood.
pub type Understand<P> = fn(&[OsString]) -> Result<P, Failure>;

/// The file that a running command was started with, and what it is in force of it.
#[derive(Debug)]
pub struct Reload<P>(Option<(Loaded, Understand<P>)>);

/// What came of reading it again.
#[derive(Debug, Default)]
struct Outcome {
    changed: Vec<String>,
    restart: Vec<String>,
}

impl<P: Live> Reload<P> {
    /// Without a file there is nothing to read again.
    pub const fn none() -> Self {
        Self(None)
    }

    /// What was loaded is read again when SIGHUP comes.
    pub fn new(loaded: Option<Loaded>, understand: Understand<P>) -> Self {
        Self(loaded.map(|loaded| (loaded, understand)))
    }

    /// Whether there is a file.
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Reads the file again if SIGHUP came.
    pub fn on_hangup(&mut self, node: &Transfer, output: &Output) {
        let Some((loaded, understand)) = self.0.as_mut().filter(|_| interrupt::take_hangup())
        else {
            return;
        };
        let outcome = loaded.read_again(*understand, node, output);
        tell(&loaded.line.file, outcome, output);
    }
}

impl Loaded {
    fn read_again<P: Live>(
        &mut self,
        understand: Understand<P>,
        node: &Transfer,
        output: &Output,
    ) -> Result<Outcome, Vec<Failure>> {
        let contents = self.line.read_file().map_err(|(failures, _)| failures)?;
        let settings = contents.settings;
        let is_live = |setting: &&Setting| P::KEYS.contains(&setting.key.as_str());
        let kept = self.settings.iter().filter(|setting| !is_live(setting));
        let next: Vec<Setting> = kept.chain(settings.iter().filter(is_live)).cloned().collect();
        if differences(&self.settings, &next).is_empty() {
            let restart = differences(&self.settings, &settings);
            return Ok(Outcome { restart, ..Outcome::default() });
        }
        let one = |failure| vec![failure];
        let plan = |settings: &[Setting]| understand(&self.line.with(settings)).map_err(one);
        let (old, new) = (plan(&self.settings)?, plan(&next)?);
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
            output.text(&format!("{file} was read again and has mistakes: nothing changed"));
            let (changed, restart) = (Vec::new(), Vec::new());
            output.event(&Line::Reloaded(Reloaded { file, ok: false, changed, restart }));
        }
    }
}
