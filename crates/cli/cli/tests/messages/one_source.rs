//! Subscribers of one source, beside other publishers of the same group.

use std::{
    ffi::OsStr,
    time::{Duration, Instant},
};

use super::node::texts;
use crate::support::{Stage, hosts::Hosts};

fn words<'a>(line: &'a [&'a str]) -> Vec<&'a OsStr> {
    line.iter().map(OsStr::new).collect()
}

#[test]
fn a_publisher_does_not_wait_for_who_listens_to_another_source_and_that_one_is_given_nothing_of_it()
{
    let (stage, hosts) = (Stage::new(), Hosts::new("os", 4));
    let long = stage.file("long", 50_000);
    let long = long.to_str().unwrap();
    let mut elsewhere =
        hosts.start(3, &words(&["sub", "#", "--source", "10.77.0.2", "--count", "2"]));
    elsewhere.wait_for("start");
    let mut all = hosts.start(4, &words(&["sub", "#", "--count", "5"]));
    all.wait_for("start");
    let began = Instant::now();
    let publish = |host, args: &[&str]| {
        hosts.start(host, &words(&[&["pub", "t"], args].concat())).end().expect(0);
    };
    publish(1, &["--message", "of the first"]);
    publish(1, &[long]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    publish(2, &["--message", "of the second"]);
    publish(1, &["--message", "of the first again"]);
    publish(2, &["--message", "and again"]);
    // In which order two publishers are heard is not promised.
    let mut given = texts(&elsewhere.end().expect(0).all("message"));
    given.sort();
    assert_eq!(given, ["and again", "of the second"]);
    assert_eq!(all.end().expect(0).all("message").len(), 5);
}

#[test]
fn where_nobody_else_is_there_a_publisher_that_is_not_listened_to_says_that_it_was_not_heard() {
    let hosts = Hosts::new("ot", 3);
    let mut elsewhere = hosts.start(3, &words(&["sub", "#", "--source", "10.77.0.2"]));
    elsewhere.wait_for("start");
    let publisher = ["pub", "t", "--message", "unheard", "--wait", "4s"];
    hosts.start(1, &words(&publisher)).end().expect(6);
    elsewhere.interrupt();
    assert_eq!(elsewhere.end().expect(130).all("message").len(), 0);
}

#[test]
fn who_comes_to_another_source_while_a_publisher_stays_is_not_waited_for() {
    let hosts = Hosts::new("ou", 4);
    let mut there = hosts.start(4, &words(&["sub", "#"]));
    there.wait_for("start");
    let publisher = ["pub", "t", "--message", "one", "--stay", "5s"];
    let publisher = hosts.start(1, &words(&publisher));
    there.wait_for("message");
    let mut elsewhere = hosts.start(3, &words(&["sub", "#", "--source", "10.77.0.2"]));
    elsewhere.wait_for("start");
    publisher.end().expect(0);
    for one in [there, elsewhere] {
        one.interrupt();
        one.end().expect(130);
    }
}

#[test]
fn a_member_that_hears_nothing_of_the_publisher_and_says_nothing_of_the_message_is_named() {
    let hosts = Hosts::new("ov", 3);
    let mut there = hosts.start(2, &words(&["sub", "#"]));
    there.wait_for("start");
    let mut deaf = hosts.start(3, &words(&["sub", "#"]));
    let deaf_id = deaf.wait_for("start")["node_id"].clone();
    hosts.deafen(3);
    let publisher = ["pub", "t", "--message", "one", "--wait", "4s"];
    let ended = hosts.start(1, &words(&publisher)).end();
    let result = ended.result();
    // Either it was given the message by the other one, or it is named.
    let lacking = result["lacking"].as_array().cloned().unwrap_or_default();
    let (exit, holders) = (result["exit"].as_u64(), result["holders"].as_u64());
    assert!(
        exit == Some(0) && holders == Some(2) || exit == Some(3) && lacking.contains(&deaf_id),
        "{result}"
    );
    for one in [&mut there, &mut deaf] {
        one.interrupt();
    }
}
