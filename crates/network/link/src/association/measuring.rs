//! How fast the narrowest link is, by trains of packets on the connection in use.

use std::sync::Arc;

use quinn::Connection;
use tokio::time::sleep;

use super::Association;
use crate::{
    kind,
    trains::{self, Place},
};

impl Association {
    /// One of a train of the other end's: it is told what all of them have said.
    pub(super) fn on_train(&self, connection: &Connection, rest: &[u8]) {
        let now = self.clock.now();
        let Some(place) = Place::parse(rest) else { return };
        let capacity = self.trains.with(|trains| {
            let whole = trains.on_datagram(now, place, rest.len() + headers(connection));
            whole.then(|| trains.capacity(now)).flatten()
        });
        if let Some(capacity) = capacity {
            let report = [&[kind::DATAGRAM_REPORT][..], &capacity.to_bytes()].concat();
            // The next one is told, too.
            let _ = connection.send_datagram(report.into());
        }
    }

    /// Measures the narrowest link now and then, if it is to.
    pub(super) async fn send_trains(self: Arc<Self>, connection: Connection) {
        let Some(every) = self.measure else { return };
        for train in 0.. {
            sleep(every).await;
            let Some(size) = connection.max_datagram_size() else { return };
            for place in 0..trains::COUNT {
                let place = Place { train, place, count: trains::COUNT };
                let datagram = [&[kind::DATAGRAM_TRAIN][..], &place.to_bytes(size - 1)].concat();
                // A train with a hole says nothing; another follows.
                let _ = connection.send_datagram(datagram.into());
            }
        }
    }
}

/// Bytes of a datagram on the wire beside its content: IP (RFC 791, RFC 8200), UDP, and a QUIC packet with
/// a short header (RFC 9000, 17.3.1), one frame (RFC 9221) and its tag.
fn headers(connection: &Connection) -> usize {
    const IPV4: usize = 20;
    const IPV6: usize = 40;
    const UDP: usize = 8;
    /// Flags, a connection id of 8 bytes, a packet number of 2, the frame's type and the AEAD's tag.
    const QUIC: usize = 1 + 8 + 2 + 1 + 16;
    let is_ipv4 = connection.remote_address().ip().to_canonical().is_ipv4();
    UDP + QUIC + if is_ipv4 { IPV4 } else { IPV6 }
}
