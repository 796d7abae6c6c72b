//! Layered sessions: which groups their layers have, and which of these a relay joins.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use fanfare_node::proto::congestion::layered::{Announcement, Description, GroupRange, Header};
use fanfare_wire::Alc;

use crate::side::Side;

/// Sessions at once.
const SESSIONS_MAX: usize = 16;
/// A session that was not described for so long is over: descriptions come once a minute at least.
const FORGET: Duration = Duration::from_secs(150);
/// Layers have the groups that follow the session's own: so many at most.
const LAYERS: u32 = 128;
/// The first byte of a packet of a layer. No NORM message begins with it.
const FIRST: u8 = 0x1c;

/// A group of layers to be joined on an island, or left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The number of the island's group.
    pub group: usize,
    /// The layer's group.
    pub address: SocketAddr,
    /// It is to be joined.
    pub join: bool,
}

/// One session.
#[derive(Debug)]
struct Session {
    sender: u32,
    /// The group of its first channel, and how many channels are passed on.
    first: SocketAddr,
    channels: usize,
    /// The island on which they are joined.
    joined: Option<usize>,
    described: Duration,
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Layered {
    /// The most that the layers of one session may have together, bit/s.
    limit: u64,
    /// By their numbers.
    sessions: BTreeMap<u32, Session>,
    changes: VecDeque<Membership>,
}

/// Whether this is a packet of a layer.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    bytes.first() == Some(&FIRST)
}

impl Layered {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, sessions: BTreeMap::new(), changes: VecDeque::new() }
    }

    /// A sender that is heard on this side, in or by way of this group, has sent a command. If it describes
    /// a session, its layers are joined there: as many of the lowest as there may be.
    pub(crate) fn on_command(
        &mut self,
        now: Duration,
        (sender, side): (u32, Side),
        group: SocketAddr,
        content: &[u8],
    ) {
        if !Description::is_one(content) {
            return;
        }
        let Some(described) = Description::parse(content) else { return };
        let number = described.session;
        let allowed =
            GroupRange { first: further(group.ip(), 1).unwrap_or(group.ip()), count: LAYERS };
        let Ok(announcement) = Announcement::parse(described.announcement, allowed) else { return };
        let Ok(layers) = announcement.layers() else { return };
        let fitting = layers.level_at(self.limit as f64);
        // Channels beyond the layers are those of dynamic layers: they change places.
        let channels = match announcement.channels() {
            all if fitting == layers.count() => all,
            _ => fitting,
        };
        let joined = match side {
            Side::Group(group) => Some(group),
            Side::Peer(_) | Side::Single => None,
        };
        let known = self.sessions.contains_key(&number);
        if known || self.sessions.len() < SESSIONS_MAX {
            let first = announcement.group;
            let session = self.sessions.entry(number).or_insert(Session {
                sender,
                first,
                channels,
                joined: None,
                described: now,
            });
            // What was said first counts.
            if session.sender == sender {
                session.described = now;
                let before = std::mem::replace(&mut session.joined, joined);
                if before != joined {
                    self.change(number, before, false);
                    self.change(number, joined, true);
                }
            }
        }
    }

    fn change(&mut self, number: u32, group: Option<usize>, join: bool) {
        let (Some(group), Some(session)) = (group, self.sessions.get(&number)) else { return };
        let all = (0..session.channels).filter_map(|channel| session.address(channel));
        self.changes.extend(all.map(|address| Membership { group, address, join }));
    }

    /// The sender of a packet, and the group that it is of; `None` for what is of no session.
    pub(crate) fn channel_of(&self, bytes: &[u8]) -> Option<(u32, SocketAddr)> {
        let packet = Alc::parse(bytes).ok()?;
        let session = self.sessions.get(&packet.session)?;
        let channel =
            usize::from(Header::from_bytes(&packet.congestion).channel.0).checked_sub(1)?;
        let address = session.address(channel).filter(|_| channel < session.channels)?;
        Some((session.sender, address))
    }

    /// Leaves sessions that are over.
    pub(crate) fn advance(&mut self, now: Duration) {
        let is_over = |session: &Session| now.saturating_sub(session.described) >= FORGET;
        let over: Vec<(u32, Option<usize>)> = self
            .sessions
            .iter()
            .filter(|(_, session)| is_over(session))
            .map(|(number, session)| (*number, session.joined))
            .collect();
        for (number, joined) in over {
            self.change(number, joined, false);
            self.sessions.remove(&number);
        }
    }

    pub(crate) fn poll_change(&mut self) -> Option<Membership> {
        self.changes.pop_front()
    }
}

impl Session {
    /// The group of this channel, from 0.
    fn address(&self, channel: usize) -> Option<SocketAddr> {
        let ip = further(self.first.ip(), u8::try_from(channel).ok()?)?;
        Some(SocketAddr::new(ip, self.first.port()))
    }
}

/// Whether layers of sessions of this group may have that one: it is one of the 128 that follow it.
pub(crate) fn follows(group: SocketAddr, layer: SocketAddr) -> bool {
    layer.port() == group.port()
        && (1..=LAYERS as u8).any(|nth| further(group.ip(), nth) == Some(layer.ip()))
}

/// The address so many further, when it is a group too.
fn further(ip: IpAddr, by: u8) -> Option<IpAddr> {
    let next: IpAddr = match ip {
        IpAddr::V4(ip) => std::net::Ipv4Addr::from(u32::from(ip).checked_add(by.into())?).into(),
        IpAddr::V6(ip) => std::net::Ipv6Addr::from(u128::from(ip).checked_add(by.into())?).into(),
    };
    next.is_multicast().then_some(next)
}
