//! Draws of chance: hosts on one or two links, senders, and receivers of which some have joined a sender's
//! session and some another one.

use std::collections::BTreeMap;

/// xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
pub(super) struct ChanceSource(u64);

impl ChanceSource {
    /// Seeds that are neighbours give draws that have nothing in common: the seed is mixed first (splitmix64).
    pub(super) fn new(seed: u64) -> Self {
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A host, and the link of each of its interfaces `eth0`, `eth1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPlan {
    pub(super) links: Vec<u8>,
    /// True if no multicast to groups comes in.
    pub(super) deaf: bool,
}

/// A multicast group and its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupChoice {
    pub(super) last: u8,
    pub(super) port: u16,
    pub(super) v6: bool,
}

impl GroupChoice {
    pub(super) fn text(self) -> String {
        if self.v6 {
            return format!("[ff05::42:{}]:{}", self.last, self.port);
        }
        format!("239.255.42.{}:{}", self.last, self.port)
    }
}

/// The form in which something is sent and taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JobKind {
    /// A file, or a tree with `--delete`, into a directory.
    Directory,
    /// A disk's image, onto what stands for a disk.
    Device,
    /// `pipe`.
    Pipe,
    /// `pub` and `sub`.
    Messages,
}

/// The way from a sender to its receivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendWay {
    /// Multicast; hosts that hear none are found.
    Group,
    /// Multicast alone (`--no-unicast`).
    GroupAlone,
    /// Unicast to these hosts (`--to`).
    Hosts(Vec<usize>),
    /// Unicast to these hosts, and multicast to the group.
    HostsAndGroup(Vec<usize>),
    /// Transfer to whoever has the code.
    Code,
}

/// A sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SenderPlan {
    pub(super) host: usize,
    /// Its interface, and whether it is told so.
    pub(super) interface: usize,
    pub(super) names_interface: bool,
    pub(super) group: GroupChoice,
    pub(super) key: Option<usize>,
    pub(super) kind: JobKind,
    /// A tree with `--delete`.
    pub(super) mirror: bool,
    pub(super) way: SendWay,
    /// It takes longer than two seconds.
    pub(super) slow: bool,
}

/// The one sender that a receiver takes something from (`--from`), and how it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FromChoice {
    Name(usize),
    Address(usize),
    Node(usize),
}

/// A receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReceiverPlan {
    pub(super) host: usize,
    /// The one interface that it is told to use.
    pub(super) interface: Option<usize>,
    pub(super) group: GroupChoice,
    pub(super) key: Option<usize>,
    pub(super) kind: JobKind,
    /// `--source`: the address of this sender.
    pub(super) source: Option<usize>,
    pub(super) from: Option<FromChoice>,
    /// `--no-unicast`.
    pub(super) group_alone: bool,
    /// `--allow-delete`.
    pub(super) deletes: bool,
    /// The sender whose code it has, and whether it is mistyped.
    pub(super) code: Option<(usize, bool)>,
}

/// Everything that is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionDraw {
    pub(super) seed: u64,
    pub(super) hosts: Vec<HostPlan>,
    pub(super) senders: Vec<SenderPlan>,
    pub(super) receivers: Vec<ReceiverPlan>,
    /// A host on both links that joins them for the group of the first sender.
    pub(super) relay: Option<usize>,
}

/// The address of a host on a link.
pub(super) fn address(host: usize, link: u8, v6: bool) -> String {
    if v6 { format!("fd81:{link}::{}", host + 1) } else { format!("10.81.{link}.{}", host + 1) }
}

impl SenderPlan {
    pub(super) fn link(&self, hosts: &[HostPlan]) -> u8 {
        hosts[self.host].links[self.interface]
    }
}

impl SessionDraw {
    /// The draw of this seed.
    pub(super) fn new(seed: u64) -> Self {
        let chance = &mut ChanceSource::new(seed);
        let two_links = chance.percent(40);
        let count = 2 + chance.below(5);
        let mut hosts: Vec<HostPlan> = (0..count)
            .map(|n| {
                let links: &[u8] = match (two_links, chance.below(4)) {
                    (false, _) | (true, 0) => &[1],
                    (true, 1) => &[2],
                    (true, 2) => &[1, 2],
                    (true, _) => &[2, 1],
                };
                // The first sends at the first link.
                let links = if n == 0 && links[0] == 2 { vec![1] } else { links.to_vec() };
                HostPlan { links, deaf: n > 0 && chance.percent(25) }
            })
            .collect();
        let relay = (two_links && chance.percent(50)).then(|| {
            hosts.push(HostPlan { links: vec![1, 2], deaf: false });
            hosts.len() - 1
        });
        let mut kinds = BTreeMap::new();
        let port = 6003;
        let mut senders = Vec::new();
        for number in 0..1 + chance.one(&[0, 0, 1, 1, 2, 3]) {
            let host = if number == 0 { 0 } else { chance.below(count) };
            let group = GroupChoice {
                last: 1 + chance.below(3) as u8,
                port: if chance.percent(85) { port } else { port + 1 },
                v6: chance.percent(15),
            };
            let drawn = chance.one(&[
                JobKind::Directory,
                JobKind::Directory,
                JobKind::Directory,
                JobKind::Device,
                JobKind::Pipe,
                JobKind::Messages,
            ]);
            // Whoever has joined a group knows what is sent there.
            let kind = *kinds.entry(group).or_insert(drawn);
            let files = matches!(kind, JobKind::Directory | JobKind::Device);
            let mut group = group;
            if kind == JobKind::Pipe && senders.iter().any(|one: &SenderPlan| one.group == group) {
                // Of two pipes in one group a receiver takes one, and the other waits for it without end.
                group.port += 10 + number as u16;
                kinds.insert(group, kind);
            }
            let interface = chance.below(hosts[host].links.len());
            let mut sender = SenderPlan {
                host,
                interface,
                names_interface: interface > 0 || chance.percent(60),
                group,
                key: chance.percent(35).then(|| chance.below(2)),
                kind,
                mirror: chance.percent(50),
                way: SendWay::Group,
                slow: chance.percent(65),
            };
            let link = sender.link(&hosts);
            if files {
                let named: Vec<usize> = (0..count)
                    .filter(|at| *at != host && hosts[*at].links.contains(&link))
                    .filter(|_| chance.percent(70))
                    .collect();
                sender.way = match chance.below(10) {
                    0..=3 => SendWay::Group,
                    4 => SendWay::GroupAlone,
                    5..=7 if !named.is_empty() => SendWay::Hosts(named),
                    8 if !named.is_empty() => SendWay::HostsAndGroup(named),
                    9 if kind == JobKind::Directory && !group.v6 => SendWay::Code,
                    _ => SendWay::Group,
                };
            }
            // A sealed pipe to an IPv6 group makes packets that are too long for Ethernet.
            if kind == JobKind::Pipe && group.v6 {
                sender.key = None;
            }
            if sender.way == SendWay::Code {
                sender.key = None;
                sender.mirror = false;
            }
            // Feedback comes to the group, too: a sender that hears none of it is promised nothing.
            hosts[host].deaf = false;
            senders.push(sender);
        }
        let mut draw = Self { seed, hosts, senders, receivers: Vec::new(), relay };
        for _ in 0..2 + chance.below(5) {
            let receiver = draw.receiver(chance, count);
            draw.receivers.push(receiver);
        }
        draw
    }

    /// A receiver like one that a sender means, and in half of the cases one thing is different.
    fn receiver(&self, chance: &mut ChanceSource, hosts: usize) -> ReceiverPlan {
        let meant = chance.below(self.senders.len());
        let sender = &self.senders[meant];
        let link = sender.link(&self.hosts);
        let near: Vec<usize> =
            (0..hosts).filter(|at| self.hosts[*at].links.contains(&link)).collect();
        let host = if chance.percent(85) { chance.one(&near) } else { chance.below(hosts) };
        let links = &self.hosts[host].links;
        let there = links.iter().position(|one| *one == link);
        let files = matches!(sender.kind, JobKind::Directory | JobKind::Device);
        let mut receiver = ReceiverPlan {
            host,
            interface: there.filter(|at| *at > 0 || chance.percent(60)),
            group: sender.group,
            key: sender.key,
            kind: sender.kind,
            source: chance.percent(20).then_some(meant),
            from: None,
            group_alone: files && chance.percent(10),
            deletes: chance.percent(75),
            code: None,
        };
        if files && receiver.source.is_none() && chance.percent(20) {
            receiver.from = Some(from(chance, meant));
        }
        if sender.way == SendWay::Code {
            (receiver.source, receiver.from, receiver.group_alone) = (None, None, false);
            if chance.percent(70) {
                receiver.code = Some((meant, chance.percent(25)));
            }
            return receiver;
        }
        if chance.percent(50) {
            return receiver;
        }
        let other = chance.below(self.senders.len());
        match chance.below(10) {
            0..=3 => receiver.group.last = receiver.group.last % 3 + 1,
            4 => receiver.group.port = 12_009 - receiver.group.port + chance.below(2) as u16,
            5 => receiver.key = chance.one(&[None, Some(0), Some(1)]),
            6 if other != meant => receiver.source = Some(other),
            7 if files && other != meant => {
                (receiver.source, receiver.from) = (None, Some(from(chance, other)));
            }
            8 if links.len() > 1 => receiver.interface = there.map(|at| 1 - at),
            // The kind that its group has, if it has one.
            _ => receiver.group.last = receiver.group.last % 3 + 1,
        }
        let there = self.senders.iter().find(|one| one.group == receiver.group);
        receiver.kind = there.map_or(receiver.kind, |one| one.kind);
        if !matches!(receiver.kind, JobKind::Directory | JobKind::Device) {
            (receiver.from, receiver.group_alone) = (None, false);
        }
        receiver
    }
}

fn from(chance: &mut ChanceSource, sender: usize) -> FromChoice {
    match chance.below(3) {
        0 => FromChoice::Name(sender),
        1 => FromChoice::Address(sender),
        _ => FromChoice::Node(sender),
    }
}
