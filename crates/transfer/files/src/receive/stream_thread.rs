//! Who writes streams.

use fanfare_node::Waker;

use crate::stream::writer::{Destination, StreamWriter};

/// Who writes streams, and what it takes to start that thread.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) destination: Option<Destination>,
    /// Something of a stream may be where it is written to.
    pub(super) may_hold: bool,
    pub(super) waker: Option<Waker>,
    pub(super) writer: Option<StreamWriter>,
}

impl Streams {
    /// The thread is started with the first piece: most receivers never see one.
    pub(super) fn writer(&mut self) -> Option<&StreamWriter> {
        if self.writer.is_none() {
            let (destination, waker) = (self.destination.take()?, self.waker.clone()?);
            self.writer = StreamWriter::start(destination, waker).ok();
        }
        self.writer.as_ref()
    }
}
