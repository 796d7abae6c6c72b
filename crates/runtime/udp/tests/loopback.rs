//! Endpoints against each other through the kernel, without leaving this machine: on the loopback
//! interface, or with TTL 0 where that cannot carry the group.
//!
//! Ports come from the system; nothing sleeps, every wait is for a datagram and has a limit.
//! Long because all trials share the few functions that open endpoints and interfaces.

#![cfg(any(target_os = "linux", target_os = "android"))]

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use fanfare_udp::{
    Ecn, Endpoint, EndpointConfig, Interface, OpenError, Ready, RecvMeta, Role, Via, interfaces,
};
use socket2::{MsgHdrMut, SockRef};

const LIMIT: Option<Duration> = Some(Duration::from_secs(60));
const NOW: Option<Duration> = Some(Duration::ZERO);

fn lo() -> Interface {
    interfaces().unwrap().into_iter().find(|i| i.loopback && i.ipv4().is_some()).unwrap()
}

fn free_port(address: impl Into<IpAddr>) -> u16 {
    UdpSocket::bind((address.into(), 0)).unwrap().local_addr().unwrap().port()
}

fn group(last: u8) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(239, 255, 77, last).into(), free_port(Ipv4Addr::UNSPECIFIED))
}

fn on_lo(group: SocketAddr) -> EndpointConfig {
    EndpointConfig { group, interface: Some(lo()), ..EndpointConfig::default() }
}

fn open(config: &EndpointConfig) -> Endpoint {
    Endpoint::open(config).unwrap_or_else(|error| panic!("{config:?}: {error}"))
}

/// Receives until there are `count` datagrams or nothing more comes for a long time.
fn receive(endpoint: &mut Endpoint, count: usize) -> Vec<(RecvMeta, Vec<u8>)> {
    let mut received = Vec::new();
    while received.len() < count && endpoint.wait(LIMIT, None).unwrap() != Ready::default() {
        endpoint.receive(|meta, bytes| received.push((*meta, bytes.to_vec()))).unwrap();
    }
    assert_eq!(received.len(), count);
    received
}

/// On loopback a datagram is in the receiver's queue before `send` returns.
fn assert_nothing_arrived(endpoint: &Endpoint) {
    assert_eq!(endpoint.wait(NOW, None).unwrap(), Ready::default());
}

/// Datagrams of 1200 bytes each but for a shorter last one, each with its own content.
fn batch(datagrams: usize) -> Vec<u8> {
    (0..datagrams * 1200 - 700).map(|at| (at / 1200) as u8 ^ (at % 251) as u8).collect()
}

fn assert_is_batch(received: &[(RecvMeta, Vec<u8>)], batch: &[u8]) {
    let expected: Vec<&[u8]> = batch.chunks(1200).collect();
    assert!(received.iter().map(|(_, bytes)| bytes.as_slice()).eq(expected));
}

fn a_batch_arrives_whole(gso: bool, gro: bool, last: u8) {
    let group = group(last);
    let config = EndpointConfig { gso, gro, ..on_lo(group) };
    let (sender, mut receiver) = (open(&config), open(&config));
    // More than two super-packets, so that the cut between them is tested too.
    let bytes = batch(130);
    assert_eq!(sender.send(group, 1200, Some(Ecn::Ect0), &bytes).unwrap(), bytes.len());
    let received = receive(&mut receiver, 130);
    assert_is_batch(&received, &bytes);
    for (meta, _) in &received {
        assert_eq!(meta.source, sender.local_addr().unwrap());
        assert_eq!(meta.destination, Some(group.ip()));
        assert_eq!(meta.ecn, Some(Ecn::Ect0));
        assert_eq!(meta.via, Via::Group(group));
    }
}

#[test]
fn a_batch_arrives_as_its_datagrams_with_and_without_offload() {
    a_batch_arrives_whole(true, true, 1);
    a_batch_arrives_whole(true, false, 2);
    a_batch_arrives_whole(false, true, 3);
    a_batch_arrives_whole(false, false, 4);
}

