//! The run itself: takes the next event from the queue until the plan is complete.

mod changes;
mod gateways;
mod layered;
mod shared;

use std::rc::Rc;

use fanfare_proto::{Destination, Duration, Ecn, ObjectKey, RecvMeta, Time};
use fanfare_wire::Message;

use crate::{
    event_queue::EventQueue,
    fabric::{Fabric, Step},
    flow::{
        Running, Side,
        layered::{LayeredRunning, Participant},
    },
    network::{Delivery, Host, Hosts, Network},
    node::Node,
    plan::{Plan, Until},
    results::{
        report::{HostReport, Report},
        trace,
        traffic::{Kind, Traffic},
    },
};

/// FNV-1a: small, and the same everywhere.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn fnv(mut hash: u64, words: impl IntoIterator<Item = u64>) -> u64 {
    for word in words {
        hash = (hash ^ word).wrapping_mul(FNV_PRIME);
    }
    hash
}

/// Eight bytes at a time: the hash is for comparing runs, not for the world.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut hash = fnv(FNV_OFFSET, [bytes.len() as u64]);
    for word in words.by_ref() {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        hash = fnv(hash, [u64::from_le_bytes(eight)]);
    }
    fnv(hash, words.remainder().iter().map(|b| u64::from(*b)))
}

/// What the agenda holds.
enum ScheduledEvent {
    Delivery(Delivery),
    Wake(Host),
    Change(usize),
    Start(Host),
    Step(Step),
    FlowStart(u16),
    FlowStop(u16),
    FlowWake(u16, Side),
    PartyStart(u16, Participant),
    PartyWake(u16, Participant),
    Gateway(usize),
}

/// A run under way.
pub(crate) struct Simulation {
    plan: Plan,
    now: Time,
    events: EventQueue<ScheduledEvent>,
    network: Network,
    /// In a plan with hops, in the place of the network's paths.
    fabric: Option<Fabric>,
    flows: Vec<Running>,
    layered: Vec<LayeredRunning>,
    nodes: Vec<Node>,
    gateways: Vec<gateways::Running>,
    outstanding: usize,
    traffic: Traffic,
    trace: Vec<String>,
    hash: u64,
    last_data: Vec<Vec<u8>>,
    outbox: Vec<(Destination, Option<Ecn>, Vec<u8>)>,
    news: bool,
}

impl Plan {
    /// Runs it.
    #[must_use]
    pub fn run(self) -> Report {
        Simulation::new(self).run()
    }
}

impl Simulation {
    pub(crate) fn new(plan: Plan) -> Self {
        let mut network = Network::new(plan.seed, plan.link);
        let traces = Rc::new(plan.traces.clone());
        network.set_traces(Rc::clone(&traces));
        let mut events = EventQueue::new();
        let mut nodes = Vec::new();
        for host_plan in &plan.hosts {
            let host = network.add(host_plan.group);
            events.push(Time::ZERO + host_plan.start, ScheduledEvent::Start(host));
            nodes.push(Node::new(host, host_plan, plan.seed));
        }
        plan.links.iter().for_each(|(from, to, link)| network.set_link(*from, *to, *link));
        plan.uplinks.iter().for_each(|(from, link)| network.set_uplink(*from, *link));
        for (number, (at, _)) in plan.changes.iter().enumerate() {
            events.push(Time::ZERO + *at, ScheduledEvent::Change(number));
        }
        let fabric = Self::fabric_of(&plan, &traces);
        assert!(
            fabric.is_some() || plan.flows.is_empty() && plan.layered.is_empty(),
            "background flows need hops"
        );
        let mut simulation = Self {
            outstanding: plan.changes.len() + plan.hosts.len(),
            gateways: plan.gateways.iter().map(gateways::Running::new).collect(),
            last_data: vec![Vec::new(); nodes.len()],
            plan,
            now: Time::ZERO,
            events,
            network,
            fabric,
            flows: Vec::new(),
            layered: Vec::new(),
            nodes,
            traffic: Traffic::default(),
            trace: Vec::new(),
            hash: FNV_OFFSET,
            outbox: Vec::new(),
            news: false,
        };
        simulation.enter_steps();
        simulation.plan_flows();
        simulation.plan_layered();
        simulation
    }

