//! An endpoint: the sockets of one node in one group.

use rustix::fd::{AsFd, BorrowedFd};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fanfare_wire::units::Ecn;

use super::config::Awaited;
use crate::{
    choice::{choose_interface, interface_towards, route_source},
    config::{EndpointConfig, Role, check},
    direct::{self, DirectSocket},
    error::OpenError,
    group::{GroupSocket, scoped},
    interface::Interface,
    layers::Layers,
    receive::{self, Buffers, RecvMeta, Via},
    transmit::Transmitter,
    wait::{self, Ready},
};

/// Peers that are spoken to from the machine's port: hosts of some transfers, of 64 each.
const SPOKEN_MAX: usize = 256;

/// The sockets of one node in one group.
///
/// One socket per group, bound to the group's address, only receives. Another is bound to the
/// interface's own address with a port of its own; everything is sent from there, so unicast
/// feedback comes back there and cannot be taken by another program that shares the group's port.
///
/// With a unicast address for a group, a [`Role::Member`] is its receiver and has the port to
/// itself: a second one on the same machine gets [`OpenError::Bind`]. If the address belongs to
/// another machine, the endpoint only sends to it.
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) config: EndpointConfig,
    pub(crate) interface: Option<Interface>,
    pub(crate) transmitter: Transmitter,
    pub(crate) groups: Vec<GroupSocket>,
    pub(crate) layers: Layers,
    /// Hears what is sent to this machine alone, where that is wanted.
    pub(crate) direct: Option<DirectSocket>,
    /// Peers that are spoken to from the machine's port, the oldest first.
    pub(crate) by_machine: VecDeque<SocketAddr>,
    buffers: Buffers,
    /// Drops counted on groups that have been left since.
    pub(crate) past_overruns: u64,
    /// Tells of changed interfaces; `None` where the system does not let it.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    watch: Option<crate::watch::Watch>,
    /// The interface was up when it was looked at last.
    pub(crate) up: bool,
    /// It has to be looked at, whether or not there is news.
    pub(crate) unsettled: bool,
}

impl Endpoint {
    /// Opens the sockets and joins the group.
    pub fn open(config: &EndpointConfig) -> Result<Self, OpenError> {
        check(config)?;
        // First, so that no change is missed.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let watch = config.group.ip().is_multicast().then(crate::watch::Watch::open);
        let (interface, groups) = if config.group.ip().is_multicast() {
            open_multicast(config)?
        } else {
            (config.interface.clone(), open_unicast(config)?)
        };
        let local = sending_address(config, interface.as_ref(), !groups.is_empty())?;
        let transmitter = Transmitter::open(config, interface.as_ref(), local)?;
        let own = own_address(config, &transmitter, interface.as_ref());
        refuse_own(config, own, interface.as_ref(), &groups);
        let hears_direct = !cfg!(windows)
            && config.hears_direct
            && config.role == Role::Member
            && config.group.ip().is_multicast();
        Ok(Self {
            direct: hears_direct.then(|| DirectSocket::open(config, interface.as_ref())).flatten(),
            by_machine: VecDeque::new(),
            transmitter,
            buffers: Buffers::new(config.gro),
            config: config.clone(),
            interface,
            groups,
            layers: Layers::default(),
            past_overruns: 0,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            watch: watch.and_then(Result::ok),
            up: true,
            unsettled: true,
        })
    }

    /// Sends `bytes` to `to` as datagrams of `segment_size` bytes each, the last one with the rest,
    /// and returns how many bytes went out: all, or whole segments up to where the socket was full.
    ///
    /// Errors come only if nothing went out: `WouldBlock` from a full socket (see
    /// [`Self::wait_for_space`]); the system's own otherwise, such as a segment longer than the
    /// link takes, since datagrams are never fragmented here, or a network that is unreachable,
    /// as IPv6 multicast is on Linux's loopback interface unless a route to it is set up.
    ///
    /// # Panics
    /// If `segment_size` is 0.
    pub fn send(
        &self,
        to: SocketAddr,
        segment_size: usize,
        ecn: Option<Ecn>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        match self.direct.as_ref().filter(|_| self.by_machine.contains(&to)) {
            Some(direct) => direct.send(to, segment_size, bytes),
            None => self.transmitter.send(to, segment_size, ecn, bytes),
        }
    }

