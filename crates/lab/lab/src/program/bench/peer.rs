//! The peer program of `bench messages`: one publisher or subscriber, started on a host of its own.
//!
//! - `api`: a member of a group, by the library; `nats`: a client of NATS
//! - `args`: how it is started
//! - `stamps`: what messages hold, and what a subscriber makes of it

mod api;
mod args;
#[cfg(feature = "nats")]
mod nats;
mod stamps;

pub(super) use args::PeerArgs;
use args::{End, Outcome, stay};

use fanfare_command::{Exit, say};

pub(super) fn run(args: &PeerArgs) -> Exit {
    let outcome = match args.system.as_str() {
        "api" => api::run(args),
        #[cfg(feature = "nats")]
        "nats" => nats::run(args),
        other => Err(format!("system ({other}): this build has none of that name").into()),
    };
    match outcome {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(&error);
            Exit::Failed
        }
    }
}
