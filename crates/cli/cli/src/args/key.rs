//! Keys by which a group's packets are sealed.

use std::path::PathBuf;

use clap::Args;
use fanfare_command::Failure;
use fanfare_command::keys::{file, follow};
use fanfare_node::{Keys, seal::Form};

/// Options of keys.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Keys")]
pub(crate) struct KeyArgs {
    /// Seal all packets with the key in this file, and accept no others
    ///
    /// All members of the group need the same key ('fanfare key new'). Given twice, the first is used for
    /// sending and both are accepted: so keys can be changed while transfers run. A file that changes is
    /// read again.
    #[arg(long, value_name = "FILE")]
    key: Vec<PathBuf>,
    /// Take the key from this environment variable ('fanfare key show --secret')
    #[arg(long, value_name = "NAME", conflicts_with = "key", hide_short_help = true)]
    key_env: Option<String>,
    /// Add 12 bytes to each packet instead of 24, for slow radios; the same on all machines
    #[arg(long, hide_short_help = true)]
    seal_short: bool,
}

impl KeyArgs {
    /// The keys, if everything is to be sealed.
    pub(crate) fn keys(&self) -> Result<Option<Keys>, Failure> {
        let form = if self.seal_short { Form::Short } else { Form::Long };
        if let Some(name) = &self.key_env {
            return Ok(Some(Keys::new(vec![file::from_environment(name)?], form)));
        }
        if !self.key.is_empty() {
            return follow::keys(&self.key, form).map(Some);
        }
        match self.seal_short {
            true => Err(Failure::usage(
                "seal_short.unused",
                "seal-short (true): there is no key to seal with. Give --key",
            )),
            false => Ok(None),
        }
    }
}
