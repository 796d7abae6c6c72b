//! Nodes on a bus without delay, whose losses a test decides datagram by datagram.

use super::*;
use crate::{
    event::Delivered,
    holders::Standing,
    subscription::{History, Ordering, Subscription, SubscriptionId},
    topic::Filter,
};
use alloc::vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use fanfare_proto::{Bitrate, FecConfig, MemoryStorage, ReceiverConfig, RecvMeta, SenderConfig};
use fanfare_wire::Message;

/// Whether a datagram from one node to another is lost.
type Loss = dyn FnMut(usize, usize, &Message<'_>) -> bool;

struct Bus {
    now: Time,
    nodes: Vec<(GroupNode, MemoryStorage)>,
    events: Vec<Vec<Event>>,
    sent: Vec<u64>,
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
        let (events, sent) = (vec![Vec::new(); count], vec![0; count]);
        Self { now: Time::ZERO, nodes: (0..count).map(node).collect(), events, sent }
    }

    fn subscribe(&mut self, node: usize, filter: &str) -> SubscriptionId {
        let subscription = Subscription::new(Filter::new(filter).unwrap());
        self.nodes[node].0.subscribe(subscription)
    }

    fn publish(&mut self, node: usize, topic: &str, content: &[u8], options: Options) -> Published {
        let (node, storage) = &mut self.nodes[node];
        let topic = Topic::new(topic).unwrap();
        let published = node.publish(self.now, &topic, content, options).unwrap();
        storage.put(published.key, content.to_vec());
        published
    }

    /// Lets all nodes speak until `seconds` have passed.
    fn run(&mut self, seconds: u64, lost: &mut Loss) {
        let end = self.now + Duration::from_secs(seconds);
        loop {
            for from in 0..self.nodes.len() {
                self.speak(from, lost);
            }
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

    fn speak(&mut self, from: usize, lost: &mut Loss) {
        let mut buffer = Vec::new();
        loop {
            let (node, storage) = &mut self.nodes[from];
            if node.poll_transmit(self.now, 1, &mut buffer, storage).is_none() {
                return;
            }
            self.sent[from] += 1;
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

fn none(_: usize, _: usize, _: &Message<'_>) -> bool {
    false
}

#[test]
fn short_messages_come_in_their_description_and_long_ones_in_storage() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "a/#");
    assert!(bus.publish(0, "a/short", b"hello", Options::default()).inline);
    assert!(!bus.publish(0, "a/long", &bytes(20_000), Options::default()).inline);
    bus.publish(0, "b", b"not for you", Options::default());
    bus.run(5, &mut none);
    assert_eq!(bus.topics(1), [("a/short", 0), ("a/long", 0)]);
    let messages = bus.messages(1);
    assert_eq!(messages[0].description.content.as_deref(), Some(&b"hello"[..]));
    assert_eq!((messages[0].size, messages[1].size), (5, 20_000));
    assert_eq!(bus.nodes[1].1.get(messages[1].key), Some(&bytes(20_000)[..]));
}

#[test]
fn a_node_without_subscriptions_asks_for_nothing() {
    let mut bus = Bus::new(2);
    bus.publish(0, "a", &bytes(20_000), Options::default());
    let mut third = 0;
    bus.run(20, &mut move |from, _, message| {
        assert!(from == 0 || !matches!(message, Message::Nack(_)));
        third += u32::from(matches!(message, Message::Data(_)));
        third % 3 == 1
    });
    assert!(bus.messages(1).is_empty());
}

#[test]
fn a_deaf_senders_message_is_completed_by_others_from_their_parts() {
    let mut bus = Bus::new(5);
    for node in 1..5 {
        bus.subscribe(node, "#");
    }
    bus.publish(0, "a", &bytes(40_000), Options::default());
    let mut heard = 0;
    bus.run(60, &mut move |from, to, message| {
        let content = matches!(message, Message::Data(_) | Message::Info(_));
        heard += u32::from(from == 0 && to == 1 && content);
        // Nothing reaches the sender; each of its messages reaches one other alone.
        to == 0 || from == 0 && content && heard as usize % 4 + 1 != to
    });
    for node in 1..5 {
        assert_eq!(bus.topics(node), [("a", 0)], "node {node}");
        let key = bus.messages(node)[0].key;
        assert_eq!(bus.nodes[node].1.get(key), Some(&bytes(40_000)[..]));
    }
}

#[test]
fn who_comes_when_the_publisher_is_gone_gets_all_from_who_was_there() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    bus.subscribe(2, "#");
    bus.publish(0, "a", &bytes(9_000), Options::default());
    bus.publish(0, "b", b"short", Options::default());
    bus.run(5, &mut |_, to, _| to == 2);
    assert!(bus.messages(1).len() == 2 && bus.messages(2).is_empty());
    // The third node never hears the publisher, nor does the publisher hear anybody.
    bus.run(200, &mut |from, to, _| from == 0 || to == 0);
    let mut topics = bus.topics(2);
    topics.sort_unstable();
    assert_eq!(topics, [("a", 0), ("b", 0)]);
}

#[test]
fn a_message_lost_by_all_at_the_end_is_seen_missing_by_the_publishers_announcement() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    bus.publish(0, "a", b"first", Options::default());
    bus.run(5, &mut none);
    // For a minute, longer than any flush, nothing but announcements goes.
    bus.publish(0, "a", b"last", Options::default());
    bus.run(60, &mut |_, _, _| true);
    assert_eq!(bus.messages(1).len(), 1);
    bus.run(150, &mut none);
    assert_eq!(bus.topics(1), [("a", 0), ("a", 1)]);
}

#[test]
fn joining_leaving_and_hearing_are_told() {
    let mut bus = Bus::new(2);
    bus.run(100, &mut |_, to, _| to == 1);
    assert!(bus.events[0].contains(&Event::Joined { node: NodeId(2) }));
    assert!(bus.events[0].contains(&Event::HearsUs { node: NodeId(2), hears: false }));
    assert!(!bus.events[1].contains(&Event::Joined { node: NodeId(1) }));
    bus.run(300, &mut |_, _, _| true);
    assert!(bus.events[0].contains(&Event::Left { node: NodeId(2) }));
}

#[test]
fn a_message_that_comes_too_late_holds_nothing_up() {
    let mut bus = Bus::new(2);
    let deadline = Some(Duration::from_secs(3));
    let ordering = Ordering::Source;
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(Subscription { deadline, ordering, ..all });
    let broken = bus.publish(0, "a", &bytes(5_000), Options::default()).key;
    bus.publish(0, "b", b"after", Options::default());
    let mut lose = move |_: usize, _: usize, message: &Message<'_>| match message {
        Message::Data(data) => {
            data.object_transport_id == broken.object && data.payload_id.as_bytes() != [0; 4]
        }
        _ => false,
    };
    bus.run(2, &mut lose);
    assert_eq!(bus.topics(1), []);
    bus.run(3, &mut lose);
    assert_eq!(bus.topics(1), [("b", 0)]);
}

