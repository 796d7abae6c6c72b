//! A node of several groups, and the gateways between them, from a file.

use std::process::Command;

use super::monitor::{free_port, wait_for_metric};
use crate::support::{Ended, Running, Stage};
use serde_json::Value;

/// What one runs in: a group of its own for each name.
struct Scene {
    stages: Vec<(&'static str, Stage)>,
}

impl Scene {
    fn new(names: &[&'static str]) -> Self {
        Self { stages: names.iter().map(|name| (*name, Stage::new())).collect() }
    }

    fn group(&self, name: &str) -> &Stage {
        &self.stages.iter().find(|(known, _)| *known == name).unwrap().1
    }

    fn path(&self, name: &str) -> String {
        self.stages[0].1.path(name).to_str().unwrap().to_owned()
    }

    /// A file with all groups on loopback, each with a durable cache, and more.
    fn file(&self, more: &str) -> String {
        let mut text = format!("[node]\nsocket = \"{}\"\ntopic = \"#\"\n", self.path("socket"));
        for (name, stage) in &self.stages {
            let dir = self.path(&format!("cache-{name}"));
            text += &format!(
                "[[group]]\nname = \"{name}\"\naddress = \"{}\"\ninterface = \"127.0.0.1\"\n\
                 cache-dir = \"{dir}\"\n",
                stage.group
            );
        }
        self.stages[0].1.text("node.toml", &(text + more)).to_str().unwrap().to_owned()
    }

    fn node(&self, more: &str) -> (Running, Vec<Value>) {
        let mut node = run(&["node", "--config", &self.file(more)]);
        let starts = self.stages.iter().map(|_| node.wait_for("start")).collect();
        (node, starts)
    }

    fn ask(&self, words: &[&str]) -> Ended {
        run(&[words, &["--via", &self.path("socket")]].concat()).end()
    }

    /// How the node stands in each group.
    fn status(&self) -> Vec<Value> {
        let ended = run(&["node", "status", "--socket", &self.path("socket")]).end().expect(0);
        ended.all("status").into_iter().cloned().collect()
    }
}

fn run(args: &[&str]) -> Running {
    let args: Vec<&std::ffi::OsStr> = args.iter().map(std::ffi::OsStr::new).collect();
    Running::start(&[&args[..], &["--json".as_ref()]].concat(), None)
}

/// The mistakes of a file.
fn mistakes(file: &str) -> String {
    let output = Command::new(crate::PROGRAM).args(["config", "check", file]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_node_of_two_groups_publishes_and_hears_in_the_one_that_is_named_or_else_in_the_first() {
    let scene = Scene::new(&["radio", "overlay"]);
    let (node, starts) = scene.node("");
    assert_eq!((&starts[0]["in"], &starts[1]["in"]), (&"radio".into(), &"overlay".into()));
    let mut far = ["radio", "overlay"].map(|name| scene.group(name).sub(&["#"]));
    let told = scene.ask(&["pub", "a", "--message", "to the first"]).expect(0);
    assert_eq!(told.all("published").len(), 1);
    scene.ask(&["pub", "a", "--message", "to the second", "--via-group", "overlay"]).expect(0);
    for (sub, text) in far.iter_mut().zip(["to the first", "to the second"]) {
        assert_eq!(sub.wait_for("message")["text"], text);
    }
    let heard = ["sub", "#", "--via-group", "overlay", "--count", "1"];
    assert_eq!(scene.ask(&heard).expect(0).all("message")[0]["text"], "to the second");
    assert_eq!(
        scene.ask(&["sub", "#", "--count", "1"]).expect(0).all("message")[0]["text"],
        "to the first"
    );
    let unknown = scene.ask(&["pub", "a", "--message", "x", "--via-group", "fleet"]).expect(2);
    assert!(unknown.error().contains("in (fleet): this node has no group of that name"));
    let status = scene.status();
    let names: Vec<&Value> = status.iter().map(|status| &status["in"]).collect();
    assert_eq!(names, ["radio", "overlay"]);
    assert!(status.iter().all(|status| status["own"] == 1 && status["gateways"].is_null()));
    for (status, start) in status.iter().zip(&starts) {
        assert_eq!(status["node"], start["node_id"]);
    }
    node.interrupt();
    node.end().expect(130);
}

#[test]
fn a_gateway_of_a_node_carries_what_leaves_each_group_once_and_says_so() {
    let scene = Scene::new(&["radio", "overlay", "base"]);
    let (node, _) = scene.node(
        "[[gateway]]\ngroups = [\"radio\", \"overlay\", \"base\"]\nstandby = \"300ms\"\n\
         learn = \"1s\"\nrates = { radio = \"200k\" }\ntopics = { base = [\"orders/#\"] }\n",
    );
    let mut subs = ["radio", "overlay", "base"].map(|name| scene.group(name).sub(&["#"]));
    // What a program at the node says crosses as well as what others say.
    scene.ask(&["pub", "convoy/1", "--message", "position"]).expect(0);
    let publish = |name: &str, topic: &str, text: &str| {
        scene.group(name).start("pub", &[topic, "--message", text]).end().expect(0);
    };
    publish("base", "talk", "stays in the base");
    publish("base", "orders/1", "halt");
    publish("overlay", "talk", "hello");
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for ((sub, texts), count) in subs.iter_mut().zip(&mut all).zip([3, 3, 4]) {
        for _ in 0..count {
            texts.push(sub.wait_for("message")["text"].as_str().unwrap().to_owned());
        }
        texts.sort();
    }
    assert_eq!(all[0], ["halt", "hello", "position"]);
    assert_eq!(all[1], all[0]);
    assert_eq!(all[2], ["halt", "hello", "position", "stays in the base"]);
    // Each of its groups says what it has carried, as it is told every half second.
    let carried = |line: &Value| {
        let ways = line["ways"].as_array().unwrap();
        ways.iter().map(|way| way["carried"].as_u64().unwrap()).sum::<u64>()
    };
    while carried(&scene.status()[1]["gateways"][0]) != 6 {}
    node.interrupt();
    let ended = node.end().expect(130);
    let line = ended.all("gateway")[0].clone();
    assert_eq!((carried(&line), &line["refused"]), (6, &0.into()), "{line}");
    assert_eq!(line["ways"].as_array().unwrap().len(), 6, "{line}");
}

#[test]
fn what_a_nodes_gateway_carries_and_what_programs_were_not_given_are_metrics() {
    let scene = Scene::new(&["radio", "overlay"]);
    let page = free_port();
    let file = scene.file(
        "[[gateway]]\ngroups = [\"radio\", \"overlay\"]\nstandby = \"300ms\"\nlearn = \"1s\"\n",
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let monitor = format!("monitor = \"{page}\"\ntopic =");
    std::fs::write(&file, text.replacen("topic =", &monitor, 1)).unwrap();
    let mut node = run(&["node", "--config", &file]);
    node.wait_for("start");
    let mut sub = scene.group("overlay").sub(&["#"]);
    scene.ask(&["pub", "a", "--message", "position"]).expect(0);
    sub.wait_for("message");
    let ends = "from=\"radio\",to=\"overlay\"";
    wait_for_metric(page, &format!("fanfare_bridge_heard_total{{{ends}}} 1"));
    wait_for_metric(page, &format!("fanfare_bridge_messages_total{{{ends},fate=\"carried\"}} 1"));
    wait_for_metric(page, &format!("fanfare_bridge_messages_total{{{ends},fate=\"dropped\"}} 0"));
    wait_for_metric(page, "fanfare_group_dropped_total{what=\"unread\"} 0");
    node.interrupt();
    node.end().expect(130);
}

#[test]
fn every_mistake_in_a_nodes_groups_and_gateways_is_told_with_its_line() {
    let scene = Scene::new(&["radio"]);
    let text = "[node]\nrate = \"2M\"\ncache-dir = \"/tmp/all\"\n\
        [[group]]\nname = \"radio\"\naddress = \"239.255.42.2:6004\"\ninterface = \"eth0\"\n\
        [[group]]\nname = \"radio\"\naddress = \"239.255.42.2:6004\"\ninterface = \"eth0\"\n\
        [[group]]\nname = \"far away\"\naddress = \"10.0.0.1:6004\"\nsocket = \"/tmp/s\"\n\
        cashe = \"1GiB\"\n\
        [[group]]\naddress = \"239.255.42.3:6004\"\nnode-id = 5\ncache-dir = \"/tmp/other\"\n\
        [[gateway]]\ngroups = [\"radio\", \"overlay\"]\n\
        [[gateway]]\ngroups = [\"radio\"]\nstandbye = \"1s\"\n\
        [[gateway]]\ntopics = \"#\"\n";
    let file = scene.group("radio").text("bad.toml", text);
    let errors = mistakes(file.to_str().unwrap());
    let at = |line: u32| format!("{}:{line}", file.display());
    for expected in [
        format!("name (radio) at {}: is that of the group at {}.", at(9), at(4)),
        format!("group (239.255.42.2:6004) at {}: has the address and the interface of", at(10)),
        format!("cache-dir (/tmp/all) at {}: is that of group radio", at(3)),
        format!("name (far away) at {}: is not 1 to 32 of the letters", at(13)),
        format!("group (10.0.0.1:6004) at {}: 10.0.0.1 is not a multicast address", at(14)),
        format!("key (socket) at {}: is for the whole node. Put it below [node]", at(15)),
        format!("unknown key 'cashe' at {}, did you mean 'cache'?", at(16)),
        format!("group at {}: has no name", at(17)),
        format!("groups (overlay) at {}: no group is called so. There are: radio", at(22)),
        format!("groups at {}: must be names of two groups or more", at(24)),
        format!("unknown key 'standbye' at {}, did you mean 'standby'?", at(25)),
        format!("gateway at {}: names no groups", at(26)),
    ] {
        assert!(errors.contains(&expected), "{expected}\n{errors}");
    }
    assert_eq!(errors.lines().count(), 12, "{errors}");
}

#[test]
fn what_a_gateway_is_asked_for_wrongly_is_told_with_its_line() {
    let scene = Scene::new(&["radio", "overlay"]);
    let cases = [
        ("groups = [\"radio\", \"radio\"]", "groups (radio) at", "is named twice"),
        ("topics = [\"a/#/b\"]", "(a/#/b) at", "stand for whole levels"),
        (
            "topics = { fleet = \"#\" }",
            "topics (fleet) at",
            "no group of this gateway is called so",
        ),
        ("rates = \"fast\"", "rates (fast) at", "not a rate"),
        ("rates = { radio = 0 }", "rates (0) at", "nothing would ever be sent"),
        ("standby = \"0s\"", "standby (0s) at", "is no time"),
        ("learn = \"soon\"", "learn (soon) at", "not a time"),
    ];
    for (line, what, why) in cases {
        let groups = match line.starts_with("groups") {
            true => "",
            false => "groups = [\"radio\", \"overlay\"]\n",
        };
        let errors = mistakes(&scene.file(&format!("[[gateway]]\n{groups}{line}\n")));
        assert!(errors.contains(what) && errors.contains(why), "{line}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    let gateway = "[[gateway]]\ngroups = [\"radio\", \"overlay\"]\n";
    let errors = mistakes(&scene.file(&gateway.repeat(2)));
    assert!(errors.contains("is in another gateway, too"), "{errors}");
    let errors = mistakes(
        scene.group("radio").text("one.toml", "[group]\nname = \"a\"\n").to_str().unwrap(),
    );
    assert!(errors.contains("must be tables. Write [[group]]"), "{errors}");
    let forgetful = "[[group]]\nname = \"a\"\nnode-id = 5\n[[group]]\nname = \"b\"\n\
                     address = \"239.255.42.9:1\"\n[[gateway]]\ngroups = [\"a\", \"b\"]\n";
    let errors = mistakes(scene.group("radio").text("id.toml", forgetful).to_str().unwrap());
    assert!(
        errors.contains("node id (5) at") && errors.contains("bring all of it again"),
        "{errors}"
    );
}

#[test]
fn a_fault_in_one_group_at_the_start_is_that_of_the_node_and_told_by_name() {
    let scene = Scene::new(&["radio", "overlay"]);
    let more =
        "[[group]]\nname = \"gone\"\naddress = \"239.255.42.9:6004\"\ninterface = \"nowhere0\"\n";
    let ended = run(&["node", "--config", &scene.file(more)]).end().expect(2);
    assert!(ended.error().starts_with("error: group (gone): "), "{}", ended.error());
    assert!(ended.all("start").is_empty());
    // The interface by its name and by its address: only together on this machine they are the same.
    let same = scene.group("radio").group.clone();
    let more = format!("[[group]]\nname = \"again\"\naddress = \"{same}\"\ninterface = \"lo\"\n");
    let ended = run(&["node", "--config", &scene.file(&more)]).end().expect(2);
    assert_eq!(ended.all("error")[0]["code"], "group.same");
    assert!(ended.error().starts_with("error: group (again): "), "{}", ended.error());
    // One cache for all, by the command line.
    let cache = scene.path("one");
    let ended = run(&["node", "--config", &scene.file(""), "--cache-dir", &cache]).end().expect(2);
    assert_eq!(ended.all("error")[0]["code"], "cache.shared");
    // Another process has the cache of one.
    let _other = scene.group("overlay").sub(&["a", "--cache-dir", &scene.path("cache-overlay")]);
    let ended = run(&["node", "--config", &scene.file("")]).end().expect(5);
    assert!(ended.error().starts_with("error: group (overlay): "), "{}", ended.error());
}

#[test]
fn the_doctor_examines_every_group_of_a_nodes_file() {
    let scene = Scene::new(&["radio", "overlay"]);
    let ended = run(&["doctor", "--node", &scene.file(""), "--peer-wait", "1s"]).end().expect(0);
    let verdicts: Vec<(&Value, &Value)> =
        ended.all("verdict").iter().map(|line| (&line["in"], &line["ok"])).collect();
    let (radio, overlay, fine) = ("radio".into(), "overlay".into(), true.into());
    assert_eq!(verdicts, [(&radio, &fine), (&overlay, &fine)]);
    let checks = ended.all("check");
    let of = |name: &Value| checks.iter().filter(|line| line["in"] == *name).count();
    assert!(of(&radio) > 5 && of(&radio) == of(&overlay), "{checks:#?}");
    assert_eq!(ended.result()["checks"], checks.len());
    assert_eq!(ended.result()["verdict"], "2 of 2 groups are fine");
    let missing = scene.path("nothing.toml");
    let ended = run(&["doctor", "--node", &missing]).end().expect(2);
    assert!(ended.error().contains("there is no such file"), "{}", ended.error());
}

#[test]
fn groups_of_one_node_have_a_monitors_page_each_though_one_address_is_given_for_all() {
    let scene = Scene::new(&["radio", "overlay", "third"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (sensors, history) = (scene.path("sensors"), scene.path("history"));
    let more = format!("monitor = \"{free}\"\nmonitor-sensors = \"{sensors}\"\n");
    let file = scene.file("");
    let text = std::fs::read_to_string(&file).unwrap();
    let text =
        text.replacen("topic =", &format!("{more}monitor-history = \"{history}\"\ntopic ="), 1);
    std::fs::write(&file, text).unwrap();
    let mut node = run(&["node", "--config", &file]);
    for _ in 0..3 {
        node.wait_for("start");
    }
    node.interrupt();
    let ended = node.end().expect(130);
    let pages: std::collections::BTreeSet<&str> =
        ended.stderr.lines().filter_map(|line| Some(line.split_once("monitor: ")?.1)).collect();
    assert_eq!(pages.len(), 3, "{}", ended.stderr);
}
