//! The NORM session of one connection with NRL's `norp`: a stream each way, in plain NORM. Without
//! socket and clock.
//!
//! It is two machines, as the sending half may begin only when the other end has heard the reply.

use std::{net::SocketAddr, time::Duration};

use fanfare_proto::{
    Ecn, Event, FecConfig, FeedbackPath, FtiMode, InstanceId, MemoryStorage, NewStream, NodeId,
    ObjectKey, ObjectKind, ReceiverConfig, RecvMeta, SenderConfig, Session, SessionConfig,
    StreamFlush, StreamPolicy, StreamRead, Time, Transmit, WatermarkOutcome,
};

use crate::proxy::norm::Sending;

/// A segment, as norp's.
const SEGMENT: u16 = 1400;
/// Source symbols of a block, as norp's. It has no parity.
const BLOCK: u16 = 64;
/// Bytes of a stream that can be repaired. norp has 8 MiB, of which half may wait for an
/// acknowledgement; it gets as much of ours as it acknowledges.
const BUFFER: u64 = 8 << 20;
/// A receiver's memory: twice what a sender promises.
const RECEIVED: usize = 16 << 20;
/// The header of a symbol of a stream is beside the content.
const STORED: u64 = 2 * (RECEIVED as u64);
/// Bytes after which an acknowledgement is asked for. A short write ends a symbol, so the ring may
/// hold less than its bytes.
const MARK: u64 = BUFFER / 4;
/// Flushes after which one is asked for: the ring has some 6,000 places.
const FLUSHES: u64 = 500;
/// The timer of the driver has 1 ms, and a busy machine several.
const BURST: Duration = Duration::from_millis(5);
/// Bytes read in one go.
const CHUNK: usize = 64 << 10;

/// Which NORM session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// This end's NORM node.
    pub(crate) node: u32,
    /// Number of the session: the sender's instance.
    pub(crate) session: u16,
    pub(crate) seed: u64,
}

/// Why the connection ends at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// What reading gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Bytes(Vec<u8>),
    Nothing,
    End,
}

#[derive(Debug)]
struct Half {
    session: Session,
    storage: MemoryStorage,
}

#[derive(Debug)]
struct Outgoing {
    half: Half,
    stream: ObjectKey,
    peer: NodeId,
    marked: bool,
    /// Flushes since the last watermark: each takes a place in the ring.
    flushes: u64,
    /// Written when the last watermark was set.
    at: u64,
    closing: bool,
    closed: bool,
    taken: bool,
}

/// The session.
#[derive(Debug)]
pub(crate) struct Streams {
    ends: Ends,
    receiving: Half,
    incoming: Option<ObjectKey>,
    ended: bool,
    sending: Option<Outgoing>,
}

impl Streams {
    /// Hears only, at first.
    pub(crate) fn new(now: Time, ends: Ends) -> Self {
        let receiver = ReceiverConfig {
            stream_buffer: RECEIVED,
            objects_max: 4,
            senders_max: 2,
            ..ReceiverConfig::default()
        };
        let config = SessionConfig { receiver: Some(receiver), ..Self::config(ends) };
        let session = Session::new(config, ends.seed, now);
        let receiving = Half { session, storage: MemoryStorage::new(STORED) };
        Self { ends, receiving, incoming: None, ended: false, sending: None }
    }

    fn config(ends: Ends) -> SessionConfig {
        SessionConfig {
            node_id: NodeId(ends.node),
            feedback: FeedbackPath::Sender,
            unicast: true,
            ..SessionConfig::default()
        }
    }

    /// Sends from now on, to this node.
    pub(crate) fn begin(
        &mut self,
        now: Time,
        peer: u32,
        round_trip: Duration,
        sending: Sending,
    ) -> Result<(), Broken> {
        if self.sending.is_some() {
            return Ok(());
        }
        let sender = SenderConfig {
            instance_id: InstanceId(self.ends.session),
            segment_size: SEGMENT,
            // Without parity, libnorm's receivers take only messages that have it (measured, 1.5.9).
            fti: FtiMode::Always,
            fec: FecConfig { source: BLOCK, parity: 0, ..FecConfig::default() },
            congestion: sending.control,
            rate: sending.limit,
            burst: BURST,
            group_size: 1,
            grtt_initial: round_trip,
            ..SenderConfig::default()
        };
        let config = SessionConfig { sender: Some(sender), ..Self::config(self.ends) };
        let mut session = Session::new(config, self.ends.seed.wrapping_add(1), now);
        let mut storage = MemoryStorage::new(STORED);
        let stream = NewStream { buffer: BUFFER, info: None, policy: StreamPolicy::Lossless };
        let opened = session.sender().open_stream(now, &stream, &mut storage);
        let stream = opened.map_err(|_| Broken)?;
        self.sending = Some(Outgoing {
            half: Half { session, storage },
            stream,
            peer: NodeId(peer),
            marked: false,
            flushes: 0,
            at: 0,
            closing: false,
            closed: false,
            taken: false,
        });
        Ok(())
    }

