//! Nodes on a bus without delay. A test decides for each datagram who loses it.

mod ageing;
mod announcing;
mod answering;
mod batches;
mod bounds;
mod clones;
mod coding;
mod delivering;
mod former_ids;
mod greeting;
mod in_order;
mod incarnations;
mod lies;
mod monitoring;
mod one_source;
mod parting;
mod relaying;
mod repairing;
mod restoring;

use super::*;
use crate::{
    batch::Batch,
    description::Options,
    event::Delivered,
    fnv,
    membership::holders::Standing,
    subscription::{History, Ordering, Subscription, SubscriptionId},
    topic::{Filter, Topic},
};
use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use fanfare_proto::{Bitrate, FecConfig, MemoryStorage, ReceiverConfig, RecvMeta, SenderConfig};
use fanfare_wire::Message;

/// Whether a datagram from one node to another is lost.
type Loss<'a> = dyn FnMut(usize, usize, &Message<'_>) -> bool + 'a;

struct Bus {
    now: Time,
    nodes: Vec<(GroupNode, MemoryStorage)>,
    events: Vec<Vec<Event>>,
    sent: Vec<u64>,
    bytes: Vec<u64>,
    /// Bytes are verified as soon as that is asked for.
    verifies: bool,
    /// Messages that each was given, where that is so: a message may leave storage later.
    taken: Vec<Vec<Vec<u8>>>,
}

fn session(number: usize) -> SessionConfig {
    let fec = FecConfig { source: 16, parity: 32, ..FecConfig::default() };
    let sender = SenderConfig {
        segment_size: 500,
        fec,
        rate: Bitrate::mbps(1),
        group_size: 10,
        grtt_initial: Duration::from_millis(50),
        ..SenderConfig::default()
    };
    SessionConfig {
        node_id: NodeId(number as u32 + 1),
        sender: Some(sender),
        receiver: Some(ReceiverConfig::default()),
        ..SessionConfig::default()
    }
}

impl Bus {
    fn new(count: usize) -> Self {
        let node = |number| {
            let config = GroupConfig { repair_rate: Bitrate::mbps(1), ..GroupConfig::default() };
            let node = GroupNode::new(config, session(number), 1 + number as u64, Time::ZERO);
            (node, MemoryStorage::new(1 << 20))
        };
        let (events, sent, bytes) = (vec![Vec::new(); count], vec![0; count], vec![0; count]);
        let (nodes, taken) = ((0..count).map(node).collect(), vec![Vec::new(); count]);
        Self { now: Time::ZERO, nodes, events, sent, bytes, verifies: false, taken }
    }

    /// One more comes, of whom nobody knows; gives its number.
    fn join(&mut self) -> usize {
        let number = self.nodes.len();
        let config = GroupConfig { repair_rate: Bitrate::mbps(1), ..GroupConfig::default() };
        let node = GroupNode::new(config, session(number), 1 + number as u64, self.now);
        self.nodes.push((node, MemoryStorage::new(1 << 20)));
        self.events.push(Vec::new());
        self.sent.push(0);
        self.bytes.push(0);
        self.taken.push(Vec::new());
        number
    }

    /// All of them greet from now on.
    fn greets(&mut self) {
        self.nodes.iter_mut().for_each(|(node, _)| node.config.greets = true);
    }

    /// A plain NORM node is heard there, so that frames go in commands, and NACKs as they are.
    fn hear_plain(&mut self, node: usize) {
        let (events, stats) = (&mut VecDeque::new(), &mut GroupStats::default());
        self.nodes[node].0.members.on_heard(self.now, NodeId(77), events, stats);
    }

    fn subscribe(&mut self, node: usize, filter: &str) -> SubscriptionId {
        let subscription = Subscription::new(Filter::new(filter).unwrap());
        self.nodes[node].0.subscribe(self.now, subscription)
    }

