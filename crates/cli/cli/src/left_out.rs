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
    /// What the command would be given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS", hide = true)]
    args: Vec<OsString>,
}

/// A command that is left out.
#[derive(Debug, Clone, Copy)]
struct LeftOut {
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

#[cfg(not(all(feature = "proxy", target_os = "linux")))]
pub(crate) mod two_nodes {
    pub(crate) mod link {
        pub(crate) use super::super::LeftOutArgs as LinkArgs;

        pub(crate) fn run(args: &LinkArgs) -> super::super::Exit {
            let left_out = super::super::LeftOut {
                command: "link",
                code: "proxy.missing",
                feature: "proxy",
                system: ("Linux", cfg!(target_os = "linux")),
            };
            left_out.refuse(args)
        }
    }
    pub(crate) mod proxy {
        pub(crate) use super::super::LeftOutArgs as ProxyArgs;

        pub(crate) fn run(args: &ProxyArgs) -> super::super::Exit {
            let left_out = super::super::LeftOut {
                command: "proxy",
                code: "proxy.missing",
                feature: "proxy",
                system: ("Linux", cfg!(target_os = "linux")),
            };
            left_out.refuse(args)
        }
    }
}

#[cfg(not(feature = "relay"))]
pub(crate) mod relay {
    pub(crate) use super::LeftOutArgs as RelayArgs;

    pub(crate) fn run(args: &RelayArgs) -> super::Exit {
        let left_out = super::LeftOut {
            command: "relay",
            code: "relay.missing",
            feature: "relay",
            system: ("any system", true),
        };
        left_out.refuse(args)
    }
}

#[cfg(not(all(feature = "sensor", target_os = "linux")))]
pub(crate) mod sensor {
    pub(crate) use super::LeftOutArgs as SensorArgs;

    pub(crate) fn run(args: &SensorArgs) -> super::Exit {
        let left_out = super::LeftOut {
            command: "sensor",
            code: "sensor.missing",
            feature: "sensor",
            system: ("Linux", cfg!(target_os = "linux")),
        };
        left_out.refuse(args)
    }
}

#[cfg(not(feature = "video"))]
pub(crate) mod video {
    pub(crate) use super::LeftOutArgs as VideoArgs;

    pub(crate) fn run(args: &VideoArgs) -> super::Exit {
        let left_out = super::LeftOut {
            command: "video",
            code: "video.missing",
            feature: "video",
            system: ("any system", true),
        };
        left_out.refuse(args)
    }
}

#[cfg(not(all(feature = "groups", unix)))]
pub(crate) mod membership {
    pub(crate) use super::LeftOutArgs as GroupArgs;

    pub(crate) fn run(args: &GroupArgs) -> super::Exit {
        let left_out = super::LeftOut {
            command: "group",
            code: "group.missing",
            feature: "groups",
            system: ("Linux or macOS", cfg!(unix)),
        };
        left_out.refuse(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_left_out_says_how_to_get_it_in_one_line_and_ends_as_a_wrong_command_line()
    {
        let left_out = LeftOut {
            command: "relay",
            code: "relay.missing",
            feature: "relay",
            system: ("any system", true),
        };
        let args = LeftOutArgs { args: vec!["--open".into()] };
        assert_eq!(left_out.refuse(&args), Exit::Usage);
        let elsewhere = LeftOut { system: ("Linux", false), ..left_out };
        for (one, ends) in [
            (left_out, "cargo install --path crates/cli/cli --features relay"),
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
