//! The receivers that were heard, and what each reported.

use crate::{
    congestion::{Feedback, Nearness, reception::ReceptionTally},
    rate::Bitrate,
    report::ReceiverReport,
    sender::{
        group::{
            bound_address::BoundAddress,
            echo_doubt::{self, EchoDoubt},
        },
        slow_receivers::SlowReceivers,
    },
    time::{Duration, Time},
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::net::SocketAddr;
use fanfare_wire::{
    NodeId, QuantizedLoss, QuantizedRate, QuantizedRtt,
    cmd::CcNode,
    ext::{CcFlags, ExtCc, ExtPath},
};

/// Receivers remembered; feedback of others is served, but they are not known by name.
const RECEIVERS_MAX: usize = 4096;
/// Receivers at one address and port: a receiver has a socket of its own, and takes another id only when
/// two have the same. Whoever invents receivers needs more than one socket.
const IDS_PER_ADDRESS: usize = 16;
/// Receivers told about in one probe (NRL's bound).
const NODES_PER_PROBE: usize = 5;
/// Weight of the old value in a receiver's RTT (NRL's).
const KEEP_RTT: f64 = 0.9;

/// What kind of message brought a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sender) enum Heard {
    Nack,
    Ack,
}

/// What one message said of its sender.
#[derive(Debug, Clone, Copy)]
pub(in crate::sender) struct Report {
    pub(in crate::sender) node: NodeId,
    pub(in crate::sender) source: SocketAddr,
    pub(in crate::sender) heard: Heard,
    pub(in crate::sender) rtt: Option<Duration>,
    pub(in crate::sender) cc: Option<ExtCc>,
    pub(in crate::sender) path: Option<ExtPath>,
}

#[derive(Debug, Clone, Copy)]
struct Receiver {
    source: SocketAddr,
    address: BoundAddress,
    echo: EchoDoubt,
    rtt: Option<Duration>,
    nearness: Nearness,
    nearest: Option<Duration>,
    /// It has told its status, as receivers of ours do.
    ours: bool,
    /// Loss it reported in an ACK, or plausibly in a NACK.
    loss: QuantizedLoss,
    rate: QuantizedRate,
    nacks: u64,
    heard: Time,
    tally: ReceptionTally,
    /// Runs of its datagrams that its system has dropped, by its own count.
    overruns: u32,
}

/// All receivers heard so far.
#[derive(Debug, Default)]
pub(in crate::sender) struct Receivers {
    known: BTreeMap<NodeId, Receiver>,
    /// Heard since the last probe.
    recent: Vec<NodeId>,
    /// In whose name somebody has spoken since then at an address that is not believed.
    contested: Vec<NodeId>,
}

/// Outcome of a report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sender) struct Noted {
    /// It is the first from this receiver.
    pub(in crate::sender) new: bool,
    /// There was no room for this receiver.
    pub(in crate::sender) full: bool,
    /// For the rate controller.
    pub(in crate::sender) feedback: Option<Feedback>,
}

impl Receivers {
    pub(in crate::sender) fn len(&self) -> usize {
        self.known.len()
    }

