//! A relay on real sockets: one thread, a pair of sockets for each group.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use fanfare_node::{
    Clock, JoinError, Network, Sealed,
    proto::Time,
    random_id,
    serve::{self, AdmittedPath, CallGreeter, JoinedSession, MemberReply, SocketDoor},
};
use fanfare_udp::{Endpoint, EndpointConfig, Role, Via};

use crate::{
    config::{Config, Event, Outgoing},
    layers::Membership,
    relay::Relay,
    side::{From, To},
};

/// Members that speak from one port: senders know sixteen of one address and port.
const MEMBERS_PER_PORT: usize = 15;
/// Ports at most, for each group: 15,000 members.
const PORTS_MAX: usize = 1000;
/// With several groups each is looked at so often.
const TURN: Duration = Duration::from_millis(1);
/// How long a full socket is waited for, before what it should take is dropped: it is asked for again.
const SPACE_WAIT: Duration = Duration::from_millis(20);
/// Messages that go out in one call, at most.
const BATCH: usize = 40;

/// The sockets of one group.
struct Leg {
    endpoint: Endpoint,
    sealed: Sealed,
    /// Answers senders that name this machine, in the session of this group.
    greeter: CallGreeter,
    /// Ports from which members' answers go to senders, and which member has which.
    ports: Vec<Endpoint>,
    members: BTreeMap<u32, usize>,
}

/// A relay at work.
pub struct Daemon {
    legs: Vec<Leg>,
    own: Vec<SocketAddr>,
    relay: Relay,
    clock: Clock,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Daemon in {} groups", self.legs.len())
    }
}

impl Daemon {
    /// In these groups; `config` is completed with their addresses.
    ///
    /// # Errors
    /// When an interface is not there, or the system refuses.
    pub fn open(networks: Vec<Network>, mut config: Config) -> Result<Self, JoinError> {
        let mut legs = Vec::new();
        // Each answers for all: none is to be told by another what came to it.
        let token = number();
        for network in networks {
            let mut network = network.hear_direct().direct_anywhere().token(token);
            let sealed = network.seal()?;
            let endpoint = network.open_endpoint(true)?;
            let mut greeter = CallGreeter::new(JoinedSession::new(endpoint.group().into()));
            greeter.set_port(endpoint.local_addr().map_or(0, |own| own.port()));
            let (ports, members) = (Vec::new(), BTreeMap::new());
            legs.push(Leg { endpoint, sealed, greeter, ports, members });
        }
        config.groups = legs.iter().map(|leg| leg.endpoint.group()).collect();
        let own = legs.iter().filter_map(|leg| leg.endpoint.local_addr().ok()).collect();
        Ok(Self { legs, own, relay: Relay::new(config), clock: Clock::start() })
    }

    /// The groups, and the interfaces that they are joined on.
    #[must_use]
    pub fn places(&self) -> Vec<(SocketAddr, Option<String>)> {
        let place = |leg: &Leg| {
            let name = leg.endpoint.interface().map(|interface| interface.name.clone());
            (leg.endpoint.group(), name)
        };
        self.legs.iter().map(place).collect()
    }

    /// The machine, and what it has counted.
    #[must_use]
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// Works until `go_on` says no; what happens is told to `each`.
    ///
    /// # Errors
    /// When the system refuses to wait or to receive.
    pub fn run(
        &mut self,
        mut go_on: impl FnMut(&Relay) -> bool,
        mut each: impl FnMut(&Event),
    ) -> io::Result<()> {
        while go_on(&self.relay) {
            let now = since(self.clock.now());
            self.relay.handle_timeout(now);
            self.transmit();
            self.join_layers();
            while let Some(event) = self.relay.poll_event() {
                each(&event);
            }
            let due = self.relay.next_timeout(now).saturating_sub(since(self.clock.now()));
            self.take(due)?;
            let now = self.clock.now();
            for leg in &mut self.legs {
                leg.sealed.advance(now, &leg.endpoint);
                while leg.sealed.poll_notice(now).is_some() {}
            }
        }
        Ok(())
    }

    /// Waits, and takes what has come.
    fn take(&mut self, due: Duration) -> io::Result<()> {
        let Self { legs, own, relay, clock } = self;
        let several = legs.len() > 1;
        let mut calls = Vec::new();
        for (group, leg) in legs.iter_mut().enumerate() {
            let wait = if several { due.min(TURN) } else { due };
            let ready = leg.endpoint.wait(Some(wait), None)?;
            if ready.changed {
                // What it cannot do yet it does at the next change.
                let _ = leg.endpoint.follow();
                own.extend(leg.endpoint.local_addr().ok().filter(|address| !own.contains(address)));
            }
            if !ready.readable() {
                continue;
            }
            let sealed = &mut leg.sealed;
            let mut doors = BTreeMap::new();
            leg.endpoint.receive_runs(ready, |told, run, stride| {
                if own.contains(&told.source) {
                    return;
                }
                let multicast = matches!(told.via, Via::Group(_) | Via::Layers);
                let from = From { address: told.source, group, multicast };
                let door = match told.via {
                    Via::Group(_) | Via::Layers => SocketDoor::Group,
                    Via::Unicast => SocketDoor::Own,
                    Via::Direct => SocketDoor::Machine,
                };
                let now = clock.now();
                sealed.open(now, told.source, run, stride, |run, stride| {
                    for datagram in run.chunks(stride.max(1)) {
                        let may_call = !multicast && serve::Message::is_one(datagram);
                        if may_call && relay.may_send(from) {
                            calls.push(LegCall { at: group, from, door, bytes: datagram.to_vec() });
                        } else {
                            if !multicast && relay.may_send(from) {
                                doors.insert(told.source, door);
                            }
                            relay.on_datagram(since(now), from, datagram);
                        }
                    }
                });
            })?;
            // Who speaks to the port of the machine is answered from there: what is between may let in nothing
            // else.
            for (address, door) in doors {
                leg.endpoint.speak_by_machine(address, door == SocketDoor::Machine);
            }
        }
        let now = clock.now();
        for call in calls {
            greet(now, legs, &call);
        }
        Ok(())
    }

