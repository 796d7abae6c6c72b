//! A group and NATS, on loopback, with a server of each test's own.

use crate::{
    messages::broker::{Broker, Client},
    support::{Running, Stage},
};
use serde_json::Value;

fn bridge(stage: &Stage, broker: &Broker, more: &[&str]) -> Running {
    let mut running = begin(stage, &broker.address(), more);
    running.wait_for("start");
    running
}

fn begin(stage: &Stage, address: &str, more: &[&str]) -> Running {
    stage.start("bridge", &[&["nats", "--nats", address][..], more].concat())
}

fn sub(stage: &Stage, filter: &str) -> Running {
    stage.sub(&[filter])
}

fn publish(stage: &Stage, topic: &str, text: &str) {
    stage.start("pub", &[topic, "--message", text]).end().expect(0);
}

/// The texts of the next messages.
fn texts(running: &mut Running, count: usize) -> Vec<String> {
    let text = |_| running.wait_for("message")["text"].as_str().unwrap().to_owned();
    let mut texts: Vec<String> = (0..count).map(text).collect();
    texts.sort();
    texts
}

fn finish(bridge: Running) -> Value {
    bridge.interrupt();
    bridge.end().expect(130).result().clone()
}

fn wait_until(running: &mut Running, state: &str) {
    while running.wait_for("broker")["state"] != state {}
}

#[test]
fn messages_cross_both_ways_and_topics_are_subjects() {
    let stage = Stage::new();
    let Some(broker) = Broker::start(stage.path("nats"), "") else { return };
    let bridge = bridge(&stage, &broker, &["--topic", "convoy/#", "--prefix", "edge"]);
    let mut hq = broker.client();
    hq.subscribe(">");
    let mut sub = sub(&stage, "#");
    publish(&stage, "convoy/1.5/here now", "60.17 24.94");
    let heard = hq.hear();
    assert_eq!(
        (heard.subject.as_str(), heard.text.as_str()),
        ("edge.convoy.1%2E5.here%20now", "60.17 24.94")
    );
    assert!(heard.header("Nats-Msg-Id").unwrap().starts_with("fanfare-"), "{heard:?}");
    assert_eq!(heard.header("Fanfare-Site"), Some(stage.group.as_str()));
    assert_eq!(sub.wait_for("message")["topic"], "convoy/1.5/here now");
    for (subject, text) in [
        ("edge.convoy.2%2E5.orders", "stop"),
        ("edge.other", "not for the group"),
        ("edge.convoy.a/b", "no topic"),
        ("edge.convoy.2%2E5.orders", "stop"),
        ("edge.convoy", ""),
    ] {
        hq.publish(subject, text);
    }
    // The same words twice are two orders.
    for (topic, text) in
        [("convoy/2.5/orders", "stop"), ("convoy/2.5/orders", "stop"), ("convoy", "")]
    {
        let message = sub.wait_for("message");
        assert_eq!((&message["topic"], &message["text"]), (&topic.into(), &text.into()));
    }
    bridge.interrupt();
    let ended = bridge.end().expect(130);
    let result = ended.result();
    assert_eq!((&result["to_group"], &result["to_nats"]), (&3.into(), &1.into()), "{result}");
    assert_eq!((&result["dropped"], &result["duplicates"]), (&1.into(), &0.into()), "{result}");
    assert_eq!(ended.all("warning")[0]["code"], "subject.unmapped");
}