    pub(crate) fn run(mut self) -> Report {
        let limit = Time::ZERO + self.plan.limit;
        while self.events.next_time().is_some_and(|at| at <= limit) {
            let Some((at, happening)) = self.events.pop() else { break };
            self.now = at;
            self.happen(happening);
            if std::mem::take(&mut self.news) && self.is_fulfilled() {
                return self.report();
            }
        }
        self.now = limit;
        self.report()
    }

    fn happen(&mut self, happening: ScheduledEvent) {
        match happening {
            ScheduledEvent::Delivery(delivery) => {
                for host in &delivery.to {
                    self.deliver(*host, &delivery);
                }
            }
            ScheduledEvent::Wake(host) => {
                let node = &mut self.nodes[usize::from(host.0)];
                if node.planned == Some(self.now) {
                    node.planned = None;
                }
                node.on_wake(self.now);
                self.settle(host);
            }
            ScheduledEvent::Step(step) => self.on_step(step),
            ScheduledEvent::FlowStart(number) => self.start_flow(number),
            ScheduledEvent::FlowStop(number) => self.flows[usize::from(number)].stop(),
            ScheduledEvent::FlowWake(number, side) => self.wake_flow(number, side),
            ScheduledEvent::PartyStart(number, party) => self.start_party(number, party),
            ScheduledEvent::PartyWake(number, party) => self.wake_party(number, party),
            ScheduledEvent::Gateway(number) => self.wake_gateway(number),
            ScheduledEvent::Start(host) => {
                self.outstanding -= 1;
                self.start(host);
            }
            ScheduledEvent::Change(number) => {
                self.outstanding -= 1;
                self.news = true;
                let change = self.plan.changes[number].1.clone();
                self.change(change);
            }
        }
    }

    fn deliver(&mut self, host: Host, delivery: &Delivery) {
        self.hash = fnv(self.hash, [self.now.as_nanos(), u64::from(host.0), delivery.hash]);
        let node = &mut self.nodes[usize::from(host.0)];
        let unicast = delivery.unicast || node.config().unicast;
        let meta = RecvMeta {
            source: delivery.source,
            ecn: delivery.ecn,
            unicast,
            waited: Duration::ZERO,
        };
        node.on_datagram(self.now, meta, &delivery.bytes);
        self.settle(host);
    }

    fn start(&mut self, host: Host) {
        self.set_up(host, true);
        self.nodes[usize::from(host.0)].start(self.now);
        self.settle(host);
    }

    fn set_up(&mut self, host: Host, up: bool) {
        self.network.set_up(host, up);
        if let Some(fabric) = &mut self.fabric {
            fabric.set_up(self.now, host, up);
        }
        self.enter_steps();
    }
    fn set_side(&mut self, hosts: Hosts, side: u8) {
        self.network.set_side(hosts, side);
        if let Some(fabric) = &mut self.fabric {
            fabric.set_side(hosts, side);
        }
    }

    /// Drains a node, sends what it has to say, and notes when it wants to be woken.
    fn settle(&mut self, host: Host) {
        let node = &mut self.nodes[usize::from(host.0)];
        let outbox = &mut self.outbox;
        self.news |= node.drain(self.now, &mut |to, ecn, bytes| {
            outbox.push((to, ecn, bytes.to_vec()));
        });
        for (to, ecn, bytes) in std::mem::take(&mut self.outbox) {
            self.transmit(host, to, ecn, &bytes);
        }
        self.plan_wake(host);
        self.settle_gateways(host);
    }

