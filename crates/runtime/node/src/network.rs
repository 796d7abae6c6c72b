//! Where a node takes part and how it behaves there.
//!
//! - `opening`: the interface that is taken, the sockets, and what stands against them

mod opening;

use std::net::{IpAddr, SocketAddr};

use crate::serve::{JoinedSession, SessionName, Settings};
use fanfare_proto::{
    CongestionControl, FeedbackPath, InstanceId, NodeId, ReceiverConfig, SenderConfig,
    SessionConfig,
};
use fanfare_udp::{EndpointConfig, GroupSpec, HeardHosts};

use super::chance::{random, random_id};
use crate::{
    driver::Wiring,
    join_error::JoinError,
    sealed::{Keys, Sealed},
    serving::Serving,
    test_drop::TestDrop,
};

/// Whether a segment follows the link's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is as configured, or refused.
    Given,
    /// It may be shorter.
    Shorter,
    /// It may be longer, too.
    Any,
}

/// Where a node takes part and how it behaves there: group, interface, ids, and how to send and to
/// receive. With it a node joins a group ([`Network::join`]) or transfers files (the crate
/// `fanfare-files`).
///
/// ```
/// use fanfare_node::Network;
/// let network = Network::new("239.255.42.1:6003".parse()?).interface("eth0").ttl(3);
/// # Ok::<(), fanfare_node::GroupSpecError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Network {
    pub(crate) endpoint: EndpointConfig,
    pub(crate) interface: Option<String>,
    pub(crate) node_id: Option<NodeId>,
    pub(crate) instance_id: Option<InstanceId>,
    feedback: FeedbackPath,
    pub(crate) sender: SenderConfig,
    pub(crate) receiver: ReceiverConfig,
    pub(crate) test_drop: f64,
    pub(crate) seed: Option<u64>,
    fit: Fit,
    /// Bytes of other headers beside those of a message.
    pub(crate) beside: u16,
    /// An interface that is down or has no address is waited for, and one that nobody knows yet.
    awaits: bool,
    awaits_unknown: bool,
    keys: Option<Keys>,
    /// Single hosts that what is for the group goes to, and whether it goes to the group, too.
    hosts: (Vec<SocketAddr>, bool),
    /// How it passes on to other receivers, if it hears what is sent to it alone.
    serves: Settings,
    /// Each host is sent everything from here.
    copies_only: bool,
    /// Nobody answers.
    one_way: bool,
    /// Hosts that do not hear the group are looked for; unless this is not wanted.
    finds_deaf: bool,
    multicast_only: bool,
    /// The one sender that is listened to.
    only_sender: Option<NodeId>,
    /// Datagrams to this machine alone count by whichever interface they come.
    direct_anywhere: bool,
    /// A sender lets in hosts that knock, and a receiver knocks at these.
    lets_in: bool,
    knocks: Vec<SocketAddr>,
    only_address: Option<IpAddr>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            endpoint: EndpointConfig::default(),
            interface: None,
            node_id: None,
            instance_id: None,
            feedback: FeedbackPath::default(),
            sender: SenderConfig::adaptive(),
            receiver: ReceiverConfig::default(),
            test_drop: 0.0,
            seed: None,
            fit: Fit::Given,
            beside: 0,
            awaits: false,
            awaits_unknown: false,
            keys: None,
            hosts: (Vec::new(), true),
            serves: Settings::default(),
            copies_only: false,
            one_way: false,
            finds_deaf: false,
            multicast_only: false,
            only_sender: None,
            direct_anywhere: false,
            lets_in: false,
            knocks: Vec::new(),
            only_address: None,
        }
    }
}

impl Network {
    /// In this group, with interface and node id where they are part of it. A unicast address makes
    /// a session with one receiver.
    #[must_use]
    pub fn new(group: GroupSpec) -> Self {
        Self::default().group(group)
    }

    /// The group, with interface and node id where they are part of it. A unicast address makes a
    /// session with one receiver.
    #[must_use]
    pub fn group(mut self, spec: GroupSpec) -> Self {
        self.endpoint.group = spec.group;
        self.interface = spec.interface.or(self.interface);
        self.node_id = spec.node_id.map(NodeId).or(self.node_id);
        self
    }

