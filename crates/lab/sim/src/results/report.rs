//! The results of a run. docs/reference/simulation.md explains each column.

use core::{fmt, ops::Range};
use std::collections::BTreeMap;

use fanfare_messaging::{Delivered, Description, Filter, GroupStats};
use fanfare_proto::{Duration, Event, ObjectKey, Stats, Time};

use crate::{
    flow::{FlowReport, layered::LayeredReport},
    monitor_report::MonitorReport,
    network::{Host, PathCounts},
    node::{Completion, Node, OfferedObject, PublishedMessage},
    path_loss::Contacts,
    place::Place,
    plan::GatewayReport,
    results::{
        hop_report::HopReport,
        series::Series,
        table::Table,
        traffic::{Kind, Traffic},
    },
};

/// Rows of hosts that are printed; the rest is in the sums.
const HOST_ROWS: usize = 12;
/// Lines of trace that are printed.
const TRACE_ROWS: usize = 400;

/// What came of one host.
#[derive(Debug, Clone)]
pub struct HostReport {
    /// Which.
    pub host: Host,
    /// In which group.
    pub group: u8,
    /// Whether it was up at the end.
    pub up: bool,
    /// Whether it receives.
    pub receives: bool,
    /// What it received whole, in order of time.
    pub completions: Vec<Completion>,
    /// All events of its sessions.
    pub events: Vec<(Time, Event)>,
    /// Counters of each of its lives.
    pub lives: Vec<Stats>,
    /// Counters of each of its lives as a group node; none of a plain session.
    pub group_lives: Vec<GroupStats>,
    /// What its monitor has come to, if it has one and is up.
    pub monitor: Option<MonitorReport>,
    /// Messages it published, and their bytes.
    pub published: (u64, u64),
    /// Each of them.
    pub publications: Vec<PublishedMessage>,
    /// What it subscribed to.
    pub filters: Vec<Filter>,
    /// Messages handed over to its subscriptions.
    pub messages: Vec<(Time, Delivered)>,
    /// Bytes of objects it received, each once, over time.
    pub received: Series,
    /// Times its timers woke it.
    pub wakes: u64,
    /// Bytes given to storage that were not the object's.
    pub wrong_bytes: u64,
    /// Bytes given to storage that were there already.
    pub rewritten_bytes: u64,
}

impl HostReport {
    pub(crate) fn of(node: Node) -> Self {
        Self {
            host: node.host(),
            group: node.number_of_group(),
            up: node.is_up(),
            receives: node.receives(),
            lives: node.lives(),
            group_lives: node.group_lives(),
            monitor: node.monitor_report(),
            published: node.published,
            filters: node.filters(),
            wakes: node.wakes,
            wrong_bytes: node.storage().wrong_bytes,
            rewritten_bytes: node.storage().rewritten_bytes,
            received: node.received,
            publications: node.publications,
            messages: node.messages,
            completions: node.completions,
            events: node.events,
        }
    }
    /// When `key` was received whole.
    #[must_use]
    pub fn completed(&self, key: ObjectKey) -> Option<Time> {
        self.completions.iter().find(|c| c.key == key).map(|c| c.at)
    }
    /// A counter, over all lives.
    #[must_use]
    pub fn sum(&self, counter: impl Fn(&Stats) -> u64) -> u64 {
        self.lives.iter().map(counter).sum()
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The plan's seed.
    pub seed: u64,
    /// The plan's name.
    pub name: String,
    /// When it ended.
    pub ended: Time,
    /// Every receiver that was up at the end had every object that was not withdrawn.
    pub complete: bool,
    /// Everything that was sent, in the order of hosts and then of enqueueing.
    pub offers: Vec<OfferedObject>,
    /// Each host, by number.
    pub hosts: Vec<HostReport>,
    /// What was put on the network.
    pub traffic: Traffic,
    /// What paths did.
    pub paths: PathCounts,
    /// The plan came from a scenario file.
    pub from_file: bool,
    /// What the plan calls places.
    pub labels: BTreeMap<Place, String>,
    /// Each hop of a topology, in the order of the plan.
    pub hops: Vec<HopReport>,
    /// Each background flow, in the order of the plan.
    pub flows: Vec<FlowReport>,
    /// Each receiver of each layered session, in the order of the plan.
    pub layered: Vec<LayeredReport>,
    /// Each gateway, in the order of the plan.
    pub gateways: Vec<GatewayReport>,
    /// Who could hear whom on a radio whose nodes, these hosts, move.
    pub(crate) contacts: Vec<(Vec<Host>, Contacts)>,
    /// Of every delivery: time, hearer, bytes. Two runs are the same when it is the same.
    pub hash: u64,
    /// The first datagrams, when the plan asked for them.
    pub trace: Vec<String>,
}

impl Report {
    /// One host.
    #[must_use]
    pub fn host(&self, host: Host) -> &HostReport {
        &self.hosts[usize::from(host.0)]
    }
    /// A counter over all hosts and lives.
    #[must_use]
    pub fn sum(&self, counter: impl Fn(&Stats) -> u64 + Copy) -> u64 {
        self.hosts.iter().map(|host| host.sum(counter)).sum()
    }
    /// Events of one host that `choose` likes.
    pub fn events<T>(&self, host: Host, choose: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.host(host).events.iter().filter_map(|(_, event)| choose(event)).collect()
    }
    /// When the last receiver had the last object it was to have.
    #[must_use]
    pub fn last_completion(&self) -> Time {
        let all = self.hosts.iter().flat_map(|host| &host.completions);
        all.map(|c| c.at).max().unwrap_or(Time::ZERO)
    }
    /// Bytes of all objects sent.
    #[must_use]
    pub fn offered_bytes(&self) -> u64 {
        self.offers.iter().map(|offer| offer.size).sum()
    }
    /// NORM_DATA symbol bytes sent for each byte of the objects.
    #[must_use]
    pub fn data_ratio(&self) -> f64 {
        self.traffic.data_payload as f64 / self.offered_bytes().max(1) as f64
    }
    /// NACKs sent for each loss event of the group ([`Traffic::loss_events`]).
    #[must_use]
    pub fn nacks_per_loss_event(&self) -> f64 {
        let nacks = self.traffic.of(Kind::Nack).messages as f64;
        nacks / self.traffic.loss_events().len().max(1) as f64
    }