#[test]
fn a_longer_datagram_after_a_batch_is_not_cut() {
    let group = group(5);
    let (sender, mut receiver) = (open(&on_lo(group)), open(&on_lo(group)));
    sender.send(group, 100, None, &[1; 300]).unwrap();
    sender.send(group, 5000, None, &[2; 5000]).unwrap();
    sender.send(group, 100, None, &[3; 250]).unwrap();
    sender.send(group, 100, None, &[4; 60]).unwrap();
    sender.send(group, 100, None, &[]).unwrap();
    let lengths: Vec<usize> = receive(&mut receiver, 9).iter().map(|(_, b)| b.len()).collect();
    assert_eq!(lengths, [100, 100, 100, 5000, 100, 100, 50, 60, 0]);
}

#[test]
fn each_mark_arrives_on_single_datagrams_as_it_was_sent() {
    let group = group(6);
    let (sender, mut receiver) = (open(&on_lo(group)), open(&on_lo(group)));
    let marks = [None, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::Ce), None];
    for ecn in marks {
        sender.send(group, 10, ecn, b"x").unwrap();
    }
    let received: Vec<_> = receive(&mut receiver, 5).iter().map(|(meta, _)| meta.ecn).collect();
    assert_eq!(received, marks);
}

#[test]
fn a_unicast_reply_reaches_the_sending_socket_and_nobody_else() {
    let group = group(7);
    let (mut sender, mut receiver) = (open(&on_lo(group)), open(&on_lo(group)));
    let mut bystander = open(&on_lo(group));
    sender.send(group, 10, None, b"data").unwrap();
    let (meta, _) = receive(&mut receiver, 1).remove(0);
    receive(&mut bystander, 1);
    receive(&mut sender, 1);
    receiver.send(meta.source, 10, None, b"nack").unwrap();
    assert!(sender.wait(LIMIT, None).unwrap().unicast);
    let (reply, bytes) = receive(&mut sender, 1).remove(0);
    assert_eq!((reply.via, bytes.as_slice()), (Via::Unicast, &b"nack"[..]));
    assert_eq!(reply.source, receiver.local_addr().unwrap());
    assert_nothing_arrived(&bystander);
}

#[test]
fn all_endpoints_of_one_machine_hear_the_group() {
    let group = group(8);
    let mut endpoints = [open(&on_lo(group)), open(&on_lo(group)), open(&on_lo(group))];
    endpoints[0].send(group, 10, None, b"to all").unwrap();
    for endpoint in &mut endpoints {
        assert_eq!(receive(endpoint, 1)[0].1, b"to all");
    }
}

#[test]
fn who_does_not_want_its_own_hears_the_others_and_they_hear_it() {
    let group = group(18);
    let mut sender = open(&EndpointConfig { own: false, ..on_lo(group) });
    let mut other = open(&on_lo(group));
    sender.send(group, 1000, None, &[1; 4000]).unwrap();
    assert_eq!(receive(&mut other, 4).len(), 4);
    other.send(group, 500, None, &[2; 500]).unwrap();
    let heard = receive(&mut sender, 1);
    assert_eq!(heard[0].1, [2; 500]);
    assert_nothing_arrived(&sender);
    assert_eq!(sender.overruns(), 0);
}

#[test]
fn without_loopback_nobody_on_this_machine_hears_what_is_sent() {
    let group = group(9);
    let Some(interface) = outside(group.ip()) else { return };
    let config =
        EndpointConfig { group, interface: Some(interface), ttl: 0, ..EndpointConfig::default() };
    let silent = open(&EndpointConfig { loopback: false, ..config.clone() });
    let mut receiver = open(&config);
    silent.send(group, 10, None, b"unheard").unwrap();
    open(&config).send(group, 10, None, b"heard").unwrap();
    assert_eq!(receive(&mut receiver, 1)[0].1, b"heard");
    assert_nothing_arrived(&receiver);
}