    /// The interface, by name or address. Default: the only one, or the one of the route.
    #[must_use]
    pub fn interface(mut self, interface: &str) -> Self {
        self.interface = Some(interface.to_owned());
        self
    }

    /// Wait for the interface where it is down or has no address, instead of refusing: the group is
    /// joined there when it comes. Where none was named and there is only the loopback interface, go to
    /// the first other one that comes.
    #[must_use]
    pub fn await_interface(mut self) -> Self {
        self.awaits = true;
        self
    }

    /// As [`Self::await_interface`], and wait also where there is no interface of this name: a VPN, a VLAN
    /// or a card on USB may come later. For services: a person may have mistyped the name.
    #[must_use]
    pub fn await_unknown_interface(mut self) -> Self {
        (self.awaits, self.awaits_unknown) = (true, true);
        self
    }

    /// Send what is for the group to each of these hosts, by unicast; `multicast`: to the group's
    /// address as well. A host that answers by the group is sent no copies. There must be one
    /// address of the group's family for each.
    #[must_use]
    pub fn hosts(mut self, hosts: Vec<SocketAddr>, multicast: bool) -> Self {
        self.endpoint.direct |= !hosts.is_empty();
        hosts.iter().for_each(|host| self.endpoint.heard_hosts.add(host.ip()));
        self.hosts = (hosts, multicast);
        self
    }

    /// Hear also what is sent to this machine alone, at the group's port, where multicast does not
    /// reach it. Only from private networks, this link and hosts that were named ([`Self::source`],
    /// [`Self::only_address`], [`Self::knock`], [`Self::hosts`]); from everywhere when all is sealed.
    #[must_use]
    pub fn hear_direct(mut self) -> Self {
        // Answers go to wherever the sender is.
        self.endpoint.direct = true;
        self.endpoint.hears_direct = true;
        self
    }

    /// Let in receivers that knock at this machine's address and the group's port: those that know where it is
    /// ([`Self::knock`]), and those that it has called and does not hear, as a firewall here may let in that
    /// port and not the one that calls leave from. For senders that receive nothing. Without effect after
    /// [`Self::multicast_only`].
    #[must_use]
    pub fn let_in(mut self) -> Self {
        self.lets_in = !self.multicast_only;
        self.endpoint.hears_direct |= self.lets_in;
        self
    }

    /// Knock at these addresses of senders: where a firewall or a router keeps out what was not asked for, no
    /// call of theirs reaches this host. The port is that of the group, unless a router leads there from
    /// another. For receivers with [`Self::hear_direct`].
    #[must_use]
    pub fn knock(mut self, senders: Vec<SocketAddr>) -> Self {
        senders.iter().for_each(|sender| self.endpoint.heard_hosts.add(sender.ip()));
        self.knocks = senders;
        self
    }

