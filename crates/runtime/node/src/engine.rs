//! What a driver drives, and what the two tell each other.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use crate::serve::Chunk;
use fanfare_proto::{ObjectKey, RecvMeta, Time, Transmit};
use fanfare_udp::Endpoint;

use crate::outbox::Outbox;

/// What a driver drives: a protocol machine with its storage, and what is made of its events.
pub trait Engine {
    /// What an application asks of it.
    type Command;
    /// What it tells an application; a driver's own troubles among it.
    type Event: From<Trouble>;
    /// What it came to.
    type Report;

    /// A run of datagrams arrived, each `stride` bytes long but for the last.
    fn handle_datagrams(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize);
    /// A datagram has come alone: of a layer, or about layers? True when it was taken. `epoch`: the
    /// driver's time zero by the system's clock, since 1970.
    fn take_layered(
        &mut self,
        _at: (Time, Duration),
        _told: &fanfare_udp::RecvMeta,
        _datagram: &[u8],
    ) -> bool {
        false
    }
    /// Receivers pass on to each other from now on: messages go by other ways, and answers take longer.
    fn on_other_ways(&mut self) {}
    /// Messages go in shorter fragments from now on, as a path has a smaller MTU. What was measured before is
    /// of messages that could not arrive.
    fn on_short_path(&mut self) {}
    /// Something that came proved wrong: whoever passed it on is to blame.
    fn take_wrong(&mut self) -> Option<Wrong> {
        None
    }
    /// Whether it sends to a receiver at this address that has answered it. An engine that does not know
    /// its receivers takes everybody for one.
    fn knows_receiver(&self, _address: IpAddr) -> bool {
        true
    }
    /// Something arrived in this turn. Gives true when it wants to be told of overruns.
    fn on_heard(&mut self, now: Time) -> bool;
    /// So many runs of datagrams has the system dropped so far.
    fn set_overruns(&mut self, overruns: u64);
    /// This machine is so far behind with its reading.
    fn set_behind(&mut self, behind: Duration);
    /// What it sends goes out from another address now.
    fn set_address(&mut self, address: SocketAddr);
    /// The application asks for something.
    fn obey(&mut self, now: Time, command: Self::Command);
    /// It is to tell the others and to end.
    fn stop(&mut self, now: Time, endpoint: &mut Endpoint);
    /// Time has passed.
    fn handle_timeout(&mut self, now: Time);
    /// Makes something of what has happened.
    fn react(&mut self, now: Time, endpoint: &mut Endpoint, outbox: &mut Outbox<Self::Event>);
    /// As [`fanfare_proto::Session::poll_transmit`].
    fn poll_transmit(&mut self, now: Time, max: usize, buf: &mut Vec<u8>) -> Option<Transmit>;
    /// When time will have passed.
    fn next_timeout(&self) -> Option<Time>;
    /// Whether there is nothing more to do.
    fn is_done(&self) -> bool;
    /// What it came to.
    fn report(self, sockets: SocketReport) -> Self::Report;
}

/// Pieces of an object that proved wrong, each by a hash of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Which object, of which sender.
    pub key: ObjectKey,
    /// The symbols of each piece.
    pub pieces: Vec<Vec<Chunk>>,
}

/// What a driver cannot mend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// So many events were lost because they were not fetched in time.
    Overrun(u64),
    /// The system refuses to send, and says this.
    SendRefused(String),
    /// Nothing can be received, or waited for, for now: the system says this.
    ReceiveFailed(String),
    /// The interface of this name is there, with another address or number, again or at last: the group
    /// is joined on it.
    Rejoined(String),
    /// The interface of this name is down, or gone.
    InterfaceDown(String),
    /// The interface of this name is up again, as it was.
    InterfaceUp(String),
    /// A single host does not hear the group, or hears it again.
    Reach {
        /// Stable name of which.
        code: &'static str,
        /// What people read.
        text: String,
    },
    /// Datagrams were dropped because of keys.
    NotOpened {
        /// Stable name of the reason.
        code: &'static str,
        /// What people read.
        text: String,
        /// Keys, clocks or options have to be changed somewhere.
        mistake: bool,
    },
}

/// What a driver counts beside its engine.
#[derive(Debug, Clone, Copy)]
pub struct SocketReport {
    /// Datagrams that the system has dropped because they were not read in time.
    pub overruns: u64,
    /// Datagrams that were dropped on purpose.
    pub test_dropped: u64,
}
