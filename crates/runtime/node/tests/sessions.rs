//! Sessions on shared networks, drawn at random: several groups, ports, links, sources, interfaces and
//! senders, hosts that hear no multicast, and several receivers on one host and port. Who has joined a
//! session gets what is sent there, and nobody else gets a byte.
//!
//! `FANFARE_SESSION_DRAWS=100000 cargo test --release -p fanfare-node --test sessions` draws more, and
//! `FANFARE_SESSION_SEED` begins with another draw.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use fanfare_node::serve::{
    Caller, IncomingRun, JoinedSession, Member, SessionName, Settings, SocketDoor, Way,
};
use fanfare_wire::units::{
    rate::Bitrate,
    rng::Rng,
    time::{Duration, Time},
};

/// Virtual time of a draw, and its steps: a sender sends a message to the group in each.
const STEPS: u64 = 60;
const STEP: Duration = Duration::from_millis(50);
const LINKS: u64 = 2;

/// A program that receives.
#[derive(Debug)]
struct DrawnReceiver {
    host: u64,
    group: SocketAddr,
    /// The link that it was told to listen to, if it was.
    interface: Option<u64>,
    source: Option<IpAddr>,
    from: Option<u32>,
    own: SocketAddr,
}

/// Hosts that a sender finds, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DrawnReach {
    GroupOnly,
    GroupAndDeaf,
    Hosts(Vec<SocketAddr>),
}

#[derive(Debug)]
struct DrawnSender {
    host: u64,
    link: u64,
    group: SocketAddr,
    id: u32,
    own: SocketAddr,
    reach: DrawnReach,
}

/// A network with its programs.
#[derive(Debug)]
struct NetworkDraw {
    /// The links of each host; hosts that hear no multicast.
    links: Vec<Vec<u64>>,
    deaf: Vec<bool>,
    receivers: Vec<DrawnReceiver>,
    senders: Vec<DrawnSender>,
}

fn address(link: u64, host: u64, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, link as u8, host as u8 + 1], port))
}

impl NetworkDraw {
    fn new(rng: &mut Rng) -> Self {
        let hosts = 2 + rng.below(4);
        let links = (0..hosts).map(|_| match rng.below(LINKS + 1) {
            both if both == LINKS => (0..LINKS).collect(),
            link => vec![link],
        });
        let links: Vec<Vec<u64>> = links.collect();
        let deaf = (0..hosts).map(|_| rng.below(3) == 0).collect();
        let group = |rng: &mut Rng| {
            let port = if rng.below(4) == 0 { 6004 } else { 6003 };
            SocketAddr::from(([239, 255, 42, 1 + rng.below(3) as u8], port))
        };
        let senders = (0..1 + rng.below(3)).map(|number| {
            let host = rng.below(hosts);
            let own_links = &links[host as usize];
            let link = own_links[rng.below(own_links.len() as u64) as usize];
            let group = group(rng);
            let mut named = BTreeSet::new();
            for _ in 0..1 + rng.below(3) {
                let to = rng.below(hosts);
                let there = &links[to as usize];
                let way = there[rng.below(there.len() as u64) as usize];
                named.insert(address(way, to, group.port()));
            }
            let reach = match rng.below(4) {
                0 => DrawnReach::GroupOnly,
                1 | 2 => DrawnReach::GroupAndDeaf,
                _ => DrawnReach::Hosts(named.into_iter().collect()),
            };
            // Clones of a machine have the same id now and then.
            let id = if rng.below(8) == 0 { 100 } else { 100 + number as u32 };
            let own = address(link, host, 40_000 + number as u16);
            DrawnSender { host, link, group, id, own, reach }
        });
        let senders: Vec<DrawnSender> = senders.collect();
        let receivers = (0..1 + rng.below(6)).map(|number| {
            let host = rng.below(hosts);
            let own_links = &links[host as usize];
            let first = own_links[0];
            let chosen = own_links[rng.below(own_links.len() as u64) as usize];
            let interface = (rng.below(3) == 0).then_some(chosen);
            let some = &senders[rng.below(senders.len() as u64) as usize];
            let source = (rng.below(4) == 0).then_some(some.own.ip());
            let from = (rng.below(4) == 0).then_some(some.id);
            let own = address(first, host, 50_000 + number as u16);
            DrawnReceiver { host, group: group(rng), interface, source, from, own }
        });
        let receivers = receivers.collect();
        Self { links, deaf, receivers, senders }
    }