#[test]
fn traffic_to_another_group_on_the_same_port_is_not_received() {
    let ours = group(10);
    let other = SocketAddr::new(Ipv4Addr::new(239, 255, 77, 11).into(), ours.port());
    let (mut receiver, mut elsewhere) = (open(&on_lo(ours)), open(&on_lo(other)));
    let sender = open(&EndpointConfig { role: Role::Sender, ..on_lo(ours) });
    sender.send(other, 10, None, b"theirs").unwrap();
    sender.send(ours, 10, None, b"ours").unwrap();
    assert_eq!(receive(&mut receiver, 1)[0].1, b"ours");
    assert_eq!(receive(&mut elsewhere, 1)[0].1, b"theirs");
    assert_nothing_arrived(&receiver);
}

#[test]
fn a_further_group_is_heard_from_join_to_leave() {
    let first = group(12);
    let second = group(13);
    let (sender, mut receiver) = (open(&on_lo(first)), open(&on_lo(first)));
    receiver.join(second).unwrap();
    receiver.join(second).unwrap();
    sender.send(second, 10, None, b"layer").unwrap();
    assert_eq!(receive(&mut receiver, 1)[0].0.via, Via::Group(second));
    assert!(receiver.leave(second));
    assert!(!receiver.leave(second));
    sender.send(second, 10, None, b"layer").unwrap();
    assert_nothing_arrived(&receiver);
    let error = receiver.join("10.0.0.1:6003".parse().unwrap()).unwrap_err();
    assert_eq!(error.code(), "group.not_multicast");
}

#[test]
fn a_source_specific_member_hears_its_source_only() {
    let group =
        SocketAddr::new(Ipv4Addr::new(232, 1, 2, 3).into(), free_port(Ipv4Addr::UNSPECIFIED));
    let wanted = "127.0.0.2".parse().unwrap();
    let source = Some(wanted);
    let mut receiver = open(&EndpointConfig { source, ..on_lo(group) });
    let stranger = open(&EndpointConfig { role: Role::Sender, ..on_lo(group) });
    let interface = Interface { addresses: vec![wanted], ..lo() };
    let role = Role::Sender;
    let sender =
        open(&EndpointConfig { role, interface: Some(interface), ..EndpointConfig::default() });
    stranger.send(group, 10, None, b"stranger").unwrap();
    sender.send(group, 10, None, b"wanted").unwrap();
    let (meta, bytes) = receive(&mut receiver, 1).remove(0);
    assert_eq!((meta.source.ip(), bytes.as_slice()), (wanted, &b"wanted"[..]));
    assert_nothing_arrived(&receiver);
}

/// An interface other than loopback that carries the group, if this machine has one. Linux has no
/// route for IPv6 groups on loopback, and returns every datagram there whatever the sender asks.
fn outside(group: IpAddr) -> Option<Interface> {
    interfaces().unwrap().into_iter().find(|i| !i.loopback && i.serves(group))
}

fn ipv6_interface() -> Option<Interface> {
    outside(Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0, 1).into())
}

fn ipv6_group(interface: &Interface) -> EndpointConfig {
    let port = free_port(Ipv6Addr::UNSPECIFIED);
    let group = SocketAddr::new("ff15::77:1".parse().unwrap(), port);
    let interface = Some(interface.clone());
    // TTL 0: heard on this machine, never on the wire.
    EndpointConfig { group, interface, ttl: 0, ..EndpointConfig::default() }
}

#[test]
fn ipv6_on_loopback_works_or_says_that_there_is_no_route() {
    let lo = lo();
    if !lo.addresses.contains(&Ipv6Addr::LOCALHOST.into()) {
        let group = "[ff15::1]:6003".parse().unwrap();
        let error = Endpoint::open(&on_lo(group)).unwrap_err();
        assert!(matches!(
            error,
            OpenError::Join { .. } | OpenError::Socket { .. } | OpenError::NoAddress { .. }
        ));
        return;
    }
    let config = ipv6_group(&lo);
    let (sender, mut receiver) = (open(&config), open(&config));
    match sender.send(config.group, 10, Some(Ecn::Ce), b"six") {
        Ok(_) => assert_eq!(receive(&mut receiver, 1)[0].0.ecn, Some(Ecn::Ce)),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::NetworkUnreachable),
    }
}

