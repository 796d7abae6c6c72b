//! Batches on their way to the socket, and the destinations of each.

use std::{
    collections::{BTreeSet, VecDeque},
    net::SocketAddr,
};

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
    pub(crate) fn new(
        endpoint: &Endpoint,
        segment_size: usize,
        (hosts, multicast): &(Vec<SocketAddr>, bool),
    ) -> Self {
        Self {
            fanout: Fanout::new(endpoint.group(), hosts, *multicast),
            segments: endpoint.max_gso_segments(segment_size),
            buffer: Vec::new(),
            ends: VecDeque::new(),
            piece: 0,
            held: None,
            unsent: None,
            troubles: BTreeSet::new(),
        }
    }
}
