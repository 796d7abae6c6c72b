//! The receivers a sender has heard of, and how it stands with each.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use crate::content::receipt::{About, Failure, Reason, State, Status};
use fanfare_proto::{NodeId, ReceiverReport, Time};

use super::{losses::TransferLosses, pace::Pace};
use crate::event::{Outcome, ReceiverProgress, ReceiverResult, ReceiverView, ToldBy};

/// One receiver.
#[derive(Debug, Default)]
pub(super) struct Peer {
    name: Option<String>,
    state: Option<State>,
    source: Option<SocketAddr>,
    outcome: Option<(Outcome, Time)>,
    /// Bytes free on its disk.
    free: Option<u64>,
    /// Objects it holds, by its last status.
    held: u64,
    /// What it said last.
    status: Option<Status>,
    /// How far it is.
    pace: Pace,
    /// It has shown that it has heard this transfer.
    proved: bool,
    /// Its name or state has been told to nobody yet.
    changed: bool,
    /// What it said of objects, so far.
    reported: BTreeMap<u16, Reason>,
}

/// All receivers heard, by node id.
#[derive(Debug, Default)]
pub(super) struct Peers {
    peers: BTreeMap<NodeId, Peer>,
    /// How many say each name.
    named: BTreeMap<String, usize>,
}

/// What a status brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Objects it says something about for the first time.
    pub(super) reported: Vec<(u16, Reason)>,
    /// It is settled now: it will not acknowledge everything any more.
    pub(super) settled: bool,
}

impl Peers {
    /// Feedback of any kind; true when it is the first from this node.
    pub(super) fn on_heard(&mut self, node: NodeId, source: SocketAddr) -> bool {
        let new = !self.peers.contains_key(&node);
        let peer = self.peers.entry(node).or_default();
        peer.source = Some(source);
        peer.changed |= new;
        new
    }

    /// A status of ours. `objects`: how many are sent in all, once that is known.
    pub(super) fn on_status(
        &mut self,
        now: Time,
        node: NodeId,
        status: &Status,
        about: About,
        objects: u64,
    ) -> News {
        let mut news = News::default();
        self.rename(node, &status.name);
        let peer = self.peers.entry(node).or_default();
        peer.changed |= peer.state != Some(status.state);
        peer.state = Some(status.state);
        // Pipes have no bound.
        peer.free = Some(status.free).filter(|free| *free < u64::MAX);
        peer.status = Some(status.clone());
        if status.about == Some(about) {
            status.received.iter().for_each(|bytes| peer.pace.on_count(now, *bytes));
            peer.held = status.held;
            for failure in &status.failures {
                if peer.report(failure) {
                    news.reported.push((failure.object, failure.reason));
                }
            }
        }
        let lacking = peer.lacking();
        if peer.outcome.is_none() {
            let outcome = if status.state == State::Leaving {
                Some(Outcome::Left)
            } else if lacking > 0 && peer.held + lacking >= objects {
                Some(Outcome::Partial { held: peer.held, failures: BTreeMap::new() })
            } else {
                None
            };
            news.settled = outcome.is_some();
            peer.outcome = outcome.map(|outcome| (outcome, now));
        }
        news
    }

    /// A receiver says its name.
    fn rename(&mut self, node: NodeId, name: &str) {
        let peer = self.peers.entry(node).or_default();
        if peer.name.as_deref() == Some(name) {
            return;
        }
        peer.changed = true;
        if let Some(count) =
            peer.name.replace(name.to_owned()).and_then(|old| self.named.get_mut(&old))
        {
            *count -= 1;
        }
        *self.named.entry(name.to_owned()).or_default() += 1;
    }

    /// How many say that this is their name.
    pub(super) fn bearers(&self, name: &str) -> usize {
        self.named.get(name).copied().unwrap_or(0)
    }

