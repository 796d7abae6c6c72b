//! Drives the exchange of probes over real sockets for a given time.

use std::{
    io::{self, Read as _},
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use fanfare_node::Clock;
use fanfare_proto::Time;
use fanfare_udp::{Endpoint, EndpointConfig, Interface, OpenError, Via};
use socket2::{Domain, Protocol, Socket, Type};

use super::exchange::{Exchange, Way};
use super::peer::PeerReport;
use super::probe::Probe;
use super::querier::{Listened, Not, query_source};
use super::system;

/// Protocol number (IANA).
const IGMP: i32 = 2;
/// Shortest exchange: enough own probes to judge their way back.
const SHORTEST: Duration = Duration::from_secs(1);
/// A peer first heard late is given this long, so that both sides have something to tell.
const FOR_A_LATE_PEER: Duration = Duration::from_secs(2);
/// How long two doctors talk that were told to: twenty-five probes each.
const WITH: Duration = Duration::from_secs(5);
/// After the last probe, for what is still on its way.
const AFTERMATH: Duration = Duration::from_millis(300);

/// What the exchange came to.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) own: (u32, u32),
    pub(super) refused: Option<String>,
    pub(super) peers: Vec<PeerReport>,
    pub(super) waited: Duration,
    pub(super) queries: Listened,
    pub(super) overruns: u64,
    /// Probes of peers beyond the most that are remembered.
    pub(super) ignored: u64,
}

/// An endpoint in the group, and an ear for IGMP queries where that is allowed.
#[derive(Debug)]
pub(super) struct Ward {
    endpoint: Endpoint,
    interface: Interface,
    queries: Result<Socket, Not>,
    exchange: Exchange,
    clock: Clock,
    group: SocketAddr,
    /// Hears doctors that want to be heard by this machine and do not know yet where from.
    door: Option<UdpSocket>,
    /// The machine that is to be heard, and when it was first.
    with: Option<IpAddr>,
    met: Option<Time>,
    refused: Option<String>,
}

impl Ward {
    /// Joins the group.
    pub(super) fn open(
        config: &EndpointConfig,
        interface: &Interface,
        (name, boot): (&str, u64),
        with: Option<IpAddr>,
    ) -> Result<Self, OpenError> {
        let clock = Clock::start();
        Ok(Self {
            door: open_door(interface, config.group),
            with,
            met: None,
            endpoint: Endpoint::open(config)?,
            interface: interface.clone(),
            queries: open_queries(config.group.ip()),
            exchange: Exchange::new(boot, name.to_owned(), interface.mtu, clock.now()),
            clock,
            group: config.group,
            refused: None,
        })
    }

    /// Probes and listens for `time`, a little longer when a peer came late.
    pub(super) fn listen(mut self, time: Duration) -> Heard {
        let time = time.max(SHORTEST);
        loop {
            let now = self.clock.now();
            if now >= self.end(time) {
                break;
            }
            if let Some(probe) = self.exchange.poll_probe(now) {
                self.send(&probe);
            }
            let until = self.exchange.next_timeout().min(self.end(time));
            self.hear_until(until);
        }
        let now = self.clock.now();
        let bye = self.exchange.good_bye(now);
        self.send(&bye);
        self.hear_the_rest();
        self.conclude(time)
    }

    fn end(&self, time: Duration) -> Time {
        let planned = Time::ZERO.plus(time);
        if let Some(met) = self.met {
            // Who is there only for this need not wait for others.
            return planned.min(met.plus(WITH));
        }
        let latest = planned.plus(FOR_A_LATE_PEER);
        let for_peer = self.exchange.newest_peer().map(|since| since.plus(FOR_A_LATE_PEER));
        for_peer.map_or(planned, |end| end.clamp(planned, latest))
    }