    /// Everyone.
    pub(in crate::sender) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.known.keys().copied()
    }

    /// A receiver told its status: it is one of ours. Whether the round trip to it is known.
    pub(in crate::sender) fn on_status(&mut self, node: NodeId) -> bool {
        let Some(receiver) = self.known.get_mut(&node) else { return true };
        receiver.ours = true;
        receiver.rtt.is_some()
    }

    /// Whether `node` has told its status.
    pub(in crate::sender) fn is_ours(&self, node: NodeId) -> bool {
        self.known.get(&node).is_some_and(|receiver| receiver.ours)
    }

    /// Whether the round trip to anyone has been measured.
    pub(in crate::sender) fn any_measured(&self) -> bool {
        self.known.values().any(|receiver| receiver.rtt.is_some())
    }

    /// Whether the round trip to everyone has been measured.
    pub(in crate::sender) fn all_measured(&self) -> bool {
        self.known.values().all(|receiver| receiver.rtt.is_some())
    }

    /// The round trip to `node`, where it was measured.
    pub(in crate::sender) fn rtt(&self, node: NodeId) -> Option<Duration> {
        self.known.get(&node)?.rtt
    }

    /// Time at which `node` was heard last.
    pub(in crate::sender) fn heard(&self, node: NodeId) -> Option<Time> {
        Some(self.known.get(&node)?.heard)
    }

    /// The least round trip to `node` lately.
    pub(in crate::sender) fn nearest(&self, node: NodeId) -> Option<Duration> {
        self.known.get(&node)?.nearest
    }

    /// How near receivers are is to be seen anew.
    pub(in crate::sender) fn forget_nearness(&mut self) {
        for receiver in self.known.values_mut() {
            (receiver.nearness, receiver.nearest) = (Nearness::default(), None);
        }
    }

    /// Who has the longest round trip, of those who `count` and to whom it was measured.
    pub(in crate::sender) fn farthest(
        &self,
        counts: impl Fn(NodeId) -> bool,
    ) -> Option<(NodeId, Duration)> {
        let counted = self.known.iter().filter(|(node, _)| counts(**node));
        let measured = counted.filter_map(|(node, r)| Some((*node, r.rtt?)));
        measured.max_by_key(|(_, rtt)| *rtt)
    }

    /// The share of messages that arrives at `node`; all of them while nothing is known of it.
    pub(in crate::sender) fn share(&self, node: NodeId) -> f64 {
        self.known.get(&node).and_then(|receiver| receiver.tally.share()).unwrap_or(1.0)
    }

    /// What is counted of how much arrives at `node`.
    pub(in crate::sender) fn tally_mut(&mut self, node: NodeId) -> Option<&mut ReceptionTally> {
        self.known.get_mut(&node).map(|receiver| &mut receiver.tally)
    }

    /// Whether feedback of `node` from `source` is believed; of who is not known it is.
    pub(in crate::sender) fn is_believed(
        &mut self,
        now: Time,
        (node, source): (NodeId, SocketAddr),
        echoed: Option<u16>,
        sent: u16,
    ) -> bool {
        let known = self.known.get_mut(&node);
        known.is_none_or(|known| known.address.check(now, source, echoed, sent))
    }

    /// Whether a round trip that an echo of `node` tells is believed, where up to `usual` is reckoned
    /// with. Who is not known is believed what does no harm.
    pub(in crate::sender) fn believes_rtt(
        &mut self,
        now: Time,
        (node, rtt): (NodeId, Duration),
        usual: Duration,
    ) -> bool {
        match self.known.get_mut(&node) {
            Some(known) => known.echo.believes(now, rtt, usual),
            None => echo_doubt::is_harmless(rtt, usual),
        }
    }

    /// Feedback came in.
    pub(in crate::sender) fn on_report(&mut self, now: Time, report: &Report) -> Noted {
        let new = !self.known.contains_key(&report.node);
        if new && (self.known.len() >= RECEIVERS_MAX || self.is_crowded(report.source)) {
            return Noted { new: false, full: true, feedback: None };
        }
        let receiver = self.known.entry(report.node).or_insert(Receiver {
            source: report.source,
            address: BoundAddress::new(now, report.source),
            echo: EchoDoubt::default(),
            rtt: None,
            nearness: Nearness::default(),
            nearest: None,
            ours: false,
            loss: QuantizedLoss(0),
            rate: QuantizedRate(1),
            nacks: 0,
            heard: now,
            tally: ReceptionTally::default(),
            overruns: 0,
        });
        receiver.on_report(now, report);
        let feedback = report.cc.map(|cc| receiver.feedback(report, cc));
        if self.recent.len() < NODES_PER_PROBE && !self.recent.contains(&report.node) {
            self.recent.push(report.node);
        }
        Noted { new, full: false, feedback }
    }

    /// Whether there are too many receivers at one address for them to be several.
    fn is_crowded(&self, source: SocketAddr) -> bool {
        let same = self.known.values().filter(|receiver| receiver.source == source);
        same.count() >= IDS_PER_ADDRESS
    }

    /// A receiver has counted what its system dropped since it began; true when it is more.
    pub(in crate::sender) fn on_overruns(&mut self, node: NodeId, overruns: u32) -> bool {
        let Some(receiver) = self.known.get_mut(&node) else { return false };
        // It wraps.
        let more = overruns.wrapping_sub(receiver.overruns) as i32 > 0;
        receiver.overruns = overruns;
        more
    }

    /// A receiver has counted `arrived` of the `sent` messages.
    pub(in crate::sender) fn on_count(&mut self, now: Time, node: NodeId, arrived: u32, sent: u64) {
        if let Some(receiver) = self.known.get_mut(&node) {
            receiver.tally.on_count(now, arrived, sent);
        }
    }

    /// Somebody speaks in a node's name at an address that is not believed.
    pub(in crate::sender) fn on_contested(&mut self, node: NodeId) {
        if self.contested.len() < NODES_PER_PROBE && !self.contested.contains(&node) {
            self.contested.push(node);
        }
    }

    /// The list of the next probe: those that limit the rate, those that are to answer at once so that
    /// it is known where they are, then who was heard since the last one, as far as there is room.
    pub(in crate::sender) fn take_recent(&mut self, limiting: &[(NodeId, CcFlags)]) -> Vec<CcNode> {
        let recent = core::mem::take(&mut self.recent);
        let contested = core::mem::take(&mut self.contested);
        let limits = |node: &NodeId| limiting.iter().any(|(n, _)| n == node);
        let asked = contested.iter().filter(|node| !limits(node));
        let asked = asked.map(|node| (*node, CcFlags(CcFlags::PLR)));
        let others = recent.iter().filter(|node| !limits(node) && !contested.contains(node));
        let others = others.map(|node| (*node, CcFlags::default()));
        let listed = limiting.iter().copied().chain(asked).chain(others);
        let item = |(node, flags)| Some(self.known.get(&node)?.cc_node(node, flags));
        listed.filter_map(item).flatten().take(NODES_PER_PROBE).collect()
    }

    /// The next probe does not tell about `node`.
    pub(in crate::sender) fn forget_recent(&mut self, node: NodeId) {
        self.recent.retain(|recent| *recent != node);
    }

    /// What a REPAIR_ADV tells of the whole group: highest RTT and loss, lowest rate.
    pub(in crate::sender) fn limiting(&self, cc_sequence: u16, slow: &SlowReceivers) -> ExtCc {
        let served = || self.known.iter().filter(|(node, _)| slow.counts(**node)).map(|(_, r)| r);
        let nanos = served().filter_map(|r| r.rtt).max().map_or(0, nanos);
        let slower = |a: &QuantizedRate, b: &QuantizedRate| {
            a.to_bytes_per_second().total_cmp(&b.to_bytes_per_second())
        };
        ExtCc {
            cc_sequence,
            flags: CcFlags::default(),
            rtt: QuantizedRtt::from_nanos(nanos),
            loss: served().map(|r| r.loss).max().unwrap_or(QuantizedLoss(0)),
            rate: served().map(|r| r.rate).min_by(slower).unwrap_or(QuantizedRate(1)),
        }
    }

    /// For the driver.
    pub(in crate::sender) fn reports(&self, slow: &SlowReceivers) -> Vec<ReceiverReport> {
        let report = |(node, receiver): (&NodeId, &Receiver)| ReceiverReport {
            node: *node,
            source: receiver.source,
            rtt: receiver.rtt,
            loss: receiver.loss.to_fraction(),
            reception: receiver.tally.latest(),
            nacks: receiver.nacks,
            overruns: receiver.overruns,
            heard: receiver.heard,
            evicted: slow.is_evicted(*node),
            deferred: slow.is_deferred(*node),
        };
        self.known.iter().map(report).collect()
    }
}

