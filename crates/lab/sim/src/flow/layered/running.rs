//! A running layered session.

use std::rc::Rc;

use fanfare_proto::{
    Duration, Time,
    congestion::layered::{
        GroupRange, Header, LayeredReceiver, LayeredSource, LayeredStats, Layers, Membership,
        ObjectAssembly, Outgoing, Placement, RttRequest, Symbol, Symbols,
    },
    rng::Rng,
};

use super::{LayeredFlow, LayeredReport};
use crate::{
    fabric::ChannelId,
    packet::{FlowId, Packet, Payload, Target},
    place::PlaceNumber,
    results::series::Series,
};

/// Keeps the chance of sessions apart from each other and from that of flows.
const SESSION_SEED: u64 = 0xd6e8_feb8_6659_fd93;
/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Bytes of a question on the wire: headers and two numbers.
const QUESTION_BYTES: usize = HEADERS + 8;
/// Packets at one time: more is a source that never has enough.
const STORM_PACKETS: usize = 100_000;

/// Who of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Participant {
    Source,
    Receiver(usize),
}

/// What its packets carry.
#[derive(Debug)]
enum Content {
    Announcement(Header, Vec<u8>),
    Data(Header, Option<Symbol>),
    RttRequest(RttRequest),
}

#[derive(Debug)]
struct Receiving {
    place: PlaceNumber,
    machine: Option<LayeredReceiver>,
    assembly: Option<ObjectAssembly>,
    planned: Option<Time>,
    report: LayeredReport,
}

/// A session of a run.
#[derive(Debug)]
pub(crate) struct LayeredRunning {
    number: u16,
    flow: LayeredFlow,
    seed: u64,
    place: PlaceNumber,
    layers: Layers,
    source: Option<LayeredSource>,
    symbols: Option<Symbols>,
    planned: Option<Time>,
    receivers: Vec<Receiving>,
}

/// What a party wants of the network.
#[derive(Debug, Default)]
pub(crate) struct Actions {
    pub(crate) packets: Vec<Packet>,
    /// Place, group, whether to join it.
    pub(crate) memberships: Vec<(PlaceNumber, ChannelId, bool)>,
    /// When the party is to be woken.
    pub(crate) wake: Option<Time>,
}

impl Receiving {
    fn on_symbol(&mut self, now: Time, symbol: Symbol) {
        let Some(assembly) = &mut self.assembly else { return };
        // One more than its symbols decodes 9,999 blocks in 10,000.
        if let Placement::Decodable(place) = assembly.on_symbol(symbol)
            && place >= assembly.symbols(symbol.block)
        {
            assembly.on_decoded(symbol.block);
        }
        if assembly.is_whole() && self.report.whole.is_none() {
            self.report.whole = Some((now, assembly.overhead()));
            self.report.stats =
                self.machine.as_ref().map(LayeredReceiver::stats).unwrap_or_default();
        }
    }
}

impl LayeredRunning {
    /// # Panics
    /// When its layers are such as no session may have.
    pub(crate) fn new(
        number: u16,
        flow: &LayeredFlow,
        (place, places): (PlaceNumber, Vec<PlaceNumber>),
        seed: u64,
    ) -> Self {
        let layers = flow.scheme.layers();
        let layers = layers.unwrap_or_else(|why| panic!("session {number}: layers: {why:?}"));
        let receiving = |(place, (at, _)): (PlaceNumber, &(_, Duration))| {
            let (levels, stats) = (Vec::new(), LayeredStats::default());
            let report = LayeredReport {
                place: *at,
                began: Time::ZERO,
                interval: flow.interval,
                received: Series::default(),
                packets: Series::default(),
                lost: Series::default(),
                levels,
                layers: layers.clone(),
                whole: None,
                stats,
            };
            let assembly = flow.object.map(ObjectAssembly::new);
            Receiving { place, machine: None, assembly, planned: None, report }
        };
        let receivers = places.into_iter().zip(&flow.to).map(receiving).collect();
        Self {
            number,
            seed: seed ^ (u64::from(number) + 1).wrapping_mul(SESSION_SEED),
            place,
            symbols: flow.object.map(|shape| Symbols::new(shape.blocks(), layers.count())),
            layers,
            source: None,
            planned: None,
            receivers,
            flow: flow.clone(),
        }
    }

    /// Who begins when.
    pub(crate) fn beginnings(&self) -> Vec<(Duration, Participant)> {
        let mut rng = Rng::new(self.seed);
        let receiver = |(number, (_, at)): (usize, &(_, Duration))| {
            (*at + self.flow.spread.mul_f64(rng.unit()), Participant::Receiver(number))
        };
        let receivers = self.flow.to.iter().enumerate().map(receiver);
        core::iter::once((self.flow.during.start, Participant::Source)).chain(receivers).collect()
    }

    pub(crate) fn start(&mut self, now: Time, party: Participant) {
        match party {
            Participant::Source => {
                self.source = LayeredSource::new(self.flow.source(), self.seed, now).ok();
            }
            Participant::Receiver(number) => {
                let receiver = &mut self.receivers[number];
                let seed = self.seed.wrapping_add(1 + number as u64);
                let first = self.flow.source().group.ip();
                let allowed = GroupRange { first, count: 256 };
                receiver.machine = Some(LayeredReceiver::new(self.flow.control, allowed, seed));
                receiver.report.began = now;
            }
        }
    }

