//! A link, as its application has it.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fanfare_crypto::PublicKey;
use quinn::{RecvStream, SendStream};
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::timeout,
};

use crate::{
    association::{Association, Attached, ENDED},
    event::Event,
    kind,
    messages::{Class, Message, Options, SendError, counts::CountTable},
    socket::{self, Sealed},
    trains::Capacity,
};

/// A link to one other node. Copies are the same link.
#[derive(Debug, Clone)]
pub struct Link(pub(crate) Arc<Association>);

/// How a link is.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// What the other end is called here.
    pub peer: String,
    /// Its key.
    pub key: PublicKey,
    /// There is a connection.
    pub connected: bool,
    /// Nothing is heard over it at present.
    pub quiet: bool,
    /// Where the other end is, or was heard last.
    pub address: Option<SocketAddr>,
    /// How many connections there have been.
    pub connections: u32,
    /// The round trip.
    pub round_trip: Duration,
    /// Bytes of a packet.
    pub mtu: u16,
    /// Packets and bytes of QUIC sent over this connection.
    pub sent: (u64, u64),
    /// Those received.
    pub received: (u64, u64),
    /// Packets of QUIC that were lost.
    pub lost: u64,
    /// Messages that are not acknowledged.
    pub waiting: usize,
    /// The narrowest link towards this end, where the other end measures it.
    pub capacity_in: Option<Capacity>,
    /// The same towards the other end, as that one says.
    pub capacity_out: Option<Capacity>,
}

impl Link {
    /// What the other end is called here.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The other end's key.
    #[must_use]
    pub fn key(&self) -> PublicKey {
        self.0.key
    }

