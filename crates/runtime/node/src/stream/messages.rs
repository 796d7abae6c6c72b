//! Messages out of what arrives of a stream, in order or not.

use std::io;

use super::{
    delivery::Item,
    framing::{Found, Framing, FramingError, Unframer},
    options::ReceiveOptions,
    patchwork::Patchwork,
    receiver::Message,
};

/// Finds them.
#[derive(Debug)]
pub(super) enum Messages {
    InOrder(Unframer),
    AnyOrder(Patchwork),
}

impl Messages {
    /// `ring`: bytes that the stream's own memory holds.
    pub(super) fn new(options: &ReceiveOptions, ring: usize) -> Self {
        let (framing, max) = (options.framing, options.message_max);
        let room = ring.saturating_add(max);
        match options.unordered {
            true => Self::AnyOrder(Patchwork::new(framing, max, room)),
            false => Self::InOrder(Unframer::new(framing, max, room)),
        }
    }

    /// Something has arrived.
    pub(super) fn take(&mut self, item: Item) {
        match (self, item) {
            (Self::InOrder(unframer), Item::Bytes { bytes, offset, msg_start }) => {
                unframer.take(&bytes, offset, msg_start);
            }
            (Self::AnyOrder(patchwork), Item::Bytes { bytes, offset, msg_start }) => {
                patchwork.take(&bytes, offset, msg_start);
            }
            (Self::AnyOrder(patchwork), Item::Early { bytes, offset, msg_start }) => {
                patchwork.take_early(&bytes, offset, msg_start);
            }
            (Self::InOrder(unframer), Item::Framing(framing)) => unframer.set_framing(framing),
            (Self::AnyOrder(_), Item::Framing(Framing::Raw)) => {}
            (Self::AnyOrder(patchwork), Item::Framing(framing)) => patchwork.set_framing(framing),
            (Self::InOrder(unframer), Item::Gap { .. }) => unframer.lose(),
            (Self::AnyOrder(patchwork), Item::Gap { to, .. }) => patchwork.lose(to),
            (_, Item::Early { .. } | Item::End { .. } | Item::Broken(_)) => {}
        }
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Result<Option<Message>, FramingError> {
        let found = match self {
            Self::InOrder(unframer) => unframer.next(),
            Self::AnyOrder(patchwork) => patchwork.next(),
        };
        Ok(found?.map(|Found { bytes, offset, gap_before, early }| Message {
            bytes,
            offset,
            gap_before,
            early,
        }))
    }

    pub(super) fn framing(&self) -> Framing {
        match self {
            Self::InOrder(unframer) => unframer.framing(),
            Self::AnyOrder(patchwork) => patchwork.framing(),
        }
    }

    /// The stream has ended. What came of it waits for word of its framing until then.
    pub(super) fn end(&self) -> io::Result<()> {
        let unframed = match self {
            Self::AnyOrder(patchwork) => patchwork.framing() == Framing::Raw,
            Self::InOrder(unframer) => unframer.is_unframed(),
        };
        match unframed {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, FramingError::Raw)),
            false => Ok(()),
        }
    }
}
