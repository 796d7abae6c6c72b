//! What near and far side share of one link.

use std::sync::Arc;

use fanfare_link::Link;

use crate::flows::Flows;

/// A link that carries connections.
#[derive(Debug)]
pub struct Peering {
    pub(crate) link: Link,
    pub(crate) flows: Arc<Flows>,
}

impl Peering {
    /// Over this link. It has to be called within a runtime of tokio.
    #[must_use]
    pub fn start(link: Link) -> Arc<Self> {
        let flows = Flows::new(link.clone());
        tokio::spawn(flows.clone().run());
        Arc::new(Self { link, flows })
    }

    /// The link.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }
}
