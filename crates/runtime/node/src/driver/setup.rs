//! What a driver is made of, and its start.

use std::{io, net::SocketAddr, sync::mpsc::Receiver, thread::JoinHandle};

use fanfare_proto::Bitrate;
use fanfare_udp::Endpoint;

use super::{Driver, all_ready};
use crate::{
    clock::Clock, engine::Engine, fanout::Fanout, moderation::Moderation, outbox::Outbox,
    outgoing::Outgoing, reading::Reading, sealed::Sealed, serving::Serving, stopper::Stopper,
    test_drop::TestDrop, waker::Waker,
};

/// What a driver is given.
#[derive(Debug)]
pub struct Setup<E: Engine> {
    /// The clock that the engine was made by.
    pub clock: Clock,
    /// What it drives.
    pub engine: E,
    /// Its sockets.
    pub endpoint: Endpoint,
    /// Where events go.
    pub outbox: Outbox<E::Event>,
    /// Where commands come from.
    pub commands: Receiver<E::Command>,
    /// What wakes it.
    pub waker: Waker,
    /// Bytes of a full message, which decides how many go in one system call.
    pub message_size: usize,
    /// What is between its sockets and its engine: [`crate::Network::wiring`].
    pub wiring: Wiring,
}

/// What is between sockets and engine, by the network that the node takes part in.
#[derive(Debug)]
pub struct Wiring {
    pub(crate) sealed: Sealed,
    /// Where what is for the group goes: single hosts, and whether to the group's address, too.
    pub(crate) hosts: (Vec<SocketAddr>, bool),
    /// Each of them is sent everything from here.
    pub(crate) copies_only: bool,
    /// Nobody answers.
    pub(crate) one_way: bool,
    /// Hosts that do not hear the group are looked for.
    pub(crate) finds_deaf: bool,
    /// Hosts that knock are let in.
    pub(crate) lets_in: bool,
    /// The sender's node id, and the rate that it may use at most.
    pub(crate) node: u32,
    pub(crate) most: Bitrate,
    pub(crate) serving: Serving,
    pub(crate) test_drop: TestDrop,
}

impl<E: Engine + Send + 'static> Setup<E>
where
    E::Command: Send,
    E::Event: Send,
    E::Report: Send,
{
    /// Starts the driver's thread under this name.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(self, name: &str) -> io::Result<(JoinHandle<E::Report>, Stopper)> {
        let stopper = Stopper::new(self.waker);
        let now = self.clock.now();
        let is_multicast = self.endpoint.group().ip().is_multicast();
        let Wiring { sealed, hosts, copies_only, one_way, .. } = self.wiring;
        let Wiring { finds_deaf, lets_in, node, most, serving, test_drop, .. } = self.wiring;
        let mut serving = serving;
        serving.on_open(&self.endpoint);
        let segment_size = self.message_size + sealed.overhead();
        let (hosts, multicast) = hosts;
        let mut fanout = Fanout::new(self.endpoint.group(), node, multicast || hosts.is_empty());
        if !hosts.is_empty() && is_multicast {
            match one_way {
                true => fanout.push_to(&hosts, most, now),
                false => fanout.name(&hosts, most, now),
            }
        }
        let mut outgoing = Outgoing::new(&self.endpoint, segment_size, fanout);
        if copies_only {
            outgoing.fanout.copy_only();
        }
        if let Some(everybody) = self.endpoint.broadcast().filter(|_| finds_deaf) {
            outgoing.fanout.call(everybody, most);
        }
        if lets_in && is_multicast {
            outgoing.fanout.let_in(most);
        }
        let driver = Driver {
            clock: self.clock,
            engine: self.engine,
            outbox: self.outbox,
            commands: self.commands,
            stopper: stopper.clone(),
            ready: all_ready(),
            moderation: Moderation::new(self.endpoint.receive_room(), now),
            outgoing,
            sealed,
            serving,
            endpoint: self.endpoint,
            test_drop,
            reading: Reading::new(now),
            next_overruns: now,
            next_look: is_multicast.then_some(now),
            shortest: usize::MAX,
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        Ok((thread.spawn(move || driver.run())?, stopper))
    }
}