    /// What happens to it from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.0.events.subscribe()
    }

    /// Its connection, as it changes.
    #[must_use]
    pub fn connections(&self) -> watch::Receiver<Option<Attached>> {
        self.0.current.subscribe()
    }

    /// The connection at present, or the one that comes within this time.
    pub async fn connected(&self, within: Duration) -> Option<Attached> {
        let mut current = self.connections();
        let found = timeout(within, current.wait_for(Option::is_some)).await.ok()?.ok()?;
        found.clone()
    }

    /// Sends a message; its number.
    ///
    /// # Errors
    /// When it is too long, too much waits, or the link has ended.
    pub fn send(&self, class: Class, bytes: &[u8], options: Options) -> Result<u64, SendError> {
        if self.0.ended.load(Ordering::Relaxed) {
            return Err(SendError::Closed);
        }
        let mail = &self.0.mail;
        let now = mail.clock.now();
        let number = mail.outbox.with(|outbox| outbox.push(now, class, bytes, options))?;
        if options.replace {
            mail.on_withdrawn();
        }
        mail.outgoing.notify_one();
        if options.early {
            self.0.send_early();
        }
        Ok(number)
    }

    /// Withdraws all messages of this tag that the other end has not acknowledged.
    pub fn cancel(&self, tag: u64) {
        self.0.mail.outbox.with(|outbox| outbox.cancel(tag));
        self.0.mail.on_withdrawn();
    }

    /// The next message that arrives.
    pub async fn recv(&self) -> Message {
        let mail = &self.0.mail;
        loop {
            let incoming = mail.incoming.notified();
            if let Some(message) = mail.inbox.with(|inbox| inbox.poll()) {
                mail.fetched.notify_one();
                return message;
            }
            incoming.await;
        }
    }

    /// Waits until all messages are acknowledged or given up, at most so long.
    pub async fn flushed(&self, within: Duration) -> bool {
        let mail = &self.0.mail;
        let empty = async {
            while !mail.outbox.with(|outbox| outbox.is_empty()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(within, empty).await.is_ok()
    }

    /// Messages that are not acknowledged.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.mail.outbox.with(|outbox| outbox.len())
    }

    /// Statistics of messages that were sent, and of those that came.
    #[must_use]
    pub fn counts(&self) -> [CountTable; 2] {
        let mail = &self.0.mail;
        [
            mail.outbox.with(|outbox| outbox.counts().clone()),
            mail.inbox.with(|inbox| inbox.counts().clone()),
        ]
    }

    /// Opens a stream of the application's over this connection.
    ///
    /// # Errors
    /// When the connection is gone.
    pub async fn open(
        &self,
        attached: &Attached,
    ) -> Result<(SendStream, RecvStream), quinn::ConnectionError> {
        let (mut send, recv) = attached.connection.open_bi().await?;
        if send.write_all(&[kind::STREAM_APPLICATION]).await.is_err() {
            return Err(attached
                .connection
                .close_reason()
                .unwrap_or(quinn::ConnectionError::LocallyClosed));
        }
        Ok((send, recv))
    }

    /// The next stream that the other end's application opens.
    pub async fn accept(&self) -> Option<(SendStream, RecvStream)> {
        self.0.streams.lock().await.recv().await
    }

    /// Sends a datagram of the application's; false when it is too long or there is no connection.
    #[must_use]
    pub fn send_datagram(&self, bytes: &[u8]) -> bool {
        let Some(attached) = self.0.current.borrow().clone() else { return false };
        let datagram = [&[kind::DATAGRAM_APPLICATION], bytes].concat();
        attached.connection.send_datagram(datagram.into()).is_ok()
    }

    /// The next datagram of the other end's application.
    pub async fn recv_datagram(&self) -> Option<Vec<u8>> {
        self.0.datagrams.lock().await.recv().await
    }

    /// Sealed NORM from the other end of this connection, and the way to send some.
    #[must_use]
    pub fn bulk(&self, attached: &Attached) -> (mpsc::Receiver<Sealed>, Bulk) {
        let address = *attached.address.borrow();
        let route = self.0.shared.route(address);
        (route, Bulk { shared: self.0.shared.clone(), address: attached.address.clone() })
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let association = &self.0;
        let current = association.current.borrow().clone();
        let stats = current.as_ref().map(|attached| attached.connection.stats());
        let stats = stats.unwrap_or_default();
        Status {
            peer: association.name.clone(),
            key: association.key,
            connected: current.is_some(),
            quiet: association.quiet.load(Ordering::Relaxed),
            address: association.last_address.with(|address| *address),
            connections: current.as_ref().map_or(0, |attached| attached.epoch),
            round_trip: stats.path.rtt,
            mtu: stats.path.current_mtu,
            sent: (stats.udp_tx.datagrams, stats.udp_tx.bytes),
            received: (stats.udp_rx.datagrams, stats.udp_rx.bytes),
            lost: stats.path.lost_packets,
            waiting: self.waiting(),
            capacity_in: association.trains.with(|trains| trains.capacity(association.clock.now())),
            capacity_out: association.told.with(|told| *told),
        }
    }

    /// Ends it: the other end is told.
    pub fn close(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
        if let Some(attached) = self.0.current.send_replace(None) {
            attached.connection.close(ENDED, b"the link has ended");
        }
        if let Some(connection) = self.0.begun.end() {
            connection.close(ENDED, b"the link has ended");
        }
        self.0.seek.notify_one();
    }
}

/// Sends sealed NORM to where the other end has answered from.
#[derive(Debug, Clone)]
pub struct Bulk {
    shared: Arc<socket::Shared>,
    address: watch::Receiver<SocketAddr>,
}

impl Bulk {
    /// Where the other end is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        *self.address.borrow()
    }

    /// Sends datagrams of `size` bytes each, the last may be shorter.
    ///
    /// # Errors
    /// As the socket; `WouldBlock` while it is full.
    pub fn send(
        &self,
        size: usize,
        ecn: Option<fanfare_proto::Ecn>,
        bytes: &[u8],
    ) -> std::io::Result<()> {
        self.shared.send(self.address(), size, ecn, bytes)
    }
}
