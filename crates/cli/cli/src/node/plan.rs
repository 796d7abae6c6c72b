//! What a node is to do: its groups, and what it carries between them.

use std::path::PathBuf;

use fanfare_command::config::GatewayPlan;
use fanfare_command::{Failure, OutputArgs};
use fanfare_node::{GroupSpec, Network, group::GroupOptions, messaging::Filter};

use crate::{args::socket::SocketArgs, monitoring::MonitorPlan};

/// A node of one or more groups.
#[derive(Debug)]
pub(crate) struct NodePlan {
    /// Where programs find it.
    pub(crate) socket: SocketArgs,
    pub(crate) groups: Vec<GroupPlan>,
    pub(crate) gateways: Vec<GatewayPlan>,
    pub(crate) output: OutputArgs,
}

/// One of its groups.
#[derive(Debug)]
pub(crate) struct GroupPlan {
    /// What a file calls it, where there are several.
    pub(crate) name: Option<String>,
    /// Group and interface as they are given.
    pub(crate) place: (GroupSpec, Option<String>),
    /// The id that it is given.
    pub(crate) node_id: Option<String>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) builder: Network,
    pub(crate) options: GroupOptions,
    /// Its monitor, and the page of it.
    pub(crate) monitor: Option<MonitorPlan>,
    /// What is asked for also while no program wants it.
    pub(crate) filters: Vec<Filter>,
}

/// What only several groups together show to be wrong: whose it is, and why.
pub(crate) fn clashes(groups: &[GroupPlan]) -> Vec<(usize, Failure)> {
    let mut clashes = Vec::new();
    for (number, plan) in groups.iter().enumerate() {
        for before in &groups[..number] {
            let other = before.name.as_deref().unwrap_or_default();
            if plan.place == before.place {
                clashes.push((number, same(&plan.place.0.group.to_string(), other)));
            }
            let dir = plan.cache_dir.as_ref();
            if let Some(dir) = dir.filter(|_| dir == before.cache_dir.as_ref()) {
                let text = format!(
                    "cache-dir ({}): is that of group {other}. Give each its own",
                    dir.display()
                );
                clashes.push((number, Failure::usage("cache.shared", text)));
            }
        }
    }
    clashes
}

pub(super) fn same(address: &str, other: &str) -> Failure {
    let text = format!(
        "group ({address}): has the address and the interface of group {other}. Give another address or \
         interface"
    );
    Failure::usage("group.same", text)
}
