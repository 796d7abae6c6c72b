//! Nodes of a topology.

use core::fmt;

use crate::network::Host;

/// A node without a session: it forwards, and background flows may begin and end there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Router(pub u16);

/// A node of a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A host of the plan.
    Host(Host),
    /// A router.
    Router(Router),
    /// The air of the n-th medium of the plan ([`crate::Plan::medium`]).
    Medium(u16),
}

impl From<Host> for Place {
    fn from(host: Host) -> Self {
        Self::Host(host)
    }
}

impl From<Router> for Place {
    fn from(router: Router) -> Self {
        Self::Router(router)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host{}", host.0),
            Self::Router(router) => write!(f, "router{}", router.0),
            Self::Medium(number) => write!(f, "medium{number}"),
        }
    }
}

/// A place in a run: hosts first, then what the plan's hops name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlaceNumber(pub(crate) u16);

/// A hop in a run.
pub(crate) type HopNumber = usize;
