//! Scenario files as a whole: what is understood, what is refused, and where.

use super::{ExpectedExit, Mistake, ProgramCommand, Scenario};
use crate::{flow::FlowKind, network::Host, report::Report, topology::Router};
use fanfare_proto::Duration;

const DUMBBELL: &str = r#"
[scenario]
name = "dumbbell"
duration = "10s"
warm_up = "2s"
until = "limit"

[[node]]
name = "s"
count = 2
[[node]]
name = "left"
[[node]]
name = "right"
[[node]]
name = "r"
count = 2

[[link]]
from = "s*"
to = "left"
both = true
delay = "1ms"
[[link]]
from = "left"
to = "right"
both = true
rate = "1Mbps"
delay = "20ms"
queue = { kind = "drop-tail", bdp = 1.0 }
[[link]]
from = "right"
to = "r*"
both = true
delay = "1ms"

[[flow]]
kind = "fanfare-send"
node = "s1"
size = "endless"
rate = "600kbps"
[[flow]]
kind = "fanfare-recv"
node = "r1"
[[flow]]
kind = "tcp"
from = "s2"
to = "r2"
start = "1s"

[[change]]
at = "5s"
link = { from = "left", to = "right", rate = "2Mbps" }
"#;

fn no_files(file: &str) -> Result<String, String> {
    Err(format!("there is no {file}"))
}
fn parse(text: &str) -> Result<Scenario, Vec<Mistake>> {
    Scenario::parse(text, &no_files)
}
fn run(text: &str) -> Report {
    let scenario = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    scenario.plan(scenario.seed).run()
}
/// The mistakes of a text, a line each.
fn mistakes(text: &str) -> String {
    let list = parse(text).expect_err("mistakes");
    list.iter().map(|mistake| format!("{mistake}\n")).collect()
}

#[test]
fn a_dumbbell_runs_as_it_is_written() {
    let report = run(DUMBBELL);
    let secs = Duration::from_secs;
    // s1 and r1 are hosts 0 and 1; left, s2 and r2 are routers in the order of the file.
    let bottleneck = report.hops.iter().find(|hop| report.hop_name(hop) == "left-right").unwrap();
    let kbps = |from, to| bottleneck.bytes.bps(&(secs(from)..secs(to))) / 1e3;
    assert!((900.0..1001.0).contains(&kbps(3, 5)), "{}", kbps(3, 5));
    assert!((1_400.0..2_001.0).contains(&kbps(7, 10)), "{}", kbps(7, 10));
    assert!(report.goodput(Host(1), &(secs(2)..secs(10))) > 400e3, "{report}");
    assert!(matches!(report.flows[0].kind, FlowKind::Tcp { .. }));
    assert_eq!(report.flow_name(0), "tcp0:s2-r2");
    assert_eq!(report.label(Router(1)), "left");
}

#[test]
fn the_same_file_and_seed_give_the_same_run() {
    let scenario = parse(DUMBBELL).unwrap();
    let (a, b) = (scenario.plan(3).run(), scenario.plan(3).run());
    assert_eq!((a.hash, a.to_string()), (b.hash, b.to_string()));
    assert_eq!(a.hops_csv(), b.hops_csv());
}

