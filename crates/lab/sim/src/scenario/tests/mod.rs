//! Whole scenario files: what is accepted, what is refused, and where.

mod layers;
mod programs;
mod variables;

use fanfare_proto::Duration;

use super::{Mistake, Scenario};
use crate::{flow::FlowKind, network::Host, place::Router, results::report::Report};

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
/// A text with each line left out, and with each cut short in its middle: mistakes or a plan, never a
/// panic.
pub(crate) fn damaged(text: &str) -> impl Iterator<Item = String> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).flat_map(move |n| {
        let mut cut = lines.clone();
        cut[n] = &lines[n][..lines[n].len() / 2];
        let fewer = [&lines[..n], &lines[n + 1..]].concat();
        [fewer.join("\n"), cut.join("\n")]
    })
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
    assert!(found.contains("line 2: TOML:") && found.contains("line 3: TOML:"), "{found}");
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
fn a_shaper_with_a_bucket_and_a_policer_need_their_rates() {
    let at =
        |more: &str| DUMBBELL.replace("delay = \"20ms\"", &format!("delay = \"20ms\"\n{more}"));
    let found = mistakes(&at("bucket = \"16kB\"").replace("rate = \"1Mbps\"\n", ""));
    assert!(found.contains("bucket (16kB): needs a rate"), "{found}");
    let (queue, _) = DUMBBELL.split_once("queue = ").unwrap().1.split_once('\n').unwrap();
    let policed = |keys: &str| DUMBBELL.replace(queue, &format!("{{ kind = \"policer\"{keys} }}"));
    assert!(mistakes(&policed("")).contains("rate"), "{}", mistakes(&policed("")));
    let report = parse(&policed(", rate = \"500kbps\", burst = \"15kB\"")).unwrap().plan(1).run();
    let hop = report.hops.iter().find(|hop| report.hop_name(hop) == "left-right").unwrap();
    assert!(hop.dropped > 0 && hop.most_packets < 20, "{} {}", hop.dropped, hop.most_packets);
}

#[test]
fn controlled_delay_keeps_a_long_queue_short_by_its_target_and_counts_what_it_drops() {
    let (queue, _) = DUMBBELL.split_once("queue = ").unwrap().1.split_once('\n').unwrap();
    let waited = |kind: &str| {
        let queued = format!("{{ kind = {kind}, bytes = \"200kB\" }}");
        let report = parse(&DUMBBELL.replace(queue, &queued)).unwrap().plan(1).run();
        let hop = report.hops.iter().find(|hop| report.hop_name(hop) == "left-right").unwrap();
        (hop.delay.percentile(0.5).as_millis(), hop.dropped)
    };
    let (tail, _) = waited("\"drop-tail\"");
    let (short, dropped) = waited("\"codel\"");
    let (longer, _) = waited("\"codel\", target = \"100ms\", interval = \"500ms\"");
    assert!(short < longer && longer < tail && dropped > 0, "{short} {longer} {tail}, {dropped}");
    let found = mistakes(&DUMBBELL.replace(queue, "{ kind = \"codel\", target = 5 }"));
    assert!(found.contains("target"), "{found}");
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
    damaged(DUMBBELL).for_each(|text| _ = parse(&text));
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
