//! What both ends draw from a connection, for the first packet of the next one.

use std::fmt;

/// Which ticket: it tells nothing of what is secret.
pub(crate) type Id = [u8; 16];

/// For what the two are drawn from the connection's keys.
pub(crate) const LABELS: [&[u8]; 2] = [b"EXPORTER-fanfare-early", b"EXPORTER-fanfare-early-id"];

/// A ticket: for one exchange.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) id: Id,
    pub(crate) secret: [u8; 32],
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket")
    }
}

impl Ticket {
    /// Of what was drawn by the two labels.
    #[must_use]
    pub fn new(secret: [u8; 32], id: [u8; 32]) -> Self {
        let mut short = Id::default();
        short.copy_from_slice(&id[..16]);
        Self { id: short, secret }
    }
}
