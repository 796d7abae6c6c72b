//! Routing: by which way a sender is heard, to which sides it is passed on, and by which of several relays.
//! It knows this from hellos, and from what others are heard to pass on.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_wire::header::SenderFields;

use super::{Relay, SILENCE, SOURCES_MAX};
use crate::{
    config::{Event, Outgoing},
    hello::{HOPS_MAX, Hello, Way},
    side::{From, Side, To},
    source::{LEASE, Source},
};

/// Between two hellos.
const HELLO: Duration = Duration::from_secs(1);
/// For so long after its start it passes nothing on to islands: relays that are there answer its first hello,
/// and go on. What comes meanwhile is kept.
const LISTENS: Duration = Duration::from_millis(200);

impl Relay {
    pub(super) fn on_hello(&mut self, now: Duration, from: From, hello: Hello) {
        if hello.relay == self.config.id {
            return;
        }
        let address = from.address.ip();
        for (sender, source) in &mut self.sources {
            if hello.way_of(*sender).is_none() {
                source.turns().for_each(|turn| turn.on_unheard(now, address));
            }
        }
        if self.neighbours.at(now, address).is_none() {
            // It is new, and should know who is here before it speaks.
            self.next_hello = now;
        }
        if self.peer(from.address).is_some()
            && !hello.shares(&self.config.groups)
            && !self.apart.contains(&address)
        {
            self.apart.insert(address);
            self.events.push_back(Event::Apart(from.address));
        }
        if !from.multicast && self.peer(from.address).is_some() {
            self.spoken.insert(address, from.address);
        }
        self.neighbours.on_hello(now, from, hello);
    }

    /// True if the relay there has joined none of the groups of this one: the two have nothing to do with
    /// each other.
    pub(super) fn is_apart(&self, now: Duration, address: IpAddr) -> bool {
        let hello = self.neighbours.at(now, address);
        hello.is_some_and(|hello| !hello.shares(&self.config.groups))
    }

    pub(super) fn say_hello(&mut self, now: Duration) {
        self.next_hello = now + HELLO;
        let id = self.config.id;
        let heard = |source: &&Source| now.saturating_sub(source.heard) < SILENCE;
        let ways =
            self.sources.iter().filter(|(_, source)| heard(source)).map(|(sender, source)| {
                let mut relays = self.neighbours.way(now, *sender, source.address().ip());
                relays.push(id);
                let fresh = now.saturating_sub(source.heard) < LEASE;
                Way { sender: *sender, fresh, serves: source.serves(), relays }
            });
        let groups = self.config.groups.clone();
        let bytes = Hello { relay: id, ways: ways.collect(), groups }.encode();
        for side in self.sides() {
            match side {
                // It comes ahead of the data, by the same way; and to the port that was named, as the
                // relay may have been started anew, and speak from another one.
                Side::Peer(peer) => {
                    let Some(named) = self.config.peers.get(peer).copied() else { continue };
                    let own = self.spoken.get(&named.ip()).copied().filter(|own| *own != named);
                    for address in own.into_iter().chain([named]) {
                        let to = To::Address(0, address);
                        self.push(Outgoing { to, bytes: bytes.clone(), member: None });
                    }
                }
                _ => self.send(side, bytes.clone()),
            }
        }
    }

    /// Whether a sender is heard by this way and no other. It is noted when it is new.
    pub(super) fn is_known(
        &mut self,
        now: Duration,
        (side, from): (Side, From),
        (fields, header): (SenderFields, [u8; 12]),
    ) -> bool {
        let sender = fields.source_id.0;
        let way = self.neighbours.way(now, sender, from.address.ip());
        if way.contains(&self.config.id) || way.len() >= HOPS_MAX {
            self.counts.elsewhere += 1;
            if !self.looped.contains(&sender) && self.looped.len() < SOURCES_MAX {
                self.looped.push(sender);
                self.events.push_back(Event::Loop { sender, address: from.address });
            }
            return false;
        }
        if !self.sources.contains_key(&sender) {
            if self.sources.len() >= SOURCES_MAX {
                self.counts.dropped += 1;
                return false;
            }
            let mut source = Source::new(now, (side, from), (fields, header));
            for group in 0..self.config.groups.len() {
                let before = self.neighbours.before(now, (group, sender), self.config.id);
                let other = before.filter(|_| side != Side::Group(group));
                other.into_iter().for_each(|at| source.turn(Side::Group(group)).leave_to(now, at));
            }
            self.sources.insert(sender, source);
            self.events.push_back(Event::Source { sender, side, address: from.address });
            // Others are to know the way before the first message comes by it.
            self.say_hello(now);
        }
        let Some(source) = self.sources.get_mut(&sender) else { return false };
        let mut accepted = source.accepts(now, side, from);
        if !accepted && side != source.side {
            // Fewer relays are between: so a relay that stands by hears it first-hand, and keeps it.
            let present = self.neighbours.way(now, sender, source.address().ip());
            accepted = way.len() < present.len();
            if accepted {
                let (before, address) = (source.side, source.address());
                source.move_to(now, side, from);
                // Whom it was heard from so far goes on there.
                if matches!(before, Side::Group(_))
                    && source.turn(before).on_other(now, address.ip(), true)
                {
                    self.events.push_back(Event::StandBy { sender, side: before, address });
                }
            }
        }
        if !accepted {
            self.counts.elsewhere += 1;
            self.on_elsewhere(now, sender, side, from.address);
        }
        accepted
    }

    /// Somebody else has sent what this sender says to a side.
    pub(super) fn on_elsewhere(
        &mut self,
        now: Duration,
        sender: u32,
        side: Side,
        address: SocketAddr,
    ) {
        let id = self.config.id;
        let relay = self.neighbours.at(now, address.ip());
        // Where two relays speak the one with the lower number goes on. Who is no relay is the sender itself:
        // it needs none there.
        let first = relay.is_none_or(|one| one.relay < id);
        let Some(source) = self.sources.get_mut(&sender) else { return };
        if side == source.side || !matches!(side, Side::Group(_)) {
            return;
        }
        if source.turn(side).on_other(now, address.ip(), first) {
            self.events.push_back(Event::StandBy { sender, side, address });
        }
    }

    /// Sides that this sender's messages go to.
    fn targets(&self, now: Duration, sender: u32) -> Vec<Side> {
        let Some(source) = self.sources.get(&sender) else { return Vec::new() };
        let has_it = |side: &Side| match side {
            Side::Peer(peer) => self.config.peers.get(*peer).is_some_and(|peer| {
                self.is_apart(now, peer.ip())
                    || self.neighbours.has_it(now, sender, peer.ip(), self.config.id)
            }),
            _ => false,
        };
        self.sides().filter(|side| *side != source.side).filter(|side| !has_it(side)).collect()
    }

    /// Those of them that this relay serves. `wanted`: members may need what is passed on now.
    pub(super) fn served(&mut self, now: Duration, sender: u32, wanted: bool) -> Vec<Side> {
        let mut sides = self.targets(now, sender);
        let Some(source) = self.sources.get_mut(&sender) else { return Vec::new() };
        sides.retain(|side| match wanted {
            true if matches!(side, Side::Group(_)) && now < LISTENS => false,
            true => source.turn(*side).takes(now),
            false => !source.is_served(*side),
        });
        sides
    }

    /// All sides that something is said to.
    fn sides(&self) -> impl Iterator<Item = Side> + use<> {
        let groups = (0..self.config.groups.len()).map(Side::Group);
        groups.chain((0..self.config.peers.len()).map(Side::Peer))
    }
}