impl Receiver {
    fn on_report(&mut self, now: Time, report: &Report) {
        (self.heard, self.source) = (now, report.source);
        self.nacks += u64::from(report.heard == Heard::Nack);
        if let Some(rtt) = report.rtt {
            let old = self.rtt.unwrap_or(rtt);
            self.rtt = Some(old.mul_f64(KEEP_RTT) + rtt.mul_f64(1.0 - KEEP_RTT));
            self.nearest = Some(self.nearness.on_rtt(now, rtt));
        }
        if let Some(cc) = report.cc {
            self.rate = cc.rate;
            // NRL's NACK carries only the low half of its loss; an ACK's is whole.
            let cut = report.heard == Heard::Nack && cc.loss.0 >> 16 == 0;
            if !(cut && self.loss > cc.loss) {
                self.loss = cc.loss;
            }
        }
    }

    fn feedback(&self, report: &Report, cc: ExtCc) -> Feedback {
        Feedback {
            node: report.node,
            cc_sequence: cc.cc_sequence,
            sample: report.rtt,
            rtt: self.rtt,
            nearest: self.nearest,
            loss: self.loss.to_fraction(),
            rate: Bitrate::from_bytes_per_second(cc.rate.to_bytes_per_second()),
            flags: cc.flags,
            path: report.path,
        }
    }

