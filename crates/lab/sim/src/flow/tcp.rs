//! TCP as a background flow: the machines of [`crate::tcp`] at both ends of a path.

use std::rc::Rc;

use fanfare_proto::{Ecn, Time};

use super::{End, Incoming, Outgoing};
use crate::tcp::{Config, Receiver, Segment, Sender, Source};

/// The sending end.
#[derive(Debug)]
pub struct TcpSource(Sender);

/// The receiving end.
#[derive(Debug)]
pub struct TcpSink(Receiver);

impl TcpSource {
    /// An end that sends what there is.
    #[must_use]
    pub fn new(config: Config, source: Source) -> Self {
        Self(Sender::new(config, source))
    }
}

impl TcpSink {
    /// An end that acknowledges what comes.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self(Receiver::new(config))
    }
}

/// The segment in a packet, with the mark that the way has given it.
fn segment_in(packet: &Incoming<'_>) -> Option<Segment> {
    let segment = packet.content.downcast_ref::<Segment>()?;
    let congestion_experienced = packet.ecn == Some(Ecn::Ce);
    Some(Segment { congestion_experienced, ..*segment })
}

fn outgoing(segment: Segment) -> Outgoing {
    let ecn = segment.ecn_capable.then_some(Ecn::Ect0);
    Outgoing { bytes: segment.wire_bytes(), ecn, content: Rc::new(segment) }
}

impl End for TcpSource {
    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        if let Some(segment) = segment_in(&packet) {
            self.0.on_segment(now, &segment);
        }
    }
    fn poll_packet(&mut self, now: Time) -> Option<Outgoing> {
        if self.0.next_timeout().is_some_and(|at| at <= now) {
            self.0.on_timeout(now);
        }
        self.0.poll_segment(now).map(outgoing)
    }
    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }
    fn delivered(&self) -> u64 {
        0
    }
}

impl End for TcpSink {
    fn on_packet(&mut self, now: Time, packet: Incoming<'_>) {
        if let Some(segment) = segment_in(&packet) {
            self.0.on_segment(now, &segment);
        }
    }
    fn poll_packet(&mut self, now: Time) -> Option<Outgoing> {
        if self.0.next_timeout().is_some_and(|at| at <= now) {
            self.0.on_timeout(now);
        }
        self.0.poll_segment(now).map(outgoing)
    }
    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }
    fn delivered(&self) -> u64 {
        self.0.delivered()
    }
}
