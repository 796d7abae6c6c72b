//! Times that bridges have in common.

use std::time::Duration;

use clap::Args;
use fanfare_command::{Exit, Failure, units};

/// How bridges exit.
pub(super) const EXITS: &[(Exit, &str)] = &[
    (Exit::Failed, "the group has ended"),
    (Exit::Permission, "permission denied"),
    (Exit::Resource, "disk, memory or port missing on this machine"),
    (Exit::Interrupted, "stopped by Ctrl-C or SIGTERM"),
];
/// How often to look whether the member still lives; all else comes at once.
pub(super) const POLL: Duration = Duration::from_millis(500);

/// What bridges that may meet others have in common.
#[derive(Debug, Args)]
pub(super) struct Times {
    /// How long to remember what has crossed, so that it does not cross again
    #[arg(
        long,
        default_value = "5s",
        value_name = "TIME",
        help_heading = "Several gateways",
        hide_short_help = true
    )]
    window: String,
    /// How long to wait for another bridge to carry a message first
    #[arg(
        long,
        default_value = "0s",
        value_name = "TIME",
        help_heading = "Several gateways",
        hide_short_help = true
    )]
    standby: String,
}

impl Times {
    /// Window and standby.
    pub(super) fn read(&self) -> Result<(Duration, Duration), Failure> {
        let (window, standby) =
            (units::time("window", &self.window)?, units::time("standby", &self.standby)?);
        if standby >= window {
            let text = format!(
                "standby ({}): is not below --window ({}): by then what others have carried is \
                 forgotten. Give less",
                self.standby, self.window
            );
            return Err(Failure::usage("time.invalid", text));
        }
        Ok((window, standby))
    }
}
