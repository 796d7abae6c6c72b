//! What a member's monitor knows, for applications.

use fanfare_messaging::monitor::{Block, Facts, Stats};
use fanfare_messaging::{GroupNode, GroupStats};
use fanfare_proto::{Duration, NodeId};

/// What is known of one node.
#[derive(Debug, Clone)]
pub struct MonitoredNode {
    /// Its id.
    pub id: NodeId,
    /// Its name, once it has said it.
    pub name: Option<String>,
    /// What it says of itself.
    pub facts: Facts,
    /// How long ago it was so.
    pub age: Duration,
    /// Through how many others it came.
    pub hop: u8,
    /// Nothing was heard of it for longer than it is silent as a rule.
    pub silent: bool,
}

/// What is known of a group.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// This node.
    pub own: NodeId,
    /// All nodes that are known, this one among them, by id.
    pub nodes: Vec<MonitoredNode>,
    /// Who hears whom, in sevenths.
    pub hearing: Vec<(NodeId, NodeId, u8)>,
    /// Between two notes of this node, on average.
    pub interval: Duration,
    /// What the monitor has done.
    pub stats: Stats,
    /// What the group's machines have done.
    pub group: GroupStats,
    /// Bytes that this node has sent.
    pub bytes_sent: u64,
}

/// `None` without a monitor.
pub(super) fn monitored(node: &GroupNode) -> Option<Monitored> {
    let monitor = node.monitor()?;
    let (now, world) = (node.now(), monitor.world());
    let one = |id: NodeId| {
        let known = world.get(id, Block::Node)?;
        Some(MonitoredNode {
            id,
            name: world.name(id),
            facts: Facts::parse(&known.content)?,
            age: known.age(now),
            hop: known.hop,
            silent: id != monitor.own() && known.is_old(now),
        })
    };
    Some(Monitored {
        own: monitor.own(),
        nodes: world.nodes().into_iter().filter_map(one).collect(),
        hearing: node.hearing(),
        interval: monitor.interval(now),
        stats: monitor.stats(),
        group: node.stats(),
        bytes_sent: node.session_stats().bytes_sent,
    })
}
