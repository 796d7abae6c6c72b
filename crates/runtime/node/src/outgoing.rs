//! A batch on its way to the socket, in pieces for other destinations each.

use std::collections::{BTreeSet, VecDeque};

use fanfare_proto::{Time, Transmit};
use fanfare_udp::Endpoint;

use crate::{engine::Trouble, fanout::Fanout};

/// Batches on their way to the socket.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) fanout: Fanout,
    pub(crate) segments: usize,
    pub(crate) buffer: Vec<u8>,
    /// Where the pieces end that go to other destinations each, and where the present one begins.
    pub(crate) ends: VecDeque<usize>,
    pub(crate) piece: usize,
    /// It waits until then at most.
    pub(crate) held: Option<Time>,
    /// What the socket has not taken yet: a batch in `buffer`, from this byte on.
    pub(crate) unsent: Option<(Transmit, usize)>,
    /// What has been complained of.
    pub(crate) troubles: BTreeSet<Trouble>,
}

impl Outgoing {
    /// `segment_size`: of a full message, which decides how many go in one system call.
    pub(crate) fn new(endpoint: &Endpoint, segment_size: usize, fanout: Fanout) -> Self {
        Self {
            fanout,
            segments: endpoint.max_gso_segments(segment_size),
            buffer: Vec::new(),
            ends: VecDeque::new(),
            piece: 0,
            held: None,
            unsent: None,
            troubles: BTreeSet::new(),
        }
    }

    /// Whether the batch waits for hosts that are about to pass on to each other.
    pub(crate) fn is_held(&mut self, now: Time) -> bool {
        let Self { fanout, buffer, unsent, held, ends, .. } = self;
        let whole = unsent.as_ref().filter(|(_, start)| *start == 0);
        let was = held.is_some();
        *held =
            whole.and_then(|(transmit, _)| fanout.holds(now, first(buffer, transmit.segment_size)));
        if let (true, None, Some((transmit, _))) = (was, *held, whole) {
            // Now it is known where it goes.
            let stride = transmit.segment_size;
            ends.clear();
            ends.extend(fanout.pieces(buffer, stride));
            fanout.begin(now, first(buffer, stride), buffer.len());
        }
        held.is_some()
    }
}

/// The first message of a batch.
pub(crate) fn first(batch: &[u8], stride: usize) -> &[u8] {
    batch.get(..stride.min(batch.len())).unwrap_or_default()
}
