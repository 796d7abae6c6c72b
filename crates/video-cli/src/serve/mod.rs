//! `fanfare video serve`.
//!
//! - `library`: the streams of this node, as the group and players share them
//! - `viewer`: a member that fills the library, and says which renditions it wants
//! - `pages`: what players ask for

mod library;
mod pages;
mod viewer;

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use fanfare_command::{Exit, Failure, Help, Output, OutputArgs, give_up, interrupt, units};
use fanfare_watch::{Access, ListenError, Server};

use crate::{EXITS, lines::Line, member::MemberArgs};
use library::Library;
use pages::Site;
use viewer::Viewer;

const HELP: Help = Help::new(&[
    ("fanfare video serve", "then open http://127.0.0.1:8080/"),
    ("ffplay http://127.0.0.1:8080/gate/index.m3u8", "or any other player"),
])
.exits(EXITS);

/// Receive the video of a group, and give it to players of this machine
///
/// Every stream is kept, repaired for others, and served as HLS and DASH. The rendition is the best
/// that the path from the sender carries.
#[derive(Debug, Args)]
#[command(after_help = HELP.short(), after_long_help = HELP.long())]
pub(crate) struct ServeArgs {
    /// Where players find it: an address of this machine
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS:PORT")]
    listen: String,
    /// Take only this rendition [default: the best that the path carries]
    #[arg(long, value_name = "NAME")]
    rendition: Option<String>,
    /// Ask no more for a segment that is not whole after this time
    #[arg(long, default_value = "2s", value_name = "TIME")]
    latency: String,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &ServeArgs) -> Exit {
    let output = Output::new(args.output);
    match serve(args, &output) {
        Ok(exit) => {
            output.event(&fanfare_command::Notice::result(exit as u8));
            exit
        }
        Err(failure) => give_up(&output, &failure),
    }
}

fn serve(args: &ServeArgs, output: &Output) -> Result<Exit, Failure> {
    let address: SocketAddr = args.listen.parse().map_err(|_| {
        let text = format!("listen ({}): not ADDRESS:PORT. Give 127.0.0.1:8080", args.listen);
        Failure::usage("listen.invalid", text)
    })?;
    let latency = units::time("latency", &args.latency)?;
    let library = Arc::new(Library::new(args.member.cache()?));
    let site = Arc::new(Site::new(Arc::clone(&library)));
    let server = Server::start_pages(address, Access::local(), site).map_err(|error| match error {
        ListenError::Open(address, _) => {
            let text = format!(
                "listen ({address}): others can reach this address. Give one on loopback, and put a \
                 proxy with TLS in front of it for others"
            );
            Failure::usage("listen.open", text)
        }
        refused @ ListenError::Refused(..) => {
            Failure::new(Exit::Resource, "listen.failed", refused.to_string())
        }
    })?;
    let group = args.member.join()?;
    interrupt::stop_on_interrupt(group.stopper());
    output.event(&Line::Start {
        group: group.address().to_string(),
        node_id: group.id().0,
        address: Some(server.address().to_string()),
        at_ms: crate::lines::now_ms(),
    });
    output.text(&format!("video of {} at http://{}/", group.address(), server.address()));
    Viewer::new(&group, &library, latency, args.rendition.clone(), output).run()?;
    Ok(if interrupt::is_asked() { Exit::Interrupted } else { Exit::Failed })
}
