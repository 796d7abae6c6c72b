//! From settings to sockets: which interface, how long segments are there, and what stands against it.

use std::net::IpAddr;

use fanfare_proto::ReceiverConfig;
use fanfare_udp::{
    Awaited, Endpoint, Interface, OpenError, choose_interface, config::Role,
    follow::loopback_interface, interface_towards,
};

use super::{Fit, Network};
use crate::{chance::random, join_error::JoinError, segment};

/// Shortest segment that is worth having; it holds the announcement of a file.
const SEGMENT_MIN: u32 = 128;

impl Network {
    /// Opens its sockets. A node that does not receive joins no group.
    ///
    /// # Errors
    /// When there is no such interface, or the system refuses.
    pub fn open_endpoint(&mut self, receives: bool) -> Result<Endpoint, JoinError> {
        let group = self.endpoint.group.ip();
        let unicast = !group.is_multicast();
        if !unicast {
            self.settle_interface(group)?;
        }
        // Hosts answer to the address that they are sent from.
        let hears = receives || (!unicast && self.hosts.1);
        self.endpoint.role = if hears { Role::Member } else { Role::Sender };
        self.endpoint.own = receives;
        self.endpoint.only_interface = self.interface.is_some() && !self.direct_anywhere;
        if self.endpoint.token == 0 {
            self.endpoint.token = random();
        }
        Ok(Endpoint::open(&self.endpoint)?)
    }

    /// The interface of the group. Where only hosts are sent to, it is the one that leads to the first.
    fn chosen_interface(&self, group: IpAddr) -> Result<Interface, OpenError> {
        let (hosts, multicast) = &self.hosts;
        let first = hosts.first().filter(|_| !multicast && self.interface.is_none());
        match first.and_then(|host| interface_towards(host.ip())) {
            Some(interface) => Ok(interface),
            None => choose_interface(group, self.interface.as_deref()),
        }
    }

    fn settle_interface(&mut self, group: IpAddr) -> Result<(), OpenError> {
        let requested = self.interface.as_deref();
        let chosen = self.chosen_interface(group);
        self.endpoint.awaited = match (&chosen, requested) {
            _ if !self.awaits => None,
            (Ok(found), None) if found.loopback => Some(Awaited::Any),
            (Err(error), Some(requested)) if self.may_come(error) => {
                Some(Awaited::Named(requested.to_owned()))
            }
            _ => None,
        };
        let waits = matches!(self.endpoint.awaited, Some(Awaited::Named(_)));
        let interface = if waits { loopback_interface(group) } else { chosen };
        self.endpoint.interface = Some(interface?);
        Ok(())
    }

    /// Whether an interface that cannot be used now may be there later.
    fn may_come(&self, error: &OpenError) -> bool {
        match error {
            OpenError::InterfaceDown { .. } | OpenError::NoAddress { .. } => true,
            OpenError::NoSuchInterface { .. } => self.awaits_unknown,
            _ => false,
        }
    }

    /// Refuses what can be refused without opening anything: an unusable interface, a segment too
    /// long for its packets or for receivers.
    ///
    /// # Errors
    /// What was refused, and why.
    pub fn check(&self) -> Result<(), JoinError> {
        let group = self.endpoint.group.ip();
        if !group.is_multicast() {
            return Ok(());
        }
        let interface = match self.chosen_interface(group) {
            // What its packets carry shows when it is there.
            Err(error) if self.awaits && self.may_come(&error) => return Ok(()),
            chosen => chosen?,
        };
        let segment = self.sender.segment_size;
        let max = segment::longest(&interface, group).saturating_sub(u32::from(self.beside));
        if u32::from(segment) > max && !(self.fit != Fit::Given && max >= SEGMENT_MIN) {
            return Err(JoinError::SegmentTooLong { segment, mtu: interface.mtu, max });
        }
        let max = ReceiverConfig::default().segment_size_max;
        if segment > max { Err(JoinError::SegmentRefused { segment, max }) } else { Ok(()) }
    }

    /// Settles how long segments are, by what the interface carries.
    pub fn choose_segment(&mut self, endpoint: &Endpoint) {
        let Some(interface) = endpoint.interface() else { return };
        let (wanted, ttl) = (self.sender.segment_size, self.endpoint.ttl);
        let group = endpoint.group().ip();
        let (hosts, _) = &self.hosts;
        let fitting = match self.fit {
            Fit::Given => return,
            Fit::Any if hosts.is_empty() => {
                segment::fitting(wanted, interface, group, (ttl, self.beside))
            }
            // Routers may be between here and a host.
            Fit::Any | Fit::Shorter => segment::shortened(wanted, interface, group, self.beside),
        };
        let links = hosts.iter().filter_map(|host| {
            let mut link = interface_towards(host.ip())?;
            // A tunnel on the way may have no longer packets, and not say so.
            if self.fit == Fit::Any && !segment::is_near(host.ip(), &link) {
                link.mtu = link.mtu.min(segment::MTU_ANYWHERE);
            }
            Some(link)
        });
        let short = links.map(|link| segment::shortened(fitting, &link, group, self.beside)).min();
        self.sender.segment_size = short.unwrap_or(fitting);
    }
}