#[test]
fn only_so_much_history_is_handed_over_as_is_wanted() {
    let mut bus = Bus::new(2);
    for _ in 0..10 {
        bus.publish(0, "a", b"old", Options::default());
    }
    bus.run(1, &mut |_, _, _| true);
    let all = Subscription::new(Filter::new("#").unwrap());
    bus.nodes[1].0.subscribe(Subscription { history: History::Last(2), ..all });
    bus.publish(0, "a", b"new", Options::default());
    bus.run(100, &mut none);
    let mut numbers: Vec<u64> = bus.topics(1).iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [8, 9, 10]);
}

#[test]
fn a_newer_message_of_the_same_tag_makes_the_older_one_superfluous() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let options = Options { tag: Some(1), replaces: true, ..Options::default() };
    let old = bus.publish(0, "a", &bytes(5_000), options).key;
    bus.run(3, &mut none);
    bus.publish(0, "a", &bytes(6_000), options);
    bus.run(3, &mut none);
    assert!(bus.events[1].contains(&Event::Released { key: old }));
    assert_eq!(bus.nodes[0].0.cancel(1), 1);
    assert_eq!(bus.nodes[0].0.cancel(1), 0);
}

#[test]
fn garbage_and_forged_frames_are_refused_and_counted() {
    let mut bus = Bus::new(2);
    bus.subscribe(1, "#");
    let published = bus.publish(0, "a", &bytes(2_000), Options::default());
    bus.run(3, &mut none);
    let (node, storage) = &mut bus.nodes[1];
    let meta = RecvMeta {
        source: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 99)), 6003),
        ecn: None,
        unicast: false,
        waited: Duration::ZERO,
    };
    let mut forged = Vec::new();
    let passage = fanfare_proto::Passage::Symbol { block: 0, symbol: 0, has_info: true };
    assert!(node.session().receiver().pass_on(published.key, passage, storage, &mut forged));
    for (at, byte) in [(None, 0), (Some(9), 0x77), (Some(7), 2)] {
        let mut content = crate::frame::Kind::Repair.header().to_vec();
        content.extend_from_slice(&forged);
        match at {
            Some(at) => content[6 + at] = byte,
            None => content.truncate(30),
        }
        let sender = SenderFields { source_id: NodeId(99), ..node.fields };
        let extensions = fanfare_wire::ext::Extensions::default();
        let mut datagram = Vec::new();
        fanfare_wire::cmd::Application { sender, extensions, content: &content }
            .encode(&mut datagram);
        node.handle_datagram(Time::ZERO + Duration::from_secs(4), meta, &datagram, storage);
    }
    let stats = node.stats();
    assert_eq!((stats.frames_refused, stats.repairs_heard, stats.repairs_useful), (1, 2, 0));
    assert_eq!(storage.get(published.key), Some(&bytes(2_000)[..]));
}

