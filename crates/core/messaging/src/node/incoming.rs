//! Dispatches a received datagram to the machines that it concerns.

use super::{
    GroupNode,
    encapsulation::{envelope, is_of_group, numbered},
    shorts::SHORTS_MAX,
};
use crate::{
    age,
    frames::compact_info::{self, CompactInfo, Envelope},
    frames::frame::{Frame, Sum},
    frames::nack,
    frames::slice,
    membership::members::Heard,
    membership::state::State,
    repair::demand::{Part, Piece, Wanted},
    repair::origin_timeout::OriginTimeout,
    repair::repairer::{OriginTiming, SymbolSource},
};
use fanfare_proto::{Duration, Incarnation, NodeId, ObjectKey, RecvMeta, RunSet, Storage, Time};
use fanfare_wire::{
    Cmd, Data, FecId, FieldSize, Message, ObjectFlags, ObjectTransportId, ext::Extensions,
    header::SenderFields,
};

impl GroupNode {
    /// A datagram arrived.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        meta: RecvMeta,
        datagram: &[u8],
        storage: &mut dyn Storage,
    ) {
        self.advance(now);
        let now = self.now;
        let Ok(message) = Message::parse(datagram) else {
            return self.session.handle_datagram(now, meta, datagram, storage);
        };
        let from = message.source_id();
        // What others say beside NORM at this port makes nobody a member.
        if from == NodeId::NONE {
            return;
        }
        if from == self.session.node_id() {
            return self.session.handle_datagram(now, meta, datagram, storage);
        }
        self.proactive.on_heard(now);
        self.former_ids.on_heard(from);
        let (events, stats) = (&mut self.events, &mut self.stats);
        match self.members.on_heard(now, from, events, stats) {
            Heard::First => {
                self.shorts = SHORTS_MAX;
                self.trickle.on_change(now, &mut self.rng);
                if self.config.greets {
                    self.session.sender().on_newcomer();
                }
            }
            Heard::Again => self.trickle.on_return(now, &mut self.rng),
            Heard::Still => {}
        }
        if let Some((from, numbered)) = numbered(&message) {
            self.members.on_sequence(from, numbered);
        }
        if is_of_group(&message) {
            self.members.on_group_message(from);
        }
        let frame = Frame::of(&message);
        let shared = shares_with_repairs(&message, frame.as_ref());
        self.repairer.on_arrived(now, datagram.len(), shared);
        match frame {
            None => {
                let key = key_of(&message);
                let had = key.is_some_and(|key| self.is_short(key));
                if matches!(message, Message::Info(_) | Message::Data(_)) {
                    self.flood.on_said(from, (1, datagram.len() as u64));
                }
                self.told = told_by(&message);
                self.session.handle_datagram(now, meta, datagram, storage);
                self.take_events(storage);
                self.on_message(from, &message);
                if let Some((wanted, symbol)) = piece_of(&message) {
                    self.on_term(wanted, symbol, storage);
                }
                self.pass_on_from(from, key, had);
            }
            Some((frame, extensions)) => {
                // Of a sender in view every message is counted; others are not taken for senders.
                if self.session.receiver().loss(from).is_some() {
                    self.session.handle_datagram(now, meta, datagram, storage);
                }
                if let Frame::Nack(bytes) = frame {
                    self.on_short_nack((from, bytes), meta, storage);
                    return self.take_events(storage);
                }
                self.on_frame((from, envelope(&message), &extensions), frame, storage);
            }
        }
        self.told = None;
        self.take_events(storage);
    }

    /// What a NACK in few bytes says is what the NACK would have.
    fn on_short_nack(
        &mut self,
        (from, bytes): (NodeId, &[u8]),
        meta: RecvMeta,
        storage: &mut dyn Storage,
    ) {
        let Some(nack) = nack::expand(from, bytes) else {
            self.stats.frames_refused += 1;
            return;
        };
        self.session.handle_datagram(self.now, meta, &nack, storage);
        self.take_events(storage);
        if let Ok(message) = Message::parse(&nack) {
            self.on_message(from, &message);
        }
    }

    fn on_message(&mut self, from: NodeId, message: &Message<'_>) {
        match message {
            Message::Nack(nack) => self.on_nack(nack),
            Message::Info(info) => {
                let heard = (info.object_transport_id, Part::Info, 0);
                let pass = info.extensions.turns().next().is_some();
                self.on_origin(&info.sender, (info.flags, pass), heard);
            }
            Message::Data(data) => {
                let (part, symbol) = symbol_of(data);
                let heard = (data.object_transport_id, part, symbol);
                let pass = data.extensions.turns().next().is_some();
                self.on_origin(&data.sender, (data.flags, pass), heard);
            }
            Message::Cmd(cmd) => {
                match cmd {
                    Cmd::Eot(_) => self.members.on_goodbye(self.now, from),
                    Cmd::Cc(cc) => self.note_told_rate(cc),
                    _ => {}
                }
                self.origin_incarnations(cmd.sender());
            }
            Message::Ack(_) | Message::Report(_) => {}
        }
    }

    fn origin_incarnations(&mut self, sender: &SenderFields) {
        let incarnation = (sender.source_id, sender.instance_id);
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        let origin_timeout = self.awaited(incarnation, timing);
        self.requester.on_heard(self.now, incarnation, origin_timeout);
        let deaf = self.repairer.is_deaf(incarnation);
        self.ask(incarnation, deaf);
    }

    /// Whether what is asked of an origin is answered with sums across its objects: others have to answer, and
    /// count what each lacks. Of an earlier instance of a publisher nothing is known of who misses what.
    pub(super) fn answers_with_sums(&mut self, incarnation: Incarnation) -> bool {
        let untold = self.members.has_not_told(incarnation.0) && self.repairer.is_deaf(incarnation);
        (self.members.hears_nobody(incarnation.0) || untold) && !self.is_past(incarnation)
    }

    /// How long nothing has to come of an origin before it is requested again. Who is answered with sums asks as often as
    /// while the origin speaks, which is as often as the session lets it: what it lacks may be in none of those that
    /// come, and who answers counts what each has requested.
    pub(super) fn awaited(&mut self, origin: Incarnation, timing: OriginTiming) -> Duration {
        match self.answers_with_sums(origin) {
            true => timing.window(),
            false => OriginTimeout::grace(timing.grtt, timing.backoff),
        }
    }

    /// How an origin is asked from now on: by name when others answer for it, in full when with sums across objects.
    pub(super) fn ask(&mut self, origin: Incarnation, by_name: bool) {
        let in_full = by_name && self.answers_with_sums(origin);
        self.session.receiver().request_explicitly(origin, by_name);
        self.session.receiver().ask_in_full(origin, in_full);
    }

    /// An origin's own symbol: an answer, when it was requested. One that another has overtaken comes late
    /// without a request.
    fn on_origin(
        &mut self,
        sender: &SenderFields,
        (flags, in_turn): (ObjectFlags, bool),
        (object, part, symbol): (ObjectTransportId, Part, u16),
    ) {
        self.origin_incarnations(sender);
        let key = ObjectKey { sender: sender.source_id, instance: sender.instance_id, object };
        let again = self.logs.get_mut(&key.incarnation()).is_some_and(|log| {
            let before = log.newest();
            log.on_heard(object) < before
        });
        if again && !in_turn || flags.has(ObjectFlags::REPAIR) {
            self.repairer.on_answer(self.now, key.incarnation());
        }
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        self.on_piece((key, part), &Piece::Symbol(symbol), timing, SymbolSource::Origin);
    }

    pub(super) fn on_piece(
        &mut self,
        wanted: Wanted,
        piece: &Piece,
        timing: OriginTiming,
        symbol_source: SymbolSource,
    ) {
        let asked = self.repairer.is_asked(wanted);
        let (len, whole) = match wanted.1 {
            Part::Block(block) if asked => {
                let held = self.session.receiver().held(wanted.0, block);
                held.map_or((u16::MAX, false), |held| (held.len, held.is_whole()))
            }
            _ => (1, false),
        };
        let heard = (wanted, piece, len);
        self.repairer.on_symbol(self.now, heard, symbol_source, timing, &mut self.rng);
        // Named symbols and sums come from who has no whole block: who has one has more to offer.
        let of_parts = matches!(piece, Piece::Symbol(symbol) if *symbol < len)
            || matches!(piece, Piece::Sum { .. });
        if whole && of_parts && symbol_source == SymbolSource::Repairer {
            self.repairer.on_whole(self.now, wanted, timing, &mut self.rng);
        }
    }

    fn on_frame(
        &mut self,
        (from, envelope, extensions): (NodeId, Envelope, &Extensions<'_>),
        frame: Frame<'_>,
        storage: &mut dyn Storage,
    ) {
        match frame {
            Frame::Repair(message) => {
                let key = key_of(&message);
                let had = key.is_some_and(|key| self.is_short(key));
                self.told = told_by(&message);
                self.on_repair(&message, storage);
                self.pass_on_from(from, key, had);
            }
            Frame::CompactInfo(bytes) => {
                let known = &mut |reference| self.referred(reference);
                let Some(compacts) = compact_info::parse(envelope, known, bytes) else {
                    self.stats.frames_refused += 1;
                    return;
                };
                for (which, compact) in compacts.iter().enumerate() {
                    let Some(compact) = compact else {
                        self.stats.topics_unknown += 1;
                        continue;
                    };
                    self.told = Some((compact.key(), age::told(extensions, which)));
                    self.on_compact(from, compact, storage);
                }
            }
            Frame::State(bytes) => match State::parse(bytes, &mut |node| self.summary_of(node)) {
                Some(state) => {
                    self.on_former_ids(from, extensions, &state);
                    self.on_state(from, &state, extensions, storage);
                }
                None => self.stats.frames_refused += 1,
            },
            Frame::Sum(sum) => self.on_sum(from, &sum, storage),
            Frame::CodedPacket(coded) => self.on_coded(from, (&coded, extensions), storage),
            Frame::Note(bytes) => self.on_note(from, bytes),
            Frame::Nack(_) | Frame::Unknown => self.stats.frames_refused += 1,
        }
    }

    /// True if what others tell of this publisher is heeded. With one source alone it is only where the publisher is
    /// heard itself, or was somebody before who is heard.
    pub(super) fn heeds(&self, publisher: NodeId) -> bool {
        let is_heard = || self.members.knows(publisher) || self.earlier_lives.contains(&publisher);
        !self.config.one_source || is_heard()
    }

    /// Somebody answers for an origin.
    fn on_repair(&mut self, message: &Message<'_>, storage: &mut dyn Storage) {
        self.stats.repairs_heard += 1;
        let Some(sender) = sender_of(message) else { return };
        let Some((wanted, symbol)) = piece_of(message) else { return };
        if sender.source_id == self.session.node_id() {
            return self.on_own_repaired(wanted, Some(symbol));
        }
        if !self.heeds(sender.source_id) {
            return;
        }
        let new = self.session.receiver().accept(self.now, message, storage);
        self.take_events(storage);
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        self.on_reported((wanted, &Piece::Symbol(symbol)), (timing, SymbolSource::Repairer), new);
        self.on_term(wanted, symbol, storage);
    }

    /// Somebody answers for this node itself; plain NORM nodes, which may be who asked, read none of it.
    fn on_own_repaired(&mut self, (key, part): Wanted, symbol: Option<u16>) {
        let own = key.incarnation() == self.own_incarnation()
            && self.logs.contains_key(&key.incarnation());
        if !own || !self.members.are_in_group() {
            return;
        }
        match part {
            Part::Block(block) => self.session.sender().on_repaired(key.object, block, symbol),
            Part::Info => self.session.sender().on_info_repaired(key.object),
        }
    }

    /// Somebody answers for an origin with all that it holds of a block.
    fn on_sum(&mut self, from: NodeId, sum: &Sum<'_>, storage: &mut dyn Storage) {
        self.stats.repairs_heard += 1;
        let sender = &sum.data.sender;
        if sender.source_id == self.session.node_id() {
            let key = ObjectKey {
                sender: sender.source_id,
                instance: sender.instance_id,
                object: sum.data.object_transport_id,
            };
            return self.on_own_repaired((key, symbol_of(&sum.data).0), None);
        }
        if !self.heeds(sender.source_id) {
            return;
        }
        let told = (&sum.data, &sum.of);
        let new = self.session.receiver().accept_combination(self.now, told, storage);
        self.take_events(storage);
        let timing = self.timing_of(sender.grtt, sender.backoff, sender.gsize);
        let (sender, instance) = (sender.source_id, sender.instance_id);
        let key = ObjectKey { sender, instance, object: sum.data.object_transport_id };
        let mut of = RunSet::default();
        sum.of.symbols.iter().for_each(|&s| of.insert(u64::from(s), u64::from(s) + 1));
        let (Part::Block(block), _) = symbol_of(&sum.data) else { return };
        let before = sum.of.seed.wrapping_sub(slice::seed(from, key, block));
        let piece = Piece::Sum { seed: sum.of.seed, before, of };
        self.on_reported(
            ((key, Part::Block(block)), &piece),
            (timing, SymbolSource::Repairer),
            new,
        );
    }

    /// Somebody tells a short message of an origin.
    fn on_compact(&mut self, from: NodeId, compact: &CompactInfo, storage: &mut dyn Storage) {
        self.stats.repairs_heard += 1;
        let summary = &compact.summary;
        let key = compact.key();
        if summary.sender == self.session.node_id() {
            // What is forwarded without a request is for others than who asks.
            if compact.asked {
                self.on_own_repaired((key, Part::Info), None);
            }
            return;
        }
        if !self.heeds(summary.sender) {
            return;
        }
        let had = self.is_short(key);
        let timing = self.timing_of(summary.grtt, summary.backoff, summary.gsize);
        let symbol_source =
            if compact.asked { SymbolSource::Repairer } else { SymbolSource::Relay };
        let Some(info) = self.told_info(compact, storage) else {
            // Others may have got it.
            let heard = ((key, Part::Info), &Piece::Symbol(0));
            return self.on_reported(heard, (timing, symbol_source), false);
        };
        let new = self.session.receiver().accept_info(self.now, summary, &info, storage);
        self.take_events(storage);
        self.on_reported(((key, Part::Info), &Piece::Symbol(0)), (timing, symbol_source), new);
        self.on_term((key, Part::Info), 0, storage);
        self.pass_on_from(from, Some(key), had);
    }

    /// Something of an origin was heard from another node.
    fn on_reported(
        &mut self,
        (wanted, piece): (Wanted, &Piece),
        (timing, symbol_source): (OriginTiming, SymbolSource),
        new: bool,
    ) {
        let origin = wanted.0.incarnation();
        self.on_piece(wanted, piece, timing, symbol_source);
        let deaf = self.repairer.is_deaf(origin) || self.requester.is_silent(self.now, origin);
        self.ask(origin, deaf);
        if new {
            self.stats.repairs_useful += 1;
            let origin_timeout = self.awaited(origin, timing);
            self.requester.on_progress(self.now, origin, origin_timeout);
        }
        let answers = deaf && symbol_source == SymbolSource::Repairer;
        if answers && self.config.in_order && self.requester.asks_before(self.now, origin) {
            self.session.receiver().ask_before(self.now, wanted.0);
        }
    }
}

