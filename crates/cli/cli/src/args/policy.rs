//! `--policy`, for what receives.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use fanfare_command::{Exit, Failure};
use fanfare_node::policy::Policy;

/// Who may do what.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// Accept only what this file allows its sender
    ///
    /// Rules in TOML say who may send files and publish to which topics, how much and how large.
    /// docs/how-to/limit-senders.md has an example.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// The rules, where there are any.
    pub(crate) fn read(&self) -> Result<Option<Arc<Policy>>, Failure> {
        let Some(path) = &self.policy else { return Ok(None) };
        let shown = path.display();
        let text = fanfare_command::text_file::read(path).map_err(|error| {
            let text = format!("policy ({shown}): cannot be read ({error}). Check the path");
            Failure::new(Exit::Usage, "policy.unreadable", text)
        })?;
        let policy = Policy::parse(&text).map_err(|mistakes| {
            let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let text = format!("policy ({shown}): {}", lines.join("\n"));
            Failure::new(Exit::Usage, "policy.invalid", text)
        })?;
        Ok(Some(Arc::new(policy)))
    }
}
