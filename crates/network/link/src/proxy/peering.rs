//! What near and far side share of one link.

use std::sync::Arc;

use crate::Link;

use crate::proxy::{
    flows::Flows,
    norm::{Norm, NormStatus, Sending},
};

/// A link that carries connections.
#[derive(Debug)]
pub struct Peering {
    pub(crate) link: Link,
    pub(crate) flows: Arc<Flows>,
    pub(crate) norm: Arc<Norm>,
}

impl Peering {
    /// Over this link, of the node with this key. It has to be called within a runtime of tokio. From
    /// then on the link's messages are the proxy's.
    #[must_use]
    pub fn start(link: Link, own: [u8; 32], sending: Sending) -> Arc<Self> {
        let flows = Flows::new(link.clone());
        tokio::spawn(flows.clone().run());
        let norm = Norm::start(&link, own, sending);
        Arc::new(Self { link, flows, norm })
    }

    /// How its NORM session is.
    #[must_use]
    pub fn norm(&self) -> NormStatus {
        self.norm.status()
    }

    /// The link.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }
}