    /// The same in a carousel that enqueues anew: what it lacks is what it said last, of objects
    /// whose failure `counts`.
    pub(super) fn on_status_of_round(
        &mut self,
        now: Time,
        node: NodeId,
        status: &Status,
        about: About,
        (objects, counts): (u64, &dyn Fn(&Failure) -> bool),
    ) -> News {
        let mut news = self.on_status(now, node, status, about, u64::MAX);
        let Some(peer) = self.peers.get_mut(&node) else { return news };
        if status.about != Some(about) {
            return news;
        }
        peer.reported.retain(|object, _| status.failures.iter().any(|f| f.object == *object));
        let lacking = status.failures.iter().filter(|f| f.reason.is_failure() && counts(f));
        let lacking = lacking.count() as u64;
        if peer.outcome.is_none() && lacking > 0 && peer.held + lacking >= objects {
            let outcome = Outcome::Partial { held: peer.held, failures: BTreeMap::new() };
            peer.outcome = Some((outcome, now));
            news.settled = true;
        }
        news
    }

    /// A final word, unless there was one.
    pub(super) fn settle(&mut self, now: Time, node: NodeId, outcome: Outcome) {
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.outcome.get_or_insert((outcome, now));
        }
    }

    /// Whoever is not settled yet ends like this.
    pub(super) fn settle_rest(&mut self, now: Time, outcome: &Outcome) {
        for peer in self.peers.values_mut() {
            peer.outcome.get_or_insert_with(|| (outcome.clone(), now));
        }
    }

    /// It has shown that it has heard this transfer.
    pub(super) fn prove(&mut self, node: NodeId) {
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.proved = true;
        }
    }

    /// True if one is still served that has shown this, or cannot, as a plain NORM receiver.
    pub(super) fn has_open_proved(&self) -> bool {
        let serves = |peer: &&Peer| peer.outcome.is_none() && (peer.proved || peer.name.is_none());
        self.peers.values().any(|peer| serves(&peer))
    }

    /// Receivers of which it is known how it ends for them.
    pub(super) fn settled(&self) -> impl Iterator<Item = NodeId> {
        let settled = self.peers.iter().filter(|(_, peer)| peer.outcome.is_some());
        settled.map(|(node, _)| *node)
    }

    /// Those of whom an acknowledgement is still wanted.
    pub(super) fn open(&self) -> Vec<NodeId> {
        let open = |(node, peer): (&NodeId, &Peer)| peer.outcome.is_none().then_some(*node);
        self.peers.iter().filter_map(open).collect()
    }

    /// Whether everybody who is still served says that it has this root, whole or in part. A plain
    /// NORM receiver cannot say so.
    pub(super) fn all_have(&self, root: &[u8; 32]) -> bool {
        let mut served = self.peers.values().filter(|peer| peer.outcome.is_none()).peekable();
        let has = |peer: &Peer| peer.status.as_ref().is_some_and(|status| status.claims(root));
        served.peek().is_some() && served.all(has)
    }

    /// Whether somebody who is still served has a part of this root, and not the whole.
    pub(super) fn has_part(&self, root: &[u8; 32]) -> bool {
        let mut served = self.peers.values().filter(|peer| peer.outcome.is_none());
        served.any(|peer| peer.status.as_ref().is_some_and(|status| status.has_part(root)))
    }

    /// Whether everybody who is still served says that something of this name is in its directory.
    pub(super) fn all_have_top(&self, name: &str) -> bool {
        let mut served = self.peers.values().filter(|peer| peer.outcome.is_none()).peekable();
        let has = |peer: &Peer| peer.status.as_ref().is_some_and(|status| status.has_top(name));
        served.peek().is_some() && served.all(has)
    }

    /// Whether a receiver of ours is among them.
    pub(super) fn has_ours(&self) -> bool {
        self.peers.values().any(|peer| peer.name.is_some())
    }

    /// Whether a receiver of ours is at this address, of one of these `names` where there are any.
    pub(super) fn are_at(&self, address: IpAddr, names: Option<&[String]>) -> bool {
        self.peers.values().any(|peer| {
            let is_there = peer.source.is_some_and(|source| source.ip() == address);
            let is_wanted = |name: &String| names.is_none_or(|names| names.contains(name));
            is_there && peer.name.as_ref().is_some_and(is_wanted)
        })
    }

    /// Whether it has told a status of ours.
    pub(super) fn is_ours(&self, node: NodeId) -> bool {
        self.peers.get(&node).is_some_and(|peer| peer.name.is_some())
    }

    pub(super) fn is_known(&self, node: NodeId) -> bool {
        self.peers.contains_key(&node)
    }

    /// Whether each of these names holds everything: somebody of that name does, and whoever else
    /// bears it does too, or has fallen silent or left (such as to be started anew).
    pub(super) fn are_complete(&self, names: &[String]) -> bool {
        let holds = |name: &String| {
            let namesakes = || self.peers.values().filter(|peer| peer.name.as_ref() == Some(name));
            let outcome = |peer: &Peer| peer.outcome.as_ref().map(|(outcome, _)| outcome.clone());
            let complete = |peer: &Peer| outcome(peer) == Some(Outcome::Complete);
            let gone =
                |peer: &Peer| matches!(outcome(peer), Some(Outcome::Unanswered | Outcome::Left));
            namesakes().any(complete) && namesakes().all(|peer| complete(peer) || gone(peer))
        };
        names.iter().all(holds)
    }

    pub(super) fn is_open(&self, node: NodeId) -> bool {
        self.peers.get(&node).is_some_and(|peer| peer.outcome.is_none())
    }

    /// Receivers that are new, or in another state, since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<ReceiverView> {
        let changed =
            |(node, peer): (&NodeId, &mut Peer)| std::mem::take(&mut peer.changed).then_some(*node);
        let nodes: Vec<NodeId> = self.peers.iter_mut().filter_map(changed).collect();
        nodes.into_iter().map(|node| self.view(node)).collect()
    }

    /// Whether something is not where it was meant to be at this receiver, although it is held.
    pub(super) fn has_misplaced(&self, node: NodeId) -> bool {
        self.peers.get(&node).is_some_and(|peer| !peer.reported.is_empty())
    }

    /// Whether it says nothing of this object but that it holds it.
    pub(super) fn has_in_place(&self, node: NodeId, object: u16) -> bool {
        self.peers.get(&node).is_some_and(|peer| !peer.reported.contains_key(&object))
    }

    pub(super) fn held(&self, node: NodeId) -> u64 {
        self.peers.get(&node).map_or(0, |peer| peer.held)
    }

    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    pub(super) fn complete(&self) -> usize {
        let complete = |peer: &&Peer| matches!(peer.outcome, Some((Outcome::Complete, _)));
        self.peers.values().filter(complete).count()
    }

    /// Names of those who have not left.
    pub(super) fn names(&self) -> impl Iterator<Item = Option<&str>> + Clone {
        let open = self.peers.values().filter(|peer| peer.outcome.is_none());
        open.map(|peer| peer.name.as_deref())
    }

    pub(super) fn view(&self, node: NodeId) -> ReceiverView {
        let peer = self.peers.get(&node);
        let name = peer.and_then(|p| p.name.as_ref());
        let shared = name.and_then(|name| self.named.get(name)).is_some_and(|count| *count > 1);
        let told_by = match peer {
            Some(peer) if shared || peer.name.is_none() => self.told_by(node, peer),
            _ => ToldBy::Name,
        };
        ReceiverView {
            id: node,
            name: peer.and_then(|p| p.name.clone()),
            told_by,
            state: peer.and_then(|p| p.state),
            source: peer.and_then(|p| p.source),
            free: peer.and_then(|p| p.free),
        }
    }

    /// What tells a receiver from others of the same name, or from others that have none.
    fn told_by(&self, node: NodeId, peer: &Peer) -> ToldBy {
        let ip = |peer: &Peer| peer.source.map(|source| source.ip());
        let others = self.peers.iter().filter(|(other, _)| **other != node);
        let mut namesakes = others.filter(|(_, other)| other.name == peer.name).peekable();
        if peer.name.is_some() && namesakes.peek().is_none() {
            return ToldBy::Name;
        }
        match (namesakes.any(|(_, other)| ip(other) == ip(peer)), &peer.name) {
            (true, _) => ToldBy::Id,
            (false, Some(_)) => ToldBy::Address,
            (false, None) => ToldBy::Name,
        }
    }

    /// How far each is.
    pub(super) fn progress(&self, reports: &[ReceiverReport]) -> Vec<ReceiverProgress> {
        let reports: BTreeMap<NodeId, &ReceiverReport> =
            reports.iter().map(|report| (report.node, report)).collect();
        let progress = |(node, peer): (&NodeId, &Peer)| ReceiverProgress {
            receiver: self.view(*node),
            bytes: peer.pace.bytes(),
            rate: peer.pace.rate(),
            loss: reports.get(node).map_or(0.0, |report| loss_of(report)),
            rtt: reports.get(node).and_then(|report| report.rtt),
            overruns: reports.get(node).map_or(0, |report| report.overruns),
            outcome: peer.outcome.as_ref().map(|(outcome, _)| outcome.clone()),
        };
        self.peers.iter().map(progress).collect()
    }

    /// How it ended for each. `name_of` gives an object's name.
    pub(super) fn results(
        &self,
        started: Time,
        reports: &[ReceiverReport],
        losses: &TransferLosses,
        name_of: impl Fn(u16) -> String,
    ) -> Vec<ReceiverResult> {
        let result = |(node, peer): (&NodeId, &Peer)| {
            let report = reports.iter().find(|report| report.node == *node);
            let (outcome, at) = peer.outcome.clone().unwrap_or((Outcome::Interrupted, started));
            let outcome = match outcome {
                Outcome::Partial { held, .. } => {
                    Outcome::Partial { held, failures: peer.failures(&name_of) }
                }
                other => other,
            };
            ReceiverResult {
                view: self.view(*node),
                source: peer.source,
                outcome,
                loss: report.map_or(0.0, |report| losses.share(report)),
                nacks: report.map_or(0, |report| report.nacks),
                elapsed: at.since(started).max(Duration::ZERO),
            }
        };
        self.peers.iter().map(result).collect()
    }

    /// The hosts from whose address no receiver has answered. Receivers answer from ports of their
    /// own, so that of two at one address either may be the missing one.
    pub(super) fn missing_hosts(&self, wanted: &[SocketAddr]) -> Vec<String> {
        let mut present: Vec<IpAddr> =
            self.peers.values().filter_map(|peer| Some(peer.source?.ip())).collect();
        let mut missing = Vec::new();
        for host in wanted {
            match present.iter().position(|ip| *ip == host.ip()) {
                Some(at) => drop(present.swap_remove(at)),
                None => missing.push(host.to_string()),
            }
        }
        missing
    }

    /// Names that nobody bears.
    pub(super) fn missing(&self, wanted: &[String]) -> Vec<String> {
        // Whoever is complete, or has left, was there.
        let present: BTreeSet<&str> =
            self.peers.values().filter_map(|peer| peer.name.as_deref()).collect();
        wanted.iter().filter(|name| !present.contains(name.as_str())).cloned().collect()
    }
}

