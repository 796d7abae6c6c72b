//! Which layered sessions a receiver follows.
//!
//! It hears of a session by its description on the node's own group, follows what can be true of it,
//! and leaves when it has enough. It sends one thing: a question for the round trip, now and then, to
//! who described the session; a silent receiver sends nothing.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use fanfare_proto::{
    NodeId, ObjectKey, ObjectTransportId, Session, StorageError, Time,
    congestion::layered::{Description, LayeredControl, LayeredReceiver, Refusal},
};
use fanfare_udp::{Endpoint, RecvMeta, Via};
use fanfare_wire::{Alc, Cmd, InstanceId, Message};

use super::{
    followed::{End, Followed},
    packet,
    reception::Reception,
};
use crate::event::Outbox;

use crate::{
    event::{ReceiveEvent, TransferEvent},
    file_storage::FileStorage,
    receive::ReceiveJob,
};

/// Sessions followed at a time: each may take the whole line.
const SESSIONS_MAX: usize = 4;
/// Sessions remembered that are over; the oldest give way, and would be begun anew.
const OVER_MAX: usize = 256;
/// Whose sessions were refused, and why: told of once each, and no more of them than so many.
const REFUSED_MAX: usize = 64;
/// A message's first byte and flavor (RFC 5740 4.2.3.7): looked at before anything is parsed.
const COMMAND: (u8, u8) = (0x13, 7);
const FLAVOR_AT: usize = 12;

/// A life of a sender.
type Life = (NodeId, InstanceId);

/// A session that the receiving job has not heard of yet.
#[derive(Debug)]
struct New {
    key: ObjectKey,
    source: SocketAddr,
    info: Vec<u8>,
    size: u64,
    opened: Result<(), StorageError>,
}

/// The receiving side of layers.
#[derive(Debug)]
pub(crate) struct LayeredListener {
    node: NodeId,
    group: SocketAddr,
    seed: u64,
    silent: bool,
    followed: BTreeMap<Life, Followed>,
    new: VecDeque<New>,
    over: VecDeque<Life>,
    refused: BTreeSet<(NodeId, String)>,
    /// Refusals that are still to be told.
    untold: Vec<(NodeId, String)>,
    refused_count: u64,
}

impl LayeredListener {
    pub(crate) fn new(node: NodeId, group: SocketAddr, seed: u64, silent: bool) -> Self {
        Self {
            node,
            group,
            seed,
            silent,
            followed: BTreeMap::new(),
            new: VecDeque::new(),
            over: VecDeque::new(),
            refused: BTreeSet::new(),
            untold: Vec::new(),
            refused_count: 0,
        }
    }

    /// A datagram has come. `epoch`: the node's time zero by the system's clock, since 1970. False
    /// when it has nothing to do with layers.
    pub(crate) fn on_datagram(
        &mut self,
        (now, epoch): (Time, Duration),
        meta: &RecvMeta,
        datagram: &[u8],
        storage: &mut FileStorage,
    ) -> bool {
        let at = meta.received.map_or(now, |at| Time::ZERO + at.saturating_sub(epoch));
        if meta.via == Via::Layers {
            let Ok(packet) = Alc::parse(datagram) else { return true };
            let bytes = datagram.len() + packet::headers(meta.source.ip());
            let owner = self.followed.values_mut().find(|f| f.owns(meta.source, &packet));
            if let Some(followed) = owner {
                followed.on_packet(at, &packet, bytes, storage);
            }
            return true;
        }
        let begins = (datagram.first().copied(), datagram.get(FLAVOR_AT).copied());
        if begins != (Some(COMMAND.0), Some(COMMAND.1)) {
            return false;
        }
        let Ok(Message::Cmd(Cmd::Application(command))) = Message::parse(datagram) else {
            return false;
        };
        let is_one = Description::is_one(command.content);
        if is_one {
            let life = (command.sender.source_id, command.sender.instance_id);
            self.on_description(at, life, meta.source, command.content, storage);
        }
        is_one
    }

    fn on_description(
        &mut self,
        now: Time,
        life: Life,
        source: SocketAddr,
        command: &[u8],
        storage: &mut FileStorage,
    ) {
        if life.0 == self.node || self.over.contains(&life) {
            return;
        }
        let Some(description) = Description::parse(command) else {
            return self.refuse(life.0, "it is malformed");
        };
        if let Some(followed) = self.followed.get_mut(&life) {
            if !followed.on_description(now, source, &description) {
                self.refuse(life.0, "it is not what was described first");
            }
        } else if self.followed.len() >= SESSIONS_MAX {
            self.refuse(life.0, "as many sessions as can be are followed already");
        } else if let Err(why) = self.begin(now, life, source, &description, storage) {
            self.refuse(life.0, &why);
        }
    }

