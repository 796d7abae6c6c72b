//! What a receiver passes on to the others of a unicast transfer.

use clap::Args;
use fanfare_command::{Failure, units};
use fanfare_node::serve::Settings;

/// Options of passing on.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Other receivers")]
pub(crate) struct ServeArgs {
    /// With --count: stay until the sender ends, and pass on to others what they lack
    ///
    /// The receivers of 'send --to' pass on to each other what each of them is given. One that has
    /// everything goes on with it as long as it runs; with --once this is until the sender ends.
    #[arg(long, requires = "count", conflicts_with = "no_serve", hide_short_help = true)]
    serve: bool,
    /// Pass nothing on to other receivers
    #[arg(long, hide_short_help = true)]
    no_serve: bool,
    /// Most that is passed on to other receivers, in bits per second
    #[arg(long, value_name = "RATE", conflicts_with = "no_serve", hide_short_help = true)]
    serve_limit: Option<String>,
    /// Pass on wrong bytes
    #[arg(long, hide = true)]
    test_alter: bool,
}

impl ServeArgs {
    /// The options, understood.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let limit = self.serve_limit.as_deref();
        let limit = limit.map(|text| units::rate_of("serve limit", text)).transpose()?;
        let limit = limit.map(|rate| rate.as_bps() / 8);
        Ok(Settings {
            selfish: self.no_serve,
            limit,
            alters: self.test_alter,
            ..Settings::default()
        })
    }

    /// Whether to stay until the sender ends.
    pub(crate) fn stays(&self) -> bool {
        self.serve
    }
}