    /// True if everything to this peer leaves from the machine's port at the group, where its questions come
    /// to, instead of this endpoint's own. Firewalls and routers that translate addresses let in what leaves
    /// from the port that was asked. At most 256 peers; the oldest gives way. Costs one system call for each
    /// datagram, and has no ECN mark. Without effect where no such socket is open
    /// ([`crate::EndpointConfig::hears_direct`]).
    pub fn speak_by_machine(&mut self, to: SocketAddr, by_machine: bool) {
        let known = self.by_machine.iter().position(|peer| *peer == to);
        match (known, by_machine) {
            (Some(at), false) => drop(self.by_machine.remove(at)),
            (None, true) => {
                if self.by_machine.len() >= SPOKEN_MAX {
                    self.by_machine.pop_front();
                }
                self.by_machine.push_back(to);
            }
            (Some(_), true) | (None, false) => {}
        }
    }

    /// Sends one datagram from the socket that hears what is sent to this machine alone, from the port that
    /// a question came to: firewalls let such an answer in. False where there is no such socket.
    pub fn answer(&self, to: SocketAddr, bytes: &[u8]) -> bool {
        let Some(direct) = &self.direct else { return false };
        direct.receive_socket.socket.send_to(bytes, &to.into()).is_ok()
    }

    /// The interface that somebody chose, for asking what leads there.
    pub fn chosen_interface(&self) -> ChosenInterface {
        ChosenInterface(self.interface.clone().filter(|_| self.config.only_interface))
    }

    /// The one source that is heard, where there is one.
    pub fn source(&self) -> Option<IpAddr> {
        self.config.source
    }

    /// Gives `each` the datagrams that have come, a bounded number per socket, and returns how many
    /// there were. Never blocks; 0 means there was nothing.
    ///
    /// The bytes are lent from the buffer in which the kernel put them.
    pub fn receive(&mut self, mut each: impl FnMut(&RecvMeta, &[u8])) -> io::Result<usize> {
        let all = Ready { group: true, layers: true, unicast: true, ..Ready::default() };
        self.receive_runs(all, |meta, run, stride| {
            receive::cut(run, stride, |datagram| each(meta, datagram));
        })
    }

