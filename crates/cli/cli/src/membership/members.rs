//! `fanfare group members`: who is in.

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_mls::GroupKeying as _;

use crate::membership::{
    exits::EXITS,
    lines::{Line, role},
    place::{FILES, PlaceArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare group members fleet", "as this machine knows it"),
    ("fanfare group members fleet --json", "for programs"),
])
.exits(EXITS)
.files(FILES);

/// Show who is in a group
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct MembersArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn run(args: &MembersArgs, output: &Output) -> Result<Exit, Failure> {
    let member = args.place.place()?.member()?;
    let Some(epoch) = member.epoch() else {
        output.data("this machine is no member");
        return Ok(Exit::Failed);
    };
    output.text(&format!("epoch {epoch}, term {}", member.term()));
    for view in &member.members() {
        output.data(&format!("{:<20} {:<10} {}", view.name, role(view), view.public));
        output.event(&Line::member(view));
    }
    Ok(Exit::Done)
}