#[test]
fn ipv6_carries_batches_marks_and_replies() {
    let Some(interface) = ipv6_interface() else { return };
    let config = ipv6_group(&interface);
    let (mut sender, mut receiver) = (open(&config), open(&config));
    let bytes = batch(50);
    assert_eq!(sender.send(config.group, 1200, Some(Ecn::Ect1), &bytes).unwrap(), bytes.len());
    let received = receive(&mut receiver, 50);
    assert_is_batch(&received, &bytes);
    let (meta, _) = received[0];
    assert!(received.iter().all(|(meta, _)| meta.ecn == Some(Ecn::Ect1)));
    assert_eq!(meta.destination, Some(config.group.ip()));
    receive(&mut sender, 50);
    receiver.send(meta.source, 10, None, b"nack").unwrap();
    assert_eq!(receive(&mut sender, 1)[0].0.via, Via::Unicast);
}

#[test]
fn an_ipv6_source_specific_member_hears_its_source_only() {
    let Some(interface) = ipv6_interface() else { return };
    let config = ipv6_group(&interface);
    let own = interface.address_towards(config.group.ip()).unwrap();
    let mut hearing = open(&EndpointConfig { source: Some(own), ..config.clone() });
    let stranger = Some("2001:db8::99".parse().unwrap());
    let deaf = open(&EndpointConfig { source: stranger, ..config.clone() });
    let sender = open(&EndpointConfig { role: Role::Sender, ..config.clone() });
    sender.send(config.group, 10, None, b"wanted").unwrap();
    assert_eq!(receive(&mut hearing, 1)[0].0.source.ip(), own);
    assert_nothing_arrived(&deaf);
}

#[test]
fn dscp_and_ecn_share_the_traffic_class() {
    for group in ["127.0.0.1:0", "[::1]:0"] {
        let receiver = UdpSocket::bind(group.parse::<SocketAddr>().unwrap()).unwrap();
        receiver.set_read_timeout(LIMIT).unwrap();
        let group = receiver.local_addr().unwrap();
        if group.is_ipv4() {
            SockRef::from(&receiver).set_recv_tos_v4(true).unwrap();
        } else {
            SockRef::from(&receiver).set_recv_tclass_v6(true).unwrap();
        }
        let role = Role::Sender;
        let config = EndpointConfig { group, role, dscp: 46, ..EndpointConfig::default() };
        open(&config).send(group, 10, Some(Ecn::Ect0), b"x").unwrap();
        assert_eq!(traffic_class(&receiver), 46 << 2 | Ecn::Ect0.bits(), "{group}");
    }
}

/// The first byte after the header (a length and two integers) of the only control message; on
/// big-endian machines an IPv6 class is the last byte of four.
fn traffic_class(receiver: &UdpSocket) -> u8 {
    let mut control = [MaybeUninit::new(0_u8); 64];
    let mut data = [MaybeUninit::new(0_u8); 64];
    let mut data = [socket2::MaybeUninitSlice::new(&mut data)];
    let mut message = MsgHdrMut::new().with_buffers(&mut data).with_control(&mut control);
    SockRef::from(receiver).recvmsg(&mut message, 0).unwrap();
    let header = size_of::<usize>() + 8;
    let mut bytes = Vec::new();
    control.iter().for_each(|byte| {
        // SAFETY: every byte was initialised above, and the kernel only writes initialised ones.
        bytes.push(unsafe { byte.assume_init() });
    });
    *bytes[header..header + 4].iter().find(|byte| **byte != 0).unwrap_or(&0)
}

#[test]
fn a_unicast_receiver_is_sent_to_and_answers() {
    let port = free_port(Ipv4Addr::LOCALHOST);
    let group = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let config = EndpointConfig { group, ..EndpointConfig::default() };
    let mut receiver = open(&config);
    let mut sender = open(&EndpointConfig { role: Role::Sender, ..config.clone() });
    let bytes = batch(70);
    assert_eq!(sender.send(group, 1200, None, &bytes).unwrap(), bytes.len());
    let received = receive(&mut receiver, 70);
    assert_is_batch(&received, &bytes);
    receiver.send(received[0].0.source, 10, None, b"ack").unwrap();
    assert_eq!(receive(&mut sender, 1)[0].0.source, receiver.local_addr().unwrap());

    let error = Endpoint::open(&config).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "port ({group}): another program uses it exclusively. Stop that program or use another port"
        )
    );
}

