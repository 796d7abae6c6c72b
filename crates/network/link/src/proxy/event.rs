//! What a proxy tells whoever runs it.

use std::{net::SocketAddr, sync::Arc};

use crate::proxy::{code::Code, destination::Destination, relay::How};

/// Something has happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A client asks for a connection.
    Open {
        /// Names the connection from now on.
        id: u64,
        /// Who asks: a client's address, or a peer's name at the far side.
        client: String,
        /// Where to.
        destination: Destination,
        /// By which peer; none: directly.
        peer: Option<String>,
        /// What carries it: `quic`, `norm` or `direct`.
        carrier: &'static str,
    },
    /// It was answered.
    Reply {
        /// Which connection.
        id: u64,
        /// How.
        code: Code,
        /// Why the policy refuses it, if it does.
        reason: Option<&'static str>,
    },
    /// It is over.
    Close {
        /// Which connection.
        id: u64,
        /// Bytes to the other end.
        bytes_up: u64,
        /// Bytes from the other end.
        bytes_down: u64,
        /// How long it was there.
        seconds: f64,
        /// How it ended.
        how: How,
    },
    /// The link does not answer: this connection goes directly.
    Fallback {
        /// Which connection.
        id: u64,
        /// The peer that it should have gone by.
        peer: String,
    },
    /// No file descriptor is left: new connections wait at the near side, and are refused at the far
    /// side.
    Exhausted,
    /// Something was refused before it was a request.
    Refused {
        /// Who it was.
        client: SocketAddr,
        /// Why: a stable name.
        reason: &'static str,
    },
}

/// Who is told.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(Event) + Send + Sync>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

impl Default for Listener {
    fn default() -> Self {
        Self(Arc::new(|_| {}))
    }
}

impl Listener {
    /// This function is called with each event. It must not block.
    pub fn new(listener: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Tells it.
    pub fn tell(&self, event: Event) {
        (self.0)(event);
    }
}
