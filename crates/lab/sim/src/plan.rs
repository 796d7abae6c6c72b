//! What is to be simulated: hosts, paths, and changes over time.
//!
//! - `group`, `gateway`: group nodes, and gateways between groups; `cooperation`: plans with them
//! - `topology`: plans with hops that all routes share

mod cooperation;
mod gateway;
mod group;
mod topology;

pub use gateway::{GatewayPlan, GatewayReport};
pub(crate) use group::GroupPlan;
pub use group::Publication;

use crate::{
    fabric::MembershipLatency,
    flow::{Flow, layered::LayeredFlow},
    hop::Hop,
    link::{Link, TraceId, Traces},
    medium::Medium,
    network::{Host, Hosts},
    place::Place,
    topology::Edge,
};
use core::net::SocketAddr;
use fanfare_proto::{
    Bitrate, Duration, FirstPass, NewObject, NodeId, ObjectKind, ReceiverConfig, SenderConfig,
    SessionConfig, TailPolicy,
};
use std::collections::BTreeMap;

/// An object to send; its bytes follow from its key ([`crate::content`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What kind.
    pub kind: ObjectKind,
    /// Bytes.
    pub size: u64,
    /// Its NORM_INFO.
    pub info: Option<Vec<u8>>,
    /// What of it is sent unasked.
    pub pass: FirstPass,
}

impl Object {
    /// A NORM_OBJECT_DATA without INFO.
    #[must_use]
    pub fn data(size: u64) -> Self {
        Self { kind: ObjectKind::Data, size, info: None, pass: FirstPass::Whole }
    }
    /// A NORM_OBJECT_FILE whose INFO is its name.
    #[must_use]
    pub fn file(name: &str, size: u64) -> Self {
        let info = Some(name.as_bytes().to_vec());
        Self { kind: ObjectKind::File, size, info, pass: FirstPass::Whole }
    }
    /// The same, of which only the INFO is sent unasked.
    #[must_use]
    pub fn on_demand(self) -> Self {
        Self { pass: FirstPass::OnDemand, ..self }
    }
    pub(crate) fn to_new(&self) -> NewObject {
        let Self { kind, size, info, pass } = self.clone();
        NewObject { kind, size, info, pass }
    }
}

/// What can happen during a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The host joins, or comes back after a crash as a new instance.
    Start(Host),
    /// The host is gone, without a word.
    Crash(Host),
    /// The host is given an object to send.
    Send(Host, Object),
    /// The group node publishes messages.
    Publish(Host, Publication),
    /// The host withdraws its n-th object.
    Cancel(Host, usize),
    /// The host sends its n-th object once more.
    Requeue(Host, usize),
    /// The host says good-bye.
    End(Host),
    /// The host sends at this rate.
    Rate(Host, Bitrate),
    /// The host holds its data back, or lets it go.
    Hold(Host, bool),
    /// The host asks others to acknowledge what it has sent.
    Watermark(Host, Vec<Host>),
    /// The host calls the roll at this interval.
    RollCall(Host, Duration),
    /// The same, and knows how many there are to answer.
    RollCallOf(Host, Duration, u32),
    /// What the host answers when the roll is called; `true` announces it at once.
    Status(Host, Vec<u8>, bool),
    /// The host confirms all it has received.
    Confirm(Host),
    /// Of every object that begins from now on, the host holds these ranges (offset, bytes) already.
    Have(Host, Vec<(u64, u64)>),
    /// Of every object that begins from now on, the host examines what it has before it says so; or
    /// it has examined all of them.
    Examine(Host, bool),
    /// The host finds these bytes (offset, length) of the n-th object that it began wrong.
    Reject(Host, usize, (u64, u64)),
    /// The first host goes on without the second.
    Evict(Host, Host),
    /// The first host serves the second only after the first pass, or as all others again.
    Defer(Host, Host, bool),
    /// The host finishes slow receivers after the others, as this says, or no more.
    Tail(Host, Option<TailPolicy>),
    /// The first host knows that the second needs nothing more.
    Finish(Host, Host),
    /// These hosts and the others no longer hear each other.
    Partition(Hosts),
    /// All hear each other again.
    Heal,
    /// The path from some hosts to some hosts changes.
    Link(Hosts, Hosts, Link),
    /// What happens to datagrams of some hosts before the paths part changes.
    Uplink(Hosts, Link),
    /// The hop from one place to another changes; its queue stays unless it is another.
    Hop(Place, Place, Hop),
    /// A datagram from nobody in the plan: `source` may be anyone's address.
    Inject {
        /// Who hears it.
        to: Hosts,
        /// Where it says it comes from.
        source: SocketAddr,
        /// The datagram.
        bytes: Vec<u8>,
    },
    /// The last NORM_DATA of a host once more, with some of its bytes overwritten.
    Tamper {
        /// Whose NORM_DATA, and whose address.
        like: Host,
        /// Who hears it.
        to: Hosts,
        /// Where it says it comes from; `None` is the host's own address.
        source: Option<SocketAddr>,
        /// Offset and bytes to put there.
        patches: Vec<(usize, Vec<u8>)>,
    },
}

