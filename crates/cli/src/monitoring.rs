//! The page of a group whose nodes have monitors.

use std::{collections::BTreeMap, path::PathBuf};

use fanfare_command::{Exit, Failure, Output};
use fanfare_node::{
    group::{Group, GroupHandle, Monitored},
    monitor::Config,
    proto::Bitrate,
};
use fanfare_sensor::host::HostFacts;
use fanfare_watch::{
    evidence::{Adapt, Capacities, Evidence, Sensors},
    group::{GroupPage, GroupView, Heard, More, Node, Placed, Seen},
    history::History,
};

use crate::watching::{WatchPlan, open_page};

/// A monitor, and where its page is.
#[derive(Debug, Clone)]
pub(crate) struct MonitorPlan {
    pub(crate) page: WatchPlan,
    pub(crate) config: Config,
    /// Where sensors tell what they see.
    pub(crate) sensors: Option<PathBuf>,
    pub(crate) capacities: Capacities,
    pub(crate) adapt: Adapt,
    /// Where numbers are kept.
    pub(crate) history: Option<PathBuf>,
    /// Where nodes stand.
    pub(crate) places: Vec<Placed>,
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
    let mut more = more(plan)?;
    let page = open_page(&plan.page, |address, access| {
        let own = group.id().0;
        let view = GroupView::new(group.address().to_string(), interface.clone(), own, allowed);
        let (handle, mut host) = (group.handle(), HostFacts::new());
        let look = move |ceiling| look(&handle, &mut host, ceiling);
        GroupPage::start(view, &mut more, address, access, look)
    })?;
    output.text(&format!("monitor: {}", page.url()));
    Ok(page)
}

/// What is shown beside what nodes say of themselves.
fn more(plan: &MonitorPlan) -> Result<More, Failure> {
    let sensors = plan.sensors.as_ref().map(|path| {
        Sensors::listen(path).map_err(|error| {
            let text = format!(
                "monitor-sensors ({}): cannot be listened at ({error}). Check its directory",
                path.display()
            );
            Failure::new(Exit::Resource, "monitor.sensors", text)
        })
    });
    let history = plan.history.as_ref().map(|dir| {
        History::open(dir).map_err(|error| {
            let text = format!("monitor-history ({error}). Use another directory");
            Failure::new(Exit::Resource, "monitor.history", text)
        })
    });
    let capacities = plan.capacities.clone();
    let evidence =
        sensors.transpose()?.map(|sensors| Evidence::new(sensors, capacities, plan.adapt));
    let (history, places) = (history.transpose()?, plan.places.clone());
    Ok(More { evidence, obeys: plan.adapt == Adapt::Obey, history, places })
}

/// Nothing once the group has ended.
fn look(handle: &GroupHandle, host: &mut HostFacts, ceiling: Option<u64>) -> Option<Seen> {
    handle.set_ceiling(ceiling.map(Bitrate::bps)).ok()?;
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
