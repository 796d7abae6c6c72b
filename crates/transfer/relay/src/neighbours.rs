//! Relays that are heard, and by which ways they have what they pass on.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    time::Duration,
};

use crate::{hello::Hello, side::From, source::LEASE};

/// Relays that are heard at once.
const NEIGHBOURS_MAX: usize = 256;

/// The last hello of each address, when it came, and in which groups some of it were heard.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<IpAddr, (Hello, Duration, BTreeSet<usize>)>);

impl Neighbours {
    pub(crate) fn on_hello(&mut self, now: Duration, from: From, hello: Hello) {
        let address = from.address.ip();
        if self.0.len() < NEIGHBOURS_MAX || self.0.contains_key(&address) {
            let known = self.0.entry(address).or_insert((hello.clone(), now, BTreeSet::new()));
            (known.0, known.1) = (hello, now);
            if from.multicast {
                known.2.insert(from.group);
            }
        }
    }

    /// A relay in the island of this group that goes before `own`, if both hear this sender: it has a lower
    /// number, or passes it on already.
    pub(crate) fn before(
        &self,
        now: Duration,
        (group, sender): (usize, u32),
        own: u32,
    ) -> Option<IpAddr> {
        let goes_first = |hello: &Hello| match hello.way_of(sender) {
            Some(way) if way.relays.contains(&own) => false,
            Some(way) if way.serves && way.fresh => true,
            _ => hello.relay < own,
        };
        let is_there = |(hello, heard, groups): &(Hello, Duration, BTreeSet<usize>)| {
            groups.contains(&group) && now.saturating_sub(*heard) < LEASE && goes_first(hello)
        };
        self.0.iter().find(|(_, one)| is_there(one)).map(|(address, _)| *address)
    }

    /// The relay at this address, as long as it says that it is there.
    pub(crate) fn at(&self, now: Duration, address: IpAddr) -> Option<&Hello> {
        let (hello, heard, _) = self.0.get(&address)?;
        (now.saturating_sub(*heard) < LEASE).then_some(hello)
    }

    /// The relays between a sender and this one, by way of the address that it comes from.
    pub(crate) fn way(&self, now: Duration, sender: u32, address: IpAddr) -> Vec<u32> {
        let way = self.at(now, address).and_then(|hello| hello.way_of(sender));
        way.map(|way| way.relays.clone()).unwrap_or_default()
    }

    /// Whether the relay at this address hears a sender by another way than by this relay, and so needs
    /// nothing from here: by relays of which this one is none.
    pub(crate) fn has_it(&self, now: Duration, sender: u32, address: IpAddr, own: u32) -> bool {
        let way = self.at(now, address).and_then(|hello| hello.way_of(sender));
        way.is_some_and(|way| way.fresh && !way.relays.contains(&own))
    }
}