    /// Joins and leaves the layers of sessions. What cannot be joined is missing behind this relay.
    fn join_layers(&mut self) {
        while let Some(Membership { group, address, join }) = self.relay.poll_membership() {
            let Some(leg) = self.legs.get_mut(group) else { continue };
            if join {
                let _ = leg.endpoint.join_layer(address);
            } else {
                leg.endpoint.leave_layer(address);
            }
        }
    }

    fn transmit(&mut self) {
        let mut batch: Option<(Outgoing, usize, usize)> = None;
        while let Some(next) = self.relay.poll_transmit() {
            if let Some((open, size, count)) = &mut batch {
                let same = open.to == next.to && open.member.is_none() && next.member.is_none();
                let whole = open.bytes.len() == *size * *count;
                if same && whole && next.bytes.len() <= *size && *count < BATCH {
                    open.bytes.extend_from_slice(&next.bytes);
                    *count += 1;
                    continue;
                }
            }
            let size = next.bytes.len();
            if let Some((full, size, _)) = batch.replace((next, size, 1)) {
                self.send(&full, size);
            }
        }
        if let Some((last, size, _)) = batch {
            self.send(&last, size);
        }
    }

    fn send(&mut self, outgoing: &Outgoing, size: usize) {
        let (group, address) = match outgoing.to {
            To::Group(group) => (group, None),
            To::Layer(group, address) => (group, Some(address)),
            To::Address(group, address) => (group, Some(address)),
        };
        let clock = &self.clock;
        let Some(leg) = self.legs.get_mut(group) else { return };
        let to = address.unwrap_or(leg.endpoint.group());
        let port = outgoing.member.and_then(|member| leg.port(member));
        let endpoint = port.and_then(|port| leg.ports.get(port)).unwrap_or(&leg.endpoint);
        let mut rest = &outgoing.bytes[..];
        let until = Instant::now() + SPACE_WAIT;
        leg.sealed.begin();
        while !rest.is_empty() {
            match leg.sealed.send(clock.now(), endpoint, to, size, None, rest) {
                Ok(sent) => {
                    rest = rest.get(sent..).unwrap_or_default();
                    if !rest.is_empty() {
                        leg.sealed.begin();
                    }
                }
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until =>
                {
                    let _ = endpoint.wait_for_space(Some(TURN), None);
                }
                // What is lost is asked for again.
                Err(_) => return,
            }
        }
    }
}

/// A call that came by the sockets of a leg.
struct LegCall {
    at: usize,
    from: From,
    door: SocketDoor,
    bytes: Vec<u8>,
}

/// Has the leg of the session answer a call. Legs share a port, and any of them may have heard it; with a
/// key only the one whose key it was.
fn greet(now: Time, legs: &mut [Leg], call: &LegCall) {
    for leg in legs.iter_mut() {
        let from = call.from.address;
        leg.greeter.on_datagram(now, from, call.door, &call.bytes, number());
        while let Some(AdmittedPath { address, door }) = leg.greeter.poll_door() {
            leg.endpoint.speak_by_machine(address, door == SocketDoor::Machine);
        }
    }
    for at in 0..legs.len() {
        while let Some(MemberReply { to, bytes, by_machine }) =
            legs.get_mut(at).and_then(|leg| leg.greeter.poll_reply())
        {
            // The socket that was called answers for all.
            let by = if by_machine { call.at } else { at };
            let Some(leg) = legs.get_mut(by) else { continue };
            let Leg { endpoint, sealed, .. } = leg;
            sealed.begin();
            match by_machine {
                true => sealed.seal_one(now, to, &bytes, |datagram| {
                    endpoint.answer(to, datagram);
                }),
                false => {
                    // A lost one is asked for again.
                    let _ = sealed.send(now, endpoint, to, bytes.len(), None, &bytes);
                }
            }
            sealed.begin();
        }
    }
}

/// A random number of 64 bits.
fn number() -> u64 {
    u64::from(random_id().0) << 32 | u64::from(random_id().0)
}

impl Leg {
    /// The port of a member: its own, or one that it shares with few.
    fn port(&mut self, member: u32) -> Option<usize> {
        let number = self.members.len() / MEMBERS_PER_PORT;
        let known = self.members.get(&member).copied();
        let port = known.unwrap_or(number).min(PORTS_MAX);
        if known.is_none() && port < PORTS_MAX {
            self.members.insert(member, port);
        }
        // The first few speak from the port that everything else comes from.
        let port = port.checked_sub(1)?;
        if port >= self.ports.len() {
            let config = EndpointConfig {
                group: self.endpoint.group(),
                interface: self.endpoint.interface().cloned(),
                role: Role::Sender,
                direct: true,
                ..EndpointConfig::default()
            };
            self.ports.push(Endpoint::open(&config).ok()?);
        }
        Some(port)
    }
}

fn since(now: Time) -> Duration {
    now.since(Time::ZERO)
}