    /// Whether this is of the other end's sending half (RFC 5740 4.1: INFO, DATA and CMD).
    pub(crate) fn is_senders(datagram: &[u8]) -> bool {
        datagram.first().is_some_and(|first| (1..=3).contains(&(first & 0x0f)))
    }

    /// Whether this is a symbol of a stream.
    pub(crate) fn is_data(datagram: &[u8]) -> bool {
        datagram.first().is_some_and(|first| first & 0x0f == 2)
    }

    /// Whether norp has begun with our stream: it asks for what it lacks of it (NACK), or has an answer
    /// already.
    pub(crate) fn shows_that_norp_reads(datagram: &[u8]) -> bool {
        Self::is_data(datagram) || datagram.first().is_some_and(|first| first & 0x0f == 4)
    }

    /// A datagram came.
    pub(crate) fn on_datagram(
        &mut self,
        now: Time,
        source: SocketAddr,
        ecn: Option<Ecn>,
        waited: Duration,
        datagram: &[u8],
    ) {
        let meta = RecvMeta { source, ecn, unicast: true, waited };
        // NACK, ACK and REPORT, by the low half of a message's first byte (RFC 5740 4.1).
        let is_feedback = datagram.first().is_some_and(|first| (4..=6).contains(&(first & 0x0f)));
        let half = match &mut self.sending {
            Some(sending) if is_feedback => &mut sending.half,
            _ => &mut self.receiving,
        };
        half.session.handle_datagram(now, meta, datagram, &mut half.storage);
    }

    /// Time has passed, or something has happened.
    pub(crate) fn step(&mut self, now: Time) -> Result<(), Broken> {
        let Half { session, storage } = &mut self.receiving;
        session.handle_timeout(now, storage);
        while let Some(event) = session.poll_event() {
            match event {
                Event::ObjectNew { key, kind: ObjectKind::Stream, .. } => {
                    self.incoming.get_or_insert(key);
                }
                Event::ObjectAborted { key, .. } if self.incoming == Some(key) && !self.ended => {
                    return Err(Broken);
                }
                _ => {}
            }
        }
        let Some(out) = &mut self.sending else { return Ok(()) };
        let Half { session, storage } = &mut out.half;
        session.handle_timeout(now, storage);
        while let Some(event) = session.poll_event() {
            if let Event::WatermarkDone { outcomes } = event {
                out.marked = false;
                let all = outcomes.iter().all(|(_, how)| *how == WatermarkOutcome::Acknowledged);
                // Of everything, the end included: nothing is left to be done.
                out.taken |= all && !outcomes.is_empty() && out.closed && out.at == u64::MAX;
                if !all {
                    // Asked again by what follows; the driver ends it when nothing is heard.
                    out.at = 0;
                }
            }
        }
        out.mark(now);
        Ok(())
    }

    /// Takes bytes as far as there is room.
    pub(crate) fn write(&mut self, now: Time, bytes: &[u8]) -> usize {
        let Some(out) = &mut self.sending else { return 0 };
        let Half { session, storage } = &mut out.half;
        session.sender().write_stream(now, out.stream.object, bytes, storage)
    }

    /// What was written goes now, though more may follow.
    pub(crate) fn flush(&mut self, now: Time) {
        if let Some(out) = &mut self.sending {
            let Half { session, storage } = &mut out.half;
            let (id, how) = (out.stream.object, StreamFlush::Active);
            session.sender().flush_stream(now, id, how, storage);
            out.flushes += 1;
        }
    }

    /// Nothing more is written.
    pub(crate) fn close(&mut self) {
        if let Some(out) = &mut self.sending {
            out.closing = true;
        }
    }

    /// The other end has everything, and knows that it is all.
    pub(crate) fn is_taken(&self) -> bool {
        self.sending.as_ref().is_some_and(|out| out.taken)
    }

