//! Two groups joined by gateways, on loopback.

use crate::support::{Running, Stage};

/// Two groups.
fn stages() -> (Stage, Stage) {
    (Stage::new(), Stage::new())
}

/// A gateway from the first group to the second that has learned what there is.
fn gateway(here: &Stage, there: &Stage, more: &[&str]) -> Running {
    let args = [&["group", "--to", &there.group, "--learn", "1s"][..], more].concat();
    let mut running = here.start("bridge", &args);
    running.wait_for("start");
    running.wait_for("start");
    running
}

fn sub(stage: &Stage, filter: &str) -> Running {
    stage.sub(&[filter])
}

fn publish(stage: &Stage, topic: &str, text: &str, more: &[&str]) {
    stage.start("pub", &[&[topic, "--message", text], more].concat()).end().expect(0);
}

#[test]
fn what_is_published_in_one_group_comes_to_the_other_with_its_publisher() {
    let (here, there) = stages();
    let gateway = gateway(&here, &there, &["--standby", "300ms", "--topic", "a/#"]);
    let mut subs = [sub(&here, "#"), sub(&there, "#")];
    publish(&here, "other", "not for you", &[]);
    publish(&here, "a/1", "north", &["--node-id", "0xabc", "--priority", "7"]);
    assert_eq!(subs[0].wait_for("message")["text"], "not for you");
    for (number, sub) in subs.iter_mut().enumerate() {
        let message = sub.wait_for("message");
        assert_eq!((&message["text"], &message["publisher"]), (&"north".into(), &0xabc.into()));
        assert_eq!((&message["priority"], &message["number"]), (&7.into(), &0.into()));
        assert_eq!(message.get("gateway").is_some(), number == 1, "{message}");
    }
    publish(&there, "a/2", "south", &[]);
    assert_eq!(subs[0].wait_for("message")["text"], "south");
    // Long ones cross, too.
    let long = "long ".repeat(20_000);
    let file = here.text("long", &long);
    here.start("pub", &["a/3", file.to_str().unwrap()]).end().expect(0);
    assert_eq!(subs[1].wait_for("message")["text"], "south");
    let message = subs[1].wait_for("message");
    assert_eq!((&message["size"], &message["hops"]), (&100_000.into(), &1.into()));
    gateway.interrupt();
    let ended = gateway.end().expect(130);
    let result = ended.result();
    assert_eq!((&result["to"]["carried"], &result["back"]["carried"]), (&2.into(), &1.into()));
    assert_eq!((&result["to"]["doubled"], &result["refused"]), (&0.into(), &0.into()));
}

#[test]
fn of_two_gateways_one_carries_and_the_other_stands_in_for_it() {
    let (here, there) = stages();
    let first = gateway(&here, &there, &["--standby", "500ms"]);
    let second = gateway(&here, &there, &["--standby", "500ms"]);
    let mut sub = sub(&there, "#");
    publish(&here, "a", "one", &[]);
    assert_eq!(sub.wait_for("message")["text"], "one");
    first.interrupt();
    let result = first.end().expect(130).result().clone();
    let carried = result["to"]["carried"].as_u64().unwrap();
    publish(&here, "a", "two", &[]);
    assert_eq!(sub.wait_for("message")["text"], "two");
    second.interrupt();
    let result = second.end().expect(130).result().clone();
    let all = carried + result["to"]["carried"].as_u64().unwrap();
    assert_eq!((all, &result["to"]["doubled"]), (2, &0.into()), "{result}");
    sub.interrupt();
    assert_eq!(sub.end().all("message").len(), 2, "each came once");
}