    fn plan_wake(&mut self, host: Host) {
        let node = &mut self.nodes[usize::from(host.0)];
        let Some(at) = node.next_timeout() else { return };
        let at = at.max(self.now);
        if at < Time::FAR_FUTURE && node.planned.is_none_or(|planned| at < planned) {
            node.planned = Some(at);
            self.events.push(at, ScheduledEvent::Wake(host));
        }
    }

    fn transmit(&mut self, from: Host, to: Destination, ecn: Option<Ecn>, bytes: &[u8]) {
        let to = match (to, self.plan.hosts[usize::from(from.0)].receiver) {
            (Destination::Group, Some(receiver)) => Destination::Peer(receiver.address()),
            (to, _) => to,
        };
        let message = Message::parse(bytes).ok();
        let kind = self.traffic.count(self.now, bytes.len(), message.as_ref());
        match &message {
            Some(Message::Nack(nack)) => self.count_nack(nack.feedback.server_id),
            Some(Message::Data(_)) => {
                bytes.clone_into(&mut self.last_data[usize::from(from.0)]);
            }
            _ => {}
        }
        self.note(from, kind, message.as_ref(), bytes.len());
        let hash = hash_bytes(bytes);
        if self.fabric.is_some() {
            return self.send_shared(from, to, ecn, bytes, hash);
        }
        for mut delivery in self.network.send(self.now, from, to, bytes, hash) {
            delivery.ecn = ecn;
            self.events.push(delivery.at, ScheduledEvent::Delivery(delivery));
        }
    }

    fn count_nack(&mut self, server: fanfare_proto::NodeId) {
        let node = self.nodes.iter_mut().find(|node| node.config().node_id == server);
        let cycle = node.and_then(|node| {
            let factor = node.config().sender.as_ref()?.backoff_factor;
            Some(node.session()?.sender().grtt() * (u32::from(factor) + 2))
        });
        self.traffic.on_nack(self.now, server, cycle.unwrap_or(Duration::ZERO));
    }

    fn note(&mut self, from: Host, kind: Kind, message: Option<&Message<'_>>, bytes: usize) {
        if self.trace.len() < self.plan.trace_max {
            self.trace.push(trace::line(self.now, from, kind, message, bytes));
        }
    }

    fn is_fulfilled(&mut self) -> bool {
        let idle = |node: &mut Node| node.session().is_none_or(|s| s.sender().is_idle());
        match self.plan.until {
            Until::Limit => false,
            Until::Complete => self.is_complete(),
            Until::Quiet => self.is_complete() && self.nodes.iter_mut().all(idle),
        }
    }

    fn is_complete(&self) -> bool {
        let offered: Vec<(Host, ObjectKey)> = self.offered();
        let group = |number: u16| self.plan.hosts[usize::from(number)].group;
        self.outstanding == 0
            && !self.nodes.iter().any(Node::has_backlog)
            && self.nodes.iter().zip(0..).all(|(node, number)| {
                !node.is_up()
                    || !node.receives()
                    || offered
                        .iter()
                        .filter(|(from, _)| from.0 != number && group(from.0) == group(number))
                        .filter(|(from, _)| {
                            let only = self.plan.hosts[usize::from(from.0)].receiver;
                            only.is_none_or(|receiver| receiver.0 == number)
                        })
                        .all(|(_, key)| node.has(*key))
            })
    }

    fn offered(&self) -> Vec<(Host, ObjectKey)> {
        let hosts = self.nodes.iter().zip(0..).map(|(node, number)| (node, Host(number)));
        hosts
            .flat_map(|(node, host)| {
                node.offers.iter().filter(|o| !o.cancelled).map(move |o| (host, o.key))
            })
            .collect()
    }