    /// Bits of objects that a host received in each second of a window, each counted once.
    #[must_use]
    pub fn goodput(&self, host: Host, window: &Range<Duration>) -> f64 {
        self.host(host).received.bps(window)
    }
    /// What reports call a place: its label, or its number.
    #[must_use]
    pub fn label(&self, place: impl Into<Place>) -> String {
        let place = place.into();
        self.labels.get(&place).cloned().unwrap_or_else(|| place.to_string())
    }
    /// The hop from one place to another.
    #[must_use]
    pub fn hop(&self, from: impl Into<Place>, to: impl Into<Place>) -> Option<&HopReport> {
        let (from, to) = (from.into(), to.into());
        self.hops.iter().find(|hop| (hop.from, hop.to) == (from, to))
    }

    /// Fails, with everything that helps to find out why, unless `holds`.
    #[track_caller]
    pub fn check(&self, holds: bool, what: &str) -> &Self {
        assert!(holds, "not so: {what}\n{self}");
        self
    }
    /// Every receiver that is up has every object, every byte, and the right INFO.
    #[track_caller]
    pub fn check_complete(&self) -> &Self {
        self.check(self.complete, "every receiver has every object");
        self.check_content()
    }
    /// What was received is what was sent.
    #[track_caller]
    pub fn check_content(&self) -> &Self {
        for host in &self.hosts {
            let n = host.host.0;
            self.check(host.wrong_bytes == 0, &format!("host {n} stored right bytes only"));
            for c in &host.completions {
                let fits = self.offer(c.key).is_some_and(|o| o.size == c.size) && c.whole;
                self.check(fits, &format!("host {n} has all of {:?}", c.key));
                self.check_info(host, c.key);
            }
            self.check(host.sum(|s| s.events_dropped) == 0, "no event was dropped");
        }
        self
    }

    #[track_caller]
    fn check_info(&self, host: &HostReport, key: ObjectKey) {
        let heard = host.events.iter().find_map(|(_, event)| match event {
            Event::ObjectInfo { key: of, info } if *of == key => Some(info),
            _ => None,
        });
        let sent = self.offer(key).and_then(|offer| offer.info.as_ref());
        // An object without INFO may travel with an empty one, to tell its size.
        // A message's description is made by its group node.
        let made = |info: &Vec<u8>| info.is_empty() || Description::decode(info).is_some();
        let fits = heard == sent || sent.is_none() && heard.is_some_and(made);
        self.check(fits, &format!("host {} has the INFO of {key:?}", host.host.0));
    }

    fn offer(&self, key: ObjectKey) -> Option<&OfferedObject> {
        self.offers.iter().find(|offer| offer.key == key)
    }

