//! Options of transfers by code, on both sides.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    time::Duration,
};

use clap::Args;
use fanfare_code::{Code, CodeError, MEETING_PLACE, Terms};
use fanfare_command::{Failure, units};
use fanfare_files::Expect;
use fanfare_node::Network;

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
    #[command(flatten)]
    place: PlaceArgs,
}

impl PlaceArgs {
    fn get(&self) -> Result<SocketAddr, Failure> {
        let text = self.meet.as_deref().unwrap_or(MEETING_PLACE);
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
        Ok(Some(Hosting { terms, place: self.place.get()?, interface, network, name }))
    }
}

impl VisitArgs {
    /// How the sender is met, if `text` is a code and not a directory.
    pub(super) fn plan(
        &self,
        text: &str,
        interface: Option<String>,
    ) -> Result<Option<Visiting>, Failure> {
        if !Code::is_meant(text) {
            return match self.at.is_empty() {
                true => Ok(None),
                false => Err(invalid(text, &CodeError::Shape)),
            };
        }
        let code = Code::parse(text).map_err(|error| invalid(text, &error))?;
        let place = self.place.get()?;
        let mut others = Vec::new();
        for host in &self.at {
            others.extend(addresses(host, place)?);
        }
        Ok(Some(Visiting { code, place, interface, others }))
    }
}

fn invalid(text: &str, why: &CodeError) -> Failure {
    let text = format!("code ({text}): {why}. Type it as the sender shows it");
    Failure::usage("code.invalid", text)
}

/// All addresses of the meeting place's family: one of them answers.
fn addresses(host: &str, place: SocketAddr) -> Result<Vec<SocketAddr>, Failure> {
    let plain = || (host, place.port()).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
    let found = match host.to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(_) => plain().unwrap_or_default(),
    };
    let usable: Vec<SocketAddr> =
        found.into_iter().filter(|one| one.is_ipv4() == place.is_ipv4()).collect();
    match usable.is_empty() {
        false => Ok(usable),
        true => {
            let text = format!("at ({host}): no address is known for it. Check the spelling");
            Err(Failure::usage("at.invalid", text))
        }
    }
}
