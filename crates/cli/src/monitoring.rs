//! The page of a group whose nodes have monitors.

use std::collections::BTreeMap;

use fanfare_command::{Failure, Output};
use fanfare_node::{
    group::{Group, GroupHandle, Monitored},
    monitor::Config,
};
use fanfare_watch::group::{GroupPage, GroupView, Heard, Node, Seen};

use crate::{
    host_facts::HostFacts,
    watching::{WatchPlan, open_page},
};

/// A monitor, and where its page is.
#[derive(Debug, Clone)]
pub(crate) struct MonitorPlan {
    pub(crate) page: WatchPlan,
    pub(crate) config: Config,
}

/// Opens the page of a member.
pub(crate) fn open(
    plan: &MonitorPlan,
    group: &Group,
    output: &Output,
) -> Result<GroupPage, Failure> {
    let share = f64::from(plan.config.per_mille) / 1000.0;
    let allowed = plan.config.capacity.as_bps() as f64 * share;
    let interface = group.interface().map(|interface| interface.name.clone());
    let page = open_page(&plan.page, |address, access| {
        let own = group.id().0;
        let view = GroupView::new(group.address().to_string(), interface.clone(), own, allowed);
        let (handle, mut host) = (group.handle(), HostFacts::new());
        GroupPage::start(view, address, access, move || look(&handle, &mut host))
    })?;
    output.text(&format!("monitor: {}", page.url()));
    Ok(page)
}

/// Nothing once the group has ended.
fn look(handle: &GroupHandle, host: &mut HostFacts) -> Option<Seen> {
    handle.set_host_facts(host.read()).ok()?;
    handle.monitored().ok().flatten().map(seen)
}

fn seen(known: Monitored) -> Seen {
    let nodes = known.nodes.into_iter().map(|node| Node {
        id: node.id.0,
        name: node.name,
        facts: node.facts,
        age: node.age,
        hop: node.hop,
        silent: node.silent,
    });
    // This node's own count comes first, and wins over what it has announced.
    let mut hearing = BTreeMap::new();
    for (who, whom, sevenths) in known.hearing {
        hearing.entry((who.0, whom.0)).or_insert(sevenths);
    }
    let hearing = hearing.into_iter().map(|((who, whom), sevenths)| Heard { who, whom, sevenths });
    Seen {
        nodes: nodes.collect(),
        hearing: hearing.collect(),
        interval: known.interval,
        notes: (known.stats.bytes_sent, known.stats.notes_sent),
        notes_heard: known.stats.notes_heard,
        bytes_sent: known.bytes_sent,
        repairs: known.group.repairs_sent,
        frames_refused: known.group.frames_refused,
    }
}
