//! `--compat nrl`: NRL's `norp` at the other end instead of a link.

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use fanfare_command::{Exit, Failure, Output};
use fanfare_link::proxy::{
    CongestionControl, Norp, NorpOptions, Rule, Sending,
    norp::{self},
};
use tokio::sync::mpsc;

use super::limits::rule;

/// Where norp's signalling is heard, when no port is given.
const SIGNALLING: u16 = 7001;

/// Which program is at the other end.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Other programs")]
pub(super) struct CompatArgs {
    /// Speak with another program than Fanfare, in plain text
    #[arg(long, value_enum, value_name = "PROGRAM", hide_short_help = true)]
    compat: Option<Compat>,
    /// Take norp's NORM at this port
    #[arg(long, value_name = "PORT", default_value_t = 7002, hide_short_help = true)]
    norm_port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// NRL's norp: peers are addresses, without keys
    Nrl,
}

/// `NAME=ADDRESS` or, at the far side, `NAME=PREFIX`.
fn named<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        let text = format!("{option} ({text}): with --compat nrl write it as NAME=ADDRESS, no key");
        Failure::usage("peer.invalid", text)
    })
}

/// `NAME=HOST[:PORT]`: a norp to ask.
pub(super) fn peer(text: &str) -> Result<(String, SocketAddr), Failure> {
    let (name, place) = named("peer", text)?;
    let bare = place.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, SIGNALLING));
    let found = bare.or_else(|_| {
        let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if has_port { place.to_owned() } else { format!("{place}:{SIGNALLING}") };
        let mut found = place.to_socket_addrs().map_err(|error| error.to_string())?;
        found.next().ok_or_else(|| "it has no address".to_owned())
    });
    let address = found.map_err(|why| {
        let text = format!("peer ({place}): is not known ({why}). Check its name; norp has no key");
        Failure::new(Exit::Nobody, "peer.unknown", text)
    })?;
    Ok((name.to_owned(), address))
}

/// `NAME=PREFIX`: norps that may ask.
pub(super) fn accepted(texts: &[String]) -> Result<Vec<(String, Rule)>, Failure> {
    let one = |text: &String| {
        let (name, prefix) = named("accept", text)?;
        Ok((name.to_owned(), rule("accept", prefix)?))
    };
    let all = texts.iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
    if all.is_empty() {
        let text = "accept: no norp may ask this one. Give --accept NAME=ADDRESS";
        return Err(Failure::usage("accept.missing", text));
    }
    Ok(all)
}

impl CompatArgs {
    pub(super) const fn is_nrl(&self) -> bool {
        matches!(self.compat, Some(Compat::Nrl))
    }

    /// Starts to speak norp.
    pub(super) async fn start(
        &self,
        listen: SocketAddr,
        peers: Vec<(String, Rule)>,
        sending: Sending,
        output: &Output,
    ) -> Result<(Arc<Norp>, mpsc::Receiver<norp::Asking>), Failure> {
        output.warn(
            "compat.plain",
            "norp's connections are neither sealed nor authenticated, and those that end in one \
             direction lose the other one at norp's end",
        );
        let control = match sending.control {
            // Receivers of norp do not report what auto goes by.
            CongestionControl::Auto => CongestionControl::LossTolerant,
            control => control,
        };
        let sending = Sending { control, ..sending };
        let options = NorpOptions { listen, norm_port: self.norm_port, peers, sending };
        Norp::start(options).await.map_err(|error| {
            let text = format!("norp ({listen}): cannot listen there ({error}). Choose another");
            Failure::new(Exit::Resource, "listen.failed", text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norps_are_named_by_their_addresses() {
        assert_eq!(peer("far=10.0.0.1").unwrap().1, "10.0.0.1:7001".parse().unwrap());
        assert_eq!(peer("far=10.0.0.1:7101").unwrap().1, "10.0.0.1:7101".parse().unwrap());
        assert_eq!(peer("far=fd00::1").unwrap().1, "[fd00::1]:7001".parse().unwrap());
        assert_eq!(peer("10.0.0.1").unwrap_err().exit, Exit::Usage);
        assert_eq!(peer("far=10.0.0.1:7001,ed25519:00").unwrap_err().exit, Exit::Nobody);
        assert!(accepted(&["near=10.0.0.0/8".to_owned()]).is_ok());
        assert_eq!(accepted(&[]).unwrap_err().exit, Exit::Usage);
        assert_eq!(accepted(&["near=ed25519:00".to_owned()]).unwrap_err().exit, Exit::Usage);
    }
}
