//! What a link tells its application.

use std::{net::SocketAddr, time::Duration};

/// Something has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// There is a connection.
    Connected {
        /// Where the other end is.
        address: SocketAddr,
        /// Both ends go on where they were.
        resumed: bool,
        /// The round trip of the handshake.
        round_trip: Duration,
    },
    /// Nothing was heard for two keep-alives.
    Quiet,
    /// It is heard again, after so long.
    Heard(Duration),
    /// The other end has another address, and has answered there.
    Moved {
        /// Before.
        from: SocketAddr,
        /// Now.
        to: SocketAddr,
    },
    /// The connection is gone, for this reason. What waits is kept for a while.
    Lost(String),
    /// A connection could not be made, for this reason. It is tried again.
    Failed(String),
    /// The same, because one end does not accept the other's key.
    Refused(String),
    /// The other end was started anew: everything of before is over.
    Restarted,
    /// There was no connection for so long that nothing is kept any more.
    Ended,
}

impl Event {
    /// Its stable name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Connected { .. } => "connected",
            Self::Quiet => "quiet",
            Self::Heard(_) => "heard",
            Self::Moved { .. } => "moved",
            Self::Lost(_) => "lost",
            Self::Failed(_) | Self::Refused(_) => "failed",
            Self::Restarted => "restarted",
            Self::Ended => "ended",
        }
    }
}
