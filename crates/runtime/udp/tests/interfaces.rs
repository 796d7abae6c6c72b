//! What an endpoint does when its interface goes, comes back, or gets another address. Each test has a
//! network of its own, which only root may have.

#![allow(clippy::print_stderr, clippy::print_stdout)]
#![cfg(target_os = "linux")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use fanfare_udp::{Awaited, Change, Endpoint, EndpointConfig, Ready, interfaces};

const LIMIT: Option<Duration> = Some(Duration::from_secs(60));

#[track_caller]
fn open(config: &EndpointConfig) -> Endpoint {
    Endpoint::open(config).unwrap()
}

/// Moves this thread, and the programs that it starts, to a network of its own; only root may.
fn own_network() -> bool {
    // SAFETY: takes no pointer; what it changes is this thread's alone.
    unsafe { libc::unshare(libc::CLONE_NEWNET) == 0 }
}

fn ip(line: &str) {
    let done = std::process::Command::new("ip").args(line.split(' ')).status();
    assert!(done.is_ok_and(|status| status.success()), "ip {line}");
}

/// With a carrier, since its other end is on; itself still off.
fn appears(name: &str, address: &str) {
    ip(&format!("link add {name} type veth peer name {name}-end"));
    ip(&format!("link set {name}-end up"));
    ip(&format!("address add {address} dev {name}"));
}

fn hears_itself(endpoint: &mut Endpoint, group: SocketAddr) {
    endpoint.send(group, 4, None, b"here").unwrap();
    let mut heard = false;
    while !heard && endpoint.wait(LIMIT, None).unwrap() != Ready::default() {
        endpoint.receive(|_, bytes| heard |= bytes == b"here").unwrap();
    }
    assert!(heard);
}

#[test]
fn where_an_interface_has_come_back_its_groups_are_joined_again() {
    if !own_network() {
        return eprintln!("not tested: only root may have a network of its own");
    }
    appears("ff0", "10.78.0.1/24");
    ip("link set ff0 up");
    let group: SocketAddr = "239.255.77.9:6003".parse().unwrap();
    let other: SocketAddr = "239.255.77.10:6004".parse().unwrap();
    let interface = interfaces().unwrap().into_iter().find(|one| one.name == "ff0");
    let mut endpoint = open(&EndpointConfig { group, interface, ..EndpointConfig::default() });
    endpoint.join(other).unwrap();
    endpoint.join_layer("239.255.77.11:6005".parse().unwrap()).unwrap();
    hears_itself(&mut endpoint, group);
    assert_eq!(endpoint.follow().unwrap(), Change::None, "nothing has changed");
    ip("link delete ff0");
    assert_eq!(endpoint.follow().unwrap(), Change::Down, "it has gone");
    assert!(endpoint.send(group, 4, None, b"lost").is_err());
    appears("ff0", "10.78.0.2/24");
    assert_eq!(endpoint.follow().unwrap(), Change::None, "it is not up yet");
    ip("link set ff0 up");
    assert_eq!(endpoint.follow().unwrap(), Change::Moved);
    assert_eq!(endpoint.local_addr().unwrap().ip(), Ipv4Addr::new(10, 78, 0, 2));
    hears_itself(&mut endpoint, group);
    hears_itself(&mut endpoint, other);
    assert_eq!(endpoint.layer_sockets(), 1);
    assert_eq!(endpoint.follow().unwrap(), Change::None, "it stays");
    // Another name, the same address.
    ip("link delete ff0");
    appears("ff1", "10.78.0.2/24");
    ip("link set ff1 up");
    assert_eq!(endpoint.follow().unwrap(), Change::Moved);
    assert_eq!(endpoint.interface().unwrap().name, "ff1");
    hears_itself(&mut endpoint, group);
}

fn endpoint_on(name: &str, group: SocketAddr) -> Endpoint {
    let interface = interfaces().unwrap().into_iter().find(|one| one.name == name);
    open(&EndpointConfig { group, interface, ..EndpointConfig::default() })
}

#[test]
fn an_endpoint_whose_address_is_taken_away_goes_on_with_the_new_one() {
    if !own_network() {
        return eprintln!("not tested: only root may have a network of its own");
    }
    appears("ff0", "10.78.0.1/24");
    ip("link set ff0 up");
    let group: SocketAddr = "239.255.77.12:6003".parse().unwrap();
    let mut endpoint = endpoint_on("ff0", group);
    assert_eq!(endpoint.follow().unwrap(), Change::None);
    ip("address del 10.78.0.1/24 dev ff0");
    assert_eq!(endpoint.follow().unwrap(), Change::Down, "no address");
    ip("address add 10.78.0.9/24 dev ff0");
    assert!(endpoint.wait(LIMIT, None).unwrap().changed, "it is told");
    assert_eq!(endpoint.follow().unwrap(), Change::Moved);
    assert_eq!(endpoint.local_addr().unwrap().ip(), Ipv4Addr::new(10, 78, 0, 9));
    hears_itself(&mut endpoint, group);
}

#[test]
fn every_time_an_interface_goes_down_and_comes_back_it_is_told() {
    if !own_network() {
        return eprintln!("not tested: only root may have a network of its own");
    }
    appears("ff0", "10.78.0.1/24");
    ip("link set ff0 up");
    let group: SocketAddr = "239.255.77.13:6003".parse().unwrap();
    let mut endpoint = endpoint_on("ff0", group);
    for _ in 0..2 {
        ip("link set ff0 down");
        assert_eq!(endpoint.follow().unwrap(), Change::Down);
        assert_eq!(endpoint.follow().unwrap(), Change::None);
        ip("link set ff0 up");
        assert_eq!(endpoint.follow().unwrap(), Change::Up);
        hears_itself(&mut endpoint, group);
    }
}

#[test]
fn an_endpoint_that_waits_for_an_interface_joins_there_when_it_is_up() {
    if !own_network() {
        return eprintln!("not tested: only root may have a network of its own");
    }
    ip("link set lo up");
    let group: SocketAddr = "239.255.77.14:6003".parse().unwrap();
    let on_loopback = |awaited| {
        let interface = Some(fanfare_udp::follow::loopback_interface(group.ip()).unwrap());
        let awaited = Some(awaited);
        open(&EndpointConfig { group, interface, awaited, ..EndpointConfig::default() })
    };
    let mut any = on_loopback(Awaited::Any);
    let mut named = on_loopback(Awaited::Named("ff0".to_owned()));
    appears("ff0", "10.78.0.1/24");
    assert_eq!(any.follow().unwrap(), Change::None, "it is down");
    assert_eq!(named.follow().unwrap(), Change::None, "it is down");
    ip("link set ff0 up");
    for endpoint in [&mut any, &mut named] {
        assert_eq!(endpoint.follow().unwrap(), Change::Moved);
        assert_eq!(endpoint.interface().unwrap().name, "ff0");
        hears_itself(endpoint, group);
    }
}
