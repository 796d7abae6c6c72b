//! Hosts and the line that all flows share: each flow has a sender and a receiver of its own, and its
//! multicast reaches no other host. So what reaches a receiver is its flow's.

use std::fmt::Write as _;

use super::case::{BesideCase, RATE, ROUND_TRIP_MS};
use crate::{
    bench::roads::emulated::parsed,
    error::{LabError, Refusal},
    host::Host,
    lab::Lab,
};

/// Hosts and a network; gone when dropped. The transfer by default is flow 0.
#[derive(Debug)]
pub(super) struct BesideNetwork {
    lab: Lab,
    flows: usize,
}

/// Counters of the emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BesideCounters {
    /// IP bytes that reached the receiver of each flow.
    pub(super) received: Vec<u64>,
    /// Packets that the queue dropped.
    pub(super) dropped: u64,
}

impl BesideNetwork {
    pub(super) fn up(case: BesideCase) -> Result<Self, LabError> {
        let scenario = parsed(&text(case), &case.to_string())?;
        Ok(Self { lab: Lab::up(&scenario, 1)?, flows: case.flows + 1 })
    }

    pub(super) fn sender(&self, flow: usize) -> Result<&Host, LabError> {
        self.host(&sender(flow))
    }
    pub(super) fn receiver(&self, flow: usize) -> Result<&Host, LabError> {
        self.host(&receiver(flow))
    }
    fn host(&self, name: &str) -> Result<&Host, LabError> {
        let missing = || {
            let text = format!("host ({name}): not in the scenario. Report this");
            LabError::new(Refusal::System, "bench.road", text)
        };
        self.lab.host(name).ok_or_else(missing)
    }

    pub(super) fn counted(&self) -> Result<BesideCounters, LabError> {
        let snapshot = self.lab.snapshot()?;
        let of = |flow: usize| {
            let name = receiver(flow);
            let node = snapshot.nodes.iter().find(|node| node.node == name);
            node.map_or(0, |node| node.received.bytes)
        };
        let line = snapshot.links.iter().find(|link| link.from == "in" && link.to == "out");
        Ok(BesideCounters {
            received: (0..self.flows).map(of).collect(),
            dropped: line.map_or(0, |line| line.dropped),
        })
    }
}

fn sender(flow: usize) -> String {
    format!("sender{flow}")
}

fn receiver(flow: usize) -> String {
    format!("receiver{flow}")
}

fn text(case: BesideCase) -> String {
    let one_way = f64::from(ROUND_TRIP_MS) / 2.0;
    let mut text = format!(
        "[scenario]\nname = \"beside\"\nduration = \"24h\"\n\
         [[node]]\nname = \"in\"\n\
         [[node]]\nname = \"out\"\n\
         [[link]]\nfrom = \"in\"\nto = \"out\"\nrate = \"{RATE}bps\"\ndelay = \"0ms\"\nqueue = {}\n\
         [[link]]\nfrom = \"out\"\nto = \"in\"\ndelay = \"0ms\"\n",
        case.queue.text()
    );
    for flow in 0..=case.flows {
        let (from, to) = (sender(flow), receiver(flow));
        let _ = write!(
            text,
            "[[node]]\nname = \"{from}\"\ngroup = \"flow{flow}\"\nhost = true\n\
             [[node]]\nname = \"{to}\"\ngroup = \"flow{flow}\"\nhost = true\n\
             [[link]]\nfrom = \"{from}\"\nto = \"in\"\nboth = true\ndelay = \"0ms\"\n\
             [[link]]\nfrom = \"out\"\nto = \"{to}\"\nboth = true\ndelay = \"{one_way}ms\"\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_a_scenario_with_two_hosts_for_each_flow() {
        for case in BesideCase::all() {
            let scenario = parsed(&text(case), &case.to_string()).unwrap();
            let hosts = scenario.plan(1).emulated_hosts();
            assert_eq!(hosts.len(), 2 * (case.flows + 1), "{case}");
            for (number, host) in hosts.iter().enumerate() {
                let same = hosts.iter().filter(|other| other.group == host.group).count();
                assert_eq!((same, hosts[number ^ 1].group), (2, host.group), "{case}");
            }
        }
    }
}
