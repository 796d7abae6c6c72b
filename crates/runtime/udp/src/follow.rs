//! Follows the interface of an endpoint: it goes, comes back, gets another address, or comes for
//! the first time.

use std::net::{IpAddr, SocketAddr};

use super::config::Awaited;
use crate::{
    choice::choose,
    config::{EndpointConfig, Role},
    endpoint::Endpoint,
    error::OpenError,
    interface::{Interface, again, interfaces},
};

/// What has become of the interface since it was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that matters.
    None,
    /// It is down, or has gone: nothing is sent or received for now.
    Down,
    /// It is up again, as it was.
    Up,
    /// The sockets were opened anew: it has another address or number, or is there at last.
    Moved,
}

impl Endpoint {
    /// Looks whether the interface is as it was. Where it has come back under another number or
    /// address, as a radio on USB does or after DHCP, opens the sockets there anew and joins what was
    /// joined. Feedback then comes to another [`Self::local_addr`]. While nothing has changed that costs
    /// one system call. Does nothing for a unicast address.
    ///
    /// Errors: what came back cannot be used, or not yet; nothing has changed, and it can be asked again.
    pub fn follow(&mut self) -> Result<Change, OpenError> {
        // Who sends to single hosts alone goes by whatever interface leads there.
        let leaves_it = self.config.direct && self.config.role == Role::Sender;
        if leaves_it || self.interface.is_none() || !self.config.group.ip().is_multicast() {
            return Ok(Change::None);
        }
        if !(self.has_news() || self.unsettled) {
            return Ok(Change::None);
        }
        self.unsettled = true;
        let all = interfaces().map_err(|source| OpenError::Enumerate { source })?;
        let change = match self.config.awaited.clone() {
            Some(awaited) => self.look_for(all, &awaited)?,
            None => self.look_after(&all)?,
        };
        self.unsettled = false;
        Ok(change)
    }

    /// Where the interface that is waited for has come, goes there.
    fn look_for(&mut self, all: Vec<Interface>, awaited: &Awaited) -> Result<Change, OpenError> {
        let group = self.config.group.ip();
        let requested = match awaited {
            Awaited::Any => None,
            Awaited::Named(name) => Some(name.as_str()),
        };
        let route = || crate::choice::route_source(group);
        match choose(all, group, requested, route) {
            Ok(found) if requested.is_some() || !found.loopback => self.move_to(found),
            Ok(_) | Err(_) => Ok(Change::None),
        }
    }

    fn look_after(&mut self, all: &[Interface]) -> Result<Change, OpenError> {
        let group = self.config.group.ip();
        let Some(old) = self.interface.clone() else { return Ok(Change::None) };
        let same = all.iter().find(|one| one.index == old.index && one.serves(group));
        if let Some(one) = same {
            if self.sends_from(one) {
                return Ok(self.set_up(true));
            }
            return self.move_to(one.clone());
        }
        match again(&old, all, group) {
            Some(new) => self.move_to(new.clone()),
            None => Ok(self.set_up(false)),
        }
    }

    /// Whether the sockets' own address is one of this interface, or all addresses are theirs and the
    /// interface still has the one that it had.
    fn sends_from(&self, interface: &Interface) -> bool {
        let own = self.local_addr().map(|own| own.ip());
        own.is_ok_and(|own| interface.addresses.contains(&own))
    }

    fn set_up(&mut self, up: bool) -> Change {
        match (std::mem::replace(&mut self.up, up), up) {
            (true, false) => Change::Down,
            (false, true) => Change::Up,
            _ => Change::None,
        }
    }

    fn move_to(&mut self, new: Interface) -> Result<Change, OpenError> {
        let old_index = self.interface.as_ref().map_or(0, |old| old.index);
        let moved = |group: SocketAddr| match group {
            SocketAddr::V6(mut v6) if v6.scope_id() == old_index => {
                v6.set_scope_id(new.index);
                SocketAddr::V6(v6)
            }
            other => other,
        };
        let joined: Vec<SocketAddr> = self.groups.iter().map(|group| moved(group.group)).collect();
        let layers: Vec<SocketAddr> = self.layers.groups().map(moved).collect();
        let (group, waited) = (moved(self.config.group), self.config.awaited.is_some());
        let interface = Some(new.clone());
        let config = EndpointConfig { group, interface, awaited: None, ..self.config.clone() };
        let mut anew = Self::open(&config)?;
        for group in &joined {
            anew.join(*group)?;
        }
        if !waited {
            anew.groups.retain(|group| joined.contains(&group.group));
        }
        for group in layers {
            anew.join_layer(group)?;
        }
        anew.past_overruns = self.overruns();
        *self = anew;
        Ok(Change::Moved)
    }
}

/// The loopback interface, where one waits for another.
pub fn loopback_interface(group: IpAddr) -> Result<Interface, OpenError> {
    let all = interfaces().map_err(|source| OpenError::Enumerate { source })?;
    let found = all.into_iter().find(|one| one.loopback && one.serves(group));
    found.ok_or(OpenError::NoInterface { group })
}
