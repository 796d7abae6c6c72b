//! The cable of one host: its device, what must be written to it, and what it has carried.

use crate::{
    emulator::clock::Clock,
    emulator::lateness::Lateness,
    emulator::packet::{self, ETHERNET, UDP_HEADER, ethernet_before, header_length, is_udp, mark},
    emulator::segment::{Join, SEGMENTS_MAX, VNET},
    emulator::snapshot::NodeCounts,
    emulator::tap::Tap,
};
use fanfare_proto::Ecn;
use fanfare_sim::Due;
use std::{
    borrow::Cow,
    io::{self, IoSlice},
};

/// One host's cable.
#[derive(Debug)]
pub(super) struct Cable {
    tap: Tap,
    pub(super) counts: NodeCounts,
    /// What has arrived and is not written yet.
    pending: Vec<Due>,
    /// Headers of the frame that is being written.
    headers: Vec<u8>,
}

impl Cable {
    pub(super) fn new(node: String, tap: Tap) -> Self {
        let counts = NodeCounts { node, ..NodeCounts::default() };
        Self { tap, counts, pending: Vec::new(), headers: Vec::new() }
    }
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.tap.read(buffer)
    }
    /// A packet has arrived for this host.
    pub(super) fn push(&mut self, due: Due) {
        if due.corrupted && !is_udp(&due.bytes) {
            self.counts.spoiled += 1;
        } else {
            self.pending.push(due);
        }
    }

    /// Writes everything that has arrived; what fits together goes as one frame.
    pub(super) fn flush(&mut self, clock: &Clock, lateness: &mut Lateness) {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        while let Some(first) = rest.first() {
            let count = self.joined(first, rest);
            let (now, later) = rest.split_at(count);
            rest = later;
            let written = match now {
                [one] => self.write_one(one),
                many => self.write_joined(many),
            };
            let bytes = now.iter().map(|due| due.bytes.len()).sum();
            match written {
                Ok(()) => self.counts.received.add(count, bytes),
                Err(_) => self.counts.refused += count as u64,
            }
            let end = clock.now();
            now.iter().for_each(|due| lateness.on_packets(1, end.since(due.at)));
        }
        self.pending = pending;
        self.pending.clear();
    }

    /// How many of the first packets can go as one.
    fn joined(&self, first: &Due, rest: &[Due]) -> usize {
        if !self.tap.takes_super_packets() || rest.len() == 1 || first.corrupted {
            return 1;
        }
        let alike = |due: &&Due| !due.corrupted && due.ecn == first.ecn && due.from == first.from;
        Join::of(rest.iter().take_while(alike).map(|due| &due.bytes[..])).count.max(1)
    }

    fn write_one(&self, due: &Due) -> io::Result<()> {
        let (ethernet, packet) = Self::as_seen(due);
        let parts = [&[0; VNET][..], &ethernet, &packet].map(IoSlice::new);
        self.tap.write(&parts)
    }

    fn write_joined(&mut self, many: &[Due]) -> io::Result<()> {
        let first = &many[0];
        let ethernet = ethernet(first);
        let join = Join::of(many.iter().map(|due| &due.bytes[..]));
        join.headers(ethernet, &first.bytes, &mut self.headers);
        if needs_mark(first) {
            mark(&mut self.headers[VNET + ETHERNET..]);
        }
        let payload = header_length(&first.bytes) + UDP_HEADER;
        let mut parts = [IoSlice::new(&[]); SEGMENTS_MAX + 1];
        parts[0] = IoSlice::new(&self.headers);
        for (part, due) in parts[1..].iter_mut().zip(many) {
            *part = IoSlice::new(&due.bytes[payload..]);
        }
        self.tap.write(&parts[..=many.len()])
    }

    /// A packet as its host sees it: with its mark, and its wrong bit behind a missing checksum.
    pub(super) fn as_seen(due: &Due) -> ([u8; ETHERNET], Cow<'_, [u8]>) {
        let mut bytes = Cow::from(&due.bytes[..]);
        if needs_mark(due) {
            mark(bytes.to_mut());
        }
        // The simulator hands such a packet over, too: it is the one that UDP's checksum misses.
        if due.corrupted && is_udp(&bytes) {
            packet::without_checksum(bytes.to_mut());
        }
        (ethernet(due), bytes)
    }
}

fn ethernet(due: &Due) -> [u8; ETHERNET] {
    ethernet_before(&due.bytes, usize::from(due.from.0), usize::from(due.to.0))
}

fn needs_mark(due: &Due) -> bool {
    due.ecn == Some(Ecn::Ce) && packet::ecn(&due.bytes) != Some(Ecn::Ce)
}
