//! The sockets of a session, and what waits to be sent by them. Only the thread uses them, without the
//! lock.

use std::{io, net::SocketAddr};

use fanfare_proto::{Destination, Ecn, RecvMeta, Transmit, rng::Rng};
use fanfare_udp::{Endpoint, Ready, Via};

use crate::handle::Handle;

/// Batches sent before it is looked at what has arrived.
const BATCHES_PER_TURN: usize = 16;

/// The sockets of a session.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) session: Handle,
    pub(super) endpoint: Endpoint,
    buffer: Vec<u8>,
    /// What the socket has not taken yet: a batch in `buffer`, from this byte on.
    unsent: Option<(Transmit, usize)>,
    /// Probability of losing what is sent, and what decides it.
    pub(super) loss: f64,
    chance: Rng,
}

impl Port {
    pub(super) fn new(session: Handle, endpoint: Endpoint) -> Self {
        let (loss, chance) = (0.0, Rng::new(u64::from(session.generation())));
        Self { session, endpoint, buffer: Vec::new(), unsent: None, loss, chance }
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// Gives what has come to `each`.
    pub(super) fn receive(
        &mut self,
        mut each: impl FnMut(Handle, RecvMeta, &[u8], usize),
    ) -> io::Result<usize> {
        let all = Ready { group: true, unicast: true, ..Ready::default() };
        let session = self.session;
        self.endpoint.receive_runs(all, |told, run, stride| {
            let meta = RecvMeta {
                source: told.source,
                ecn: told.ecn,
                unicast: told.via == Via::Unicast,
                waited: told.waited,
            };
            each(session, meta, run, stride);
        })
    }

    /// Sends what `poll` gives, as long as the socket takes it.
    ///
    /// # Errors
    /// What the system says when it refuses; to the protocol that is a loss like another.
    pub(super) fn transmit(
        &mut self,
        mut poll: impl FnMut(usize, &mut Vec<u8>) -> Option<Transmit>,
    ) -> io::Result<()> {
        for _ in 0..BATCHES_PER_TURN {
            if self.unsent.is_none() {
                // A batch is cut by what its first message is long: 64 fit for any.
                let Some(transmit) = poll(fanfare_udp::MAX_GSO_SEGMENTS, &mut self.buffer) else {
                    return Ok(());
                };
                self.unsent = Some((transmit, 0));
            }
            if !self.send_unsent()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// False when the socket is full.
    fn send_unsent(&mut self) -> io::Result<bool> {
        let Some((transmit, mut start)) = self.unsent.take() else { return Ok(true) };
        let to = match transmit.destination {
            Destination::Group => self.endpoint.group(),
            Destination::Peer(address) => address,
        };
        let ecn = transmit.ecn;
        while start < self.buffer.len() {
            let sent = if self.loss > 0.0 {
                self.send_some(to, transmit.segment_size, ecn, start)
            } else {
                self.endpoint.send(to, transmit.segment_size, ecn, &self.buffer[start..])
            };
            match sent {
                Ok(sent) => start += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unsent = Some((transmit, start));
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// One datagram, which may be lost on purpose.
    fn send_some(
        &mut self,
        to: SocketAddr,
        segment: usize,
        ecn: Option<Ecn>,
        start: usize,
    ) -> io::Result<usize> {
        let end = (start + segment).min(self.buffer.len());
        if self.chance.random_bool(self.loss) {
            return Ok(end - start);
        }
        self.endpoint.send(to, segment, ecn, &self.buffer[start..end])
    }
}