impl Peer {
    /// Keeps what a receiver says of an object. A failure is not forgotten for a remark about the same
    /// object. Returns whether it is the first of its object.
    fn report(&mut self, failure: &Failure) -> bool {
        let known = self.reported.get(&failure.object);
        if known.is_some_and(|known| known.is_failure()) && !failure.reason.is_failure() {
            return false;
        }
        self.reported.insert(failure.object, failure.reason).is_none()
    }

    fn lacking(&self) -> u64 {
        self.reported.values().filter(|reason| reason.is_failure()).count() as u64
    }

    fn failures(&self, name_of: impl Fn(u16) -> String) -> BTreeMap<String, Reason> {
        self.reported.iter().map(|(object, reason)| (name_of(*object), *reason)).collect()
    }
}

/// Share of what is sent that does not arrive.
pub(super) fn loss_of(report: &ReceiverReport) -> f64 {
    report.reception.map_or(report.loss, |reception| 1.0 - reception.share)
}

#[cfg(test)]
mod tests {
    use crate::content::root_set;
    use fanfare_proto::InstanceId;

    use super::*;

    const NODE: NodeId = NodeId(7);

    fn about() -> About {
        About::new(NodeId(1), InstanceId(1))
    }

    fn status(held: u64, failed: &[u16]) -> Status {
        let mut status = Status::ready("a", 0);
        status.about = Some(about());
        status.held = held;
        status.failures =
            failed.iter().map(|n| Failure { object: *n, reason: Reason::DiskFull }).collect();
        status
    }

