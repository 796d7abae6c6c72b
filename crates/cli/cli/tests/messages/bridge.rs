//! A group and plain UDP multicast, on loopback.

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    time::Duration,
};

use crate::support::{Running, Stage};
use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

/// The plain network: a program that sends, and one that listens.
struct Plain {
    group: String,
    app: UdpSocket,
    listener: UdpSocket,
}

impl Plain {
    fn new() -> Self {
        // The stage's ports are given once.
        let group: SocketAddr =
            Stage::new().group.replace("239.255.42.7", "239.255.43.7").parse().unwrap();
        let SocketAddr::V4(group) = group else { panic!("IPv4") };
        let listener = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
        sockopt::set_socket_reuseaddr(&listener, true).unwrap();
        bind(&listener, &SocketAddrV4::new(*group.ip(), group.port())).unwrap();
        let listener = UdpSocket::from(listener);
        listener.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST).unwrap();
        listener.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // Bound to loopback's address, it sends to groups there.
        let app = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self { group: group.to_string(), app, listener }
    }

    fn send(&self, text: &str) {
        self.app.send_to(text.as_bytes(), &self.group).unwrap();
    }

    /// The next datagram that is not the program's own.
    fn hear(&self) -> String {
        let mut buffer = [0; 2000];
        loop {
            let (length, from) = self.listener.recv_from(&mut buffer).unwrap();
            if from != self.app.local_addr().unwrap() {
                return String::from_utf8(buffer[..length].to_vec()).unwrap();
            }
        }
    }
}

fn bridge(stage: &Stage, plain: &Plain, more: &[&str]) -> Running {
    let args = [&["udp", "--udp", &plain.group, "--topic", "tak/sa"][..], more].concat();
    let mut running = stage.start("bridge", &args);
    running.wait_for("start");
    running
}

fn sub(stage: &Stage, filter: &str) -> Running {
    stage.sub(&[filter])
}

fn publish(stage: &Stage, topic: &str, text: &str) {
    stage.start("pub", &[topic, "--message", text]).end().expect(0);
}

#[test]
fn datagrams_come_to_all_subscribers_and_what_is_published_comes_to_the_plain_side() {
    let (stage, plain) = (Stage::new(), Plain::new());
    let bridge = bridge(&stage, &plain, &["--datagram-max", "500B"]);
    let mut subs = ["tak/#", "#"].map(|filter| sub(&stage, filter));
    plain.send(&"x".repeat(501));
    plain.send("<event uid='1'/>");
    for running in &mut subs {
        let message = running.wait_for("message");
        assert_eq!(message["text"], "<event uid='1'/>");
        assert_eq!(message["topic"], "tak/sa");
    }
    publish(&stage, "other", "not for you");
    publish(&stage, "tak/sa/2", "<event uid='2'/>");
    assert_eq!(plain.hear(), "<event uid='2'/>");
    bridge.interrupt();
    let ended = bridge.end().expect(130);
    let result = ended.result();
    assert_eq!((&result["to_group"], &result["to_plain"]), (&1.into(), &1.into()));
    assert_eq!(result["dropped"], 1);
    assert_eq!(ended.all("warning")[0]["code"], "datagram.too_long");
}

#[test]
fn two_bridges_make_no_loop_and_no_duplicate_and_one_stands_in_for_the_other() {
    let (stage, plain) = (Stage::new(), Plain::new());
    let first = bridge(&stage, &plain, &["--window", "60s"]);
    let second = bridge(&stage, &plain, &["--window", "60s", "--standby", "1s"]);
    let mut sub = sub(&stage, "tak/#");
    plain.send("a");
    assert_eq!(sub.wait_for("message")["text"], "a");
    publish(&stage, "tak/sa", "b");
    assert_eq!(plain.hear(), "b");
    assert_eq!(sub.wait_for("message")["text"], "b");
    first.interrupt();
    let first = first.end().expect(130);
    let result = first.result();
    assert_eq!((&result["to_group"], &result["to_plain"]), (&1.into(), &1.into()));
    // The second carries in order: what it carried of before would come before this.
    plain.send("c");
    assert_eq!(sub.wait_for("message")["text"], "c");
    publish(&stage, "tak/sa", "d");
    assert_eq!(plain.hear(), "d");
    second.interrupt();
    let second = second.end().expect(130);
    let result = second.result();
    assert_eq!((&result["to_group"], &result["to_plain"]), (&1.into(), &1.into()));
    assert!(result["duplicates"].as_u64() >= Some(2), "{result}");
}

#[test]
fn mistakes_are_told_before_a_bridge_opens() {
    let stage = Stage::new();
    let group = stage.group.clone();
    let cases: [(&[&str], &str); 6] = [
        (&["--udp", "10.0.0.1:6969", "--topic", "a"], "udp (10.0.0.1:6969): not a multicast group"),
        (&["--udp", "239.2.3.1", "--topic", "a"], "udp (239.2.3.1): not an address with a port"),
        (&["--udp", &group, "--topic", "a"], "is the group itself"),
        (&["--preset", "tak", "--topic", "a/#"], "topic (a/#): has a wildcard"),
        (&["--preset", "tak", "--datagram-max", "65508B"], "is more than a datagram holds"),
        (&["--preset", "tak", "--standby", "5s"], "standby (5s): is not below --window (5s)"),
    ];
    for (args, expected) in cases {
        let ended = stage.start("bridge", &[&["udp"], args].concat()).end().expect(2);
        assert!(ended.error().contains(expected), "{}", ended.error());
        assert!(ended.all("start").is_empty());
    }
    let unknown = ["udp", "--preset", "tak", "--udp-interface", "nowhere0"];
    let ended = stage.start("bridge", &unknown).end().expect(2);
    assert!(ended.error().contains("nowhere0"), "{}", ended.error());
    stage.start("bridge", &["udp"]).end().expect(2);
}