#[test]
fn two_bridges_make_no_loop_and_no_duplicate_and_one_stands_in_for_the_other() {
    let stage = Stage::new();
    let Some(broker) = Broker::start(stage.path("nats"), "") else { return };
    let all = ["--topic", "#", "--window", "60s"];
    let first = bridge(&stage, &broker, &all);
    let second = bridge(&stage, &broker, &[&all[..], &["--standby", "4s"]].concat());
    let mut hq = broker.client();
    hq.subscribe("convoy.>");
    let mut sub = sub(&stage, "#");
    hq.publish("orders", "a");
    assert_eq!(sub.wait_for("message")["text"], "a");
    publish(&stage, "convoy/1", "b");
    assert_eq!(hq.hear().text, "b");
    assert_eq!(sub.wait_for("message")["text"], "b");
    let result = finish(first);
    assert_eq!((&result["to_group"], &result["to_nats"]), (&1.into(), &1.into()), "{result}");
    // The second carries in order: what it carried of before would come before this.
    hq.publish("orders", "c");
    assert_eq!(sub.wait_for("message")["text"], "c");
    publish(&stage, "convoy/1", "d");
    assert_eq!(hq.hear().text, "d");
    let result = finish(second);
    assert_eq!((&result["to_group"], &result["to_nats"]), (&1.into(), &1.into()), "{result}");
    assert!(result["duplicates"].as_u64() >= Some(2), "{result}");
}

#[test]
fn two_groups_meet_in_nats_and_nothing_comes_back() {
    let (here, there) = (Stage::new(), Stage::new());
    let Some(broker) = Broker::start(here.path("nats"), "") else { return };
    let bridges = [&here, &there].map(|stage| bridge(stage, &broker, &["--topic", "#"]));
    let mut subs = [&here, &there].map(|stage| sub(stage, "#"));
    publish(&here, "a", "from here");
    assert_eq!(subs[1].wait_for("message")["text"], "from here");
    publish(&there, "a", "from there");
    // What had come back would come before this.
    assert_eq!(texts(&mut subs[0], 2), ["from here", "from there"]);
    for result in bridges.map(finish) {
        assert_eq!((&result["to_group"], &result["to_nats"]), (&1.into(), &1.into()), "{result}");
    }
}