    fn is_on(&self, host: u64, link: u64) -> bool {
        self.links[host as usize].contains(&link)
    }

    /// The link that a receiver has joined its group on.
    fn joined_on(&self, receiver: &DrawnReceiver) -> u64 {
        receiver.interface.unwrap_or(self.links[receiver.host as usize][0])
    }

    /// True if the kernel gives a receiver what a sender sends to its group.
    fn hears_group(&self, receiver: &DrawnReceiver, sender: &DrawnSender) -> bool {
        receiver.group == sender.group
            && self.joined_on(receiver) == sender.link
            && !self.deaf[receiver.host as usize]
            && receiver.source.is_none_or(|source| source == sender.own.ip())
    }

    /// True if the socket of the machine gives a receiver what a sender sends to it, or to all, on a link.
    fn hears_machine(
        &self,
        receiver: &DrawnReceiver,
        sender: &DrawnSender,
        link: u64,
        port: u16,
    ) -> bool {
        receiver.group.port() == port
            && self.is_on(receiver.host, link)
            && receiver.interface.is_none_or(|chosen| chosen == link)
            && receiver.source.is_none_or(|source| source == sender.own.ip())
    }

    /// True if a receiver is to have what a sender sends.
    fn is_for(&self, receiver: &DrawnReceiver, sender: &DrawnSender) -> bool {
        let port = sender.group.port();
        let joined = receiver.group == sender.group
            && receiver.source.is_none_or(|source| source == sender.own.ip())
            && receiver.from.is_none_or(|id| id == sender.id);
        let reached = match &sender.reach {
            DrawnReach::GroupOnly => self.hears_group(receiver, sender),
            DrawnReach::GroupAndDeaf => {
                self.hears_group(receiver, sender)
                    || self.hears_machine(receiver, sender, sender.link, port)
            }
            DrawnReach::Hosts(hosts) => hosts.iter().any(|host| {
                let link = u64::from(octets(*host)[2]);
                let there = host.ip() == address(link, receiver.host, 0).ip();
                let way = self.is_on(sender.host, link);
                there && way && self.hears_machine(receiver, sender, link, port)
            }),
        };
        joined && reached
    }
}

fn octets(address: SocketAddr) -> [u8; 4] {
    match address {
        SocketAddr::V4(v4) => v4.ip().octets(),
        SocketAddr::V6(_) => [0; 4],
    }
}

/// NORM_CMD(EOT) of a node.
fn command(id: u32) -> Vec<u8> {
    let [a, b, c, d] = id.to_be_bytes();
    vec![0x13, 4, 0, 0, a, b, c, d, 0, 1, 0, 0, 2, 0, 0, 0]
}

/// Pairs of receiver and sender, by their numbers: what was taken, from whom.
type TakenPairs = BTreeSet<(usize, usize)>;

struct DrawnWorld {
    draw: NetworkDraw,
    members: Vec<Member<SocketAddr>>,
    callers: Vec<Caller>,
    found: Vec<BTreeSet<SocketAddr>>,
    taken: TakenPairs,
    now: Time,
}

impl DrawnWorld {
    fn new(draw: NetworkDraw, rng: &mut Rng) -> Self {
        let member = |receiver: &DrawnReceiver, seed: u64| {
            let session = SessionName::from(receiver.group);
            let joined = JoinedSession {
                source: receiver.source,
                sender: receiver.from,
                ..JoinedSession::new(session)
            };
            let mut member = Member::new(Settings::default(), joined, [seed as u8; 32], seed);
            member.set_port(receiver.own.port());
            member
        };
        let members = draw.receivers.iter().map(|one| member(one, rng.next_u64())).collect();
        let caller = |sender: &DrawnSender, seed: u64| {
            let named = match &sender.reach {
                DrawnReach::Hosts(hosts) => &hosts[..],
                _ => &[],
            };
            let most = Bitrate::mbps(100);
            let mut caller = Caller::new(sender.group, named, most, [seed as u8; 32]);
            if sender.reach == DrawnReach::GroupAndDeaf {
                let all = SocketAddr::from(([255; 4], sender.group.port()));
                caller.call_all(all);
            }
            caller
        };
        let callers = draw.senders.iter().map(|one| caller(one, rng.next_u64())).collect();
        let found = draw.senders.iter().map(|_| BTreeSet::new()).collect();
        Self { draw, members, callers, found, taken: TakenPairs::new(), now: Time::ZERO }
    }

