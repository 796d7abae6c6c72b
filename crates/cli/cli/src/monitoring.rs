//! The page of a group whose nodes have monitors.

use std::{collections::BTreeMap, path::PathBuf};

use fanfare_command::json::WayLine;
use fanfare_command::{Exit, Failure, Output};
use fanfare_monitor::sensor::host::HostFacts;
use fanfare_monitor::{
    evidence::{Adapt, Capacities, Evidence, Sensors},
    group::{DropCounts, GroupPage, GroupView, Heard, More, Node, Placed, Seen},
    history::History,
};
use fanfare_node::{
    group::{Group, GroupHandle, Losses, Monitored},
    monitor::Config,
    proto::Bitrate,
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

/// The monitors of several groups of one node, with the name of each, do not stand in each other's way. What
/// one option says for all of them is the first one's. The others have the next ports for their
/// pages, no sensors, and directories beneath that of the history.
pub(crate) fn keep_apart<'p>(plans: impl Iterator<Item = (String, &'p mut MonitorPlan)>) {
    let (mut pages, mut sensors, mut histories) = (Vec::new(), Vec::new(), Vec::new());
    for (name, plan) in plans {
        while plan.page.address.port() != 0 && pages.contains(&plan.page.address) {
            let next = plan.page.address.port().wrapping_add(1);
            plan.page.address.set_port(next);
            plan.page.is_given = false;
        }
        pages.push(plan.page.address);
        plan.sensors = plan.sensors.take().filter(|path| !sensors.contains(path));
        sensors.extend(plan.sensors.clone());
        if let Some(path) = plan.history.as_mut().filter(|path| histories.contains(*path)) {
            *path = path.join(name);
        }
        histories.extend(plan.history.clone());
    }
}

/// Opens the page of a member. `ways`: counters of the gateways of this node, as the page is to have them.
pub(crate) fn open(
    plan: &MonitorPlan,
    group: &Group,
    output: &Output,
    ways: impl Fn() -> Vec<WayLine> + Clone + Send + 'static,
) -> Result<GroupPage, Failure> {
    let share = f64::from(plan.config.per_mille) / 1000.0;
    let allowed = plan.config.capacity.as_bps() as f64 * share;
    let interface = group.interface().map(|interface| interface.name.clone());
    let mut more = more(plan)?;
    let page = open_page(&plan.page, |address, access| {
        let own = group.id().0;
        let view = GroupView::new(group.address().to_string(), interface.clone(), own, allowed);
        let (handle, mut host, ways) = (group.handle(), HostFacts::new(), ways.clone());
        let look = move |ceiling| {
            // Plain data with string keys: it always can be written.
            let ways = serde_json::to_value(ways()).unwrap_or_default();
            look(&handle, &mut host, ceiling).map(|seen| Seen { ways, ..seen })
        };
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
    let losses = handle.status().ok()?.losses;
    handle.monitored().ok().flatten().map(|known| seen(known, losses))
}

fn seen(known: Monitored, losses: Losses) -> Seen {
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
        dropped: DropCounts {
            unread: losses.dropped,
            unkept: losses.unkept,
            events: losses.events,
        },
        ..Seen::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(port: u16) -> MonitorPlan {
        let address = ([127, 0, 0, 1], port).into();
        MonitorPlan {
            page: WatchPlan { address, is_given: true, token: None, proxy: None },
            config: Config::default(),
            sensors: Some("/run/sensors".into()),
            capacities: Capacities::default(),
            adapt: Adapt::Off,
            history: Some("/var/lib/history".into()),
            places: Vec::new(),
        }
    }

    #[test]
    fn groups_of_one_node_have_pages_sensors_and_histories_of_their_own() {
        for ports in [[7979; 4], [7979, 7980, 7979, 7979], [0; 4], [65535, 65535, 7979, 7980]] {
            let mut plans = ports.map(plan);
            let names = ["a", "b", "c", "d"].map(str::to_owned);
            keep_apart(names.into_iter().zip(&mut plans));
            for (n, one) in plans.iter().enumerate() {
                for other in plans.iter().take(n) {
                    let (page, of_other) = (one.page.address, other.page.address);
                    assert!(page.port() == 0 || page != of_other, "{ports:?}: {plans:?}");
                    assert!(one.sensors.is_none() && one.history != other.history, "{plans:?}");
                }
            }
            assert!(plans[0].sensors.is_some() && plans[0].page.is_given);
        }
    }
}
