//! What commands ask of `fanfare group keep`, which does it: by files, so that they work while it runs.

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_mls::{Fault, GroupKeying as _, Member, PublicId};

use crate::membership::{
    exits::{EXITS, refused},
    place::{FILES, PlaceArgs},
};

const REMOVE: Help = Help::new(&[
    ("fanfare group remove fleet ship-7", "by its name"),
    ("fanfare group remove fleet 3f21a0", "by the beginning of its key"),
])
.exits(EXITS)
.files(FILES);
const LEAVE: Help = Help::new(&[
    ("fanfare group leave fleet", "this machine"),
    ("fanfare group leave fleet --json", "for programs"),
])
.exits(EXITS)
.files(FILES);
const STANDBY: Help = Help::new(&[
    ("fanfare group standby fleet base-2 base-3", "these, in this order"),
    ("fanfare group standby fleet", "none"),
])
.exits(EXITS)
.files(FILES);
const TAKE_OVER: Help = Help::new(&[
    ("fanfare group take-over fleet", "when the controller is gone"),
    ("fanfare group take-over fleet --json", "for programs"),
])
.exits(EXITS)
.files(FILES);

/// Remove a member (controller only)
///
/// The group gets a new key. 'fanfare group keep', running here, does it.
#[derive(Debug, Args)]
#[command(after_help = REMOVE.short(), after_long_help = REMOVE.long())]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Name of the member, or the beginning of its key
    who: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Leave a group
///
/// The controller gives the others a new key. 'fanfare group keep', running here, asks for it, removes
/// the key from this machine, and ends.
#[derive(Debug, Args)]
#[command(after_help = LEAVE.short(), after_long_help = LEAVE.long())]
pub(crate) struct LeaveArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Name those who may take over from the controller, in their order (controller only)
#[derive(Debug, Args)]
#[command(after_help = STANDBY.short(), after_long_help = STANDBY.long())]
pub(crate) struct StandbyArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Names of members, or the beginnings of their keys
    who: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Become the controller (standbys only)
///
/// A new term begins: members follow this machine from now on, and the old controller no more.
#[derive(Debug, Args)]
#[command(after_help = TAKE_OVER.short(), after_long_help = TAKE_OVER.long())]
pub(crate) struct TakeOverArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The one member of this name, or whose key begins so.
fn find(member: &Member, who: &str) -> Result<PublicId, Failure> {
    let members = member.members();
    let named: Vec<PublicId> = members
        .iter()
        .filter(|view| view.name == who || view.public.to_string().starts_with(who))
        .map(|view| view.public)
        .collect();
    match named[..] {
        [one] => Ok(one),
        [] => Err(refused(&format!("member ({who})"), &Fault::Unknown)),
        _ => {
            let text = format!("member ({who}): there are {} such. Give more letters", named.len());
            Err(Failure::usage("group.ambiguous", text))
        }
    }
}

fn controller(member: &Member, what: &str) -> Result<(), Failure> {
    if member.controls() { Ok(()) } else { Err(refused(what, &Fault::NoController)) }
}

fn ordered(output: &Output, name: &str) -> Exit {
    output.text(&format!("'fanfare group keep {name}' does it; it must be running here"));
    Exit::Done
}

pub(crate) fn remove(args: &RemoveArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    let member = place.member()?;
    controller(&member, "remove")?;
    let id = find(&member, &args.who)?;
    place.order(&format!("remove-{id}"), &format!("{id}\n"))?;
    Ok(ordered(output, &place.name))
}

pub(crate) fn leave(args: &LeaveArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    if !place.member()?.is_in() {
        return Err(refused("leave", &Fault::NoMember));
    }
    place.order("leave", "\n")?;
    Ok(ordered(output, &place.name))
}

pub(crate) fn standby(args: &StandbyArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    let member = place.member()?;
    controller(&member, "standby")?;
    let ids = args.who.iter().map(|who| find(&member, who));
    let ids = ids.collect::<Result<Vec<PublicId>, Failure>>()?;
    let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
    place.order("standby", &lines)?;
    Ok(ordered(output, &place.name))
}

pub(crate) fn take_over(args: &TakeOverArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    place.order("take-over", "\n")?;
    Ok(ordered(output, &place.name))
}
