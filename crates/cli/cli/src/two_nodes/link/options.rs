//! Options of a node: its key, and how long it waits.

use std::{io::ErrorKind, net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use fanfare_command::{Exit, Failure, units};
use fanfare_crypto::PublicKey;
use fanfare_link::{Node, NodeOptions, Peers, liveness::Patience};

use crate::two_nodes::identity;

/// Five packets so often are half a megabit a second.
const MEASURE_LEAST: Duration = Duration::from_millis(100);

/// Options of a node.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Link")]
pub(crate) struct NodeArgs {
    /// File of this machine's key pair [default: ~/.config/fanfare/identity]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) identity: Option<PathBuf>,
    /// Keep everything for so long without a connection
    #[arg(long, value_name = "TIME", default_value = "60s", hide_short_help = true)]
    persist: String,
    /// Speak after so much silence; a connection is lost after three times that
    #[arg(long, value_name = "TIME", default_value = "10s", hide_short_help = true)]
    keep_alive: String,
    /// Measure the narrowest link so often; each time costs five packets [default: never]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    measure: Option<String>,
    /// Congestion control of QUIC: cubic, bbr or reno
    #[arg(long, value_name = "NAME", default_value = "bbr", hide_short_help = true)]
    quic_cc: String,
}

impl NodeArgs {
    /// Any port of any address.
    pub(crate) fn anywhere() -> SocketAddr {
        SocketAddr::from(([0u16; 8], 0))
    }

    /// The key that others know this machine by.
    pub(crate) fn key(&self) -> Result<PublicKey, Failure> {
        identity::own(self.identity.as_deref()).map(|identity| identity.public())
    }

    /// Where tickets are kept.
    pub(crate) fn tickets(&self) -> Result<PathBuf, Failure> {
        let mut path = identity::path(self.identity.as_deref())?.into_os_string();
        path.push(".tickets");
        Ok(path.into())
    }

    /// How often the narrowest link is measured.
    fn measure(&self) -> Result<Option<Duration>, Failure> {
        let Some(text) = &self.measure else { return Ok(None) };
        let every = units::time("measure", text)?;
        if every < MEASURE_LEAST {
            let text = format!("measure ({text}): it would fill the line. Use 100ms or more");
            return Err(Failure::usage("time.invalid", text));
        }
        Ok(Some(every))
    }

    /// Starts a node that these may link to.
    pub(crate) fn start(
        &self,
        listen: SocketAddr,
        accepted: Vec<(PublicKey, String)>,
    ) -> Result<Node, Failure> {
        self.start_with(listen, accepted, None)
    }

    /// The same with a file of tickets.
    pub(crate) fn start_with(
        &self,
        listen: SocketAddr,
        accepted: Vec<(PublicKey, String)>,
        tickets: Option<PathBuf>,
    ) -> Result<Node, Failure> {
        let keep_alive = units::time("keep-alive", &self.keep_alive)?;
        if keep_alive.is_zero() {
            let text = "keep-alive (0): nothing would keep the link. Use some time, such as 10s";
            return Err(Failure::usage("time.invalid", text));
        }
        let control = self.quic_cc.parse().map_err(|why| {
            Failure::usage("quic_cc.invalid", format!("quic-cc ({}): {why}", self.quic_cc))
        })?;
        let peers = Peers::default();
        peers.replace(accepted);
        let options = NodeOptions {
            peers,
            patience: Patience { keep_alive, lost: 3 * keep_alive },
            measure: self.measure()?,
            persist: units::time("persist", &self.persist)?,
            control,
            tickets,
            ..NodeOptions::new(identity::own(self.identity.as_deref())?, listen)
        };
        Node::start(options).map_err(|error| {
            let advice = match error.kind() {
                ErrorKind::AddrInUse => "Another program has it; choose another with --listen",
                ErrorKind::PermissionDenied => "Choose a port above 1023 with --listen",
                _ => "Choose another address with --listen",
            };
            let text = format!("port ({listen}): cannot be had ({error}). {advice}");
            let exit = match error.kind() {
                ErrorKind::PermissionDenied => Exit::Permission,
                _ => Exit::Resource,
            };
            Failure::new(exit, "port.failed", text)
        })
    }
}