#[test]
fn an_address_of_another_machine_is_only_sent_to() {
    let group = "192.0.2.77:6003".parse().unwrap();
    let endpoint = open(&EndpointConfig { group, ..EndpointConfig::default() });
    assert_eq!(endpoint.group(), group);
    assert!(endpoint.interface().is_none());
    assert_nothing_arrived(&endpoint);
}

#[test]
fn a_waker_ends_a_wait_and_space_is_reported_when_asked_for() {
    let endpoint = open(&on_lo(group(14)));
    let waker = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    waker.send_to(b"wake", waker.local_addr().unwrap()).unwrap();
    let ready = endpoint.wait(LIMIT, Some(waker.as_fd())).unwrap();
    assert_eq!(ready, Ready { woken: true, ..Ready::default() });
    let ready = endpoint.wait_for_space(LIMIT, None).unwrap();
    assert_eq!(ready, Ready { writable: true, ..Ready::default() });
    let brief = Some(Duration::from_nanos(1));
    assert_eq!(endpoint.wait(brief, None).unwrap(), Ready::default());
}

#[test]
fn datagrams_that_found_no_buffer_are_counted() {
    let group = group(15);
    let config = EndpointConfig { receive_buffer: 4096, gro: false, ..on_lo(group) };
    let mut receiver = open(&config);
    let sender = open(&EndpointConfig { role: Role::Sender, gso: false, ..on_lo(group) });
    assert_eq!(receiver.overruns(), 0);
    sender.send(group, 1200, None, &[0; 100 * 1200]).unwrap();
    let kept = receiver.receive(|_, _| {}).unwrap() as u64;
    assert!(kept > 0 && kept < 100);
    assert_eq!(receiver.overruns(), 100 - kept);
    receiver.leave(group);
    assert_eq!(receiver.overruns(), 100 - kept);
}

#[test]
fn a_segment_longer_than_the_link_takes_is_an_error_and_segmentation_goes_on() {
    let group = group(16);
    let Some(interface) = outside(group.ip()).filter(|i| i.mtu < 9000) else { return };
    let interface = Some(interface);
    let endpoint = open(&EndpointConfig { group, interface, ttl: 0, ..EndpointConfig::default() });
    let error = endpoint.send(group, 9000, None, &[0; 27_000]).unwrap_err();
    const EMSGSIZE: i32 = 90;
    assert_eq!(error.raw_os_error(), Some(EMSGSIZE), "{error}");
    assert_eq!(endpoint.send(group, 100, None, &[0; 250]).unwrap(), 250);
    assert_eq!(endpoint.send(group, 100, None, &[0; 50]).unwrap(), 50);
    assert_eq!(endpoint.max_gso_segments(1200), 54);
    assert_eq!(endpoint.max_gso_segments(100), 64);
}

#[test]
fn wrong_configurations_say_what_is_wrong() {
    let config = on_lo(group(17));
    let error = |config: EndpointConfig| Endpoint::open(&config).unwrap_err().to_string();
    assert_eq!(
        error(EndpointConfig { dscp: 64, ..config.clone() }),
        "dscp (64): out of range. Give a value from 0 to 63"
    );
    assert_eq!(
        error(EndpointConfig { source: Some("::1".parse().unwrap()), ..config.clone() }),
        format!(
            "source (::1): not a unicast IPv4 sender for group {}. \
             Give the sender's own address of the group's family, or no source",
            config.group.ip()
        )
    );
    let requested = Some("no-such-interface");
    let error = fanfare_udp::choose_interface(config.group.ip(), requested).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "interface (no-such-interface): no interface has this name or address. \
             Choose one with --interface: lo (127.0.0.1"
        ),
        "{text}"
    );
}
