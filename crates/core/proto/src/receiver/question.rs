//! A watermark that comes with a question to the application.

use super::ack::Watermark;

/// A watermark that comes with a question to this node's application.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// The one that was told, and not answered.
    pub(super) told: Option<Watermark>,
    /// The one that was answered last.
    pub(super) answered: Option<Watermark>,
}
