//! What to send next, and when to wake.

use super::{GroupNode, requests::asked_of, timing_of};
use crate::{
    cache::Cached,
    frames::frame::{Kind, Sum},
    repair::demand::{Part, Piece, Wanted},
};
use alloc::vec::Vec;
use core::cmp::Reverse;
use fanfare_proto::{Bitrate, Destination, Retransmission, Storage, Time, Timer, Transmit};
use fanfare_wire::{Cmd, Message, cmd::Cc, ext::Extensions};

/// Why a node wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wake {
    /// The session does.
    Session(Timer),
    /// To answer for an origin.
    Repair,
    /// To forward a message.
    Relay,
    /// To send a sum over its own messages, ahead or to who asked.
    Ahead,
    /// To say what it holds.
    Announce,
    /// To request an origin that says nothing.
    Ask,
    /// Something kept is too old.
    Cache,
    /// Somebody may have left.
    Members,
    /// Something has not come in time.
    Deadline,
    /// The monitor has something to say, or looks at what it knows.
    Note,
}

impl GroupNode {
    /// The time that [`Self::poll_timeout`] named has come. Calling it early or late does no harm.
    pub fn handle_timeout(&mut self, now: Time, storage: &mut dyn Storage) {
        self.advance(now);
        let now = self.now;
        self.count_few();
        self.session.handle_timeout(now, storage);
        for key in self.publisher.expire(now) {
            self.stats.expired += 1;
            self.session.sender().cancel(key.object);
        }
        let gone = self.cache.expire(now);
        self.stats.expired += gone.len() as u64;
        for (key, index) in &gone {
            // Of long ago the same id is another object's by now.
            let named = self
                .logs
                .get(&key.incarnation())
                .is_some_and(|log| log.index(key.object) == *index);
            if named {
                self.session.receiver().cancel(*key, storage);
            }
            self.settle_at(*key, *index);
        }
        self.on_gone(gone);
        self.take_events(storage);
        self.watch_itself();
        for node in self.members.on_timeout(now, &mut self.events) {
            self.holders.on_left(node);
        }
        while let Some(&(at, key)) = self.give_ups.first().filter(|(at, _)| *at <= now) {
            self.give_ups.remove(&(at, key));
            self.give_up(key);
        }
        if self.delivery.asks() && !self.config.silent {
            while let Some(incarnation) = self.requester.poll(now) {
                self.ask(incarnation, true);
                if !self.session.receiver().ask(now, incarnation) {
                    self.requester.rest(incarnation);
                }
            }
        }
        self.take_events(storage);
    }

    /// It is not here in time: it is taken if it still comes, but not requested.
    pub(super) fn give_up(&mut self, key: fanfare_proto::ObjectKey) {
        let late = self
            .logs
            .get(&key.incarnation())
            .is_some_and(|log| !log.is_settled(log.index(key.object)));
        if late {
            self.session.receiver().examine(self.now, key, true);
            self.settle(key);
            self.hand_over();
        }
    }