#[test]
fn who_subscribes_late_is_given_what_is_here() {
    let mut bus = Bus::new(2);
    bus.nodes[0].0.config.hears_itself = true;
    bus.publish(0, "a", b"short", Options::default());
    bus.publish(0, "a", &bytes(3_000), Options::default());
    bus.run(5, &mut none);
    for node in 0..2 {
        bus.subscribe(node, "a");
        bus.run(1, &mut none);
        assert_eq!(bus.topics(node), [("a", 0), ("a", 1)], "{node}");
    }
}

#[test]
fn a_publisher_learns_who_holds_its_message() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(20, &mut |_, to, _| to == 2);
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds), (3, Standing::Unwanted)]);
}

#[test]
fn who_does_not_want_a_message_and_has_not_all_of_it_does_not_say_that_it_holds_it() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "a");
    bus.subscribe(2, "b");
    let key = bus.publish(0, "a", &bytes(3_000), Options::default()).key;
    bus.nodes[0].0.watch(key);
    bus.run(20, &mut |_, to, message| to == 2 && matches!(message, Message::Data(_)));
    assert_eq!(bus.standings(0, key), [(2, Standing::Holds), (3, Standing::Unwanted)]);
}

#[test]
fn in_a_group_where_most_may_be_silent_all_say_within_seconds_how_they_stand() {
    let mut bus = Bus::new(12);
    (1..12).for_each(|node| {
        bus.subscribe(node, "#");
    });
    bus.run(200, &mut none);
    let key = bus.publish(0, "a", b"short", Options::default()).key;
    bus.nodes[0].0.watch(key);
    // Two announcements of the publisher, each with answers within a second.
    bus.run(7, &mut none);
    let all: Vec<(u32, Standing)> = (2..13).map(|node| (node, Standing::Holds)).collect();
    assert_eq!(bus.standings(0, key), all);
}

#[test]
fn wrong_bytes_are_asked_for_again_before_they_are_handed_over() {
    let mut bus = Bus::new(2);
    bus.nodes[1].0.config.verifies = true;
    bus.subscribe(1, "#");
    let options = Options { hash: Some([7; 32]), ..Options::default() };
    let key = bus.publish(0, "a", &bytes(3_000), options).key;
    let verify = Event::Verify { key, size: 3_000, hash: [7; 32] };
    let asked = |bus: &Bus| bus.events[1].iter().filter(|event| **event == verify).count();
    for round in 0..2 {
        bus.run(5, &mut none);
        assert_eq!((asked(&bus), bus.messages(1).len()), (round + 1, 0));
        let (node, storage) = &mut bus.nodes[1];
        node.verdict(bus.now, key, round == 1, storage);
    }
    bus.run(1, &mut none);
    assert_eq!(bus.messages(1).len(), 1);
    assert_eq!(bus.nodes[1].0.stats().wrong, 1);
}

#[test]
fn a_message_that_is_always_wrong_is_given_up() {
    let mut bus = Bus::new(2);
    bus.nodes[1].0.config.verifies = true;
    bus.subscribe(1, "#");
    let options = Options { hash: Some([7; 32]), ..Options::default() };
    let key = bus.publish(0, "a", &bytes(3_000), options).key;
    for _ in 0..4 {
        bus.run(5, &mut none);
        let (node, storage) = &mut bus.nodes[1];
        node.verdict(bus.now, key, false, storage);
    }
    bus.run(5, &mut none);
    assert!(bus.events[1].contains(&Event::Released { key }));
    assert_eq!(bus.messages(1).len(), 0);
}

