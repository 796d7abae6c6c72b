//! A connection in use.

use std::net::SocketAddr;

use fanfare_proto::Time;
use quinn::{Connection, Side};
use tokio::sync::watch;

use crate::{hello::Instance, kind};

/// A connection in use.
#[derive(Debug, Clone)]
pub struct Attached {
    /// The QUIC connection.
    pub connection: Connection,
    /// Which one of this link it is, from 1.
    pub epoch: u32,
    /// Both ends go on where they were before it.
    pub resumed: bool,
    /// The two processes; that of the end that dialled first.
    pub instances: [Instance; 2],
    /// Where the other end has answered from.
    pub address: watch::Receiver<SocketAddr>,
    pub(super) since: Time,
}

impl Attached {
    /// Sends a packet as long as QUIC thinks that the path takes. When several of them are lost, and
    /// shorter ones are not, QUIC sees that the path's MTU has become smaller.
    ///
    /// It goes alone: the system may hand packets that leave together to the network as one, and then the
    /// short ones are lost with the long one. QUIC itself asks with a short one when no answer comes.
    pub fn probe_path(&self) {
        let Some(size) = self.connection.max_datagram_size() else { return };
        let _ = self.connection.send_datagram(kind::padding(size).into());
    }

    /// This end has dialled.
    #[must_use]
    pub fn is_client(&self) -> bool {
        self.connection.side() == Side::Client
    }

    /// Bytes that nobody but the two ends knows, for this purpose.
    #[must_use]
    pub fn export(&self, label: &[u8]) -> Option<[u8; 32]> {
        let mut secret = [0; 32];
        let context = self.instances.concat();
        self.connection.export_keying_material(&mut secret, label, &context).ok()?;
        Some(secret)
    }
}
