//! Options of transfers by code, on both sides.

use std::{
    io::IsTerminal as _,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use fanfare_command::code_exchange::{Code, CodeError, MEETING_PLACE, Terms};
use fanfare_command::{Failure, units};
use fanfare_files::Expect;
use fanfare_node::{Network, scoped_host};

use super::network::{for_this_machine, in_ipv6};
use crate::meeting::{Hosting, Visiting};

/// What says by itself whom a transfer is for, or how it is sealed.
const OTHERS: [&str; 8] =
    ["to", "to_file", "one_way", "layers", "streams", "key", "key_env", "unicast"];

/// Where the two sides look for each other.
#[derive(Debug, Clone, Args)]
pub(super) struct PlaceArgs {
    /// With a code: group in which sender and receivers look for each other
    #[arg(long, value_name = "GROUP:PORT", help_heading = "Codes", hide_short_help = true)]
    meet: Option<String>,
}

/// Options of a sender.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Codes")]
pub(crate) struct OfferArgs {
    /// Print a short code; receivers give it to 'fanfare recv CODE'
    ///
    /// The code makes the key that seals the transfer. With --expect N, N receivers may use it.
    #[arg(id = "by_code", long = "code", conflicts_with_all = OTHERS, group = "timed", help_heading = None)]
    by_code: bool,
    /// With --code: close it after N wrong codes
    #[arg(
        long,
        requires = "by_code",
        default_value_t = 5,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..=100),
        hide_short_help = true
    )]
    guesses: u8,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Options of a receiver.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Codes")]
pub(crate) struct VisitArgs {
    /// With a code: look for the sender at this host, too
    ///
    /// Where no multicast reaches. A name or an address, and :PORT where it is not 6005.
    #[arg(long, value_name = "HOST", hide_short_help = true)]
    at: Vec<String>,
    /// Read the code from this file; - is standard input
    ///
    /// Other users of this machine see what is on command lines. At a terminal, - asks for the code.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    code_file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl PlaceArgs {
    fn get(&self, interface: Option<&str>) -> Result<SocketAddr, Failure> {
        let usual = for_this_machine(MEETING_PLACE, interface);
        Self::parse(self.meet.as_deref().unwrap_or(&usual))
    }

    fn parse(text: &str) -> Result<SocketAddr, Failure> {
        let group: Option<SocketAddr> = text.parse().ok();
        group.filter(|group| group.ip().is_multicast() && group.port() > 0).ok_or_else(|| {
            let text = format!(
                "meet ({text}): not a multicast group and a port. Give one such as {MEETING_PLACE}"
            );
            Failure::usage("meet.invalid", text)
        })
    }
}

impl OfferArgs {
    /// How receivers are met, if they have a code.
    pub(super) fn plan(
        &self,
        expect: &mut Expect,
        (network, interface, name): (&Network, Option<String>, &str),
        time: Option<&str>,
    ) -> Result<Option<Hosting>, Failure> {
        if !self.by_code {
            return Ok(None);
        }
        let guests = match expect {
            Expect::Anyone => 1,
            Expect::Count(count) => *count,
            Expect::Names(names) => names.len(),
            Expect::Hosts(hosts) => hosts.len(),
        };
        if matches!(expect, Expect::Anyone) {
            *expect = Expect::Count(1);
        }
        let terms = Terms {
            guests,
            time: units::time("for", time.unwrap_or("10m"))?,
            guesses: self.guesses,
        };
        if terms.time < Duration::from_secs(1) {
            let text = format!(
                "for ({}): nobody can type a code so fast. Give 1s or more",
                time.unwrap_or_default()
            );
            return Err(Failure::usage("for.invalid", text));
        }
        let (network, name) = (network.clone(), name.to_owned());
        let place = self.place.get(interface.as_deref())?;
        Ok(Some(Hosting { terms, place, interface, network, name }))
    }
}

impl VisitArgs {
    /// True if the code is in a file.
    pub(super) fn has_file(&self) -> bool {
        self.code_file.is_some()
    }

    /// The code in the file, without what surrounds it.
    fn code_in_file(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.code_file else { return Ok(None) };
        let read = match path.as_os_str() == "-" {
            true => {
                if std::io::stdin().is_terminal() {
                    fanfare_command::print_line("code: ");
                }
                let mut line = String::new();
                std::io::stdin().read_line(&mut line).map(|_| line)
            }
            false => fanfare_command::text_file::read(path),
        };
        let text = read.map_err(|error| {
            let path = path.display();
            let text = format!("code-file ({path}): cannot be read ({error}). Check its name");
            Failure::usage("code.unreadable", text)
        })?;
        Ok(Some(text.trim().to_owned()))
    }

    /// How the sender is met, if `text` is a code and not a directory.
    pub(super) fn plan(
        &self,
        text: &str,
        interface: Option<String>,
    ) -> Result<Option<Visiting>, Failure> {
        let file = self.code_in_file()?;
        let text = file.as_deref().unwrap_or(text);
        if file.is_none() && !Code::is_meant(text) {
            return match self.at.is_empty() {
                true => Ok(None),
                false => Err(invalid(text, &CodeError::Shape)),
            };
        }
        let code = Code::parse(text).map_err(|error| invalid(text, &error))?;
        let mut place = self.place.get(interface.as_deref())?;
        let mut others = Vec::new();
        for host in &self.at {
            let found = addresses(host, place.port())?;
            // A sender at an address of IPv6 alone is met in the group of IPv6.
            if self.place.meet.is_none()
                && others.is_empty()
                && found.iter().all(SocketAddr::is_ipv6)
                && let Some(six) = in_ipv6(MEETING_PLACE)
            {
                place = PlaceArgs::parse(&six)?;
            }
            let usable = found.into_iter().filter(|one| one.is_ipv4() == place.is_ipv4());
            let before = others.len();
            others.extend(usable);
            if others.len() == before {
                let (family, other) =
                    if place.is_ipv4() { ("IPv4", "IPv6") } else { ("IPv6", "IPv4") };
                let text = format!(
                    "at ({host}): it has {other} addresses alone, and the sender is looked for by \
                     {family} ({place}). Give --meet GROUP:PORT of {other} on both sides"
                );
                return Err(Failure::usage("at.invalid", text));
            }
        }
        Ok(Some(Visiting { code, place, interface, others }))
    }
}

fn invalid(text: &str, why: &CodeError) -> Failure {
    let text = format!("code ({text}): {why}. Type it as the sender shows it");
    Failure::usage("code.invalid", text)
}

/// All addresses of a host: one of them answers.
fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    // An IPv6 address has colons of its own, with or without brackets.
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let scoped = scoped_host(host, port).ok().flatten();
    let found = match (bare.parse::<IpAddr>(), scoped) {
        (_, Some(scoped)) => vec![scoped],
        (Ok(ip), None) => vec![SocketAddr::new(ip, port)],
        (Err(_), None) => match host.to_socket_addrs() {
            Ok(found) => found.collect(),
            Err(_) => (bare, port).to_socket_addrs().map(Iterator::collect).unwrap_or_default(),
        },
    };
    match found.is_empty() {
        false => Ok(found),
        true => {
            let text = format!("at ({host}): no address is known for it. Check the spelling");
            Err(Failure::usage("at.invalid", text))
        }
    }
}