/// When a run ends. Each also ends at the plan's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Every receiver that is up has every object, and no change is outstanding.
    Complete,
    /// Complete, and every sender has nothing more to say.
    Quiet,
    /// The limit.
    Limit,
}

/// A scenario: built by chained calls, run once.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) seed: u64,
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) links: Vec<(Hosts, Hosts, Link)>,
    pub(crate) uplinks: Vec<(Hosts, Link)>,
    pub(crate) hops: Vec<Edge>,
    pub(crate) media: Vec<Medium>,
    pub(crate) traces: Traces,
    pub(crate) membership: MembershipLatency,
    pub(crate) pruned: bool,
    pub(crate) flows: Vec<Flow>,
    pub(crate) layered: Vec<LayeredFlow>,
    pub(crate) warm_up: Duration,
    pub(crate) labels: BTreeMap<Place, String>,
    /// It comes from a file, not from a test.
    pub(crate) from_file: bool,
    pub(crate) hosts: Vec<HostPlan>,
    pub(crate) gateways: Vec<GatewayPlan>,
    pub(crate) changes: Vec<(Duration, Change)>,
    pub(crate) until: Until,
    pub(crate) limit: Duration,
    pub(crate) trace_max: usize,
}

/// One host of a plan.
#[derive(Debug, Clone)]
pub(crate) struct HostPlan {
    pub(crate) config: SessionConfig,
    pub(crate) group: u8,
    pub(crate) start: Duration,
    pub(crate) drift_ppm: i32,
    /// It is a group node.
    pub(crate) group_plan: Option<GroupPlan>,
    /// The one receiver of its unicast session: what it sends to the group goes there alone.
    pub(crate) receiver: Option<Host>,
}

