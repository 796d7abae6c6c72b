//! What relays pass on beside objects of files: packets of layers, and what members of groups say.

use std::{net::SocketAddr, time::Duration};

use fanfare_node::proto::congestion::layered::{
    Announcement, Channel, Description, Header, Scheme, SendPattern, Shape,
};
use fanfare_relay::{Config, Outgoing, Relay, To};
use fanfare_wire::{
    Alc, Cmd, GroupSize, InstanceId, Message, NodeId, QuantizedRtt, Report, Sequence,
    cmd::Application, ext::Extensions, header::SenderFields,
};

use crate::world::{SENDER, address, by_group, groups, ms};

const SESSION: u32 = 99;

fn group(last: u8) -> SocketAddr {
    SocketAddr::from(([239, 255, 42, last], 6003))
}

/// In two islands, with one peer.
fn relay(limit: u64) -> Relay {
    Relay::new(Config {
        id: 1,
        groups: groups(2),
        peers: vec![address(50)],
        accept: Vec::new(),
        open: false,
        limit,
        cache: 1 << 20,
    })
}

/// Everything but hellos.
fn sent(relay: &mut Relay) -> Vec<Outgoing> {
    let all = std::iter::from_fn(|| relay.poll_transmit());
    all.filter(|out| !out.bytes[8..].starts_with(b"FFR3")).collect()
}

fn header(channel: u8) -> Header {
    Header {
        channel: Channel(channel),
        layer: channel.saturating_sub(1),
        sequence: 5,
        sent: fanfare_node::proto::Time::ZERO,
        first_of_pair: false,
        slot: 0,
        signal: 0,
    }
}

/// Three layers of 100 kbit/s each.
fn description() -> Vec<u8> {
    let shape = Shape::new(1_000_000, 1000).unwrap();
    let announcement = Announcement {
        send_pattern: SendPattern::Pairs,
        interval: ms(1000),
        every: 1,
        packet: 1064,
        ask_share: 0,
        object: 1_000_000,
        group: group(2),
        scheme: Scheme::Equal { rate: fanfare_node::proto::Bitrate::kbps(100), count: 3 },
        echoes: Vec::new(),
    };
    let mut bytes = Vec::new();
    announcement.encode(&mut bytes);
    let mut content = Vec::new();
    let (header, info) = (header(0), &b"file"[..]);
    Description { header, session: SESSION, shape, info, announcement: &bytes }
        .encode(&mut content);
    let sender = SenderFields {
        sequence: Sequence(1),
        source_id: NodeId(SENDER),
        instance_id: InstanceId(1),
        grtt: QuantizedRtt::from_nanos(1_000_000),
        backoff: 4,
        gsize: GroupSize(0),
    };
    let mut message = Vec::new();
    let extensions = Extensions::default();
    let command = Application { sender, extensions, content: &content };
    Message::Cmd(Cmd::Application(command)).encode(&mut message);
    message
}

fn packet(channel: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packet = Alc {
        congestion: header(channel).to_bytes(),
        session: SESSION,
        object: 1,
        closes_session: false,
        block: 0,
        symbol: 3,
        content: &[7; 20],
    };
    packet.encode(&mut bytes);
    bytes
}

#[test]
fn layers_are_joined_where_they_are_described_and_their_packets_go_to_the_same_layers() {
    let mut relay = relay(250_000);
    relay.on_datagram(ms(0), by_group(0, 2), &packet(1));
    assert!(sent(&mut relay).is_empty(), "it is of no session yet");
    relay.on_datagram(ms(1), by_group(0, 2), &description());
    let joined: Vec<_> = std::iter::from_fn(|| relay.poll_membership()).collect();
    let told: Vec<_> = joined.iter().map(|one| (one.group, one.address, one.join)).collect();
    assert_eq!(
        told,
        [(0, group(2), true), (0, group(3), true)],
        "two of three are within the limit"
    );
    assert_eq!(sent(&mut relay).len(), 2, "the description goes to both other sides");
    relay.on_datagram(ms(2), by_group(0, 2), &packet(2));
    let passed: Vec<_> = sent(&mut relay).into_iter().map(|out| (out.to, out.bytes)).collect();
    let there = [To::Layer(1, group(3)), To::Address(0, address(50))];
    assert_eq!(passed, there.map(|to| (to, packet(2))));
    relay.on_datagram(ms(3), by_group(0, 2), &packet(3));
    relay.on_datagram(ms(3), by_group(1, 9), &packet(1));
    assert!(sent(&mut relay).is_empty(), "one beyond the limit, and one that comes back");
    relay.handle_timeout(Duration::from_secs(200));
    let left = std::iter::from_fn(|| relay.poll_membership()).filter(|one| !one.join);
    assert_eq!(left.count(), 2, "the session is over");
}

#[test]
fn what_members_of_groups_say_of_each_other_goes_to_the_other_islands_as_it_is() {
    let mut relay = relay(1_000_000_000);
    let report = |sequence, node| {
        let (sequence, source_id) = (Sequence(sequence), NodeId(node));
        let mut bytes = Vec::new();
        let extensions = Extensions::default();
        Report { sequence, source_id, extensions, payload: b"F2state" }.encode(&mut bytes);
        bytes
    };
    relay.on_datagram(ms(0), by_group(0, 2), &report(40, 5));
    let passed: Vec<_> = sent(&mut relay).into_iter().map(|out| (out.to, out.bytes)).collect();
    let there = [To::Group(1), To::Address(0, address(50))];
    assert_eq!(passed, there.map(|to| (to, report(40, 5))));
    relay.on_datagram(ms(1), by_group(1, 9), &report(40, 5));
    assert!(sent(&mut relay).is_empty(), "it comes back by another way");
}
