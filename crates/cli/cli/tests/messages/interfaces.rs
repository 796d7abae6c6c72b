//! Subscribers and nodes that begin before their interface is up, or outlive it.

use std::ffi::OsStr;

use crate::support::{Stage, hosts::Hosts};

fn words<'a>(line: &'a [&'a str]) -> Vec<&'a OsStr> {
    line.iter().map(OsStr::new).collect()
}

#[test]
fn a_subscriber_that_was_begun_before_its_interface_was_up_joins_when_it_comes_and_again_when_it_returns()
 {
    let hosts = Hosts::new("s", 2);
    hosts.on(2, "link set eth0 down");
    let mut subscriber = hosts.start(2, &words(&["sub", "#", "--count", "2"]));
    subscriber.wait_for_warning("interface.awaited");
    hosts.on(2, "link set eth0 up");
    let back = subscriber.wait_for_warning("interface.back");
    assert!(back.contains("continues on eth0"), "{back}");
    let publish = |text: &str| {
        hosts.start(1, &words(&["pub", "t", "--message", text])).end().expect(0);
    };
    publish("one");
    assert_eq!(subscriber.wait_for("message")["text"], "one");
    hosts.on(2, "link set eth0 down");
    subscriber.wait_for_warning("interface.down");
    hosts.on(2, "link set eth0 up");
    subscriber.wait_for_warning("interface.up");
    publish("two");
    let texts = subscriber.end().expect(0);
    assert_eq!(texts.all("message")[1]["text"], "two");
}

#[test]
fn a_node_that_was_begun_before_its_interface_was_up_joins_when_it_comes() {
    let (stage, hosts) = (Stage::new(), Hosts::new("n", 2));
    hosts.on(2, "link set eth0 down");
    let socket = stage.path("socket");
    let socket = socket.to_str().unwrap();
    let mut node = hosts.start(2, &words(&["node", "--socket", socket, "--topic", "#"]));
    node.wait_for_warning("interface.awaited");
    hosts.on(2, "link set eth0 up");
    node.wait_for_warning("interface.back");
    hosts.start(1, &words(&["pub", "t", "--message", "one"])).end().expect(0);
    let near = ["sub", "#", "--via", socket, "--count", "1"];
    let near = hosts.start_anywhere(2, &words(&near)).end().expect(0);
    assert_eq!(near.all("message")[0]["text"], "one");
    node.interrupt();
}