    /// What a probe tells of it: nothing before its RTT was measured.
    fn cc_node(&self, node: NodeId, flags: CcFlags) -> Option<CcNode> {
        let rtt = QuantizedRtt::from_nanos(nanos(self.rtt?));
        let flags = CcFlags(flags.0 | CcFlags::RTT);
        Some(CcNode { node, flags, rtt, rate: self.rate })
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(node: u32, heard: Heard, loss: u32) -> Report {
        let cc = ExtCc {
            cc_sequence: 0,
            flags: CcFlags::default(),
            rtt: QuantizedRtt(0),
            loss: QuantizedLoss(loss),
            rate: QuantizedRate(1),
        };
        let source = SocketAddr::from(([10, 0, (node >> 8) as u8, node as u8], 1));
        let rtt = Some(Duration::from_millis(20));
        Report { node: NodeId(node), source, heard, rtt, cc: Some(cc), path: None }
    }

    #[test]
    fn a_receiver_is_new_once() {
        let mut receivers = Receivers::default();
        assert!(receivers.on_report(Time::ZERO, &report(7, Heard::Ack, 0)).new);
        assert!(!receivers.on_report(Time::ZERO, &report(7, Heard::Nack, 0)).new);
        assert_eq!(receivers.reports(&SlowReceivers::default())[0].nacks, 1);
    }

    #[test]
    fn after_a_change_of_ways_the_next_round_trip_tells_how_near_a_receiver_is() {
        let (mut receivers, node) = (Receivers::default(), NodeId(7));
        let on = |receivers: &mut Receivers, second: u64, millis: u64| {
            let rtt = Some(Duration::from_millis(millis));
            let now = Time::ZERO + Duration::from_secs(second);
            receivers.on_report(now, &Report { rtt, ..report(7, Heard::Ack, 0) });
            receivers.nearest(node).map(|nearest| nearest.as_millis())
        };
        assert_eq!([on(&mut receivers, 1, 2), on(&mut receivers, 2, 50)], [Some(2); 2]);
        receivers.forget_nearness();
        assert_eq!(on(&mut receivers, 3, 50), Some(50));
    }

    #[test]
    fn a_nacks_truncated_loss_does_not_replace_an_acks() {
        let mut receivers = Receivers::default();
        let acked = 0x0e38_0000;
        receivers.on_report(Time::ZERO, &report(7, Heard::Ack, acked));
        let noted = receivers.on_report(Time::ZERO, &report(7, Heard::Nack, 0x7507));
        assert_eq!(noted.feedback.unwrap().loss, QuantizedLoss(acked).to_fraction());
        let noted = receivers.on_report(Time::ZERO, &report(7, Heard::Ack, 0x7507));
        assert_eq!(noted.feedback.unwrap().loss, QuantizedLoss(0x7507).to_fraction());
    }

    #[test]
    fn a_probe_names_at_most_five_of_those_heard_since_the_last() {
        let mut receivers = Receivers::default();
        for node in 1..=9 {
            receivers.on_report(Time::ZERO, &report(node, Heard::Ack, 0));
        }
        let limiting = (NodeId(8), CcFlags(CcFlags::CLR));
        let listed = receivers.take_recent(&[limiting]);
        assert_eq!(listed.iter().map(|item| item.node.0).collect::<Vec<_>>(), [8, 1, 2, 3, 4]);
        assert!(listed[0].flags.has(CcFlags::CLR | CcFlags::RTT));
        assert!(receivers.take_recent(&[]).is_empty());
    }

    #[test]
    fn in_whose_name_somebody_speaks_elsewhere_is_to_answer_the_next_probe_at_once() {
        let mut receivers = Receivers::default();
        for node in 1..=3 {
            receivers.on_report(Time::ZERO, &report(node, Heard::Ack, 0));
        }
        receivers.on_contested(NodeId(2));
        let listed = receivers.take_recent(&[(NodeId(1), CcFlags(CcFlags::CLR))]);
        assert_eq!(listed.iter().map(|item| item.node.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(listed[1].flags.has(CcFlags::PLR) && !listed[2].flags.has(CcFlags::PLR));
        assert!(receivers.take_recent(&[]).is_empty(), "once");
    }

    #[test]
    fn of_many_ids_at_one_address_and_port_only_some_are_receivers() {
        let mut receivers = Receivers::default();
        let source = SocketAddr::from(([10, 0, 0, 66], 4000));
        let invented = |node| Report { source, ..report(node, Heard::Ack, 0) };
        let full = (0..1000).filter(|n| receivers.on_report(Time::ZERO, &invented(*n)).full);
        assert_eq!(full.count(), 1000 - IDS_PER_ADDRESS);
        assert!(receivers.on_report(Time::ZERO, &report(7000, Heard::Ack, 0)).new);
    }

    #[test]
    fn receivers_beyond_the_bound_are_not_remembered() {
        let mut receivers = Receivers::default();
        for node in 0..RECEIVERS_MAX as u32 {
            receivers.on_report(Time::ZERO, &report(node, Heard::Ack, 0));
        }
        assert!(receivers.on_report(Time::ZERO, &report(1 << 30, Heard::Ack, 0)).full);
        assert_eq!(receivers.len(), RECEIVERS_MAX);
    }
}