    fn host_table(&self) -> Table {
        let mut table = Table::new(&[
            "host", "done", "last s", "wrong B", "source", "proact", "parity", "explic", "nacks",
            "suppr", "acks", "rx new", "rx par", "recov", "lost", "wakes",
        ]);
        for host in self.hosts.iter().take(HOST_ROWS) {
            let last = host.completions.last().map_or(Time::ZERO, |c| c.at);
            table.row([
                host.host.0.to_string(),
                host.completions.len().to_string(),
                last.to_string(),
                host.wrong_bytes.to_string(),
                host.sum(|s| s.source_sent).to_string(),
                host.sum(|s| s.proactive_sent).to_string(),
                host.sum(|s| s.parity_repair_sent).to_string(),
                host.sum(|s| s.explicit_repair_sent).to_string(),
                host.sum(|s| s.nacks_sent).to_string(),
                host.sum(|s| s.nacks_suppressed).to_string(),
                host.sum(|s| s.acks_sent).to_string(),
                host.sum(|s| s.source_received).to_string(),
                host.sum(|s| s.parity_received).to_string(),
                host.sum(|s| s.recovered).to_string(),
                host.sum(|s| s.lost).to_string(),
                host.wakes.to_string(),
            ]);
        }
        table
    }

    fn hop_table(&self) -> Table {
        let mut table = Table::new(&[
            "hop", "carried", "dropped", "marked", "lost", "too big", "down", "q max", "q50 ms",
            "q95 ms", "q99 ms",
        ]);
        let busy = |hop: &&HopReport| hop.rate.is_some() || hop.lost + hop.too_large > 0;
        for hop in self.hops.iter().filter(busy).take(HOST_ROWS) {
            let ms = |share| format!("{:.1}", hop.delay.percentile(share).as_secs_f64() * 1e3);
            table.row([
                self.hop_name(hop),
                hop.carried.to_string(),
                hop.dropped.to_string(),
                hop.marked.to_string(),
                hop.lost.to_string(),
                hop.too_large.to_string(),
                hop.down.to_string(),
                hop.most_packets.to_string(),
                ms(0.5),
                ms(0.95),
                ms(0.99),
            ]);
        }
        table
    }

    fn flow_table(&self) -> Table {
        let mut table = Table::new(&["flow", "sent", "received B"]);
        for (number, flow) in self.flows.iter().enumerate().take(HOST_ROWS) {
            let received = flow.received.sum(&(Duration::ZERO..Duration::MAX));
            table.row([self.flow_name(number), flow.sent.to_string(), received.to_string()]);
        }
        table
    }

    fn traffic_table(&self) -> Table {
        let mut table = Table::new(&["kind", "messages", "bytes"]);
        for kind in Kind::ALL {
            let count = self.traffic.of(kind);
            if count.messages > 0 {
                let (messages, bytes) = (count.messages.to_string(), count.bytes.to_string());
                table.row([kind.name().to_string(), messages, bytes]);
            }
        }
        table
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, seed) = (&self.name, self.seed);
        let end = if self.complete { "complete" } else { "incomplete" };
        writeln!(f, "{name} seed {seed}: {end} at {} s, hash {:016x}", self.ended, self.hash)?;
        write!(f, "{}", self.host_table())?;
        if self.hosts.len() > HOST_ROWS {
            writeln!(f, "and {} hosts more", self.hosts.len() - HOST_ROWS)?;
        }
        write!(f, "{}", self.traffic_table())?;
        if !self.hops.is_empty() {
            write!(f, "{}{}", self.hop_table(), self.flow_table())?;
        }
        let p = &self.paths;
        writeln!(
            f,
            "paths: {} arrived, {} lost, {} found a full queue, {} twice, {} corrupted",
            p.arrived, p.lost, p.queue_full, p.duplicated, p.corrupted
        )?;
        writeln!(
            f,
            "data bytes / object bytes {:.3}; {} loss events, {:.2} NACKs each",
            self.data_ratio(),
            self.traffic.loss_events().len(),
            self.nacks_per_loss_event()
        )?;
        self.trace.iter().take(TRACE_ROWS).try_for_each(|line| writeln!(f, "{line}"))?;
        match self.from_file {
            true => write!(f, "again: fanfare sim run {name}.toml --seed {seed} --seeds 1"),
            false => write!(f, "again: FANFARE_SEED={seed} cargo test -p fanfare-scenarios {name}"),
        }
    }
}
