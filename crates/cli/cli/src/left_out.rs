//! Commands that this program was built without, or that its system cannot have: each says so.
//!
//! A module here stands where the folder of that name is left out.

use std::ffi::OsString;

use clap::Args;
use fanfare_command::{Exit, Failure, refuse};

/// Not in this build of fanfare
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LeftOutArgs {
    /// Arguments that the command would be given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS", hide = true)]
    args: Vec<OsString>,
}

/// A command that is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOut {
    command: &'static str,
    /// The stable name of its absence.
    code: &'static str,
    /// The feature of Cargo that brings it.
    feature: &'static str,
    /// The system that it needs, and whether this is it.
    system: (&'static str, bool),
}

impl LeftOut {
    fn failure(self) -> Failure {
        let Self { command, code, feature, system: (system, is_here) } = self;
        let why = match is_here {
            true => format!(
                "this program was built without it. Build it with: cargo install --path \
                 crates/cli/cli --features {feature}"
            ),
            false => format!("is not there on this system. Use it on {system}"),
        };
        Failure::usage(code, format!("command ({command}): {why}"))
    }

    fn refuse(self, args: &LeftOutArgs) -> Exit {
        refuse(&self.failure(), &args.args)
    }
}

/// Makes a module's `run`, which refuses, and the arguments that it would take.
macro_rules! left_out {
    ($args:ident: $command:literal, $area:literal, $feature:literal, $system:expr) => {
        pub(crate) use crate::left_out::LeftOutArgs as $args;

        pub(crate) fn run(args: &$args) -> fanfare_command::Exit {
            LEFT_OUT.refuse(args)
        }

        pub(super) const LEFT_OUT: crate::left_out::LeftOut = crate::left_out::LeftOut {
            command: $command,
            code: concat!($area, ".missing"),
            feature: $feature,
            system: $system,
        };
    };
}

#[cfg(not(all(feature = "proxy", target_os = "linux")))]
pub(crate) mod two_nodes {
    pub(crate) mod link {
        left_out!(LinkArgs: "link", "proxy", "proxy", ("Linux", cfg!(target_os = "linux")));
    }
    pub(crate) mod proxy {
        left_out!(ProxyArgs: "proxy", "proxy", "proxy", ("Linux", cfg!(target_os = "linux")));
    }
}

#[cfg(not(feature = "relay"))]
pub(crate) mod relay {
    left_out!(RelayArgs: "relay", "relay", "relay", ("any system", true));
}

#[cfg(not(all(feature = "sensor", target_os = "linux")))]
pub(crate) mod sensor {
    left_out!(SensorArgs: "sensor", "sensor", "sensor", ("Linux", cfg!(target_os = "linux")));
}

#[cfg(not(feature = "video"))]
pub(crate) mod video {
    left_out!(VideoArgs: "video", "video", "video", ("any system", true));
}

#[cfg(not(all(feature = "groups", unix)))]
pub(crate) mod membership {
    left_out!(GroupArgs: "group", "group", "groups", ("Linux or macOS", cfg!(unix)));
}

#[cfg(test)]
mod tests {
    use super::*;

    mod relay {
        left_out!(RelayArgs: "relay", "relay", "relay", ("any system", true));
    }

    #[test]
    fn a_command_that_is_left_out_says_how_to_get_it_in_one_line_and_ends_as_a_wrong_command_line()
    {
        let args = LeftOutArgs { args: vec!["--open".into()] };
        assert_eq!(relay::run(&args), Exit::Usage);
        let elsewhere = LeftOut { system: ("Linux", false), ..relay::LEFT_OUT };
        for (one, ends) in [
            (relay::LEFT_OUT, "cargo install --path crates/cli/cli --features relay"),
            (elsewhere, "Use it on Linux"),
        ] {
            let failure = one.failure();
            assert_eq!((failure.code, failure.exit), ("relay.missing", Exit::Usage));
            let text = &failure.text;
            assert!(text.starts_with("command (relay): ") && text.ends_with(ends), "{text}");
            assert!(!text.contains('\n'), "{text}");
        }
    }
}