    fn begin(
        &mut self,
        now: Time,
        life: Life,
        source: SocketAddr,
        description: &Description<'_>,
        storage: &mut FileStorage,
    ) -> Result<(), String> {
        let seed = self.seed ^ u64::from(description.session);
        let allowed = packet::groups(self.group.ip());
        let mut receiver = LayeredReceiver::new(LayeredControl::EraTolerant, allowed, seed);
        receiver.on_announcement(now, &description.header, description.announcement);
        let Some(announcement) = receiver.announcement() else {
            return Err(receiver.refusal().map_or("it is malformed".to_owned(), why));
        };
        let shape = description.shape;
        let wire = usize::from(shape.symbol()) + Alc::HEADER + packet::headers(self.group.ip());
        if announcement.object != shape.object() || usize::from(announcement.packet) != wire {
            return Err("what it says of its object contradicts itself".to_owned());
        }
        let first = announcement.group;
        if first.port() != self.group.port() {
            return Err("its layers have another port".to_owned());
        }
        let (sender, instance) = life;
        let key = ObjectKey { sender, instance, object: ObjectTransportId(0) };
        let (info, size) = (description.info.to_vec(), shape.object());
        let opened = match Reception::open(storage, key, shape) {
            // It is not to be heard.
            Err(StorageError::Refused) => {
                self.end(life);
                return Ok(());
            }
            Err(error) => {
                self.end(life);
                Err(error)
            }
            Ok(reception) => {
                let described = (description, first);
                let followed = Followed::new(now, (reception, key), source, described, receiver);
                self.followed.insert(life, followed);
                Ok(())
            }
        };
        self.new.push_back(New { key, source, info, size, opened });
        Ok(())
    }

    fn refuse(&mut self, sender: NodeId, why: &str) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_MAX && self.refused.insert((sender, why.to_owned())) {
            self.untold.push((sender, why.to_owned()));
        }
    }
    fn end(&mut self, life: Life) {
        self.followed.remove(&life);
        self.over.push_back(life);
        if self.over.len() > OVER_MAX {
            self.over.pop_front();
        }
    }

    /// Time has passed, or something has come: tells the receiving job, joins, leaves and asks.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        (session, storage): (&mut Session, &mut FileStorage),
        endpoint: &mut Endpoint,
        job: &mut ReceiveJob,
        out: &mut Outbox,
    ) {
        for (id, why) in self.untold.drain(..) {
            let why = format!("not followed: {why}");
            out.push(TransferEvent::Receive(ReceiveEvent::Refused { id, why }));
        }
        job.set_refused(self.refused_count);
        while let Some(New { key, source, info, size, opened }) = self.new.pop_front() {
            let wanted = job.on_layered(now, (session, storage), (key, source), (&info, size), out);
            match opened {
                Ok(()) if wanted => {}
                Ok(()) => self.end((key.sender, key.instance)),
                Err(error) => {
                    job.on_layered_failed(now, (session, storage), (key, Some(error)), out);
                }
            }
        }
        let lives: Vec<Life> = self.followed.keys().copied().collect();
        for life in lives {
            let Some(followed) = self.followed.get_mut(&life) else { continue };
            followed.advance(now);
            job.on_layered_progress(now, followed.key, followed.progress());
            let Some(end) = followed.end else {
                for error in followed.settle_groups(endpoint) {
                    let why = error.to_string();
                    out.push(TransferEvent::Receive(ReceiveEvent::Refused { id: life.0, why }));
                }
                if !self.silent {
                    // A question that is lost is asked again.
                    let _ = followed.ask(now, self.node, endpoint);
                }
                continue;
            };
            followed.leave_all(endpoint);
            let (key, size) = (followed.key, followed.size());
            match end {
                End::Whole => job.on_layered_whole(now, (session, storage), (key, size), out),
                End::Gone => job.on_layered_failed(now, (session, storage), (key, None), out),
                End::Storage(error) => {
                    job.on_layered_failed(now, (session, storage), (key, Some(error)), out);
                }
            }
            self.end(life);
        }
    }

    /// When it wants to be asked again.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.followed.values().map(Followed::next_timeout).min()
    }

    /// Nothing more is received: groups are left.
    pub(crate) fn stop(mut self, endpoint: &mut Endpoint) {
        self.followed.values_mut().for_each(|followed| followed.leave_all(endpoint));
    }
}