#[test]
fn links_with_a_star_are_paths_of_their_own_for_each_pair() {
    let report = run(r#"
[scenario]
name = "mesh"
duration = "60s"
[[node]]
name = "sender"
[[node]]
name = "r"
count = 5
[[link]]
from = "*"
to = "*"
delay = "5ms"
loss = { ge = { mean = "20%", burst = 4 } }
[[link]]
from = "r5"
to = "*"
up = false
[[flow]]
kind = "fanfare-send"
node = "sender"
size = "100kB"
[[flow]]
kind = "fanfare-recv"
node = "r*"
"#);
    report.check_complete();
    assert!(report.hops.is_empty() && report.paths.lost > 50, "{report}");
}

#[test]
fn a_medium_has_a_row_of_losses_for_each_node() {
    let report = run(r#"
[scenario]
name = "radio"
duration = "60s"
[[node]]
name = "n"
count = 3
[[medium]]
nodes = ["n1", "n2", "n3"]
rate = "500kbps"
loss = [[0, 0, "40%"], [0, 0, 0], [0, 0, 0]]
[[flow]]
kind = "fanfare-send"
node = "n1"
size = "50kB"
rate = "400kbps"
[[flow]]
kind = "fanfare-recv"
node = ["n2", "n3"]
"#);
    report.check_complete();
    let lost = |n| report.hops.iter().find(|h| h.to == Host(n).into()).unwrap().lost;
    assert!(lost(1) == 0 && lost(2) > 5, "{report}");
}

#[test]
fn every_mistake_is_told_at_once_with_its_line_and_a_way_out() {
    let text = DUMBBELL
        .replace("rate = \"1Mbps\"", "raet = \"1Mbps\"")
        .replace("delay = \"20ms\"", "delay = \"20\"")
        .replace("to = \"r*\"", "to = \"x*\"")
        .replace("kind = \"tcp\"", "kind = \"tpc\"")
        .replace("warm_up = \"2s\"", "warmup = \"2s\"")
        .replace("bdp = 1.0", "bdp = 1.0, packets = 0");
    let expected = "\
line 5: scenario (warmup): has no such key. Did you mean warm_up?
line 28: link (raet): has no such key. Did you mean rate?
line 29: link.delay (20): not a time. Write it as 242ms, 1.5s or 2min
line 30: queue.packets (0): not a whole number from 1 to 1000000
line 33: node (x*): there is no such node. Known are: s1, s2, left, right, r1, r2
line 46: flow.kind (tpc): is not known. Did you mean tcp?
";
    assert_eq!(mistakes(&text), expected);
}

#[test]
fn what_needs_a_session_is_refused_where_there_is_none() {
    let text = DUMBBELL.replace("name = \"left\"", "name = \"left\"\ncrash = \"3s\"");
    let text = text + "[[change]]\nat = \"6s\"\npartition = \"right\"\n";
    let found = mistakes(&text);
    assert!(found.contains("node.crash (left)"), "{found}");
    assert!(found.contains("change.partition (right): has no session"), "{found}");
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let found = mistakes("[scenario]\nname = \"x\nduration = 5s\n");
    assert!(found.contains("line 2: TOML ()") && found.contains("line 3: TOML ()"), "{found}");
}

#[test]
fn what_is_missing_is_named() {
    let found = mistakes("[scenario]\nname = \"x\"\n[[link]]\nrate = \"1Mbps\"\n");
    for what in ["scenario (duration)", "link (from)", "link (to)", "nobody sends"] {
        assert!(found.contains(what), "{what}: {found}");
    }
    assert!(mistakes("").contains("file (scenario)"));
}

#[test]
fn a_queue_that_a_path_of_its_own_cannot_have_is_refused() {
    let found =
        mistakes(&DUMBBELL.replace("from = \"left\"\nto = \"right\"", "from = \"*\"\nto = \"*\""));
    assert!(found.contains("queue (table): needs hops"), "{found}");
    assert!(found.contains("no link leads there"), "{found}");
}

#[test]
fn a_trace_is_read_from_the_file_that_is_named() {
    let text = DUMBBELL.replace("delay = \"20ms\"", "delay = \"20ms\"\nloss = { trace = \"t\" }");
    let found = mistakes(&text);
    assert!(found.contains("loss.trace (t): there is no t"), "{found}");
    let scenario = Scenario::parse(&text, &|_| Ok(String::from("0 0 0 0 1"))).unwrap();
    let report = scenario.plan(1).run();
    let hop = report.hops.iter().find(|hop| report.hop_name(hop) == "left-right").unwrap();
    let share = hop.lost as f64 / hop.carried as f64;
    assert!((0.19..=0.2).contains(&share), "{share}");
}

#[test]
fn no_text_makes_the_reader_panic() {
    // Each line left out, and each cut short in its middle: mistakes or a plan, never a panic.
    let lines: Vec<&str> = DUMBBELL.lines().collect();
    for n in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(n);
        let _ = parse(&fewer.join("\n"));
        let mut cut = lines.clone();
        cut[n] = &lines[n][..lines[n].len() / 2];
        let _ = parse(&cut.join("\n"));
    }
}

const PROGRAMS: &str = r#"
[scenario]
name = "programs"
duration = "10s"

[[node]]
name = "a"
[[node]]
name = "b"
[[node]]
name = "between"

[[link]]
from = ["a", "b"]
to = "between"
both = true

[[program]]
node = ["a", "b"]
command = ["echo", "two words"]
expect = 3
[[program]]
node = "a"
command = "cat | wc"
start = "1s"
stop = "2s"
background = true
"#;

#[test]
fn programs_make_hosts_of_their_nodes_and_are_read_as_they_are_written() {
    let scenario = Scenario::parse_for_laboratory(PROGRAMS, &no_files).unwrap();
    let hosts = scenario.plan(1).emulated_hosts();
    assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let words = ProgramCommand::Words(vec!["echo".into(), "two words".into()]);
    let told: Vec<_> = scenario.programs.iter().map(|p| (p.host.0, &p.command, p.expect)).collect();
    let shell = ProgramCommand::Shell("cat | wc".into());
    assert_eq!(
        told,
        [
            (0, &words, ExpectedExit::Code(3)),
            (1, &words, ExpectedExit::Code(3)),
            (0, &shell, ExpectedExit::Any)
        ]
    );
    assert_eq!(scenario.programs[2].stop, Some(Duration::from_secs(2)));
}

#[test]
fn the_simulator_says_that_programs_alone_are_for_the_laboratory() {
    assert!(mistakes(PROGRAMS).contains("programs run on real hosts"), "{}", mistakes(PROGRAMS));
}

#[test]
fn a_network_in_which_nothing_runs_has_only_hosts_in_the_laboratory() {
    let text = PROGRAMS.split("[[program]]").next().unwrap();
    let scenario = Scenario::parse_for_laboratory(text, &no_files).unwrap();
    assert_eq!(scenario.plan(1).emulated_hosts().len(), 3);
    let one = text.replacen("name = \"b\"", "name = \"b\"\nhost = true", 1);
    let scenario = Scenario::parse_for_laboratory(&one, &no_files).unwrap();
    assert_eq!(scenario.plan(1).emulated_hosts()[0].name, "b");
}

#[test]
fn a_program_without_a_command_or_that_stops_before_its_start_is_a_mistake() {
    let text = PROGRAMS.replace("\"cat | wc\"", "\" \"").replace("stop = \"2s\"", "stop = \"1s\"");
    let list = Scenario::parse_for_laboratory(&text, &no_files).expect_err("mistakes");
    let all: String = list.iter().map(|mistake| format!("{mistake}\n")).collect();
    assert!(all.contains("says nothing") && all.contains("not after its start"), "{all}");
}

#[test]
fn variables_decide_how_many_there_are_and_each_pair_has_its_group() {
    let text = r#"
[variables]
pairs = 3
tcp = 0
[scenario]
name = "v"
duration = "10s"
[[node]]
name = "s"
count = ${pairs}
group = "pair*"
[[node]]
name = "r"
count = ${pairs}
group = "pair*"
[[node]]
name = "west"
[[node]]
name = "east"
[[link]]
from = "s*"
to = "west"
both = true
[[link]]
from = "west"
to = "east"
both = true
rate = "1Mbps"
[[link]]
from = "east"
to = "r*"
both = true
[[flow]]
kind = "fanfare-send"
node = "s*"
size = "endless"
rate = "100kbps"
stagger = "2s"
[[flow]]
kind = "fanfare-recv"
node = "r*"
[[flow]]
kind = "tcp"
name = "t"
count = ${tcp}
from = "west"
to = "east"
stagger = "1s"
"#;
    let report = run(text);
    let at = |host, from, to| {
        let secs = Duration::from_secs;
        report.goodput(Host(host), &(secs(from)..secs(to)))
    };
    // s1 to s3, then r1 to r3: the second pair begins after 2 s and nobody hears another's sender.
    assert!(at(4, 0, 2) == 0.0 && (60e3..100e3).contains(&at(4, 4, 10)), "{report}");
    assert!((60e3..100e3).contains(&at(3, 4, 10)) && at(5, 0, 4) == 0.0, "{report}");
    let values = |pairs: [(&str, &str); 2]| -> super::Values {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    };
    let none = Scenario::parse_with(text, &values([("pairs", "0"), ("tcp", "2")]), &no_files);
    let report = none.unwrap_or_else(|mistakes| panic!("{mistakes:#?}")).plan(1).run();
    assert!(report.hosts.is_empty());
    let secs = Duration::from_secs;
    let got = |n: usize| report.flows[n].received.sum(&(secs(0)..secs(1)));
    assert!(report.flow_name(1) == "t2" && got(0) > 0 && got(1) == 0, "{report}");
}

#[test]
fn a_reaction_is_a_figure_of_the_scenario() {
    let text = DUMBBELL.to_owned()
        + "[[reaction]]\nname = \"wider\"\nat = \"5s\"\nnode = \"s1\"\nfrom = \"left\"\n\
           to = \"right\"\nshare = \"620kbps\"\nrtt = \"50ms\"\n";
    let scenario = parse(&text).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let metrics = scenario.metrics_of(&scenario.plan(1).run());
    let reaction = metrics.iter().find(|(name, _)| name == "reaction_s:wider");
    assert!(reaction.is_some_and(|(_, seconds)| *seconds < 1.0), "{metrics:?}");
    let found = mistakes(&text.replace("node = \"s1\"\nfrom", "node = \"s2\"\nfrom"));
    assert!(found.contains("reaction.node (s2): sends nothing"), "{found}");
    let found = mistakes(&text.replace("to = \"right\"\nshare", "to = \"r1\"\nshare"));
    assert!(found.contains("reaction (left to r1): there is no such link"), "{found}");
}

#[test]
fn loss_can_be_given_for_each_bit() {
    let with = |loss: &str| {
        DUMBBELL.replace("delay = \"20ms\"", &format!("delay = \"20ms\"\nloss = \"{loss}\""))
    };
    let report = run(&with("1e-5/bit"));
    let hop = report.hops.iter().find(|hop| report.hop_name(hop) == "left-right").unwrap();
    let share = hop.lost as f64 / hop.carried as f64;
    assert!((0.07..0.16).contains(&share), "{share}");
    assert!(mistakes(&with("1%/bit")).contains("link.loss (1%/bit): not an error rate"));
}

const LAYERS: &str = r#"
[scenario]
name = "layers"
duration = "10s"
leave = "3s"

[[node]]
name = "s"
count = 2
[[node]]
name = "r"
count = 2
[[link]]
from = "s*"
to = "r*"
rate = "1Mbps"
both = true

[[flow]]
kind = "layered"
cc = "plm"
from = "s*"
to = "r*"
layers = { base = "12kbps", factor = 1.3, count = 20 }
join = "2s"
[[reaction]]
name = "start"
node = "r*"
share = "1Mbps"
"#;

#[test]
fn several_sources_of_layers_have_a_receiver_each_and_one_has_all() {
    let report = Scenario::parse(LAYERS, &|_| Err(String::new())).unwrap().plan(1).run();
    assert_eq!(report.layered.len(), 2);
    let one =
        LAYERS.replace("from = \"s*\"\nto = \"r*\"\nlayers", "from = \"s1\"\nto = \"r*\"\nlayers");
    let scenario = Scenario::parse(&one, &|_| Err(String::new())).unwrap();
    let report = scenario.plan(1).run();
    assert_eq!(report.layered.len(), 2);
    let metrics = scenario.metrics_of(&report);
    assert!(metrics.iter().any(|(name, _)| name == "reaction_s:start"), "{metrics:?}");
}

#[test]
fn layers_that_cannot_be_and_sources_without_receivers_are_told_with_their_lines() {
    let wrong = |old: &str, new: &str| {
        let text = LAYERS.replace(old, new);
        let mistakes = Scenario::parse(&text, &|_| Err(String::new())).unwrap_err();
        mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(wrong("factor = 1.3", "factor = 0.5").contains("no session may have these"));
    assert!(wrong("base = \"12kbps\", factor = 1.3, ", "").contains("has no rates"));
    let unequal = wrong("to = \"r*\"\nlayers", "to = \"r1\"\nlayers");
    assert!(unequal.contains("flow.to (1 nodes): 2 sources need a receiver each"), "{unequal}");
    assert!(wrong("to = \"r*\"\nlayers", "to = \"s1\"\nlayers").contains("is a source"));
    assert!(wrong("\"plm\"", "\"plum\"").contains("plm"));
    let lab = Scenario::parse_for_laboratory(LAYERS, &|_| Err(String::new())).unwrap_err();
    assert!(lab[0].to_string().contains("runs in the simulator only"), "{lab:?}");
}