#[test]
fn a_gateway_of_three_groups_brings_what_is_published_in_one_to_both_others_once() {
    let (here, there) = stages();
    let third = Stage::new();
    let more = ["--to", &third.group, "--standby", "300ms", "--to-rate", "2M", "--back-rate", "1M"];
    let gateway = gateway(&here, &there, &more);
    let mut subs = [sub(&here, "#"), sub(&there, "#"), sub(&third, "#")];
    publish(&here, "a", "from the first", &[]);
    publish(&there, "a", "from the second", &[]);
    publish(&third, "a", "from the third", &[]);
    let expected = ["from the first", "from the second", "from the third"];
    for sub in &mut subs {
        let mut texts: Vec<String> =
            (0..3).map(|_| sub.wait_for("message")["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        assert_eq!(texts, expected);
    }
    gateway.interrupt();
    let result = gateway.end().expect(130).result().clone();
    let ways = result["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 6, "{result}");
    assert!(ways.iter().all(|way| way["carried"] == 1 && way["doubled"] == 0), "{result}");
    assert_eq!((&result["to"]["carried"], &result["back"]["carried"]), (&2.into(), &2.into()));
    for sub in subs {
        sub.interrupt();
        assert_eq!(sub.end().all("message").len(), 3, "each came once");
    }
}

#[test]
fn a_gateway_with_caches_that_was_killed_goes_on_and_brings_nothing_again() {
    let (here, there) = stages();
    let dirs = [here.path("here"), here.path("there")].map(|dir| dir.to_str().unwrap().to_owned());
    let caches = ["--cache-dir", &dirs[0], "--to-cache-dir", &dirs[1], "--standby", "300ms"];
    let begin = || gateway(&here, &there, &[&caches[..], &["--node-id", "7"]].concat());
    let first = begin();
    let mut subs = [sub(&here, "#"), sub(&there, "#")];
    let heard = |subs: &mut [Running; 2], text: &str| {
        subs.iter_mut().for_each(|sub| assert_eq!(sub.wait_for("message")["text"], text));
    };
    for text in ["one", "two", "three"] {
        publish(&here, "a", text, &[]);
        heard(&mut subs, text);
    }
    first.kill();
    let second = begin();
    publish(&here, "a", "four", &[]);
    heard(&mut subs, "four");
    publish(&there, "a", "five", &[]);
    heard(&mut subs, "five");
    second.interrupt();
    let result = second.end().expect(130).result().clone();
    let carried = (&result["to"]["carried"], &result["back"]["carried"]);
    assert_eq!(carried, (&1.into(), &1.into()), "{result}");
}

#[test]
fn mistakes_are_told_before_a_gateway_joins() {
    let (here, there) = stages();
    let (group, to, other) = (here.group.clone(), there.group.clone(), "239.255.42.8:6004");
    let cases: [(&[&str], &str, &str); 14] = [
        (&["--to", &group], "is the group itself", "group.same"),
        (&["--to", "10.0.0.1:6004"], "10.0.0.1 is not a multicast address", "group.not_multicast"),
        (&["--to", "nowhere"], "nowhere", "group.invalid"),
        (&["--to", &to, "--topic", "a/#/b"], "stand for whole levels", "topic.invalid"),
        (&["--to", &to, "--back", "b+"], "stand for whole levels", "topic.invalid"),
        (&["--to", &to, "--to-rate", "fast"], "to rate (fast): not a rate", "rate.invalid"),
        (&["--to", &to, "--back-rate", "0"], "back rate (0): ", "rate.invalid"),
        (&["--to", &to, "--standby", "0s"], "is no time", "time.invalid"),
        (&["--to", &to, "--cache-dir", "/tmp/x"], "Give --to-cache-dir", "cache.one_sided"),
        (
            &["--to", &to, "--cache-dir", "/tmp/x", "--to-cache-dir", "/tmp/x"],
            "is given for two groups",
            "cache.shared",
        ),
        (&["--to", &to, "--node-id", "5"], "would bring all of it again", "cache.missing"),
        (&["--to", &to, "--to", &to], "is given twice", "group.same"),
        (
            &["--to", &to, "--to", other, "--to-ttl=1", "--to-ttl=2", "--to-ttl=3"],
            "to-ttl (3 times): --to is given 2 times",
            "to.unpaired",
        ),
        (
            &["--to", &to, "--to", other, "--cache-dir=/tmp/x", "--to-cache-dir=/tmp/y"],
            "to cache dir (1): --cache-dir is for one group, and there are 2 others",
            "cache.one_sided",
        ),
    ];
    for (args, expected, code) in cases {
        let ended = here.start("bridge", &[&["group"], args].concat()).end().expect(2);
        assert!(ended.error().contains(expected), "{}", ended.error());
        assert_eq!(ended.all("error")[0]["code"], code);
        assert!(ended.all("start").is_empty());
    }
    let unknown = ["group", "--to", &to, "--to-interface", "nowhere0"];
    let ended = here.start("bridge", &unknown).end().expect(2);
    assert!(ended.error().contains("nowhere0"), "{}", ended.error());
    here.start("bridge", &["group"]).end().expect(2);
}
