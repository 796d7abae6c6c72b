//! How a node is started, and how it dials.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use fanfare_crypto::{Identity, PublicKey};

use crate::{congestion::Control, identity::Peers, liveness::Patience};

/// How a node is started.
#[derive(Debug)]
pub struct NodeOptions {
    /// Where it listens; port 0 is any.
    pub listen: SocketAddr,
    /// Its key.
    pub identity: Arc<Identity>,
    /// Who may link to it.
    pub peers: Peers,
    /// How long silence may last.
    pub patience: Patience,
    /// How often the narrowest link towards the other end is measured; none: never. Each time costs five
    /// packets.
    pub measure: Option<Duration>,
    /// For how long everything is kept without a connection.
    pub persist: Duration,
    /// What decides the rate of QUIC.
    pub control: Control,
    /// The file that keeps tickets for messages with the first packet; none: they end with the process.
    pub tickets: Option<PathBuf>,
}

impl NodeOptions {
    /// With this key, at this address, and the usual settings.
    #[must_use]
    pub fn new(identity: Arc<Identity>, listen: SocketAddr) -> Self {
        Self {
            listen,
            identity,
            peers: Peers::default(),
            patience: Patience::default(),
            measure: None,
            persist: Duration::from_secs(60),
            control: Control::default(),
            tickets: None,
        }
    }
}

/// How a link is dialled.
#[derive(Debug, Clone)]
pub struct Peer {
    /// What it is called here.
    pub name: String,
    /// Its key.
    pub key: PublicKey,
    /// Where it may be: tried in turn.
    pub addresses: Vec<SocketAddr>,
}