    /// The next bytes.
    pub(crate) fn read(&mut self, now: Time) -> Result<Got, Broken> {
        let Some(key) = self.incoming.filter(|_| !self.ended) else {
            return Ok(if self.ended { Got::End } else { Got::Nothing });
        };
        let mut bytes = Vec::new();
        loop {
            let Half { session, storage } = &mut self.receiving;
            let most = CHUNK - bytes.len();
            match session.receiver().read_stream(now, key, most, storage, &mut bytes) {
                StreamRead::Data { .. } if bytes.len() < CHUNK => {}
                StreamRead::Data { .. } => return Ok(Got::Bytes(bytes)),
                _ if !bytes.is_empty() => return Ok(Got::Bytes(bytes)),
                StreamRead::Empty => return Ok(Got::Nothing),
                StreamRead::End { .. } => {
                    session.receiver().finish_stream(now, key, storage);
                    self.ended = true;
                    return Ok(Got::End);
                }
                // Bytes of a TCP connection cannot be left out.
                StreamRead::Gap { .. } | StreamRead::Gone => return Err(Broken),
            }
        }
    }

    /// Datagrams to send.
    pub(crate) fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let Half { session, storage } = &mut self.receiving;
        if let Some(transmit) = session.poll_transmit(now, 1, buffer, storage) {
            return Some(transmit);
        }
        let Half { session, storage } = &mut self.sending.as_mut()?.half;
        session.poll_transmit(now, 1, buffer, storage)
    }

    /// When [`Self::step`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let receiving = self.receiving.session.poll_timeout();
        let sending = self.sending.as_ref().and_then(|out| out.half.session.poll_timeout());
        [receiving, sending].into_iter().flatten().map(|(at, _)| at).min()
    }
}

impl Outgoing {
    /// Asks for an acknowledgement of much, and of everything at the end.
    fn mark(&mut self, now: Time) {
        let Half { session, storage } = &mut self.half;
        let id = self.stream.object;
        if self.closing && !self.closed {
            self.closed = session.sender().close_stream(now, id, storage);
        }
        if self.marked || self.taken {
            return;
        }
        let Some(progress) = session.sender().stream_progress(id) else { return };
        let much = progress.packed.saturating_sub(self.at) >= MARK || self.flushes >= FLUSHES;
        if self.closed && self.at != u64::MAX || !self.closed && much {
            self.at = if self.closed { u64::MAX } else { progress.packed };
            (self.marked, self.flushes) = (true, 0);
            session.sender().set_watermark(&[self.peer]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(loses: u64) -> (Vec<u8>, Vec<u8>) {
        let mut now = Time::ZERO;
        let ends = |node| Ends { node, session: 7, seed: u64::from(node) };
        let mut near = Streams::new(now, ends(1));
        let mut far = Streams::new(now, ends(2));
        let round_trip = Duration::from_millis(20);
        near.begin(now, 2, round_trip, Sending::default()).unwrap();
        far.begin(now, 1, round_trip, Sending::default()).unwrap();
        let sent: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let (mut written, mut count, mut got) = (0, 0u64, Vec::new());
        let mut buffer = Vec::new();
        for _ in 0..200_000 {
            written += near.write(now, &sent[written..]);
            near.flush(now);
            if written == sent.len() {
                near.close();
            }
            for turn in 0..2 {
                let (from, to) =
                    if turn == 0 { (&mut near, &mut far) } else { (&mut far, &mut near) };
                from.step(now).unwrap();
                loop {
                    buffer.clear();
                    if from.poll_transmit(now, &mut buffer).is_none() {
                        break;
                    }
                    count += 1;
                    if loses == 0 || count % loses != 0 {
                        let source = ([127, 0, 0, 1], 1).into();
                        to.on_datagram(now, source, None, Duration::ZERO, &buffer);
                    }
                }
            }
            while let Got::Bytes(bytes) = far.read(now).unwrap() {
                got.extend(bytes);
            }
            if near.is_taken() {
                break;
            }
            let next = [near.next_timeout(), far.next_timeout()].into_iter().flatten().min();
            now = next.unwrap_or(now).max(now.plus(Duration::from_micros(100)));
        }
        assert!(near.is_taken(), "written {written}, got {} of {}", got.len(), sent.len());
        (sent, got)
    }

    #[test]
    fn a_stream_arrives_whole_with_and_without_loss_and_its_end_is_acknowledged() {
        for loses in [0, 10] {
            let (sent, got) = both(loses);
            assert!(sent == got, "one of {loses} lost: {} bytes", got.len());
        }
    }
}