    fn send(&mut self, probe: &Probe) {
        let bytes = probe.encode();
        if let Err(error) = self.endpoint.send(self.group, bytes.len(), None, &bytes)
            && error.kind() != io::ErrorKind::WouldBlock
        {
            self.refused = Some(error.to_string());
        }
        if let Some(full) = probe.encode_full(self.group.is_ipv6()) {
            // Whether it arrives is the question, and the others' answer.
            let _ = self.endpoint.send(self.group, full.len(), None, &full);
        }
        let door = self.with.filter(|_| self.met.is_none());
        let door = door.map(|ip| SocketAddr::new(ip, self.group.port()));
        for peer in self.exchange.deaf_peers().chain(door) {
            // It may be gone, or behind a firewall; the group is what counts.
            let _ = self.endpoint.send(peer, bytes.len(), None, &bytes);
        }
    }

    fn hear_until(&mut self, until: Time) {
        loop {
            let left = until.since(self.clock.now());
            if left.is_zero() {
                return;
            }
            // Should the system refuse to wait, the next turn looks at the clock again.
            let _ = self.endpoint.wait(Some(left), None);
            self.hear();
        }
    }

    fn hear_the_rest(&mut self) {
        let until = self.clock.now().plus(AFTERMATH);
        loop {
            let ((heard, sent), left) = (self.exchange.own(), until.since(self.clock.now()));
            if heard >= sent || left.is_zero() {
                return;
            }
            let _ = self.endpoint.wait(Some(left), None);
            self.hear();
        }
    }

    fn hear(&mut self) {
        let Self { endpoint, exchange, clock, door, with, met, .. } = self;
        let now = clock.now();
        let mut meet = |source: SocketAddr| {
            if *with == Some(source.ip()) {
                met.get_or_insert(now);
            }
        };
        let mut knock = [0; 9_216];
        while let Some(Ok((length, source))) = door.as_ref().map(|door| door.recv_from(&mut knock))
        {
            if let Some(probe) = Probe::parse(&knock[..length]) {
                exchange.on_probe(now, source, Way::Unicast, &probe);
                meet(source);
            }
        }
        // An error is an answer to something sent; what was heard has been handled.
        let _ = endpoint.receive(|meta, datagram| {
            let way = match meta.via {
                Via::Group(_) | Via::Layers => Way::Multicast,
                Via::Unicast | Via::Direct => Way::Unicast,
            };
            if let Some(probe) = Probe::parse(datagram) {
                exchange.on_probe(now, meta.source, way, &probe);
                meet(meta.source);
            }
        });
    }

    fn conclude(self, time: Duration) -> Heard {
        let now = self.clock.now();
        let queries = match &self.queries {
            Err(not) => Listened::Impossible(*not),
            Ok(socket) => queries_in(socket, &self.interface)
                .map_or(Listened::Silence(now.since(Time::ZERO)), Listened::Querier),
        };
        Heard {
            own: self.exchange.own(),
            refused: self.refused,
            peers: self.exchange.reports(now),
            waited: time,
            queries,
            overruns: self.endpoint.overruns(),
            ignored: self.exchange.ignored(),
        }
    }
}

/// Where other doctors knock: at the group's port of this machine. Somebody else may have it.
fn open_door(interface: &Interface, group: SocketAddr) -> Option<UdpSocket> {
    let own = interface.address_towards(group.ip())?;
    let door = UdpSocket::bind((own, group.port())).ok()?;
    door.set_nonblocking(true).ok()?;
    Some(door)
}

/// A raw socket hears the IGMP messages that come to this machine, queries to 224.0.0.1 among them.
fn open_queries(group: IpAddr) -> Result<Socket, Not> {
    if group.is_ipv6() {
        return Err(Not::Ipv4);
    }
    if cfg!(windows) {
        return Err(Not::Here);
    }
    let opened = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(IGMP)));
    let opened = opened.and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
    opened.map_err(|_| Not::Allowed)
}

/// The source of a query that the socket has kept, if it came by the interface.
fn queries_in(mut socket: &Socket, interface: &Interface) -> Option<IpAddr> {
    let mut packet = [0; 1500];
    while let Ok(length) = socket.read(&mut packet) {
        let source = query_source(&packet[..length]);
        if let Some(source) = source.filter(|source| system::comes_by(interface, *source)) {
            return Some(source);
        }
    }
    None
}
