//! One layered session that a receiver follows.

use std::{collections::BTreeSet, io, net::SocketAddr, time::Duration};

use fanfare_proto::{
    Bitrate, NodeId, ObjectKey, StorageError, Time,
    congestion::layered::{Description, Header, LayeredReceiver, Membership, RttRequest, Symbol},
};
use fanfare_udp::{Endpoint, OpenError};
use fanfare_wire::{Ack, AckKind, Alc, Sequence, ext::Extensions, header::FeedbackFields};

use super::{packet, reception::Reception};
use crate::{file_storage::FileStorage, receive::LayeredProgress};

/// Nothing was heard of it for so long: it has ended. An interval may last a minute.
const SILENCE: Duration = Duration::from_secs(70);

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its object is whole.
    Whole,
    /// It said that nothing more comes, or is silent.
    Gone,
    /// Storage failed.
    Storage(StorageError),
}

/// A session that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) key: ObjectKey,
    /// Who described it, and its number on layers.
    source: SocketAddr,
    session: u32,
    pub(super) info: Vec<u8>,
    first: SocketAddr,
    receiver: LayeredReceiver,
    reception: Reception,
    joined: BTreeSet<SocketAddr>,
    /// What has come since the last turn: by several sockets, so not in order.
    arrivals: Vec<(Time, Header, usize)>,
    last_heard: Time,
    pub(super) end: Option<End>,
}

impl Followed {
    pub(super) fn new(
        now: Time,
        (reception, key): (Reception, ObjectKey),
        source: SocketAddr,
        (description, first): (&Description<'_>, SocketAddr),
        receiver: LayeredReceiver,
    ) -> Self {
        Self {
            key,
            source,
            session: description.session,
            info: description.info.to_vec(),
            first,
            receiver,
            reception,
            joined: BTreeSet::new(),
            arrivals: Vec::new(),
            last_heard: now,
            end: None,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.reception.shape().object()
    }

    /// It is described again. False when that is another session.
    pub(super) fn on_description(
        &mut self,
        now: Time,
        source: SocketAddr,
        description: &Description<'_>,
    ) -> bool {
        let same = self.source == source
            && self.session == description.session
            && self.reception.shape() == description.shape
            && self.info == description.info;
        if !same {
            return false;
        }
        let before = self.receiver.stats().refused;
        self.receiver.on_announcement(now, &description.header, description.announcement);
        let follows = self.receiver.stats().refused == before;
        if follows {
            self.last_heard = now;
        }
        follows
    }

    /// Whether a packet is of this session.
    pub(super) fn owns(&self, source: SocketAddr, packet: &Alc<'_>) -> bool {
        self.source == source && self.session == packet.session
    }

    /// A packet of it has come.
    pub(super) fn on_packet(
        &mut self,
        now: Time,
        packet: &Alc<'_>,
        bytes: usize,
        storage: &mut FileStorage,
    ) {
        if self.end.is_some() {
            return;
        }
        self.last_heard = self.last_heard.max(now);
        if packet.closes_session {
            self.end = Some(End::Gone);
            return;
        }
        let header = Header::from_bytes(&packet.congestion);
        self.arrivals.push((now, header, bytes));
        let symbol = Symbol { block: packet.block, id: packet.symbol };
        match self.reception.on_symbol(storage, symbol, packet.content) {
            Ok(false) => {}
            Ok(true) => self.end = Some(End::Whole),
            Err(error) => self.end = Some(End::Storage(error)),
        }
    }

    /// Tells the controller what has come, in the order in which it came.
    pub(super) fn advance(&mut self, now: Time) {
        self.arrivals.sort_by_key(|(at, ..)| *at);
        for (at, header, bytes) in self.arrivals.drain(..) {
            self.receiver.on_packet(at, &header, bytes);
        }
        self.receiver.on_timeout(now);
        if self.end.is_none() && now.since(self.last_heard) >= SILENCE {
            self.end = Some(End::Gone);
        }
    }
    pub(super) fn next_timeout(&self) -> Time {
        let silence = self.last_heard + SILENCE;
        self.receiver.next_timeout().map_or(silence, |at| at.min(silence))
    }

    /// Joins and leaves; gives what the system refused.
    pub(super) fn settle_groups(&mut self, endpoint: &mut Endpoint) -> Vec<OpenError> {
        let mut refusals = Vec::new();
        while let Some(membership) = self.receiver.poll_membership() {
            let (Membership::Join(channel) | Membership::Leave(channel)) = membership;
            // The session's own group is the node's.
            let Some(group) = packet::group_of(self.first, channel) else { continue };
            if matches!(membership, Membership::Leave(_)) {
                endpoint.leave_layer(group);
                self.joined.remove(&group);
                continue;
            }
            match endpoint.join_layer(group) {
                Ok(()) => drop(self.joined.insert(group)),
                Err(error) => refusals.push(error),
            }
        }
        refusals
    }
    /// It is over: nothing of it is wanted any more.
    pub(super) fn leave_all(&mut self, endpoint: &mut Endpoint) {
        std::mem::take(&mut self.joined).into_iter().for_each(|group| endpoint.leave_layer(group));
    }

    /// Asks for the round trip, when it is time to.
    pub(super) fn ask(&mut self, now: Time, node: NodeId, endpoint: &Endpoint) -> io::Result<()> {
        let Some(question) = self.receiver.poll_rtt_request(now) else { return Ok(()) };
        let (server_id, instance_id) = (self.key.sender, self.key.instance);
        let feedback = FeedbackFields {
            sequence: Sequence(0),
            source_id: node,
            server_id,
            instance_id,
            grtt_response: None,
        };
        let (content, extensions) = (question.to_bytes(), Extensions::default());
        let kind = AckKind::Application(RttRequest::ACK_TYPE, &content);
        let mut bytes = Vec::new();
        Ack { feedback, kind, ack_id: 0, extensions }.encode(None, None, &mut bytes);
        endpoint.send(self.source, bytes.len(), None, &bytes).map(drop)
    }

    pub(super) fn progress(&self) -> LayeredProgress {
        let stats = self.receiver.stats();
        let all = (stats.packets + stats.lost).max(1) as f64;
        let level = self.receiver.level();
        let rate = self.receiver.announcement().and_then(|announcement| announcement.layers().ok());
        let rate = rate.map_or(0.0, |layers| layers.sum(level));
        LayeredProgress {
            bytes: self.reception.bytes(),
            loss: stats.lost as f64 / all,
            overhead: self.reception.overhead(),
            level,
            rate: Bitrate::bps(rate as u64),
        }
    }
}