    fn hear(peers: &mut Peers, status: &Status) -> News {
        peers.on_status(Time::ZERO, NODE, status, about(), 3)
    }

    #[test]
    fn a_receiver_that_lacks_an_object_is_settled_once_it_has_tried_the_others() {
        let mut peers = Peers::default();
        let news = hear(&mut peers, &status(1, &[5]));
        assert_eq!((news.reported, news.settled), (vec![(5, Reason::DiskFull)], false));
        let news = hear(&mut peers, &status(2, &[5]));
        assert_eq!((news.reported, news.settled), (vec![], true));
        let results =
            peers.results(Time::ZERO, &[], &TransferLosses::default(), |n| format!("object {n}"));
        let failures = BTreeMap::from([("object 5".to_owned(), Reason::DiskFull)]);
        assert_eq!(results[0].outcome, Outcome::Partial { held: 2, failures });
    }

    #[test]
    fn a_failure_is_not_forgotten_for_a_remark_about_the_same_object() {
        let mut peers = Peers::default();
        let mut both = status(2, &[5]);
        both.failures.push(Failure { object: 5, reason: Reason::MetadataRefused });
        assert!(hear(&mut peers, &both).settled);
    }

    #[test]
    fn what_is_said_of_another_senders_objects_does_not_count() {
        let mut peers = Peers::default();
        let mut foreign = status(3, &[1]);
        foreign.about = Some(About::new(NodeId(2), InstanceId(1)));
        assert_eq!(hear(&mut peers, &foreign).reported, []);
        assert_eq!(peers.held(NODE), 0);
    }