    /// A run comes to a receiver, from this address, by this door.
    fn bring(&mut self, to: usize, sender: usize, from: SocketAddr, door: SocketDoor, run: &[u8]) {
        let (arrived, stride) = (self.now, run.len());
        let incoming = IncomingRun { from, door, arrived, run, stride };
        let way = self.members[to].on_run(self.now, incoming, |from| from, |_| true);
        // Of what comes by the group the engine takes what is of the sender that was named.
        let receiver = &self.draw.receivers[to];
        let by_engine = receiver.from.is_none_or(|id| id == self.draw.senders[sender].id);
        if way == Way::Other && (door != SocketDoor::Group || by_engine) {
            self.taken.insert((to, sender));
        }
    }

    /// A sender's datagram goes to a group, to all hosts of its link, or to one host or program.
    fn carry(&mut self, sender: usize, to: SocketAddr, bytes: &[u8]) {
        let source = self.draw.senders[sender].own;
        for at in 0..self.members.len() {
            let (one, speaker) = (&self.draw.receivers[at], &self.draw.senders[sender]);
            let door = if to.ip().is_multicast() {
                let hears = to == one.group && self.draw.hears_group(one, speaker);
                hears.then_some(SocketDoor::Group)
            } else if octets(to) == [255; 4] {
                let link = speaker.link;
                self.draw
                    .hears_machine(one, speaker, link, to.port())
                    .then_some(SocketDoor::Machine)
            } else if to == one.own {
                Some(SocketDoor::Own)
            } else {
                let link = u64::from(octets(to)[2]);
                let there = to.ip() == address(link, one.host, 0).ip();
                let way = self.draw.is_on(speaker.host, link);
                let hears = self.draw.hears_machine(one, speaker, link, to.port());
                (there && way && hears).then_some(SocketDoor::Machine)
            };
            if let Some(door) = door {
                self.bring(at, sender, source, door, bytes);
            }
        }
    }

    fn step(&mut self) {
        for sender in 0..self.callers.len() {
            let (id, group) = (self.draw.senders[sender].id, self.draw.senders[sender].group);
            let message = command(id);
            self.callers[sender].on_group(self.now, message.len(), true);
            if !matches!(self.draw.senders[sender].reach, DrawnReach::Hosts(_)) {
                self.carry(sender, group, &message);
            }
            for host in self.found[sender].clone() {
                self.carry(sender, host, &message);
            }
            while let Some((to, call)) = self.callers[sender].poll_message(self.now, id) {
                self.carry(sender, to, &call);
            }
        }
        for receiver in 0..self.members.len() {
            while let Some(reply) = self.members[receiver].poll_message(self.now) {
                let one = &self.draw.receivers[receiver];
                let from = match reply.by_machine {
                    true => SocketAddr::new(one.own.ip(), one.group.port()),
                    false => one.own,
                };
                let to = self.draw.senders.iter().position(|sender| sender.own == reply.to);
                let Some(to) = to else { continue };
                let id = self.draw.senders[to].id;
                if let Some(host) = self.callers[to].on_datagram(id, from, &reply.bytes) {
                    self.found[to].insert(host.address);
                }
            }
        }
        self.now = self.now + STEP;
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn who_has_joined_a_session_gets_what_is_sent_there_and_nobody_else_gets_a_byte() {
    let first = number("FANFARE_SESSION_SEED", 1);
    let (mut had, mut strangers) = (0, 0);
    for seed in first..first + number("FANFARE_SESSION_DRAWS", 20_000) {
        let mut rng = Rng::new(seed);
        let draw = NetworkDraw::new(&mut rng);
        let mut world = DrawnWorld::new(draw, &mut rng);
        (0..STEPS).for_each(|_| world.step());
        for receiver in 0..world.members.len() {
            for sender in 0..world.callers.len() {
                let (one, other) = (&world.draw.receivers[receiver], &world.draw.senders[sender]);
                let wanted = world.draw.is_for(one, other);
                let taken = world.taken.contains(&(receiver, sender));
                assert_eq!(
                    taken, wanted,
                    "seed {seed}: {one:?} of {other:?}; FANFARE_SESSION_SEED={seed} \
                     FANFARE_SESSION_DRAWS=1 repeats it"
                );
                had += u64::from(wanted);
                strangers += u64::from(!wanted);
            }
        }
    }
    assert!(had > 500 && strangers > 500, "the draws are of both kinds: {had}, {strangers}");
}