    fn publish(&mut self, node: usize, topic: &str, content: &[u8], options: Options) -> Published {
        let (node, storage) = &mut self.nodes[node];
        let topic = Topic::new(topic).unwrap();
        let published = node.publish(self.now, &topic, content, options).unwrap();
        storage.put(published.key, content.to_vec());
        published
    }

    /// Lets all nodes speak until `seconds` have passed.
    fn run(&mut self, seconds: u64, lost: &mut Loss<'_>) {
        self.run_for(Duration::from_secs(seconds), lost);
    }

    fn run_for(&mut self, time: Duration, lost: &mut Loss<'_>) {
        let end = self.now + time;
        loop {
            for from in 0..self.nodes.len() {
                self.speak(from, lost);
            }
            self.verify();
            let wake = self.nodes.iter().filter_map(|(node, _)| node.poll_timeout());
            let Some(next) = wake.map(|(at, _)| at).min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            for (node, storage) in &mut self.nodes {
                node.handle_timeout(self.now, storage);
            }
        }
        self.now = end;
        for (number, (node, _)) in self.nodes.iter_mut().enumerate() {
            self.events[number].extend(core::iter::from_fn(|| node.poll_event()));
        }
    }

    /// Does what a driver has to where bytes are to be verified.
    fn verify(&mut self) {
        for (number, (node, storage)) in self.nodes.iter_mut().enumerate() {
            while self.verifies
                && let Some(event) = node.poll_event()
            {
                if let Event::Verify { key, hash, .. } = event {
                    let right = storage.get(key).is_some_and(|bytes| hash_of(bytes) == hash);
                    node.verdict(self.now, key, right, storage);
                } else {
                    if let Event::Message(message) = &event {
                        let stored = || storage.get(message.key).map(<[u8]>::to_vec);
                        let content = message.description.content.clone().or_else(stored);
                        self.taken[number].extend(content);
                    }
                    self.events[number].push(event);
                }
            }
        }
    }

    fn speak(&mut self, from: usize, lost: &mut Loss<'_>) {
        let mut buffer = Vec::new();
        loop {
            let (node, storage) = &mut self.nodes[from];
            if node.poll_transmit(self.now, 1, &mut buffer, storage).is_none() {
                return;
            }
            self.sent[from] += 1;
            self.bytes[from] += buffer.len() as u64;
            let message = Message::parse(&buffer).unwrap();
            let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, from as u8 + 1));
            let meta = RecvMeta {
                source: SocketAddr::new(ip, 6003),
                ecn: None,
                unicast: false,
                waited: Duration::ZERO,
            };
            for to in (0..self.nodes.len()).filter(|to| *to != from) {
                if !lost(from, to, &message) {
                    let (node, storage) = &mut self.nodes[to];
                    node.handle_datagram(self.now, meta, &buffer, storage);
                }
            }
        }
    }

    fn messages(&self, node: usize) -> Vec<&Delivered> {
        fn message(event: &Event) -> Option<&Delivered> {
            match event {
                Event::Message(message) => Some(message),
                _ => None,
            }
        }
        self.events[node].iter().filter_map(message).collect()
    }
    /// How each stands to a message, as `node` was told last.
    fn standings(&self, node: usize, message: ObjectKey) -> Vec<(u32, Standing)> {
        let told = self.events[node].iter().filter_map(|event| match event {
            Event::Standing { key, node, standing } if *key == message => Some((node.0, *standing)),
            _ => None,
        });
        told.collect::<BTreeMap<_, _>>().into_iter().collect()
    }
    fn topics(&self, node: usize) -> Vec<(&str, u64)> {
        let all = self.messages(node).into_iter();
        all.map(|m| (m.description.topic.as_str(), m.description.number)).collect()
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 17 + n / 256) as u8).collect()
}

/// Stands in for the hash of bytes.
fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let hash = fnv::hash(bytes).to_be_bytes();
    [hash, hash].concat().try_into().unwrap()
}

fn none(_: usize, _: usize, _: &Message<'_>) -> bool {
    false
}
