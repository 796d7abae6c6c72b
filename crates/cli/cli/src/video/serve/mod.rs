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
use fanfare_monitor::{Access, ListenError, Server};

use crate::video::{EXITS, lines::Line, member::MemberArgs};
use library::Library;
use pages::Site;
use viewer::Viewer;

const HELP: Help = Help::new(&[
    ("fanfare video serve", "then open http://127.0.0.1:8080/"),
    ("fanfare video serve --cache 1GiB", "keep more, for players that come late"),
    ("ffplay http://127.0.0.1:8080/gate/index.m3u8", "or any other player"),
])
.exits(EXITS)
.files(&[("--key FILE", "a key of a group; see 'fanfare key new'")]);

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
    /// Let web pages of this origin play it, such as https://example.org; * is any page
    ///
    /// A browser gives a page only what its own server serves, unless that server says otherwise. Whoever
    /// writes the page can read the video while somebody on this machine has it open.
    #[arg(long, value_name = "ORIGIN", value_parser = origin, hide_short_help = true)]
    allow_origin: Vec<String>,
    #[command(flatten)]
    member: MemberArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// An origin as browsers write it: scheme, host and port, and no path.
fn origin(text: &str) -> Result<String, String> {
    let host =
        text.split_once("://").filter(|(scheme, _)| !scheme.is_empty()).map(|(_, host)| host);
    let is_host = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/')
    };
    match text == "*" || host.is_some_and(is_host) {
        true => Ok(text.to_owned()),
        false => {
            Err("not an origin. Give scheme, host and port, as https://example.org:8443".to_owned())
        }
    }
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
    let site = Arc::new(Site::new(Arc::clone(&library), args.allow_origin.clone()));
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
        at_ms: crate::video::lines::now_ms(),
    });
    output.text(&format!("video of {} at http://{}/", group.address(), server.address()));
    Viewer::new(&group, &library, latency, args.rendition.clone(), output).run()?;
    Ok(if interrupt::is_asked() { Exit::Interrupted } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_no_path() {
        for fine in ["*", "https://example.org", "http://localhost:3000", "http://[::1]:8080"] {
            assert_eq!(origin(fine).as_deref(), Ok(fine));
        }
        for wrong in ["", "example.org", "https://", "://x", "https://example.org/", "https://a b"]
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
