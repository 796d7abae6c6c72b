//! How a node dials a peer, again and again.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use quinn::{Connection, ConnectionError, VarInt};
use tokio::time::{sleep, timeout};

use super::{HANDSHAKE, Node, transport};
use crate::{association::Association, event::Event, hello, identity, link::Link};

/// A connection that does not come into use.
const UNUSED: VarInt = VarInt::from_u32(2);
/// Pauses between attempts to dial: at first, and at most.
const REDIAL: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];

impl Node {
    /// Dials a peer whenever there is no connection, or nothing is heard over it.
    pub(super) async fn keep(self, link: Link, addresses: Vec<SocketAddr>) {
        let association = link.0.clone();
        let (mut pause, mut turn) = (REDIAL[0], 0);
        let mut without: Option<Instant> = None;
        let mut given_up = true;
        while !association.ended.load(Ordering::Relaxed) {
            if !association.needs_connection() {
                (pause, without, given_up) = (REDIAL[0], None, false);
                tokio::select! {
                    () = association.seek.notified() => {}
                    () = sleep(REDIAL[1]) => {}
                }
                continue;
            }
            let since = *without.get_or_insert_with(Instant::now);
            if since.elapsed() > self.0.options.persist && !given_up {
                association.give_up();
                given_up = true;
            }
            let mut all = addresses.clone();
            // Where it was heard last, if that is news.
            let last = association.last_address.with(|last| *last);
            all.extend(last.filter(|last| !addresses.contains(last)));
            if let Some(to) = all.get(turn % all.len().max(1)) {
                match self.connect(&association, *to).await {
                    Ok(()) => continue,
                    Err(why) => association.tell(why.event(*to)),
                }
            }
            turn += 1;
            tokio::select! {
                () = association.seek.notified() => {}
                () = sleep(pause) => pause = (2 * pause).min(REDIAL[1]),
            }
        }
    }

    async fn connect(
        &self,
        association: &Arc<Association>,
        to: SocketAddr,
    ) -> Result<(), ConnectFailure> {
        let text = |error: &dyn std::fmt::Display| ConnectFailure::Other(error.to_string());
        let tls = identity::client(&self.0.options.identity, association.key)
            .map_err(|error| text(&error))?;
        let mut config = quinn::ClientConfig::new(tls);
        config.transport_config(Arc::new(transport(&self.0.options)));
        let connecting =
            self.0.endpoint.connect_with(config, to, "fanfare").map_err(|error| text(&error))?;
        association.dial(Some(to));
        let connected = timeout(HANDSHAKE, connecting).await;
        association.dial(None);
        let connection =
            connected.map_err(|_| text(&"no answer"))?.map_err(|error| unconnected(&error))?;
        let own = association.hello();
        let greeted = timeout(HANDSHAKE, async {
            let (send, mut recv) = hello::say(&connection, own).await?;
            // That this end's key is accepted, only the answer proves. Nobody else can read what goes now.
            association.begin(&connection);
            let theirs = hello::answer(&mut recv).await?;
            Some((theirs, send, recv))
        });
        let Some((theirs, send, recv)) = greeted.await.ok().flatten() else {
            association.abandon(&connection);
            return Err(refusal(&connection));
        };
        if !association.attach(connection.clone(), (own, theirs), (send, recv)) {
            association.abandon(&connection);
            connection.close(UNUSED, b"this connection is of no use");
        }
        Ok(())
    }
}

/// Reason why there is no connection.
enum ConnectFailure {
    /// One end does not accept the other's key.
    Key(&'static str),
    Other(String),
}

impl ConnectFailure {
    /// Event that tells of it.
    fn event(self, to: SocketAddr) -> Event {
        match self {
            Self::Key(why) => Event::Refused(format!("{to}: {why}")),
            Self::Other(why) => Event::Failed(format!("{to}: {why}")),
        }
    }
}

/// Reason why the connection could not be made.
fn unconnected(error: &ConnectionError) -> ConnectFailure {
    /// This end's own alert unknown_ca (RFC 8446, 6.2) as an error of QUIC (RFC 9001, 4.8): the key of the
    /// other end was not the one that was named.
    const OTHER_KEY: u64 = 0x100 + 48;
    match error {
        ConnectionError::TransportError(error) if u64::from(error.code) == OTHER_KEY => {
            ConnectFailure::Key("it has another key than the one that was given")
        }
        other => ConnectFailure::Other(other.to_string()),
    }
}

/// Why there was no answer to this end's hello.
fn refusal(connection: &Connection) -> ConnectFailure {
    /// Alerts of TLS are these errors of QUIC (RFC 9001, 4.8).
    const ALERTS: std::ops::RangeInclusive<u64> = 0x100..=0x1ff;
    let reason = connection.close_reason();
    connection.close(UNUSED, b"no answer");
    match reason {
        None => ConnectFailure::Other("it does not speak this protocol".to_owned()),
        Some(ConnectionError::ConnectionClosed(closed))
            if ALERTS.contains(&u64::from(closed.error_code)) =>
        {
            ConnectFailure::Key("it does not accept this key")
        }
        Some(reason) => ConnectFailure::Other(reason.to_string()),
    }
}
