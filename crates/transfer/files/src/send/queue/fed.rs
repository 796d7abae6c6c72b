//! A stream that is read while it is sent.

use std::io;

use crate::content::stream::StreamSource;

use crate::stream::feed::Feed;

/// What is read, and by whom.
#[derive(Debug)]
pub(in crate::send) struct Stream {
    pub(super) source: StreamSource,
    /// Once it has been started.
    pub(super) feed: Option<Feed>,
    pub(in crate::send) broken: Option<io::Error>,
}

impl Stream {
    pub(super) fn new(source: StreamSource) -> Self {
        Self { source, feed: None, broken: None }
    }

    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    pub(super) fn has_input(&self) -> bool {
        self.broken.is_none() && self.feed.as_ref().is_none_or(|feed| !feed.is_over())
    }
}
