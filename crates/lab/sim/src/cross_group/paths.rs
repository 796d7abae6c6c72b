//! Paths across groups: over radios whose nodes move, networks that connect all nodes of a group,
//! and gateways.

use std::collections::BTreeSet;

use fanfare_proto::Time;

use crate::{network::Host, results::report::Report};

impl Report {
    /// The hosts that a path leads to from one at this time, itself among them.
    pub(super) fn joined_to(&self, at: Time, from: Host) -> BTreeSet<Host> {
        let (mut reached, mut fresh) = (BTreeSet::from([from]), vec![from]);
        while let Some(host) = fresh.pop() {
            let next = self.machine(host).into_iter().chain(self.in_reach(at, host));
            fresh.extend(next.filter(|host| reached.insert(*host)));
        }
        reached
    }

    /// The hosts that a path leads to within its own group.
    fn in_reach(&self, at: Time, from: Host) -> Vec<Host> {
        let radio = self.contacts.iter().find_map(|(hosts, contacts)| {
            let number = hosts.iter().position(|host| *host == from)?;
            Some((hosts, contacts.connected(at, number)))
        });
        match radio {
            Some((hosts, reached)) => {
                let numbered = hosts.iter().enumerate();
                let reached = numbered.filter(|(number, _)| reached >> number & 1 == 1);
                reached.map(|(_, host)| *host).collect()
            }
            None => {
                let group = self.host(from).group;
                let all = self.hosts.iter().filter(|host| host.group == group);
                all.map(|host| host.host).collect()
            }
        }
    }
}
