//! What a node's monitor has come to.

use fanfare_messaging::GroupNode;
use fanfare_messaging::monitor::{Block, Stats};
use fanfare_proto::Duration;

/// What a node's monitor has come to.
#[derive(Debug, Clone)]
pub struct MonitorReport {
    /// How old what it knows of each other node is, through how many others it came.
    pub ages: Vec<(Duration, u8)>,
    /// Its counters.
    pub stats: Stats,
}

impl MonitorReport {
    pub(crate) fn of(node: &GroupNode) -> Option<Self> {
        let monitor = node.monitor()?;
        let (now, own) = (node.now(), monitor.own());
        let world = monitor.world();
        let others = world.nodes().into_iter().filter(|other| *other != own);
        let sectors = others.filter_map(|other| world.get(other, Block::Node));
        let ages = sectors.map(|known| (known.age(now), known.hop)).collect();
        Some(Self { ages, stats: monitor.stats() })
    }
}
