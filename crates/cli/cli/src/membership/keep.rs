//! `fanfare group keep`: follow the group, and as its controller take others in.

use std::{
    net::SocketAddr,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, interrupt};
use fanfare_mls::GroupKeying as _;

use crate::membership::{
    channel::Where,
    exits::EXITS,
    keeper::{Keeper, News},
    lines::Line,
    place::{FILES, PlaceArgs},
};

/// Orders and what has come are looked at so often.
const LOOK: Duration = Duration::from_millis(100);

const HELP: Help = Help::new(&[
    ("fanfare group keep fleet", "as a service on each machine"),
    ("fanfare group keep fleet --run 'systemctl restart fanfare-recv'", "after each new key"),
])
.exits(EXITS)
.files(FILES);

/// Follow a group: keep its key as it changes (runs until stopped)
///
/// Run it on each machine of the group. At the controller it takes in who has a code, and removes who
/// leaves or is to go.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Run this in a shell after each new key
    ///
    /// Programs that run with the old key go on with it: restart them here.
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Where this machine is on the network.
#[derive(Debug, Clone, Args)]
pub(crate) struct NetworkArgs {
    /// Network interface, by name or address [default: the only one]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Routers to pass plus one
    #[arg(long, default_value_t = 1, value_name = "N")]
    ttl: u8,
}

impl NetworkArgs {
    pub(crate) fn at(&self, address: SocketAddr) -> Where {
        Where { address, interface: self.interface.clone(), ttl: self.ttl }
    }
}

pub(crate) fn run(args: &KeepArgs, output: &Output) -> Result<Exit, Failure> {
    let place = args.place.place()?;
    let name = place.name.clone();
    let at = args.network.at(place.address()?);
    let mut keeper = Keeper::start(place, at)?;
    let stopped = Arc::new(AtomicBool::new(false));
    let told = stopped.clone();
    interrupt::call_on_interrupt(Some(Box::new(move || told.store(true, Ordering::SeqCst))));
    let (epoch, controls) = (keeper.member().epoch().unwrap_or(0), keeper.member().controls());
    output.text(&format!("{name} is in epoch {epoch}"));
    output.event(&Line::Keeping { name: &name, epoch, controls });
    while !stopped.load(Ordering::SeqCst) {
        for news in keeper.turn(Instant::now(), LOOK)? {
            if tell(&news, &name, output) {
                return Ok(Exit::Done);
            }
            if let (News::Changed { .. }, Some(command)) = (&news, &args.run) {
                shell(command, output);
            }
        }
    }
    Ok(Exit::Interrupted)
}

/// True when this machine is no member any more.
fn tell(news: &News, name: &str, output: &Output) -> bool {
    match news {
        News::Changed { epoch, joined, left, key } => {
            let list = |what: &str, names: &[String]| match names {
                [] => String::new(),
                names => format!(", {what}: {}", names.join(", ")),
            };
            let (come, gone) = (list("joined", joined), list("left", left));
            output.data(&format!("{name} is in epoch {epoch}{come}{gone}"));
            let (joined, left, key) = (joined.clone(), left.clone(), key.clone());
            output.event(&Line::Changed { epoch: *epoch, joined, left, key });
            false
        }
        News::Refused(why) => {
            output.warn("group.refused", why.clone());
            output.event(&Line::Refused { why: why.clone() });
            false
        }
        News::Removed => {
            output.data(&format!("this machine is no member of {name} any more"));
            output.event(&Line::Removed { name });
            true
        }
    }
}

fn shell(command: &str, output: &Output) {
    match Command::new("sh").arg("-c").arg(command).status() {
        Ok(status) if status.success() => {}
        Ok(status) => output.warn("group.run", format!("run ({command}): ended with {status}")),
        Err(error) => output.warn("group.run", format!("run ({command}): {error}")),
    }
}