    /// Fills `buf` (cleared first) with up to `max_datagrams` datagrams that may go now.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        max_datagrams: usize,
        buf: &mut Vec<u8>,
        storage: &mut dyn Storage,
    ) -> Option<Transmit> {
        self.advance(now);
        buf.clear();
        self.close_round();
        if !self.config.silent
            && (self.poll_answer(buf, storage)
                || self.poll_compact(buf)
                || self.poll_repair(buf, storage)
                || self.poll_coded(buf, storage)
                || self.poll_state(buf)
                || self.poll_note(buf)
                || self.poll_proactive(buf, storage))
        {
            let destination = Destination::Group;
            return Some(Transmit { destination, segment_size: buf.len(), ecn: None });
        }
        let transmit = self.session.poll_transmit(self.now, max_datagrams, buf, storage);
        if let Some(Transmit { segment_size, .. }) = transmit {
            let datagrams = buf.len().div_ceil(segment_size.max(1)) as u64;
            self.flood.on_said(self.session.node_id(), (datagrams, buf.len() as u64));
        }
        let shortened = self.note_own(buf);
        self.take_events(storage);
        let Some(shortened) = shortened else { return transmit };
        self.spared += buf.len().saturating_sub(shortened.len()) as u64;
        *buf = shortened;
        transmit.map(|transmit| Transmit { segment_size: buf.len(), ..transmit })
    }

    /// Looks at what the session sends. Gives what is to be sent in its place.
    fn note_own(&mut self, buf: &[u8]) -> Option<Vec<u8>> {
        let nack = match Message::parse(buf) {
            Ok(Message::Nack(nack)) => nack,
            Ok(Message::Cmd(Cmd::Cc(cc))) => {
                self.note_told_rate(&cc);
                return None;
            }
            _ => return None,
        };
        let incarnation = asked_of(&nack);
        let timing = self.timing_in(incarnation);
        self.repairer.on_own_request(self.now, incarnation, timing);
        self.own_nack(&nack)
    }

    /// A publisher's rate is what its controller has found, and so says what the medium carries.
    pub(super) fn note_told_rate(&mut self, cc: &Cc<'_>) {
        if let Some(told) = cc.extensions.rate() {
            let rate = Bitrate::from_bytes_per_second(told.rate.to_bytes_per_second());
            self.repairer.on_told_rate(self.now, rate);
        }
    }

    fn poll_repair(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        while self.repairer.may_send(self.now)
            && let Some((wanted, piece, len)) = self.next_repair()
        {
            if self.write_repair(wanted, &piece, (buf, storage)) {
                self.stats.sums_sent += u64::from(matches!(piece, Piece::Sum { .. }));
                self.stats.repairs_sent += 1;
                self.stats.repair_frames_sent += 1;
                self.stats.repair_bytes_sent += buf.len() as u64;
                let timing = self.timing_in(wanted.0.incarnation());
                let sent = (wanted, &piece, len);
                self.repairer.on_sent(self.now, sent, buf.len(), (timing, &mut self.rng));
                return true;
            }
            buf.clear();
            self.repairer.give_up(wanted);
        }
        false
    }

    pub(super) fn next_repair(&mut self) -> Option<(Wanted, Piece, u16)> {
        let Self { session, cache, repairer, members, rng, config, .. } = self;
        let receiver = session.receiver();
        let oldest = |cached: &Cached| Reverse(if config.in_order { cached.index } else { 0 });
        let rank = |key| cache.get(key).map(|cached| (cached.priority(), oldest(cached)));
        let timing = |incarnation| timing_of(receiver.summary(incarnation), members.len());
        repairer.poll(self.now, timing, |key, block| receiver.held(key, block), rank, rng)
    }

    pub(super) fn write_repair(
        &mut self,
        (key, part): Wanted,
        piece: &Piece,
        (buf, storage): (&mut Vec<u8>, &mut dyn Storage),
    ) -> bool {
        let Some(cached) = self.cache.get(key) else { return false };
        let has_info = cached.has_info;
        let kind = if matches!(piece, Piece::Sum { .. }) { Kind::Sum } else { Kind::Repair };
        let mut content = Vec::new();
        let retransmission = match (part, &cached.info, piece) {
            (Part::Info, Some(content), _) => {
                Retransmission::Info { content, age: cached.age().at(self.now) }
            }
            (Part::Info, None, _) => return false,
            (Part::Block(block), _, &Piece::Symbol(symbol)) => {
                Retransmission::Symbol { block, symbol, has_info }
            }
            (Part::Block(block), _, Piece::Sum { seed, of, .. }) => {
                Sum::append(*seed, of, &mut content);
                Retransmission::Sum { block, seed: *seed, has_info }
            }
        };
        if !self.session.receiver().retransmit(key, retransmission, storage, &mut content) {
            return false;
        }
        let kind = (kind, Extensions::default());
        self.write_frame(kind, |_, out| out.extend_from_slice(&content), buf);
        true
    }

    /// When to call [`Self::handle_timeout`] (and [`Self::poll_transmit`]) next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Time, Wake)> {
        let session = self.session.poll_timeout().map(|(at, why)| (at, Wake::Session(why)));
        let (speaks, asks) = (!self.config.silent, self.delivery.asks());
        let pool = self.pools.next_timeout().map(|due| due.max(self.repairer.next_allowed()));
        let repair = self.repairer.next_timeout().into_iter().chain(pool).min();
        let repair = repair.filter(|_| speaks);
        let relay = self.relay.next_timeout().filter(|_| speaks);
        let relay = relay.map(|due| due.max(self.repairer.next_allowed()));
        let announce = (speaks && self.config.announces).then(|| self.trickle.next_timeout());
        let ahead = self.next_proactive().into_iter().chain(self.next_answer()).min();
        let ask = self.requester.next_timeout().filter(|_| speaks && asks);
        let deadline = self.give_ups.first().map(|(at, _)| *at);
        let note = self.next_note().filter(|_| speaks);
        let others = [
            (repair, Wake::Repair),
            (relay, Wake::Relay),
            (ahead.filter(|_| speaks), Wake::Ahead),
            (announce, Wake::Announce),
            (ask, Wake::Ask),
            (self.cache.next_timeout(), Wake::Cache),
            (self.publisher.next_timeout(), Wake::Cache),
            (self.members.next_timeout(), Wake::Members),
            (deadline, Wake::Deadline),
            (note, Wake::Note),
        ];
        let others = others.into_iter().filter_map(|(at, why)| Some((at?, why)));
        others.chain(session).min()
    }
}