    #[test]
    fn a_receiver_that_leaves_is_not_waited_for() {
        let mut peers = Peers::default();
        let mut leaving = status(0, &[]);
        leaving.state = State::Leaving;
        assert!(hear(&mut peers, &leaving).settled);
        assert_eq!(peers.open(), []);
    }

    #[test]
    fn of_two_receivers_with_one_name_both_must_hold_everything_unless_one_is_gone() {
        let ends = |other: Outcome| {
            let mut peers = Peers::default();
            for node in [NODE, NodeId(8)] {
                peers.on_status(Time::ZERO, node, &status(0, &[]), about(), 3);
            }
            peers.settle(Time::ZERO, NODE, Outcome::Complete);
            peers.settle(Time::ZERO, NodeId(8), other);
            peers.are_complete(&["a".to_owned()])
        };
        assert!(ends(Outcome::Complete) && ends(Outcome::Left) && ends(Outcome::Unanswered));
        assert!(!ends(Outcome::Evicted));
        assert!(!ends(Outcome::Partial { held: 1, failures: BTreeMap::new() }));
    }

    #[test]
    fn two_receivers_that_say_one_name_are_told_apart() {
        let mut peers = Peers::default();
        let label = |peers: &Peers, id| peers.view(NodeId(id)).label();
        let mut say = |id, name: &str| {
            let mut status = status(0, &[]);
            name.clone_into(&mut status.name);
            peers.on_status(Time::ZERO, NodeId(id), &status, about(), 3);
            (label(&peers, 7), label(&peers, 8))
        };
        assert_eq!(say(7, "a").0, "a");
        assert_eq!(say(8, "a"), ("a (00000007)".to_owned(), "a (00000008)".to_owned()));
        assert_eq!(say(8, "b"), ("a".to_owned(), "b".to_owned()));
    }

