//! What is told of hosts that multicast may not reach.

use std::{fmt, net::SocketAddr};

/// Whether a host hears the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It does not, as it shows now.
    Deaf(SocketAddr),
    /// It does so again.
    Back(SocketAddr),
    /// It does not either, and is sent nothing: there are too many.
    TooMany(SocketAddr),
}

impl Reach {
    /// By which programs know it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Deaf(_) => "reach.deaf",
            Self::Back(_) => "reach.back",
            Self::TooMany(_) => "reach.too_many",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deaf(host) => {
                write!(f, "host {} does not hear the group: it is sent copies", host.ip())
            }
            Self::Back(host) => {
                write!(f, "host {} hears the group again: no more copies for it", host.ip())
            }
            Self::TooMany(host) => write!(
                f,
                "host {} does not hear the group either, and is sent nothing: there are too many. \
                 Name hosts with --to, or use a relay",
                host.ip()
            ),
        }
    }
}