    /// What a driver has from here, whatever its engine is. The loss on purpose has another sequence
    /// than the session's, from the same `seed`.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn wiring(&self, seed: u64) -> Result<Wiring, JoinError> {
        let (sealed, hosts) = (self.seal()?, self.hosts.clone());
        let test_drop = TestDrop::new(self.test_drop, !seed);
        let serves = Settings { silent: self.receiver.silent, ..self.serves };
        let joined = JoinedSession {
            session: SessionName::from(self.endpoint.group),
            source: self.endpoint.source,
            sender: self.only_sender.map(|id| id.0),
            address: self.only_address,
        };
        let joined = Some(joined).filter(|_| self.endpoint.hears_direct && !self.lets_in);
        let serving = Serving::new(serves, joined, &self.knocks);
        let copies_only = self.copies_only;
        let (finds_deaf, lets_in) = (self.finds_deaf, self.lets_in);
        let (node, most) = (self.node_id.map_or(0, |id| id.0), self.sender.rate);
        let one_way = self.one_way;
        let wiring = Wiring {
            sealed,
            hosts,
            copies_only,
            one_way,
            finds_deaf,
            lets_in,
            node,
            most,
            serving,
            test_drop,
        };
        Ok(wiring)
    }

    /// How it passes on to other receivers what single hosts are sent. Default: all that it is given for
    /// that.
    #[must_use]
    pub fn serves(mut self, settings: Settings) -> Self {
        self.serves = settings;
        self
    }

    /// Each of the [`Self::hosts`] is sent everything from here. Default: they pass on to each other what
    /// each of them is given, as far as they can.
    #[must_use]
    pub fn copies_only(mut self) -> Self {
        self.copies_only = true;
        self
    }

    /// Send where nobody answers, at a fixed rate: a rate that is found needs answers. Where none was set, at
    /// that of [`SenderConfig::default`].
    #[must_use]
    pub fn unanswered(mut self) -> Self {
        self.one_way = true;
        if self.fit == Fit::Any {
            // Nobody can say that longer packets than Ethernet's do not arrive.
            self.fit = Fit::Shorter;
        }
        if self.sender.congestion == CongestionControl::Auto {
            self.sender.congestion = CongestionControl::Fixed;
            if self.sender.rate == SenderConfig::RATE_MAX {
                self.sender.rate = SenderConfig::default().rate;
            }
        }
        self
    }

    /// Look for hosts of the link that hear nothing of what is sent to the group, and send them copies: by
    /// broadcast, a few small datagrams a second, and at most half a percent of the rate. For senders
    /// that have acknowledgements.
    #[must_use]
    pub fn find_deaf(mut self) -> Self {
        self.finds_deaf = !self.multicast_only;
        self
    }

    /// Send to the group alone: hosts that do not hear it are not looked for.
    #[must_use]
    pub fn multicast_only(mut self) -> Self {
        (self.finds_deaf, self.multicast_only) = (false, true);
        self
    }

    /// The port that everything is sent from: who is started anew has the same address then. Default: one that
    /// is free.
    #[must_use]
    pub fn sending_port(mut self, port: u16) -> Self {
        self.endpoint.sending_port = port;
        self
    }

    /// Number by which programs of this machine know what they have passed on themselves: sockets of one
    /// program that share a port have the same. Default random.
    #[must_use]
    pub fn token(mut self, token: u64) -> Self {
        self.endpoint.token = token;
        self
    }

    /// Hear this source only (source-specific multicast).
    #[must_use]
    pub fn source(mut self, source: IpAddr) -> Self {
        self.endpoint.source = Some(source);
        self.endpoint.heard_hosts.add(source);
        self
    }

    /// Hear what is sent to this machine alone by every interface, also where one was chosen for the group:
    /// a relay hears others from outside of its island.
    #[must_use]
    pub fn direct_anywhere(mut self) -> Self {
        self.direct_anywhere = true;
        self
    }

    /// Answer the calls of this sender alone, by its id. What the group brings is for the receiver to choose.
    #[must_use]
    pub fn only_sender(mut self, id: NodeId) -> Self {
        self.only_sender = Some(id);
        self
    }

    /// Answer the calls of a sender at this address alone. Unlike [`Self::source`] it leaves what other
    /// receivers pass on.
    #[must_use]
    pub fn only_address(mut self, address: IpAddr) -> Self {
        self.only_address = Some(address);
        self.endpoint.heard_hosts.add(address);
        self
    }

    /// Routers to pass plus one. Default 1: the link.
    #[must_use]
    pub fn ttl(mut self, ttl: u8) -> Self {
        self.endpoint.ttl = ttl;
        self
    }

    /// Differentiated services code point of all packets, 0 to 63 (RFC 2474). Default 0.
    #[must_use]
    pub fn dscp(mut self, dscp: u8) -> Self {
        self.endpoint.dscp = dscp;
        self
    }

    /// Whether nodes on this machine hear it. Default true.
    #[must_use]
    pub fn loopback(mut self, loopback: bool) -> Self {
        self.endpoint.loopback = loopback;
        self
    }

    /// Whether the kernel cuts segments. Default true.
    #[must_use]
    pub fn gso(mut self, gso: bool) -> Self {
        self.endpoint.gso = gso;
        self
    }

    /// Bytes asked for each socket that receives; the system may give less. Default 4 MiB, and 32 MiB
    /// where this user may have more than the system's limit.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.endpoint.receive_buffer = bytes;
        self
    }

    /// Seals everything with these keys, and takes nothing that is not. Default: nothing is sealed.
    #[must_use]
    pub fn sealed(mut self, keys: Keys) -> Self {
        self.beside += keys.overhead() as u16;
        self.endpoint.heard_hosts = HeardHosts::Everybody;
        self.keys = Some(keys);
        self
    }

    /// True if everything is sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.keys.is_some()
    }

    /// What stands between its sockets and its messages.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn seal(&self) -> Result<Sealed, JoinError> {
        Sealed::new(self.keys.as_ref(), self.endpoint.group, self.receiver.silent)
    }

    /// Bytes that sealing makes each message longer by.
    #[must_use]
    pub fn overhead(&self) -> u16 {
        self.keys.as_ref().map_or(0, |keys| keys.overhead() as u16)
    }

    /// This node's id. Default random.
    #[must_use]
    pub fn node_id(mut self, id: NodeId) -> Self {
        self.node_id = Some(id);
        self
    }

    /// Which life of the sender this is. Default random.
    #[must_use]
    pub fn instance_id(mut self, id: InstanceId) -> Self {
        self.instance_id = Some(id);
        self
    }

    /// Where a receiver's feedback goes. Default to the group.
    #[must_use]
    pub fn feedback(mut self, feedback: FeedbackPath) -> Self {
        self.feedback = feedback;
        self
    }

    /// Settings of the sender; its instance id is chosen by the node. Default: [`SenderConfig::adaptive`], which finds
    /// its rate by itself. A sender that nobody answers sends at the rate of [`SenderConfig::default`].
    #[must_use]
    pub fn sender_config(mut self, config: SenderConfig) -> Self {
        self.sender = config;
        self
    }

    /// Take another segment than configured: shorter where the link's packets ask for it, instead of
    /// refusing; longer where they and receivers take it, up to 8192 bytes, as long as no router is
    /// to be passed.
    #[must_use]
    pub fn fit_segment(mut self) -> Self {
        self.fit = Fit::Any;
        self
    }

    /// Take a shorter segment than configured where the link's packets ask for it, instead of refusing:
    /// for groups, whose other members may be on links with shorter packets than this one's.
    #[must_use]
    pub fn shorten_segment(mut self) -> Self {
        self.fit = Fit::Shorter;
        self
    }

    /// How to receive. When something is acknowledged is for those who receive to say: files when
    /// they are on disk, messages when they have come.
    #[must_use]
    pub fn receiver_config(mut self, config: ReceiverConfig) -> Self {
        self.receiver = config;
        self
    }

    /// Lose received datagrams with this probability. For tests and demonstrations.
    #[must_use]
    pub fn test_drop(mut self, probability: f64) -> Self {
        self.test_drop = probability;
        self
    }

    /// Where all of the node's chance comes from. Default random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How to send, as far as it is settled.
    #[must_use]
    pub fn sender(&self) -> &SenderConfig {
        &self.sender
    }

    /// How to receive.
    #[must_use]
    pub fn receiver(&self) -> &ReceiverConfig {
        &self.receiver
    }

    /// The name of its session, as what is signed has it: group and port, or `unicast`.
    #[must_use]
    pub fn session_name(&self) -> String {
        SessionName::from(self.endpoint.group).signed()
    }

    /// The group's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.group
    }

    /// The longest segment that it may come to: some follow the link's packets.
    #[must_use]
    pub fn segment_longest(&self) -> u16 {
        match self.fit {
            Fit::Any => self.sender.segment_size.max(ReceiverConfig::default().segment_size_max),
            Fit::Given | Fit::Shorter => self.sender.segment_size,
        }
    }

    /// Its id and its life, chosen now where they were not told, and where all of its chance comes
    /// from.
    pub fn choose(&mut self) -> (NodeId, InstanceId, u64) {
        let id = *self.node_id.get_or_insert_with(random_id);
        let instance = *self.instance_id.get_or_insert_with(|| InstanceId(random() as u16));
        (id, instance, *self.seed.get_or_insert_with(random))
    }

    /// The configuration of its session, with both roles as they were asked for; who has only one
    /// of them takes the other away.
    pub fn session_config(&mut self) -> SessionConfig {
        let (id, instance, _) = self.choose();
        self.sender.instance_id = instance;
        SessionConfig {
            node_id: id,
            feedback: self.feedback,
            unicast: !self.endpoint.group.ip().is_multicast(),
            sender: Some(self.sender.clone()),
            receiver: Some(self.receiver.clone()),
            ..SessionConfig::default()
        }
    }
}
