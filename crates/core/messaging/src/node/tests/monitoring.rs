//! Nodes with monitors tell each other of themselves.

use super::*;
use crate::monitor::{Config, Facts, Monitor};

impl Bus {
    /// Of these nodes each has a monitor from now on.
    fn monitor(&mut self, nodes: impl IntoIterator<Item = usize>) {
        for number in nodes {
            let node = &mut self.nodes[number].0;
            node.config.monitor = Some(Config { capacity: Bitrate::mbps(1), ..Config::default() });
            let config = node.config.monitor.unwrap();
            let own = NodeId(number as u32 + 1);
            node.monitoring = Some(Monitoring::new(config, own, number as u64, self.now));
            node.set_name(&alloc::format!("n{number}"));
        }
    }

    fn monitor_of(&self, node: usize) -> &Monitor {
        self.nodes[node].0.monitor().unwrap()
    }
}

#[test]
fn all_know_all_and_what_their_machines_say() {
    let mut bus = Bus::new(3);
    bus.monitor(0..3);
    let host = Facts { processor: Some(0.5), ..Facts::default() };
    bus.nodes[1].0.set_host_facts(host);
    bus.run(30, &mut none);
    for node in [0, 2] {
        let monitor = bus.monitor_of(node);
        assert_eq!(monitor.world().nodes().len(), 3);
        assert_eq!(monitor.label(NodeId(2)), "n1");
        let facts = monitor.world().facts(NodeId(2)).unwrap();
        assert!((facts.processor.unwrap() - 0.5).abs() < 0.01, "{facts:?}");
        assert_eq!((facts.hears, facts.loss), (Some(2), Some(0.0)));
    }
}

#[test]
fn who_does_not_hear_a_node_learns_of_it_from_who_does() {
    let mut bus = Bus::new(3);
    bus.monitor(0..3);
    bus.run(120, &mut |from, to, _| from.abs_diff(to) == 2);
    let far = bus.monitor_of(2).world().get(NodeId(1), crate::monitor::Block::Node).unwrap();
    assert_eq!(far.hop, 1);
    assert_eq!(bus.monitor_of(2).label(NodeId(1)), "n0");
}

#[test]
fn without_a_monitor_nothing_is_sent_and_notes_of_others_do_no_harm() {
    let mut bus = Bus::new(3);
    bus.monitor([0]);
    bus.run(60, &mut none);
    let notes = |node: usize| bus.nodes[node].0.stats().notes_sent;
    assert!(notes(0) > 5 && notes(1) == 0 && notes(2) == 0);
    assert_eq!(bus.nodes[1].0.stats().frames_refused, 0);
    assert!(bus.nodes[1].0.monitor().is_none());
}

#[test]
fn a_silent_node_says_nothing_of_itself_and_hears_the_others() {
    let mut bus = Bus::new(2);
    bus.monitor(0..2);
    bus.nodes[0].0.config.silent = true;
    bus.run(30, &mut none);
    assert_eq!(bus.sent[0], 0);
    assert_eq!(bus.monitor_of(1).world().nodes().len(), 1);
    assert!(bus.monitor_of(0).world().facts(NodeId(2)).is_some());
}

#[test]
fn notes_are_counted_as_sent_and_fit_into_their_share() {
    let mut bus = Bus::new(3);
    bus.monitor(0..3);
    bus.run(100, &mut none);
    for (node, _) in &bus.nodes {
        let stats = node.stats();
        let on_air = stats.note_bytes_sent + 28 * stats.notes_sent;
        // A node's third of 2 % of 1 Mbit/s in 100 s.
        assert!(on_air < 83_000, "{stats:?}");
        assert!(node.session_stats().bytes_sent >= stats.note_bytes_sent);
    }
}