/// The node goes on in a new process, with its storage and what was kept of others' messages.
fn restart(bus: &mut Bus, number: usize, kept: &[(ObjectKey, Vec<u8>)], age: Duration) {
    let config = bus.nodes[number].0.config;
    let mut node = GroupNode::new(config, session(number), 77, bus.now);
    let old = &mut bus.nodes[number];
    let own = old.0.publisher.own().map(|(key, (message, size))| (*key, message.encode(), *size));
    for (key, info, size) in own.collect::<Vec<_>>() {
        let stored = if Description::decode(&info).unwrap().content.is_some() { 0 } else { size };
        assert!(node.restore_own(bus.now, key.object, (info, stored)));
    }
    let next = fanfare_proto::ObjectTransportId(40);
    node.resume(next, core::iter::once((Topic::new("a").unwrap(), 9)));
    let mut storage = MemoryStorage::new(1 << 20);
    for (key, passage) in kept {
        let bytes = old.1.take(*key).unwrap_or_default();
        assert!(node.restore(bus.now, passage, (bytes.len() as u64, age), &mut storage));
        storage.put(*key, bytes);
    }
    for number in 0..100 {
        let object = fanfare_proto::ObjectTransportId(number);
        let key = ObjectKey { sender: node.session.node_id(), instance: node.instance(), object };
        old.1.take(key).into_iter().for_each(|bytes| storage.put(key, bytes));
    }
    bus.nodes[number] = (node, storage);
}

#[test]
fn a_restarted_publisher_goes_on_with_its_numbers_and_repairs_what_it_has_sent() {
    let mut bus = Bus::new(2);
    bus.publish(0, "a", b"short", Options::default());
    bus.publish(0, "a", &bytes(3_000), Options::default());
    bus.run(1, &mut |_, _, _| true);
    restart(&mut bus, 0, &[], Duration::ZERO);
    bus.subscribe(1, "#");
    let next = bus.publish(0, "a", b"next", Options::default()).key;
    assert_eq!(next.object.0, 40);
    bus.run(60, &mut none);
    let mut topics = bus.topics(1);
    topics.sort_unstable();
    assert_eq!(topics, [("a", 0), ("a", 1), ("a", 9)]);
    let long = bus.messages(1).into_iter().find(|message| message.size == 3_000).unwrap().key;
    assert_eq!(bus.nodes[1].1.get(long), Some(&bytes(3_000)[..]));
}

#[test]
fn what_a_restarted_node_held_of_others_it_still_gives_until_it_expires() {
    let mut bus = Bus::new(3);
    bus.subscribe(1, "#");
    let expiry = Some(Duration::from_secs(600));
    let options = Options { expiry, ..Options::default() };
    bus.publish(0, "a", b"short", options);
    bus.publish(0, "a", &bytes(3_000), options);
    bus.run(5, &mut |_, to, _| to == 2);
    let whole = bus.messages(1).iter().map(|message| message.key).collect::<Vec<_>>();
    let (node, storage) = &mut bus.nodes[1];
    let kept: Vec<(ObjectKey, Vec<u8>)> =
        whole.iter().map(|key| (*key, node.passage(*key, storage).unwrap())).collect();
    restart(&mut bus, 1, &kept, Duration::from_secs(100));
    bus.events[1].clear();
    bus.subscribe(1, "#");
    bus.subscribe(2, "#");
    bus.run(60, &mut |from, to, _| from == 0 || to == 0);
    for node in [1, 2] {
        let mut topics = bus.topics(node);
        topics.sort_unstable();
        assert_eq!(topics, [("a", 0), ("a", 1)], "{node}");
    }
    // 100 s old then, 60 s have passed: 440 are left, and two objects go.
    let released = |bus: &Bus| {
        let released = |event: &&Event| matches!(event, Event::Released { .. });
        bus.events[1].iter().filter(released).count()
    };
    bus.run(430, &mut |_, _, _| true);
    assert_eq!(released(&bus), 0);
    bus.run(20, &mut |_, _, _| true);
    assert_eq!(released(&bus), 2);
}
