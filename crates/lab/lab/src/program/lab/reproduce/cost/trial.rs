//! One group of real nodes on one channel, with monitors or without.

use std::{fs, path::Path, process::Stdio, time::Duration};

use fanfare_command::Failure;
use fanfare_lab::{Host, INTERFACE, Lab, Stop};
use serde_json::Value;

use crate::{
    ending::failure,
    fanfare::fanfare,
    lab::reproduce::stage::{Directory, Running, document, lab, pause},
};

/// What it is called among experiments.
pub(in super::super) const NAME: &str = "monitor-cost";
/// The channel of seed 002's companies, bit/s; as in the simulator's table of the same.
pub(super) const CHANNEL: f64 = 218_750.0;
/// What nodes send at most, themselves.
const RATE: &str = "200k";
/// From then on is counted, and to when: the group knows itself by then.
const FROM: Duration = Duration::from_secs(25);
const TO: Duration = Duration::from_secs(85);
/// A position of some node so often.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes of one.
const POSITION: usize = 128;
/// `/proc/PID/stat` counts in these: USER_HZ, 100 on every Linux.
const TICKS: f64 = 100.0;
const PAGE: &str = "127.0.0.1:7979";

/// A kind of group.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) nodes: usize,
    /// Nodes publish positions in turns, one a second.
    positions: bool,
}

pub(super) const CASES: [Case; 4] = [
    Case { name: "quiet-4", nodes: 4, positions: false },
    Case { name: "quiet-12", nodes: 12, positions: false },
    Case { name: "positions-12", nodes: 12, positions: true },
    Case { name: "positions-24", nodes: 24, positions: true },
];

/// What was counted of one group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// On the channel, bit/s.
    pub(super) bps: f64,
    /// Of each node's program, share of a core.
    pub(super) cores: Vec<f64>,
    /// Peak of memory of the largest, MiB.
    pub(super) memory: f64,
    /// Nodes that the first one's page knows and hears; nothing without a page.
    pub(super) known: Option<usize>,
    /// The emulator was late.
    pub(super) void: bool,
}

pub(super) fn run(case: &Case, monitor: bool, seed: u64, stop: &Stop) -> Result<Group, Failure> {
    let lab = lab(&scenario(case.nodes), seed)?;
    let directory = Directory::make(&format!("cost-{}-{monitor}-{seed}", case.name))?;
    let mut nodes = Vec::new();
    for host in lab.hosts() {
        nodes.push(node(host, &directory.of(host.name()), monitor)?);
    }
    count(&lab, case, &directory, &nodes, stop)
        .map(|group| Group { known: group.known.filter(|_| monitor), ..group })
}

fn count(
    lab: &Lab,
    case: &Case,
    directory: &Directory,
    nodes: &[Running<Value>],
    stop: &Stop,
) -> Result<Group, Failure> {
    let sent = || -> Result<u64, Failure> {
        let counted = lab.snapshot().map_err(|error| failure(&error))?;
        Ok(counted.nodes.iter().map(|node| node.sent.bytes).sum())
    };
    publish(lab, case, directory, FROM, stop)?;
    let before = (sent()?, lab.elapsed(), processors(nodes));
    publish(lab, case, directory, TO, stop)?;
    let (bytes, after) = (sent()? - before.0, processors(nodes));
    let seconds = (lab.elapsed() - before.1).as_secs_f64();
    let cores = before.2.iter().zip(&after).map(|(before, after)| (after - before) / seconds);
    let page = lab.hosts().first().and_then(|host| document(host, PAGE, "/api/state"));
    let memory = nodes.iter().filter_map(|node| memory(node.id())).fold(0.0, f64::max);
    let snapshot = lab.snapshot().map_err(|error| failure(&error))?;
    Ok(Group {
        bps: bytes as f64 * 8.0 / seconds,
        cores: cores.collect(),
        memory,
        known: page.map(|page| known(&page)),
        void: snapshot.lateness.void,
    })
}

/// One channel, and as many nodes.
fn scenario(nodes: usize) -> String {
    format!(
        "[scenario]\nname = \"monitor-cost\"\nduration = \"3600s\"\n\
         [[node]]\nname = \"n\"\ncount = {nodes}\nhost = true\n\
         [[medium]]\nnodes = [\"n*\"]\nrate = \"{CHANNEL}bps\"\ndelay = \"2ms\"\n"
    )
}

fn node(host: &Host, socket: &Path, monitor: bool) -> Result<Running<Value>, Failure> {
    let mut command = host.command(fanfare());
    command.args(["node", "--json", "--interface", INTERFACE, "--rate", RATE]);
    command.args(["--name", host.name(), "--topic", "position/#", "--socket"]).arg(socket);
    if monitor {
        command.args(["--monitor", "--monitor-capacity", &format!("{CHANNEL}")]);
    }
    Running::start(command, "fanfare-cli")
}

/// Until so long after the lab came up.
fn publish(
    lab: &Lab,
    case: &Case,
    directory: &Directory,
    until: Duration,
    stop: &Stop,
) -> Result<(), Failure> {
    let mut turn = 0;
    while case.positions && lab.elapsed() + EVERY < until {
        let host = &lab.hosts()[turn % case.nodes];
        let mut command = host.command(fanfare());
        command.args(["pub", &format!("position/{}", host.name()), "--via"]);
        command.arg(directory.of(host.name())).args(["--message", &"x".repeat(POSITION)]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Before a node is there nothing is published.
        let _ = command.status();
        turn += 1;
        pause(lab, stop, lab.elapsed() + EVERY)?;
    }
    pause(lab, stop, until)
}

/// Seconds that each has taken of processors.
fn processors(nodes: &[Running<Value>]) -> Vec<f64> {
    let read = |node: &Running<Value>| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", node.id())).unwrap_or_default();
        processor_seconds(&stat).unwrap_or(f64::NAN)
    };
    nodes.iter().map(read).collect()
}

/// User and system time in `/proc/PID/stat`.
fn processor_seconds(stat: &str) -> Option<f64> {
    // The name, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

/// MiB, at most so far.
fn memory(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Nodes that are up, by a page.
fn known(page: &Value) -> usize {
    let nodes = page["nodes"].as_object();
    let is_up = |node: &&Value| matches!(node["state"].as_str(), Some("up" | "this node"));
    nodes.map_or(0, |nodes| nodes.values().filter(is_up).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::reproduce::stage;

    #[test]
    fn processor_time_is_that_of_user_and_system_whatever_a_program_is_called() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20";
        assert_eq!(processor_seconds(stat), Some(2.0));
        assert_eq!(processor_seconds("nonsense"), None);
    }

    #[test]
    fn the_scenario_is_one_and_only_nodes_that_are_up_are_known() {
        assert!(stage::scenario(&scenario(4)).is_ok());
        let page = serde_json::json!({"nodes": {"1": {"state": "up"}, "2": {"state": "silent"},
            "3": {"state": "this node"}}});
        assert_eq!((known(&page), known(&Value::Null)), (2, 0));
    }
}
