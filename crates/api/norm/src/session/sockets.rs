//! Sockets of a session, and how sending and receiving begin and end.

use super::{
    Sending, Session,
    opening::{Hears, Opening, Refusal},
    settings::{FLOW_CONTROL, SenderStart},
};
use crate::{handle::Handle, instance::desk::Desk, log};
use fanfare_proto::{FeedbackPath, OnlyFrom, Time};
use fanfare_udp::{Endpoint, EndpointConfig, OpenError, Role, choose_interface};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl Session {
    /// Its sockets are open.
    pub(crate) fn is_open(&self) -> bool {
        self.opening.open.is_some()
    }

    /// Where it sends from.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.opening.open.map(|(_, local)| local)
    }

    /// The thread takes the sockets over.
    pub(crate) fn take_endpoint(&mut self) -> Option<Endpoint> {
        self.opening.fresh.take()
    }

    /// A setting of the sockets has changed.
    pub(crate) fn on_changed(&mut self) {
        self.opening.changed = self.is_open();
    }

    /// Passes changed settings on. What the system refuses stays as it was.
    pub(crate) fn apply_changes(&mut self, endpoint: &mut Endpoint) {
        if let Some((to, only)) = self.opening.aim.take()
            && let Err(error) = endpoint.aim(to, only)
        {
            log::line(log::ERROR, &format!("NormChangeDestination ({to}): {error}"));
        }
        if !std::mem::take(&mut self.opening.changed) {
            return;
        }
        let settings = &self.settings;
        endpoint.set_dscp(settings.tos >> 2);
        if self.group.ip().is_multicast() {
            let _ = endpoint.set_ttl(settings.ttl);
            let _ = endpoint.set_loopback(settings.loopback || settings.multicast_loopback);
        }
        if let Some(bytes) = settings.tx_buffer {
            let _ = endpoint.set_send_buffer(bytes);
        }
        if let Some(bytes) = settings.rx_buffer {
            let _ = endpoint.set_receive_buffer(bytes);
        }
    }

    /// The port that is listened at.
    pub(crate) fn listening_port(&self) -> u16 {
        if self.is_open() { self.opening.port } else { self.group.port() }
    }

    /// Whether one socket sends and hears: a session with a host whose two ports are the same, or with
    /// port 0, which is any.
    fn is_single(&self) -> bool {
        let port = self.group.port();
        !self.group.ip().is_multicast() && (port == 0 || port == self.settings.tx_port)
    }

    fn endpoint_config(&self, hears: Hears) -> Result<EndpointConfig, OpenError> {
        let (settings, group) = (&self.settings, self.group);
        let multicast = group.ip().is_multicast();
        let interface = match (multicast, settings.interface.as_deref()) {
            (true, named) => Some(choose_interface(group.ip(), named)?),
            (false, _) => None,
        };
        let any: IpAddr = match group {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let default = EndpointConfig::default();
        Ok(EndpointConfig {
            group,
            role: match hears == Hears::Group && !self.is_single() {
                true => Role::Member,
                false => Role::Sender,
            },
            shared_port: self.is_single() && settings.reuse,
            interface,
            source: settings.source.filter(|_| multicast),
            ttl: settings.ttl,
            loopback: settings.loopback || settings.multicast_loopback,
            own: settings.loopback,
            listen: (!multicast).then(|| SocketAddr::new(any, group.port())),
            sending_port: settings.tx_port,
            dscp: settings.tos >> 2,
            receive_buffer: settings.rx_buffer.unwrap_or(default.receive_buffer),
            send_buffer: settings.tx_buffer.unwrap_or(default.send_buffer),
            ..default
        })
    }

    /// Opens its sockets, or opens them anew where they have to hear more.
    fn open(&mut self, hears: Hears) -> Result<(), OpenError> {
        if self.opening.open.is_some_and(|(heard, _)| heard >= hears || self.opening.single) {
            return Ok(());
        }
        let single = self.is_single();
        let config = self.endpoint_config(hears)?;
        let endpoint = Endpoint::open(&config)?;
        let local = endpoint.local_addr().unwrap_or(config.group);
        self.sending.proto.set_address(local);
        self.receiving.proto.set_address(local);
        let port = if single { local.port() } else { self.group.port() };
        let (fresh, open) = (Some(endpoint), Some((hears, local)));
        self.opening = Opening { fresh, open, single, port, ..Opening::default() };
        Ok(())
    }

    /// Begins to send.
    pub(crate) fn start_sender(&mut self, now: Time, start: &SenderStart) -> Result<(), Refusal> {
        let config = self.settings.sender(start).ok_or(Refusal::Argument)?;
        // Whoever sends to a group hears what receivers say there.
        let multicast = self.group.ip().is_multicast() && !self.settings.tx_only;
        let hears = if multicast { Hears::Group } else { Hears::Answers };
        self.open(hears).map_err(Refusal::Open)?;
        self.block = (start.segment, start.source);
        self.sending.proto.start_sender(now, config);
        self.sending.proto.sender().set_repair_cycles(self.settings.flow_control * FLOW_CONTROL);
        self.tx = Sending::default();
        Ok(())
    }

    /// Sends no more: what was not sent is lost.
    pub(crate) fn stop_sender(&mut self, desk: &mut Desk) {
        self.sending.proto.stop_sender();
        self.tx = Sending::default();
        self.acking.stop();
        self.stop_command();
        self.sending.end_objects(desk, None);
    }

    /// Begins to receive, with so many bytes for what is incomplete.
    pub(crate) fn start_receiver(&mut self, space: u32) -> Result<(), Refusal> {
        self.open(Hears::Group).map_err(Refusal::Open)?;
        self.receiving.proto.start_receiver(self.settings.receiver(space));
        self.apply_feedback();
        let only = self.settings.only_from.map(|ip| OnlyFrom { node: None, address: Some(ip) });
        self.receiving.proto.receiver().hear_only(only);
        self.receiving.proto.set_hears_itself(self.settings.loopback);
        Ok(())
    }

    /// Where feedback goes, as the program wants it.
    pub(crate) fn apply_feedback(&mut self) {
        let path = match self.settings.unicast_nacks {
            true => FeedbackPath::Sender,
            false => FeedbackPath::Group,
        };
        self.receiving.proto.set_feedback(path);
    }

    /// Receives no more.
    pub(crate) fn stop_receiver(&mut self, desk: &mut Desk) {
        self.receiving.proto.stop_receiver();
        self.receiving.end_objects(desk, Some(self.handle));
        let nodes: Vec<Handle> = self.by_node.values().copied().collect();
        nodes.into_iter().filter(|node| !self.acking.names(*node)).for_each(|n| desk.end_node(n));
    }

    /// Sends to another place from now on; to another group only before its sockets are open. `only`:
    /// from now on no other host is heard, where one socket sends and hears.
    pub(crate) fn set_group(&mut self, group: SocketAddr, only: bool) -> bool {
        let multicast = self.group.ip().is_multicast();
        if group.ip().is_multicast() != multicast
            || self.is_open() && (multicast || group.is_ipv4() != self.group.is_ipv4())
        {
            return false;
        }
        self.group = group;
        if self.is_open() {
            self.opening.aim = Some((group, only && self.opening.single));
        }
        true
    }
}
