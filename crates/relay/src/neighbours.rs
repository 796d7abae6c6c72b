//! Relays that are heard, and by which ways they have what they pass on.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use crate::{hello::Hello, source::LEASE};

/// Relays that are heard at once.
const NEIGHBOURS_MAX: usize = 256;

/// The last hello of each address, and when it came.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<IpAddr, (Hello, Duration)>);

impl Neighbours {
    pub(crate) fn on_hello(&mut self, now: Duration, from: IpAddr, hello: Hello) {
        if self.0.len() < NEIGHBOURS_MAX || self.0.contains_key(&from) {
            self.0.insert(from, (hello, now));
        }
    }

    /// The relay at this address, as long as it says that it is there.
    pub(crate) fn at(&self, now: Duration, address: IpAddr) -> Option<&Hello> {
        let (hello, heard) = self.0.get(&address)?;
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
