//! What three nodes say when the first publishes and does not hear the others, as steps of an input.

use crate::world::REPORT;
use fanfare_messaging::{Filter, GroupConfig, GroupNode, Options, Subscription, Topic};
use fanfare_proto::{
    Bitrate, Duration, FecConfig, MemoryStorage, NodeId, ReceiverConfig, RecvMeta, SenderConfig,
    SessionConfig, Time, rng::Rng,
};
use fanfare_wire::{Cmd, Message};
use std::net::SocketAddr;

/// Nodes 2 to 4; node 1 is told.
const NODES: u8 = 3;
/// Of an input's time steps those of 30 ms, about what passes here between two datagrams, and of 9 s.
const STEP: u8 = 3;
const LONG_STEP: u8 = 6;

fn node(number: u8) -> GroupNode {
    let fec = FecConfig { source: 8, parity: 8, ..FecConfig::default() };
    let sender = SenderConfig {
        segment_size: 100,
        fec,
        rate: Bitrate::mbps(1),
        group_size: 10,
        grtt_initial: Duration::from_millis(50),
        ..SenderConfig::default()
    };
    let session = SessionConfig {
        node_id: NodeId(u32::from(number) + 2),
        sender: Some(sender),
        receiver: Some(ReceiverConfig::default()),
        ..SessionConfig::default()
    };
    let repair_rate = Bitrate::mbps(1);
    let config = GroupConfig { repair_rate, ..GroupConfig::default() };
    let mut node = GroupNode::new(config, session, u64::from(number), Time::ZERO);
    node.subscribe(Time::ZERO, Subscription::new(Filter::new("#").expect("a filter")));
    node
}

/// In order; seed 5, 40 % of all losses drawn for each pair. Where the publisher says that it hears others, but hears
/// no request, answers are block by block; then the same again where it says that it hears nobody, across objects.
pub(crate) fn recorded() -> Vec<Vec<u8>> {
    [talk(true), talk(false)].concat()
}

fn talk(publisher_hears_announcements: bool) -> Vec<Vec<u8>> {
    let mut nodes: Vec<(GroupNode, MemoryStorage)> =
        (0..NODES).map(|number| (node(number), MemoryStorage::new(1 << 20))).collect();
    let hears = publisher_hears_announcements;
    let (mut rng, mut now, mut steps) = (Rng::new(5), Time::ZERO, Vec::new());
    // Whom it hears is known after some seconds: the last ones are after it.
    let published = [
        (0, 20),
        (0, 1_500),
        (1, 30),
        (2, 700),
        (30, 40),
        (31, 90),
        (31, 700),
        (32, 60),
        (32, 200),
    ];
    for (second, size) in published {
        let until = Time::ZERO + Duration::from_secs(second);
        run(&mut nodes, (&mut now, until, hears), &mut rng, &mut steps);
        let topic = Topic::new("a/b").expect("a topic");
        let content = vec![size as u8; size];
        let (node, storage) = &mut nodes[0];
        let published = node.publish(now, &topic, &content, Options::default());
        storage.put(published.expect("there is room").key, content);
    }
    let until = Time::ZERO + Duration::from_secs(90);
    run(&mut nodes, (&mut now, until, hears), &mut rng, &mut steps);
    steps
}

fn run(
    nodes: &mut [(GroupNode, MemoryStorage)],
    (now, end, hears): (&mut Time, Time, bool),
    rng: &mut Rng,
    steps: &mut Vec<Vec<u8>>,
) {
    loop {
        for from in 0..nodes.len() {
            speak(nodes, (from, hears), *now, rng, steps);
        }
        let next = nodes.iter().filter_map(|(node, _)| node.poll_timeout()).map(|(at, _)| at).min();
        let Some(next) = next.filter(|next| *next <= end) else { break };
        *now = next.max(*now);
        nodes.iter_mut().for_each(|(node, storage)| node.handle_timeout(*now, storage));
    }
    *now = end;
}

fn speak(
    nodes: &mut [(GroupNode, MemoryStorage)],
    (from, hears): (usize, bool),
    now: Time,
    rng: &mut Rng,
    steps: &mut Vec<Vec<u8>>,
) {
    let mut buffer = Vec::new();
    loop {
        let (node, storage) = &mut nodes[from];
        if node.poll_transmit(now, 1, &mut buffer, storage).is_none() {
            return;
        }
        let source = SocketAddr::from(([10, 0, 0, from as u8 + 2], 6004));
        let meta = RecvMeta { source, ecn: None, unicast: false, waited: Duration::ZERO };
        steps.extend(Some(step(from as u8 + 2, &buffer)).filter(|_| rng.unit() > 0.4));
        let announces = is_announcement(&buffer);
        let first = usize::from(!(hears && announces));
        for to in (first..nodes.len()).filter(|to| *to != from) {
            if rng.unit() > 0.4 {
                let (node, storage) = &mut nodes[to];
                node.handle_datagram(now, meta, &buffer, storage);
            }
        }
    }
}

/// A long one.
fn is_announcement(datagram: &[u8]) -> bool {
    let message = Message::parse(datagram);
    matches!(message, Ok(Message::Cmd(Cmd::Application(command))) if command.content.starts_with(b"FG\x26"))
}

fn step(speaker: u8, datagram: &[u8]) -> Vec<u8> {
    // Bytes before extensions, the frame from its kind on, and how it is carried.
    let frame = match Message::parse(datagram).expect("what nodes say parses") {
        Message::Cmd(Cmd::Application(command)) => {
            command.content.strip_prefix(b"FG").map(|frame| (16..datagram.len() - 2, frame, 0))
        }
        Message::Report(report) => {
            report.payload.strip_prefix(b"F").map(|frame| (8..datagram.len() - 1, frame, REPORT))
        }
        _ => None,
    };
    let (time, how, bytes) = match frame {
        Some((span, frame, carried)) => {
            let area = &datagram[span.start..span.end - frame.len()];
            let kind = frame[0] & 0x0f;
            // Announcements are far between.
            let time = if kind == 6 { LONG_STEP } else { STEP };
            let words = (area.len() / 4) as u8;
            (time | carried, kind | words << 4, [area, &frame[1..]].concat())
        }
        None => (STEP, 0, datagram.to_vec()),
    };
    let length = (bytes.len() as u16).to_be_bytes();
    [&[time, how, speaker][..], &length, &bytes].concat()
}