    /// As [`Self::receive`], from those sockets alone that a wait has found `ready`, and whole runs
    /// as the kernel joined them: bytes, and the length of each datagram in them but the last, which
    /// has the rest.
    pub fn receive_runs(
        &mut self,
        ready: Ready,
        mut each: impl FnMut(&RecvMeta, &[u8], usize),
    ) -> io::Result<usize> {
        // Feedback first: it is little, and the sender's rate hangs on it.
        let mut count = match ready.unicast {
            true => {
                self.buffers.drain(&self.transmitter.receive_socket, Via::Unicast, &mut each)?
            }
            false => 0,
        };
        for group in self.groups.iter().filter(|_| ready.group) {
            // Where a socket is not bound to its group, it hears what is sent to this machine, too.
            let hears_direct = self.config.hears_direct;
            let only = self.interface.as_ref().filter(|_| self.config.only_interface);
            let (source, heard_hosts) = (self.config.source, &self.config.heard_hosts);
            let mut each = |meta: &RecvMeta, run: &[u8], stride: usize| match meta.destination {
                Some(own) if cfg!(windows) && group.is_group() && !own.is_multicast() => {
                    let heard = direct::hears(only, source, meta);
                    if hears_direct && heard && heard_hosts.has(meta.source.ip()) {
                        each(&RecvMeta { via: Via::Direct, ..*meta }, run, stride);
                    }
                }
                _ => each(meta, run, stride),
            };
            match self.buffers.drain(&group.receive_socket, Via::Group(group.group), &mut each) {
                Ok(more) => count += more,
                Err(_) if count > 0 => break,
                Err(error) => return Err(error),
            }
        }
        if let Some(direct) = self.direct.as_mut().filter(|_| ready.group) {
            match direct.drain(&mut self.buffers, &mut each) {
                Ok(more) => count += more,
                Err(_) if count > 0 => {}
                Err(error) => return Err(error),
            }
        }
        for receive_socket in self.layers.inlets().filter(|_| ready.layers) {
            match self.buffers.drain(receive_socket, Via::Layers, &mut each) {
                Ok(more) => count += more,
                Err(_) if count > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Waits until a datagram can be received, `waker` is readable or the time is up; for ever
    /// without a `timeout`. A signal ends it too, with nothing ready.
    pub fn wait(
        &self,
        timeout: Option<Duration>,
        waker: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ready> {
        self.wait_on(false, timeout, waker)
    }

    /// Waits for time or for `waker` alone: what comes meanwhile is not waited for, and nobody spends
    /// time on waking this thread for it. All sockets are said to be ready then.
    pub fn pause(&self, time: Duration, waker: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
        let woken = wait::pause(waker, time)?;
        Ok(Ready { group: true, layers: true, unicast: true, woken, ..Ready::default() })
    }

    /// As [`Self::wait`], and ends too when [`Self::send`] can go on.
    pub fn wait_for_space(
        &self,
        timeout: Option<Duration>,
        waker: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ready> {
        self.wait_on(true, timeout, waker)
    }

    fn wait_on(
        &self,
        for_space: bool,
        timeout: Option<Duration>,
        waker: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ready> {
        let direct = self.direct.iter().flat_map(|direct| {
            let bus = direct.bus.iter().map(|bus| bus.socket.as_fd());
            bus.chain([direct.receive_socket.socket.as_fd()])
        });
        let groups = self.groups.iter().map(|group| group.receive_socket.socket.as_fd());
        let groups = groups.chain(direct);
        let layers = self.layers.inlets().map(|receive_socket| receive_socket.socket.as_fd());
        let sending = self.transmitter.receive_socket.socket.as_fd();
        wait::wait((sending, for_space), waker, self.watched(), (groups, layers), timeout)
    }

    /// Hears one more group on the same interface, by a socket of its own; the port may differ.
    /// Does nothing if it is heard already.
    pub fn join(&mut self, group: SocketAddr) -> Result<(), OpenError> {
        if self.groups.iter().any(|joined| joined.group == group) {
            return Ok(());
        }
        let interface = self.interface_for(group)?;
        self.groups.push(GroupSocket::join(group, &interface, &self.config)?);
        let own = self.local_addr().ok();
        refuse_own(&self.config, own, self.interface.as_ref(), &self.groups);
        Ok(())
    }

    /// Stops hearing a group. Datagrams of it that were not yet received are lost. Returns whether
    /// it was heard.
    pub fn leave(&mut self, group: SocketAddr) -> bool {
        let Some(at) = self.groups.iter().position(|joined| joined.group == group) else {
            return false;
        };
        self.past_overruns += self.groups.remove(at).receive_socket.drops();
        true
    }

    /// Whether the interfaces of this machine may have changed; true where the system does not tell.
    pub(crate) fn has_news(&self) -> bool {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        return self.watch.as_ref().is_none_or(crate::watch::Watch::has_changed);
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        true
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(|watch| watch.socket.as_fd())
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn watched(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn interface_for(&self, group: SocketAddr) -> Result<Interface, OpenError> {
        match &self.interface {
            Some(interface) => Ok(interface.clone()),
            None => choose_interface(group.ip(), None),
        }
    }

    /// Hears one more group of layers on the same interface, by a socket that hears several. Does
    /// nothing if it is heard already.
    pub fn join_layer(&mut self, group: SocketAddr) -> Result<(), OpenError> {
        let interface = self.interface_for(group)?;
        let sockets = self.layers.inlets().count();
        self.layers.join(group, &interface, &self.config)?;
        // Of several sockets of a port the one that was opened last hears what is sent to this machine.
        if self.direct.is_some() && self.layers.inlets().count() > sockets {
            self.direct = DirectSocket::open(&self.config, self.interface.as_ref());
        }
        Ok(())
    }

    /// Stops hearing a group of layers. Datagrams of it that have come may still be received.
    pub fn leave_layer(&mut self, group: SocketAddr) {
        if let Ok(interface) = self.interface_for(group) {
            self.layers.leave(group, &interface, &self.config);
        }
    }

    /// How many sockets hear groups of layers.
    pub fn layer_sockets(&self) -> usize {
        self.layers.inlets().count()
    }

    /// The address and port from which everything is sent to the group, to which feedback comes.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        own_address(&self.config, &self.transmitter, self.interface.as_ref())
            .ok_or(io::ErrorKind::Other.into())
    }

    /// The group it was opened for.
    pub fn group(&self) -> SocketAddr {
        self.config.group
    }

    /// The interface in use; `None` for a unicast address without a given interface.
    pub fn interface(&self) -> Option<&Interface> {
        self.interface.as_ref()
    }

    /// What it waits for on the loopback interface, if it does.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.config.awaited.as_ref()
    }

    /// What the system dropped because it was not received in time, all sockets together since
    /// opening. A run that the kernel had coalesced counts as one, so with GRO a count may stand
    /// for up to 64 datagrams. Always 0 where the system does not tell (all but Linux and Android).
    pub fn overruns(&self) -> u64 {
        let counted = self.groups.iter().filter(|_| self.config.own);
        let groups: u64 = counted.map(|group| group.receive_socket.drops()).sum();
        let layers = self.layers.overruns();
        let direct = self.direct.as_ref().map_or(0, |direct| direct.receive_socket.drops());
        self.past_overruns + direct + groups + layers + self.transmitter.receive_socket.drops()
    }

    /// Invitations that were not passed on to other programs of this machine, because there were too many.
    pub fn not_passed_on(&self) -> u64 {
        let bus = self.direct.as_ref().and_then(|direct| direct.bus.as_ref());
        bus.map_or(0, |bus| bus.dropped)
    }

    /// Bytes that the system keeps until they are received, of the socket that keeps least. It counts what
    /// it spends beside the content.
    pub fn receive_room(&self) -> usize {
        let groups = self.groups.iter().map(|group| &group.receive_socket);
        let rooms =
            groups.filter_map(|receive_socket| receive_socket.socket.recv_buffer_size().ok());
        rooms.min().unwrap_or(self.config.receive_buffer)
    }

    /// Segments of `segment_size` bytes that one system call sends. A good batch is a multiple of
    /// it; 1 where the kernel does not cut segments or refused to.
    pub fn max_gso_segments(&self, segment_size: usize) -> usize {
        self.transmitter.segments_per_call(segment_size)
    }
}

/// An interface that somebody chose to listen to, if it was chosen.
#[derive(Clone, Debug, Default)]
pub struct ChosenInterface(Option<Interface>);

impl ChosenInterface {
    /// True if the route to this address leaves by it, and where none was chosen. Costs a few system
    /// calls.
    #[must_use]
    pub fn leads_to(&self, address: IpAddr) -> bool {
        self.0.as_ref().is_none_or(|chosen| {
            let own = chosen.addresses.contains(&address);
            own || interface_towards(address).is_some_and(|there| there.index == chosen.index)
        })
    }
}

/// Refuses datagrams of its own in the kernel. The session drops what is not refused here: it only costs.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn refuse_own(
    config: &EndpointConfig,
    own: Option<SocketAddr>,
    interface: Option<&Interface>,
    groups: &[GroupSocket],
) {
    let own = own.filter(|_| !config.own);
    let interface = interface.filter(|_| config.group.is_ipv6()).map(|interface| interface.index);
    if config.group.ip().is_multicast() && (own.is_some() || interface.is_some()) {
        for group in groups {
            let _ = crate::filter::refuse(&group.receive_socket.socket, own, interface);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn refuse_own(_: &EndpointConfig, _: Option<SocketAddr>, _: Option<&Interface>, _: &[GroupSocket]) {
}

/// Where what is sent to the group comes from: what the socket is bound to, or the interface's address
/// where that is every address.
fn own_address(
    config: &EndpointConfig,
    transmitter: &Transmitter,
    interface: Option<&Interface>,
) -> Option<SocketAddr> {
    let bound = transmitter.receive_socket.socket.local_addr().ok()?.as_socket()?;
    let chosen = interface.and_then(|one| one.address_towards(config.group.ip()));
    match chosen.filter(|_| bound.ip().is_unspecified()) {
        Some(address) => Some(SocketAddr::new(address, bound.port())),
        None => Some(bound),
    }
}

fn open_multicast(
    config: &EndpointConfig,
) -> Result<(Option<Interface>, Vec<GroupSocket>), OpenError> {
    let interface = match &config.interface {
        Some(interface) => interface.clone(),
        None => choose_interface(config.group.ip(), None)?,
    };
    let groups = match config.role {
        // Somewhere else is meant.
        _ if matches!(config.awaited, Some(Awaited::Named(_))) => Vec::new(),
        Role::Member => vec![GroupSocket::join(config.group, &interface, config)?],
        Role::Sender => Vec::new(),
    };
    Ok((Some(interface), groups))
}

fn open_unicast(config: &EndpointConfig) -> Result<Vec<GroupSocket>, OpenError> {
    if config.role == Role::Sender {
        return Ok(Vec::new());
    }
    match GroupSocket::bind_unicast(config.listen.unwrap_or(config.group), config) {
        Ok(socket) => Ok(vec![socket]),
        Err(OpenError::Bind { source, .. }) if source.kind() == io::ErrorKind::AddrNotAvailable => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// Any, where single hosts are sent to over whatever interface leads there. Else the interface's
/// address; without one the receiver's own, or the one the route would use.
fn sending_address(
    config: &EndpointConfig,
    interface: Option<&Interface>,
    group_is_ours: bool,
) -> Result<SocketAddr, OpenError> {
    let group = config.group.ip();
    let any: IpAddr = match group {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    if config.direct && group.is_multicast() {
        return Ok(SocketAddr::new(any, config.sending_port));
    }
    if let Some(interface) = interface {
        let address = interface.address_towards(group).ok_or_else(|| OpenError::NoAddress {
            interface: interface.name.clone(),
            group,
            usable: Vec::new(),
        })?;
        return Ok(scoped(SocketAddr::new(address, config.sending_port), interface));
    }
    let group_is_ours = group_is_ours && config.listen.is_none();
    let address = if group_is_ours { group } else { route_source(group).unwrap_or(any) };
    // A link-local address keeps the scope that the user gave with the destination.
    let mut local = config.group;
    local.set_ip(address);
    local.set_port(config.sending_port);
    Ok(local)
}