    fn report(self) -> Report {
        let complete = self.is_complete();
        let mut paths = self.network.counts;
        let hops = self.fabric.map(Fabric::into_reports).unwrap_or_default();
        for hop in &hops {
            paths.lost += hop.lost;
            paths.queue_full += hop.dropped;
        }
        let offers = self.nodes.iter().flat_map(|node| node.offers.iter().cloned()).collect();
        let contacts = self.plan.contacts();
        Report {
            seed: self.plan.seed,
            name: self.plan.name,
            ended: self.now,
            complete,
            offers,
            hosts: self.nodes.into_iter().map(HostReport::of).collect(),
            traffic: self.traffic,
            paths,
            labels: self.plan.labels,
            hops,
            from_file: self.plan.from_file,
            flows: self.flows.into_iter().map(|flow| flow.report).collect(),
            layered: self.layered.into_iter().flat_map(LayeredRunning::into_reports).collect(),
            contacts,
            gateways: self.gateways.into_iter().map(gateways::Running::into_report).collect(),
            hash: self.hash,
            trace: self.trace,
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::{Duration, SenderConfig, Time};

    use crate::{Change, Host, Hosts, Kind, Link, Object, Plan, Until};

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn pair() -> Plan {
        Plan::new(1).sender(SenderConfig::default()).receivers(1)
    }

    #[test]
    fn a_run_ends_when_all_is_received_and_no_change_is_outstanding() {
        let later = Change::Send(Host(0), Object::data(10));
        let report = pair().send(Object::data(10)).at(ms(3_000), later).run();
        assert!(report.complete && report.hosts[1].completions.len() == 2, "{report}");
        let ended = report.ended.since(Time::ZERO);
        assert!(ended >= ms(3_005) && ended < ms(4_000), "{report}");
    }

    #[test]
    fn a_run_that_cannot_succeed_ends_at_its_limit_and_says_so() {
        let report = pair()
            .link(Link::down())
            .send(Object::data(10))
            .until(Until::Complete, ms(5_000))
            .run();
        assert!(!report.complete && report.ended == Time::ZERO + ms(5_000), "{report}");
        assert!(report.to_string().contains("again: FANFARE_SEED=1 cargo test"));
    }

    #[test]
    fn a_unicast_session_reaches_its_receiver_alone_and_is_complete_with_it() {
        let report = pair().receivers(1).unicast(Host(0), Host(2)).send(Object::data(10_000)).run();
        report.check_complete();
        assert_eq!(report.hosts[2].completions.len(), 1);
        assert_eq!(report.hosts[1].sum(|s| s.datagrams_received), 0);
        assert!(report.hosts[0].sum(|s| s.datagrams_received) > 0, "the receiver answers");
    }

    #[test]
    fn a_crashed_host_hears_nothing_and_begins_again_from_nothing() {
        let report = pair()
            .send(Object::data(100_000))
            .at(ms(50), Change::Crash(Host(1)))
            .at(ms(1_000), Change::Start(Host(1)))
            .run();
        report.check_complete();
        assert_eq!(report.hosts[1].lives.len(), 2);
        assert!(report.hosts[1].completions[0].at > Time::ZERO + ms(1_000));
    }

    #[test]
    fn an_injected_datagram_is_heard_but_not_counted_as_sent() {
        let bytes = vec![0xff; 40];
        let (to, source) = (Hosts::All, Host(77).address());
        let report = pair()
            .at(ms(1), Change::Inject { to, source, bytes })
            .until(Until::Limit, ms(10))
            .run();
        assert_eq!(report.hosts[1].sum(|s| s.datagrams_received), report.paths.arrived + 1);
        assert_eq!(report.traffic.of(Kind::Other).messages, 0);
    }

    #[test]
    fn a_trace_has_a_line_for_each_datagram_sent() {
        let report = pair().send(Object::data(5_000)).traced(1000).run();
        let data = report.trace.iter().filter(|line| line.contains(" data ")).count() as u64;
        assert_eq!(data, report.traffic.of(Kind::Data).messages);
    }
}
