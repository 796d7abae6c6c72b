//! The program `fanfare-group`: groups whose members change, and their keys.
//!
//! `fanfare group` starts it.
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

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fanfare_command::{
    Companion, Exit, Failure, Help, Notice, Output, OutputArgs, generate::GenerateCommand, give_up,
    interrupt,
};

const HELP: Help = Help::new(&[
    ("fanfare group create fleet", "this machine is the controller"),
    ("fanfare group keep fleet", "on each machine, as a service"),
    ("fanfare group invite fleet", "a code for one more machine"),
    ("fanfare group join CODE", "on that machine"),
]);

/// Groups whose members change, and their keys
///
/// 'fanfare group' starts this program, fanfare-group.
// It is called as fanfare is, because that is what people type.
#[derive(Debug, Parser)]
#[command(
    name = "fanfare", bin_name = "fanfare", version, max_term_width = 100,
    after_help = HELP.short(), after_long_help = HELP.long()
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Group(GroupArgs),
    #[command(flatten)]
    Generate(GenerateCommand),
}

/// Change who is in a group, and keep its key
///
/// A controller takes machines in and removes them. Each change gives the group a new key, so that
/// who has left reads nothing of what follows. The key is a file for 'send --key' and 'recv --key'.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
struct GroupArgs {
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

fn main() -> ExitCode {
    Companion::Group.main(|cli: Cli| {
        interrupt::install(false);
        match cli.command {
            Command::Group(args) => run(&args.what),
            Command::Generate(command) => Companion::Group.generate::<Cli>(&command),
        }
    })
}

fn run(what: &What) -> Exit {
    match what {
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use fanfare_command::pages;

    use super::*;

    #[test]
    fn the_page_of_reference_is_what_the_program_says() {
        let head = "# Options of group

*For people who use `fanfare group`. Afterwards you know every option. This page is made of
`--help`.*

[Commands](../cli.md) is the overview. [All options](fanfare.md) has the commands of `fanfare`.
";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options/group.md");
        pages::check_reference(Cli::command(), head, path.as_ref());
    }
}
