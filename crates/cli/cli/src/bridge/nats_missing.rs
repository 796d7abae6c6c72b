//! `fanfare bridge nats` in a program that was built without it.

use std::ffi::OsString;

use clap::Args;
use fanfare_command::{Exit, Failure, Output, OutputArgs};

/// Connect a group to NATS (not in this build: it needs --features nats)
#[derive(Debug, Args)]
pub(crate) struct NatsArgs {
    /// What the bridge would be given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS", hide = true)]
    args: Vec<OsString>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

pub(super) fn bridge(_: &NatsArgs, _: &Output) -> Result<Exit, Failure> {
    let text = "command (bridge nats): this program was built without it. Build it with: \
                cargo install --path crates/cli/cli --features nats";
    Err(Failure::usage("nats.missing", text))
}