impl Plan {
    /// An empty plan. All chance of the run comes from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            name: String::new(),
            link: Link::default(),
            links: Vec::new(),
            uplinks: Vec::new(),
            hops: Vec::new(),
            media: Vec::new(),
            traces: Traces::new(),
            membership: MembershipLatency::default(),
            pruned: false,
            flows: Vec::new(),
            layered: Vec::new(),
            warm_up: Duration::ZERO,
            labels: BTreeMap::new(),
            from_file: false,
            hosts: Vec::new(),
            gateways: Vec::new(),
            changes: Vec::new(),
            until: Until::Complete,
            limit: Duration::from_secs(600),
            trace_max: 0,
        }
    }
    /// What a failure calls this plan; by convention the test's name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }
    /// Adds a host that sends.
    #[must_use]
    pub fn sender(self, sender: SenderConfig) -> Self {
        self.host(SessionConfig { sender: Some(sender), ..SessionConfig::default() })
    }
    /// Adds `n` hosts that receive.
    #[must_use]
    pub fn receivers(mut self, n: u16) -> Self {
        for _ in 0..n {
            let receiver = Some(ReceiverConfig::default());
            self = self.host(SessionConfig { receiver, ..SessionConfig::default() });
        }
        self
    }
    /// Adds a host of any kind. Its node id is set to its number plus one.
    #[must_use]
    pub fn host(mut self, config: SessionConfig) -> Self {
        let node_id = Self::node_id(Host(self.hosts.len() as u16));
        let config = SessionConfig { node_id, ..config };
        self.hosts.push(HostPlan {
            config,
            group: 0,
            start: Duration::ZERO,
            drift_ppm: 0,
            group_plan: None,
            receiver: None,
        });
        self
    }
    /// The node id of a host.
    #[must_use]
    pub fn node_id(host: Host) -> NodeId {
        host.node_id()
    }
    /// Changes the configuration of hosts added so far.
    #[must_use]
    pub fn adjust(mut self, hosts: impl Into<Hosts>, change: impl Fn(&mut SessionConfig)) -> Self {
        self.choose(hosts.into()).for_each(|host| change(&mut host.config));
        self
    }
    /// Changes the receiving side of hosts added so far that have one.
    #[must_use]
    pub fn adjust_receivers(self, change: impl Fn(&mut ReceiverConfig)) -> Self {
        self.adjust(Hosts::All, |config| {
            if let Some(receiver) = &mut config.receiver {
                change(receiver);
            }
        })
    }
    /// Puts hosts added so far into another group than 0.
    #[must_use]
    pub fn group(mut self, hosts: impl Into<Hosts>, group: u8) -> Self {
        self.choose(hosts.into()).for_each(|host| host.group = group);
        self
    }
    /// Makes a unicast session of two hosts added so far: what `from` sends goes to `to` alone, and
    /// `to` answers by unicast.
    #[must_use]
    pub fn unicast(mut self, from: Host, to: Host) -> Self {
        self.choose(from.into()).for_each(|host| host.receiver = Some(to));
        self.adjust(from, |config| config.unicast = true).adjust(to, |config| config.unicast = true)
    }
    /// Whether a host added so far receives.
    pub(crate) fn has_receiver(&self, host: Host) -> bool {
        self.hosts.get(usize::from(host.0)).is_some_and(|host| host.config.receiver.is_some())
    }
    /// Lets hosts added so far join later than at time zero.
    #[must_use]
    pub fn joins(mut self, hosts: impl Into<Hosts>, at: Duration) -> Self {
        self.choose(hosts.into()).for_each(|host| host.start = at);
        self
    }
    /// Lets the clocks of hosts added so far gain so many microseconds each second; a negative
    /// number loses them.
    #[must_use]
    pub fn drift(mut self, hosts: impl Into<Hosts>, ppm: i32) -> Self {
        self.choose(hosts.into()).for_each(|host| host.drift_ppm = ppm);
        self
    }
    /// Recorded losses for links that name them: `true` is a datagram lost.
    #[must_use]
    pub fn loss_trace(mut self, id: TraceId, lost: Vec<bool>) -> Self {
        self.traces.insert(id, lost);
        self
    }
    /// Every path that nothing else is said of.
    #[must_use]
    pub fn link(mut self, link: Link) -> Self {
        self.link = link;
        self
    }
    /// The paths from some hosts to some hosts; the last word on a pair holds.
    #[must_use]
    pub fn path(mut self, from: impl Into<Hosts>, to: impl Into<Hosts>, link: Link) -> Self {
        self.links.push((from.into(), to.into(), link));
        self
    }
    /// What happens to datagrams of some hosts before the paths part: loss here is common to all.
    #[must_use]
    pub fn uplink(mut self, from: impl Into<Hosts>, link: Link) -> Self {
        self.uplinks.push((from.into(), link));
        self
    }
    /// Something happens at a time.
    #[must_use]
    pub fn at(mut self, at: Duration, change: Change) -> Self {
        self.changes.push((at, change));
        self
    }
    /// The first host is given an object at time zero.
    #[must_use]
    pub fn send(self, object: Object) -> Self {
        self.at(Duration::ZERO, Change::Send(Host(0), object))
    }
    /// When the run ends, and at the latest after how long. Default [`Until::Complete`], 600 s.
    #[must_use]
    pub fn until(mut self, until: Until, limit: Duration) -> Self {
        (self.until, self.limit) = (until, limit);
        self
    }
    /// Keeps a line for each of the first `max` datagrams sent.
    #[must_use]
    pub fn traced(mut self, max: usize) -> Self {
        self.trace_max = max;
        self
    }
    pub(crate) fn choose(&mut self, hosts: Hosts) -> impl Iterator<Item = &mut HostPlan> {
        self.hosts
            .iter_mut()
            .zip(0..)
            .filter(move |(_, n)| hosts.contains(Host(*n)))
            .map(|(host, _)| host)
    }
}