    /// One of its packets arrives; gives who is to be asked what it wants.
    pub(crate) fn on_packet(
        &mut self,
        now: Time,
        at: PlaceNumber,
        packet: &Packet,
    ) -> Option<Participant> {
        let Payload::Background(content) = &packet.payload else { return None };
        let content = content.downcast_ref::<Content>()?;
        if let Content::RttRequest(question) = content {
            self.source.as_mut()?.on_rtt_request(now, *question);
            return Some(Participant::Source);
        }
        let number = self.receivers.iter().position(|receiver| receiver.place == at)?;
        let receiver = &mut self.receivers[number];
        let machine = receiver.machine.as_mut()?;
        match content {
            Content::Announcement(header, bytes) => machine.on_announcement(now, header, bytes),
            Content::Data(header, symbol) => {
                let report = &mut receiver.report;
                report.received.add(now, packet.bytes as u64);
                let before = machine.stats();
                machine.on_packet(now, header, packet.bytes);
                let after = machine.stats();
                report.packets.add(now, after.packets - before.packets);
                report.lost.add(now, after.lost - before.lost);
                symbol.iter().for_each(|symbol| receiver.on_symbol(now, *symbol));
            }
            Content::RttRequest(_) => {}
        }
        Some(Participant::Receiver(number))
    }

    /// The time that a party was to be woken at has come.
    pub(crate) fn on_wake(&mut self, now: Time, party: Participant) {
        let planned = match party {
            Participant::Source => &mut self.planned,
            Participant::Receiver(number) => &mut self.receivers[number].planned,
        };
        if *planned == Some(now) {
            *planned = None;
        }
        if let Participant::Receiver(number) = party
            && let Some(machine) = &mut self.receivers[number].machine
            && machine.next_timeout().is_some_and(|at| at <= now)
        {
            machine.on_timeout(now);
        }
    }

    /// What a party wants now.
    pub(crate) fn drain(&mut self, now: Time, party: Participant) -> Actions {
        match party {
            Participant::Source => self.drain_source(now),
            Participant::Receiver(number) => self.drain_receiver(now, number),
        }
    }

    fn drain_source(&mut self, now: Time) -> Actions {
        let mut actions = Actions::default();
        let (end, packet) = (Time::ZERO + self.flow.during.end, usize::from(self.flow.packet));
        let Some(source) = self.source.as_mut().filter(|_| now < end) else { return actions };
        while let Some((channel, outgoing)) = source.poll_packet(now) {
            let (bytes, content) = match outgoing {
                Outgoing::Data(header) => {
                    let layer = usize::from(header.layer);
                    let symbol = self.symbols.as_mut().map(|symbols| symbols.next(layer));
                    (packet, Content::Data(header, symbol))
                }
                Outgoing::Announcement(header, announcement) => {
                    let mut bytes = Vec::new();
                    announcement.encode(&mut bytes);
                    (bytes.len() + HEADERS, Content::Announcement(header, bytes))
                }
            };
            let id = ChannelId { session: self.number, channel: channel.0 };
            let target = Target::Channel(id);
            actions.packets.push(packet_of(self.number, now, (self.place, target), bytes, content));
            assert!(
                actions.packets.len() < STORM_PACKETS,
                "session {} sends without end",
                self.number
            );
        }
        actions.wake = wake(now, Some(source.next_timeout()), &mut self.planned);
        actions
    }

    fn drain_receiver(&mut self, now: Time, number: usize) -> Actions {
        let mut actions = Actions::default();
        let receiver = &mut self.receivers[number];
        let id = |channel: u8| ChannelId { session: self.number, channel };
        if receiver.report.whole.is_some() && receiver.machine.take().is_some() {
            // Dynamic layers may be on any channel.
            let quiet = self.flow.control.send_pattern().quiet_slots();
            let all = 0..=self.layers.count() as u8 + quiet;
            actions.memberships.extend(all.map(|channel| (receiver.place, id(channel), false)));
            receiver.report.levels.push((now, 0, 0.0));
        }
        let Some(machine) = &mut receiver.machine else { return actions };
        while let Some(membership) = machine.poll_membership() {
            actions.memberships.push(match membership {
                Membership::Join(channel) => (receiver.place, id(channel.0), true),
                Membership::Leave(channel) => (receiver.place, id(channel.0), false),
            });
        }
        while let Some(question) = machine.poll_rtt_request(now) {
            let way = (receiver.place, Target::Place(self.place));
            let content = Content::RttRequest(question);
            actions.packets.push(packet_of(self.number, now, way, QUESTION_BYTES, content));
        }
        let level = machine.level();
        if receiver.report.levels.last().map_or(0, |(_, last, _)| *last) != level {
            receiver.report.levels.push((now, level, self.layers.sum(level)));
        }
        actions.wake = wake(now, machine.next_timeout(), &mut receiver.planned);
        actions
    }

    pub(crate) fn into_reports(self) -> impl Iterator<Item = LayeredReport> {
        self.receivers.into_iter().map(|receiver| {
            let stats = receiver.machine.map(|machine| machine.stats());
            LayeredReport { stats: stats.unwrap_or(receiver.report.stats), ..receiver.report }
        })
    }
}

/// A wake, unless an earlier one is on the agenda already.
fn wake(now: Time, at: Option<Time>, planned: &mut Option<Time>) -> Option<Time> {
    let at = at.filter(|at| *at < Time::FAR_FUTURE)?.max(now);
    let earlier = planned.is_none_or(|planned| at < planned);
    earlier.then(|| *planned = Some(at)).map(|()| at)
}

fn packet_of(
    session: u16,
    now: Time,
    (source, target): (PlaceNumber, Target),
    bytes: usize,
    content: Content,
) -> Packet {
    Packet {
        flow: FlowId::Layered(session),
        bytes,
        ecn: None,
        entered: now,
        source,
        before_air: source,
        target,
        payload: Payload::Background(Rc::new(content)),
    }
}