fn why(refusal: Refusal) -> String {
    match refusal {
        Refusal::Malformed => "it is malformed".to_owned(),
        Refusal::Absurd => "its interval, packets or object cannot be".to_owned(),
        Refusal::Layers(error) => format!("its layers cannot be: {error:?}"),
        Refusal::Groups => "its layers have groups that do not follow the session's own".to_owned(),
        Refusal::SendPattern(send_pattern) => {
            format!("its packets follow each other otherwise: {send_pattern:?}")
        }
        Refusal::Changed => "it is not what was described first".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fanfare_node::disk::{directory::Directory, scratch::Scratch};
    use fanfare_proto::{
        Bitrate,
        congestion::layered::{Announcement, Channel, Header, Scheme, SendPattern, Shape},
    };

    use super::*;

    const LIFE: Life = (NodeId(7), InstanceId(1));

    fn listener() -> LayeredListener {
        let group = "239.255.42.1:6003".parse().unwrap();
        LayeredListener::new(NodeId(1), group, 1, false)
    }
    fn storage(scratch: &Scratch) -> FileStorage {
        let directory = Arc::new(Directory::open(scratch.path(), false).unwrap());
        FileStorage::receiving(directory, None)
    }
    fn announcement() -> Announcement {
        Announcement {
            send_pattern: SendPattern::Pairs,
            interval: Duration::from_secs(1),
            every: 1,
            packet: 1500,
            ask_share: u16::MAX,
            object: 100_000,
            group: "239.255.42.2:6003".parse().unwrap(),
            scheme: Scheme::Equal { rate: Bitrate::kbps(100), count: 10 },
            echoes: Vec::new(),
        }
    }
    fn command(announcement: &Announcement, size: u64) -> Vec<u8> {
        let (mut told, mut out) = (Vec::new(), Vec::new());
        announcement.encode(&mut told);
        let header = Header {
            channel: Channel::SESSION,
            layer: 0,
            sequence: 0,
            sent: Time::ZERO,
            first_of_pair: false,
            slot: 0,
            signal: 0,
        };
        let shape = Shape::new(size, 1440).unwrap();
        Description { header, session: 9, shape, info: b"name", announcement: &told }
            .encode(&mut out);
        out
    }
    /// What comes of descriptions, all from one place: sessions followed, and why others are not.
    fn told(commands: &[Vec<u8>]) -> (usize, u64, Vec<String>) {
        let scratch = Scratch::new();
        let (mut listener, mut storage) = (listener(), storage(&scratch));
        let source = "10.0.0.7:4000".parse().unwrap();
        for command in commands {
            listener.on_description(Time::ZERO, LIFE, source, command, &mut storage);
        }
        let why = listener.untold.iter().map(|(_, why)| why.clone()).collect();
        (listener.followed.len(), listener.refused_count, why)
    }

    #[test]
    fn a_description_that_can_be_true_is_followed() {
        let true_one = command(&announcement(), 100_000);
        assert_eq!(told(&[true_one.clone(), true_one]), (1, 0, Vec::new()));
    }

    #[test]
    fn descriptions_that_lie_are_refused_counted_and_told_once_each() {
        let elsewhere =
            Announcement { group: "239.255.43.1:6003".parse().unwrap(), ..announcement() };
        let before = Announcement { group: "239.255.42.1:6003".parse().unwrap(), ..announcement() };
        let port = Announcement { group: "239.255.42.2:53".parse().unwrap(), ..announcement() };
        let short = Announcement { packet: 600, ..announcement() };
        let scheme = Scheme::Equal { rate: Bitrate::kbps(100), count: 200 };
        let many = Announcement { scheme, ..announcement() };
        let lies = [elsewhere, before, port, short, many].map(|lie| command(&lie, 100_000));
        let longer = command(&announcement(), 200_000);
        let mut cut = command(&announcement(), 100_000);
        cut.truncate(60);
        let (followed, refused, why) = told(&[&lies[..], &[longer, cut]].concat());
        assert_eq!((followed, refused), (0, 7));
        // Groups behind and before the session's own are one reason, and so are two contradictions.
        assert_eq!(why.len(), 5, "{why:?}");
    }

    #[test]
    fn a_session_that_changes_is_refused_and_the_first_goes_on() {
        let other = command(&announcement(), 100_001);
        let faster = Announcement {
            scheme: Scheme::Equal { rate: Bitrate::mbps(1), count: 10 },
            ..announcement()
        };
        let all = [command(&announcement(), 100_000), other, command(&faster, 100_000)];
        let (followed, refused, why) = told(&all);
        assert_eq!((followed, refused, why.len()), (1, 2, 1), "{why:?}");
    }
}
