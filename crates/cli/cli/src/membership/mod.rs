//! `fanfare group`: groups whose members change, and their keys.
//!
//! - `create`, `join`, `invite`, `orders`, `members`: its commands; `keep`: what runs on each machine
//! - `keeper`: what `keep` does when something comes; `channel`: how members talk
//! - `place`: the files of a group; `lines`: lines of `--json`; `exits`: how commands end

mod channel;
mod create;
mod exits;
mod invite;
mod join;
mod keep;
mod keeper;
mod lines;
mod members;
mod orders;
mod place;

use clap::Subcommand;
use fanfare_command::{Exit, Failure, Help, Notice, Output, OutputArgs, give_up};

const HELP: Help = Help::new(&[
    ("fanfare group create fleet", "this machine is the controller"),
    ("fanfare group keep fleet", "on each machine, as a service"),
    ("fanfare group invite fleet", "a code for one more machine"),
    ("fanfare group join CODE", "on that machine"),
]);

/// Change who is in a group, and keep its key
///
/// A controller takes machines in and removes them. Each change gives the group a new key, so that
/// who has left reads nothing of what follows. The key is a file for 'send --key' and 'recv --key'.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct GroupArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Create(create::CreateArgs),
    Invite(invite::InviteArgs),
    Join(join::JoinArgs),
    Keep(keep::KeepArgs),
    Members(members::MembersArgs),
    Remove(orders::RemoveArgs),
    Leave(orders::LeaveArgs),
    Standby(orders::StandbyArgs),
    TakeOver(orders::TakeOverArgs),
}

pub(crate) fn run(args: &GroupArgs) -> Exit {
    match &args.what {
        What::Create(args) => done(args.output, |output| create::run(args, output)),
        What::Invite(args) => done(args.output, |output| invite::run(args, output)),
        What::Join(args) => done(args.output, |output| join::run(args, output)),
        What::Keep(args) => done(args.output, |output| keep::run(args, output)),
        What::Members(args) => done(args.output, |output| members::run(args, output)),
        What::Remove(args) => done(args.output, |output| orders::remove(args, output)),
        What::Leave(args) => done(args.output, |output| orders::leave(args, output)),
        What::Standby(args) => done(args.output, |output| orders::standby(args, output)),
        What::TakeOver(args) => done(args.output, |output| orders::take_over(args, output)),
    }
}

/// Runs a command and says how it has ended.
fn done(args: OutputArgs, work: impl FnOnce(&Output) -> Result<Exit, Failure>) -> Exit {
    let output = Output::new(args);
    match work(&output) {
        Ok(exit) => {
            output.event(&Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}
