//! `fanfare group create`: a group with this machine alone in it.

use std::net::SocketAddr;

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs};
use fanfare_mls::{GroupKeying as _, Member};

use crate::membership::{
    exits::{EXITS, refused},
    lines::Line,
    place::{FILES, PlaceArgs},
};

const HELP: Help = Help::new(&[
    ("fanfare group create fleet", "at the default address"),
    ("fanfare group create fleet --group 239.255.42.20:6020", "at another one"),
])
.exits(EXITS)
.files(FILES);

/// Found a group, with this machine as its controller
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Multicast address and port where members meet
    #[arg(long, default_value = "239.255.42.9:6009", value_name = "ADDRESS")]
    group: String,
    /// What this machine calls itself in the group [default: its host name]
    #[arg(long, value_name = "NAME")]
    own_name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The name that was given, or the machine's.
pub(crate) fn own_name(given: Option<&String>) -> String {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = given.cloned().unwrap_or_else(host).trim().to_owned();
    if name.is_empty() { "node".to_owned() } else { name }
}

pub(crate) fn run(args: &CreateArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    let address: SocketAddr = args.group.parse().map_err(|_| {
        let text = format!("group ({}): no address and port. Use 239.255.42.9:6009", args.group);
        Failure::usage("group.invalid", text)
    })?;
    if !address.ip().is_multicast() {
        let text = format!("group ({address}): is not a multicast address. Use 239.255.42.9:6009");
        return Err(Failure::usage("group.not_multicast", text));
    }
    let member = Member::new(&own_name(args.own_name.as_ref()))
        .and_then(|mut member| member.found().map(|()| member))
        .map_err(|fault| refused("create", &fault))?;
    place.create()?;
    place.set_address(address)?;
    place.keep(&member)?;
    let (key, epoch) = (place.key().display().to_string(), member.epoch().unwrap_or(0));
    output.data(&format!("{} is founded. Its key is {key}", place.name));
    output.text(&format!("Run 'fanfare group keep {}' on this machine from now on.", place.name));
    output.event(&Line::Group { name: &place.name, group: address.to_string(), epoch, key });
    Ok(Exit::Done)
}