/// Whose NORM_INFO it is.
fn key_of(message: &Message<'_>) -> Option<ObjectKey> {
    let Message::Info(info) = message else { return None };
    let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
    Some(ObjectKey { sender, instance, object: info.object_transport_id })
}

/// What of which object it brings.
fn piece_of(message: &Message<'_>) -> Option<(Wanted, u16)> {
    let (sender, object, part, symbol) = match message {
        Message::Info(info) => (&info.sender, info.object_transport_id, Part::Info, 0),
        Message::Data(data) => {
            let (part, symbol) = symbol_of(data);
            (&data.sender, data.object_transport_id, part, symbol)
        }
        _ => return None,
    };
    let key = ObjectKey { sender: sender.source_id, instance: sender.instance_id, object };
    Some(((key, part), symbol))
}

/// What a NORM_INFO says of its age.
fn told_by(message: &Message<'_>) -> Option<(ObjectKey, Duration)> {
    let Message::Info(info) = message else { return None };
    Some((key_of(message)?, age::told(&info.extensions, 0)))
}

/// What a message says of its sender, if it comes from one as such.
fn sender_of<'a>(message: &'a Message<'_>) -> Option<&'a SenderFields> {
    match message {
        Message::Info(info) => Some(&info.sender),
        Message::Data(data) => Some(&data.sender),
        Message::Cmd(cmd) => Some(cmd.sender()),
        Message::Nack(_) | Message::Ack(_) | Message::Report(_) => None,
    }
}

