//! What is to be sent, understood.

use fanfare_node::proto::Duration;
use fanfare_video::{encoding::Source, ladder::Rendition};

/// What is to be sent.
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) ladder: Vec<Rendition>,
    pub(crate) segment: Duration,
    pub(crate) all: bool,
    pub(crate) stay: Duration,
    pub(crate) keep: Duration,
}
