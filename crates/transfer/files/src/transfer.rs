//! A transfer: begun, watched, stopped.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender},
    thread::JoinHandle,
    time::Duration,
};

use fanfare_node::disk::placement::Conflict;
use fanfare_node::{Network, Stopper};
use fanfare_proto::{Bitrate, NodeId};
use fanfare_udp::Interface;

use crate::{
    builder::TransferBuilder,
    engine::Command,
    event::{Finished, TransferEvent},
    send::Slow,
};

/// A node that sends files, receives them, or both. Dropping it stops it.
#[derive(Debug)]
pub struct Transfer {
    pub(crate) id: NodeId,
    pub(crate) group: std::net::SocketAddr,
    pub(crate) interface: Option<Interface>,
    pub(crate) awaited: Option<String>,
    pub(crate) stopper: Stopper,
    pub(crate) commands: SyncSender<Command>,
    pub(crate) events: Option<Receiver<TransferEvent>>,
    pub(crate) thread: Option<JoinHandle<Finished>>,
}

impl Transfer {
    /// Says what is to be done in this network: begin with it.
    #[must_use]
    pub fn over(network: Network) -> TransferBuilder {
        TransferBuilder::new(network)
    }

    /// Its id in the session.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Its group.
    #[must_use]
    pub fn group(&self) -> std::net::SocketAddr {
        self.group
    }

    /// Its interface; `None` in a unicast session.
    #[must_use]
    pub fn interface(&self) -> Option<&Interface> {
        self.interface.as_ref()
    }

    /// The interface that was asked for and is not up yet: nothing is received before it is.
    #[must_use]
    pub fn awaited(&self) -> Option<&str> {
        self.awaited.as_deref()
    }

    /// Something that stops it, for another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    fn command(&self, command: Command) {
        // Full: so many changes wait already, or the node has ended.
        let _ = self.commands.try_send(command);
        self.stopper.wake();
    }

    /// Sends at this rate from now on.
    pub fn set_rate(&self, rate: Bitrate) {
        self.command(Command::Rate(rate));
    }

    /// [`Self::set_rate`] for another thread.
    pub fn rate_setter(&self) -> impl Fn(Bitrate) + Send + use<> {
        let (commands, stopper) = (self.commands.clone(), self.stopper.clone());
        move |rate| {
            // As above.
            let _ = commands.try_send(Command::Rate(rate));
            stopper.wake();
        }
    }

    /// Treats receivers that get less than the others so from now on.
    pub fn set_slow(&self, slow: Slow) {
        self.command(Command::Slow(slow));
    }

    /// Starts to send to the receivers that are there, and waits for no others. Where none is there,
    /// nothing changes.
    pub fn start_now(&self) {
        self.command(Command::StartNow);
    }

    /// Treats files that are there already so, from the next that has come on.
    pub fn set_conflict(&self, conflict: Conflict) {
        self.command(Command::Conflict(conflict));
    }

    /// The next event; waits for it. Errors: nothing came in time, or the node has ended and
    /// everything was told.
    pub fn next_event(&self, timeout: Duration) -> Result<TransferEvent, RecvTimeoutError> {
        match &self.events {
            Some(events) => events.recv_timeout(timeout),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// All events until it ends, each as it comes.
    pub fn events(&self) -> impl Iterator<Item = TransferEvent> {
        self.events.iter().flatten()
    }

    /// Asks it to tell the others and to end.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits until it has ended. Events not fetched are lost.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        self.events = None;
        let finished = self.thread.take().map(JoinHandle::join);
        match finished {
            Some(Ok(finished)) => finished,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Finished::default(),
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.events = None;
        if let Some(thread) = self.thread.take() {
            self.stopper.stop();
            // A panic in the thread has said so already.
            let _ = thread.join();
        }
    }
}