    #[test]
    fn receivers_of_one_name_or_of_none_are_told_apart_by_address_and_at_one_address_by_id() {
        let mut peers = Peers::default();
        for (id, ip) in [(7, 7), (8, 8), (9, 8), (1, 3), (2, 4), (3, 4)] {
            let source = SocketAddr::from(([10, 0, 0, ip], 4000));
            peers.on_heard(NodeId(id), source);
            if id >= 7 {
                peers.on_status(Time::ZERO, NodeId(id), &status(0, &[]), about(), 3);
            }
        }
        let label = |id| peers.view(NodeId(id)).label();
        assert_eq!([7, 8, 9].map(label), ["a (10.0.0.7)", "a (00000008)", "a (00000009)"]);
        let none = ["10.0.0.3", "10.0.0.4 (00000002)", "10.0.0.4 (00000003)"];
        assert_eq!([1, 2, 3].map(label), none);
    }

    #[test]
    fn the_progress_of_each_is_what_it_says_of_this_sender() {
        let mut peers = Peers::default();
        let say = |peers: &mut Peers, seconds, bytes| {
            let mut said = status(0, &[]);
            said.received = Some(bytes);
            peers.on_status(Time::ZERO + Duration::from_secs(seconds), NODE, &said, about(), 3);
            let progress = peers.progress(&[]).remove(0);
            (progress.bytes, progress.rate.map(|rate| rate.as_bps()))
        };
        assert_eq!(say(&mut peers, 0, 0), (Some(0), None));
        assert_eq!(say(&mut peers, 2, 1000), (Some(1000), Some(4000)));
        let mut other = status(0, &[]);
        (other.about, other.received) = (Some(About::new(NodeId(2), InstanceId(1))), Some(7));
        hear(&mut peers, &other);
        assert_eq!(peers.progress(&[])[0].bytes, Some(1000), "another sender's bytes");
    }

    #[test]
    fn what_one_has_whole_and_another_in_part_all_have() {
        let root = *blake3::hash(b"x").as_bytes();
        let mut peers = Peers::default();
        assert!(!peers.all_have(&root), "nobody is not all");
        let mut whole = status(0, &[]);
        whole.whole = Some(root_set::encode(&[root_set::start(&root)]));
        let mut part = status(0, &[]);
        part.parts = Some(root[..8].to_vec());
        peers.on_status(Time::ZERO, NodeId(7), &whole, about(), 3);
        peers.on_status(Time::ZERO, NodeId(8), &part, about(), 3);
        assert!(peers.all_have(&root) && !peers.all_have(&[1; 32]));
        assert!(peers.has_part(&root) && !peers.has_part(&[1; 32]));
        peers.settle(Time::ZERO, NodeId(8), Outcome::Unanswered);
        assert!(peers.all_have(&root) && !peers.has_part(&root), "the whole is no part");
        peers.on_heard(NodeId(9), SocketAddr::from(([127, 0, 0, 1], 1)));
        assert!(!peers.all_have(&root), "a plain receiver cannot say so");
        peers.settle(Time::ZERO, NodeId(9), Outcome::Unanswered);
        assert!(peers.all_have(&root));
    }

    #[test]
    fn the_first_word_on_a_receiver_is_final() {
        let mut peers = Peers::default();
        hear(&mut peers, &status(0, &[]));
        peers.settle(Time::ZERO, NODE, Outcome::Complete);
        peers.settle_rest(Time::ZERO, &Outcome::Unanswered);
        assert_eq!(peers.complete(), 1);
    }
}
