//! The sockets of a session, as far as calls know them, and why there are none.

use std::net::SocketAddr;

use fanfare_udp::{Endpoint, OpenError};

/// Why a session does not begin.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// What the program asked for there is not.
    Argument,
    /// The system, or the network, says no.
    Open(OpenError),
}

/// The sockets, as far as the calls of a program know them.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// Opened by a call, and not yet taken over by the thread.
    pub(super) fresh: Option<Endpoint>,
    /// What they hear and where they send from, once they are open.
    pub(super) open: Option<(Hears, SocketAddr)>,
    /// One socket sends and hears: of a session with a single host, where the program wants it so.
    pub(super) single: bool,
    /// The port that is listened at.
    pub(super) port: u16,
    /// Another host to send to, and whether nobody else is heard, for the thread to pass on.
    pub(super) aim: Option<(SocketAddr, bool)>,
    /// Settings that the thread has to pass on.
    pub(super) changed: bool,
}

/// What sockets hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hears {
    Answers,
    Group,
}

impl Opening {
    pub(crate) fn has_news(&self) -> bool {
        self.fresh.is_some() || self.changed || self.aim.is_some()
    }
}