#[test]
fn a_stream_takes_and_hands_out_each_message_once_by_two_bridges_and_while_there_is_none() {
    let stage = Stage::new();
    let Some(broker) = Broker::start(stage.path("nats"), "") else { return };
    let mut hq = broker.client();
    hq.make_stream("EDGE", &["convoy.>", "orders"]);
    let options = ["--topic", "convoy/#", "--subject", "orders", "--stream", "EDGE"];
    let bridges = [0, 1].map(|_| bridge(&stage, &broker, &options));
    let mut sub = sub(&stage, "#");
    for number in 0..3 {
        publish(&stage, "convoy/1", &format!("report {number}"));
    }
    for number in 0..8 {
        hq.publish("orders", &format!("order {number}"));
    }
    let expected: Vec<String> = (0..8)
        .map(|number| format!("order {number}"))
        .chain((0..3).map(|number| format!("report {number}")))
        .collect();
    assert_eq!(texts(&mut sub, 11), expected);
    let results = bridges.map(finish);
    let sum =
        |field: &str| results.iter().map(|result| result[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("to_group"), 8, "{results:?}");
    // Both have told the stream of all three, and it has taken each once.
    assert_eq!((sum("acknowledged"), hq.stored("EDGE")), (6, 11), "{results:?}");
    hq.publish("orders", "nobody is there");
    assert_eq!(hq.stored("EDGE"), 12);
    let bridge = bridge(&stage, &broker, &options);
    assert_eq!(sub.wait_for("message")["text"], "nobody is there");
    let result = finish(bridge);
    assert_eq!((&result["to_group"], &result["to_nats"]), (&1.into(), &0.into()), "{result}");
}

#[test]
fn what_is_published_while_the_server_is_dead_is_stored_once_it_is_back() {
    let stage = Stage::new();
    let Some(mut broker) = Broker::start(stage.path("nats"), "") else { return };
    broker.client().make_stream("EDGE", &["convoy.>", "orders"]);
    let options = ["--topic", "convoy/#", "--subject", "orders", "--stream", "EDGE"];
    let mut bridge = bridge(&stage, &broker, &[&options[..], &["--queue", "3"]].concat());
    wait_until(&mut bridge, "connected");
    let mut sub = sub(&stage, "#");
    publish(&stage, "convoy/1", "before");
    assert_eq!(sub.wait_for("message")["text"], "before");
    let mut hq = broker.client();
    while hq.stored("EDGE") < 1 {}
    broker.kill();
    wait_until(&mut bridge, "lost");
    for text in ["too old", "1", "2", "3"] {
        publish(&stage, "convoy/1", text);
    }
    assert_eq!(texts(&mut sub, 4), ["1", "2", "3", "too old"]);
    broker.restart();
    wait_until(&mut bridge, "connected");
    let mut hq = broker.client();
    while hq.stored("EDGE") < 4 {}
    hq.publish("orders", "after");
    assert_eq!(sub.wait_for("message")["text"], "after");
    let result = finish(bridge);
    assert_eq!((&result["to_nats"], &result["acknowledged"]), (&4.into(), &4.into()), "{result}");
    assert_eq!((&result["dropped"], &result["reconnects"]), (&1.into(), &1.into()), "{result}");
    assert_eq!((&result["to_group"], &result["waiting"]), (&1.into(), &0.into()), "{result}");
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for_and_told_what_has_waited() {
    let stage = Stage::new();
    let Some(mut broker) = Broker::start(stage.path("nats"), "") else { return };
    let address = broker.address();
    broker.kill();
    let mut bridge = begin(&stage, &address, &["--topic", "#", "--keep-trying"]);
    bridge.wait_for("start");
    // The bridge is among those that say that they hold it.
    publish(&stage, "a", "waits");
    broker.restart();
    wait_until(&mut bridge, "connected");
    let result = finish(bridge);
    assert_eq!((&result["to_nats"], &result["waiting"]), (&1.into(), &0.into()), "{result}");
    assert_eq!(result["dropped"], 0, "{result}");
}

#[test]
fn who_is_not_let_in_is_told_and_no_secret_is_shown() {
    let stage = Stage::new();
    let lines = "authorization { users: [ { user: edge, password: hunter2 } ] }";
    let Some(broker) = Broker::start(stage.path("nats"), lines) else { return };
    let right = stage.text("right", "hunter2\n");
    let wrong = stage.text("wrong", "hunter3\n");
    let [right, wrong] = [&right, &wrong].map(|path| path.to_str().unwrap());
    let address = broker.address();
    let in_address = address.replace("//", "//edge:hunter3@");
    let cases: [(&str, &[&str]); 3] = [
        (&address, &["--topic", "#"]),
        (&address, &["--topic", "#", "--user", "edge", "--password-file", wrong]),
        (&in_address, &["--topic", "#"]),
    ];
    for (address, options) in cases {
        let ended = begin(&stage, address, options).end().expect(4);
        assert!(ended.error().contains("does not let this in"), "{}", ended.error());
        assert_eq!(ended.all("error")[0]["code"], "nats.denied");
        assert!(!format!("{:?} {}", ended.events, ended.stderr).contains("hunter"));
    }
    let let_in = [
        begin(
            &stage,
            &address,
            &["--topic", "#", "--user", "edge", "--password-file", right, "-v"],
        ),
        begin(&stage, &address.replace("//", "//edge:hunter2@"), &["--topic", "#", "-v"]),
    ];
    for mut bridge in let_in {
        wait_until(&mut bridge, "connected");
        bridge.interrupt();
        let ended = bridge.end().expect(130);
        assert!(!format!("{:?} {}", ended.events, ended.stderr).contains("hunter"));
    }
}

#[test]
fn a_connection_is_secured_by_certificates_of_both_sides() {
    let stage = Stage::new();
    let files = ["ca.pem", "ca.key", "own.pem", "own.key", "own.csr"];
    let [ca, ca_key, own, own_key, request] =
        files.map(|name| stage.path(name).to_str().unwrap().to_owned());
    let names = stage.text("names", "subjectAltName=IP:127.0.0.1\n");
    let openssl = |args: &[&str]| {
        let made = std::process::Command::new("openssl").args(args).output();
        let made = made.expect("package openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj"];
    openssl(
        &[&["req", "-x509", "-days", "2", "-out", &ca, "-keyout", &ca_key], &key[..], &["/CN=ca"]]
            .concat(),
    );
    openssl(
        &[&["req", "-new", "-out", &request, "-keyout", &own_key], &key[..], &["/CN=own"]].concat(),
    );
    let sign =
        ["x509", "-req", "-days", "2", "-CAcreateserial", "-in", &request, "-CA", &ca, "-CAkey"];
    let names = names.to_str().unwrap();
    openssl(&[&sign[..], &[&ca_key, "-out", &own, "-extfile", names]].concat());
    let lines = format!(
        "tls {{ cert_file: {own:?}, key_file: {own_key:?}, ca_file: {ca:?}, verify: true }}"
    );
    let Some(broker) = Broker::start(stage.path("nats"), &lines) else { return };
    let address = broker.address();
    let trusting = ["--topic", "#", "--tls", "--tls-ca", &ca];
    let ended = begin(&stage, &address, &trusting[..3]).end();
    assert!(matches!(ended.code, Some(1 | 6)), "{}", ended.stderr);
    assert!(ended.error().contains("nats ("), "{}", ended.error());
    let both = [&trusting[..], &["--tls-cert", &own, "--tls-key", &own_key]].concat();
    let mut bridge = begin(&stage, &address, &both);
    wait_until(&mut bridge, "connected");
    finish(bridge);
}

#[test]
fn what_is_longer_than_the_server_takes_is_dropped_with_a_warning() {
    let stage = Stage::new();
    let Some(broker) = Broker::start(stage.path("nats"), "") else { return };
    let mut bridge = bridge(&stage, &broker, &["--topic", "#"]);
    let mut hq: Client = broker.client();
    hq.subscribe("a");
    for bytes in [20_001, 19_990, 19_000] {
        publish(&stage, "a", &"x".repeat(bytes));
    }
    // With its headers the second is too long, too.
    assert_eq!(hq.hear().text.len(), 19_000);
    for _ in 0..2 {
        assert_eq!(bridge.wait_for("warning")["code"], "message.too_long");
    }
    let result = finish(bridge);
    assert_eq!((&result["to_nats"], &result["dropped"]), (&1.into(), &2.into()), "{result}");
}

#[test]
fn mistakes_are_told_before_a_bridge_opens() {
    let stage = Stage::new();
    let Some(mut broker) = Broker::start(stage.path("nats"), "") else { return };
    let address = broker.address();
    let missing = stage.path("missing");
    let missing = missing.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 11] = [
        (&["--topic", "a/#/b"], 2, "filter (a/#/b)"),
        (&["--subject", "a..b"], 2, "has an empty token"),
        (&["--subject", "a.b/c"], 2, "no topic has such subjects"),
        (&["--topic", "a", "--prefix", "x.*"], 2, "has a wildcard"),
        (&["--topic", "a", "--subject", "b", "--one-way"], 2, "Leave one out"),
        (&["--topic", "a", "--standby", "5s"], 2, "standby (5s): is not below --window (5s)"),
        (&["--topic", "a", "--stream", "no.name"], 2, "stream (\"no.name\"): is no name"),
        (&["--topic", "a", "--stream", "NONE"], 2, "stream (NONE): there is none of that name"),
        (&["--topic", "a", "--creds", missing], 2, "cannot be read"),
        (&["--topic", "a", "--user", "edge"], 2, "user (edge): has no password"),
        (&["--topic", "a", "--site", "a\nb"], 2, "is no name"),
    ];
    for (options, exit, expected) in cases {
        let ended = begin(&stage, &address, options).end().expect(exit);
        assert!(ended.error().contains(expected), "{}", ended.error());
        assert!(ended.all("start").is_empty());
    }
    let ended = begin(&stage, "nats://u:secret@h:port", &["--topic", "a"]).end().expect(2);
    assert!(ended.error().contains("nats (nats://…@h:port)"), "{}", ended.error());
    begin(&stage, &address, &[]).end().expect(2);
    broker.kill();
    let ended = begin(&stage, &address, &["--topic", "a"]).end().expect(6);
    assert_eq!(ended.all("error")[0]["code"], "nats.unreachable");
}