/// Whether what arrived is a request, or another node's repair: they and what is repaired here share a part of
/// the medium.
fn shares_with_repairs(message: &Message<'_>, frame: Option<&(Frame<'_>, Extensions<'_>)>) -> bool {
    match frame {
        None => matches!(message, Message::Nack(_)),
        Some((frame, _)) => match frame {
            Frame::Repair(_) | Frame::CompactInfo(_) | Frame::Sum(_) => true,
            Frame::CodedPacket(_) | Frame::Nack(_) => true,
            Frame::State(_) | Frame::Note(_) | Frame::Unknown => false,
        },
    }
}

/// Which symbol a NORM_DATA has. Encoding id 2 cannot be read without its field: NRL's receivers take
/// GF(2^16) where nothing says so.
pub(super) fn symbol_of(data: &Data<'_>) -> (Part, u16) {
    let fec_id = data.payload_id.fec_id;
    let unknown = match fec_id {
        FecId::ReedSolomonM => FieldSize::M16,
        FecId::ReedSolomon8 | FecId::SmallBlockSystematic => FieldSize::M8,
    };
    let field = data.extensions.fti(fec_id).map_or(unknown, |fti| fti.field);
    let id = data.payload_id.unpack(field);
    (Part::Block(id.block.0), id.symbol.0)
}
