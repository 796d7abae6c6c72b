//! Counters. Every reason to drop a datagram has a counter.

use fanfare_wire::WireError;

/// Why a datagram, or a part of its requests, was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// Not a well-formed NORM message.
    Malformed,
    /// Our own message, looped back.
    Own,
    /// Feedback for another sender, or for an earlier instance of this one.
    NotForUs,
    /// A message for a role this session does not play.
    NoRole,
    /// Too many senders in view.
    TooManySenders,
    /// Too many receivers to know each by name.
    TooManyReceivers,
    /// From another address than the one this sender is known by.
    ForeignSource,
    /// A destructive command that has not been confirmed.
    Unconfirmed,
    /// EXT_FTI beyond the configured limits, or changed within an object.
    ObjectInfo,
    /// A symbol that its object cannot have.
    Symbol,
    /// Before this receiver's synchronisation point, or outside the window.
    OutOfWindow,
    /// Already had it.
    Duplicate,
    /// No buffer for it.
    BufferFull,
    /// A repair request for an object that is not in the cache, or with malformed content.
    RepairRequest,
    /// Storage refused or failed.
    Storage,
    /// Feedback of a receiver that was evicted.
    Evicted,
    /// Requests of a receiver that is deferred until the others have been served.
    Deferred,
    /// From a sender that this receiver does not hear.
    NotAdmitted,
    /// Not read: its source sends too much of no use.
    Flood,
    /// Not sent: it would go to an address that may be another's, and be more than three times what came.
    Reflection,
    /// Not dropped, but a symbol of a stream with another position than follows from those before it.
    StreamOffset,
    /// Not dropped, but what it says of turns (EXT_TURN) cannot be, and is not heeded.
    Turn,
}

const REASONS: usize = 22;

impl DropReason {
    /// All reasons, in order of declaration.
    pub const ALL: [Self; REASONS] = [
        Self::Malformed,
        Self::Own,
        Self::NotForUs,
        Self::NoRole,
        Self::TooManySenders,
        Self::TooManyReceivers,
        Self::ForeignSource,
        Self::Unconfirmed,
        Self::ObjectInfo,
        Self::Symbol,
        Self::OutOfWindow,
        Self::Duplicate,
        Self::BufferFull,
        Self::RepairRequest,
        Self::Storage,
        Self::Evicted,
        Self::Deferred,
        Self::NotAdmitted,
        Self::Flood,
        Self::Reflection,
        Self::StreamOffset,
        Self::Turn,
    ];
    /// Stable name for logs, JSON and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Own => "own",
            Self::NotForUs => "not-for-us",
            Self::NoRole => "no-role",
            Self::TooManySenders => "too-many-senders",
            Self::TooManyReceivers => "too-many-receivers",
            Self::ForeignSource => "foreign-source",
            Self::Unconfirmed => "unconfirmed",
            Self::ObjectInfo => "object-info",
            Self::Symbol => "symbol",
            Self::OutOfWindow => "out-of-window",
            Self::Duplicate => "duplicate",
            Self::BufferFull => "buffer-full",
            Self::RepairRequest => "repair-request",
            Self::Storage => "storage",
            Self::Evicted => "evicted",
            Self::Deferred => "deferred",
            Self::NotAdmitted => "not-admitted",
            Self::Flood => "flood",
            Self::Reflection => "reflection",
            Self::StreamOffset => "stream-offset",
            Self::Turn => "turn",
        }
    }
}

/// What a session has done and refused so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Datagrams sent, of every kind.
    pub datagrams_sent: u64,
    /// Their UDP payload bytes.
    pub bytes_sent: u64,
    /// NORM_DATA sent: source symbols, first time.
    pub source_sent: u64,
    /// NORM_DATA sent: proactive parity.
    pub proactive_sent: u64,
    /// NORM_DATA sent: parity for repair.
    pub parity_repair_sent: u64,
    /// NORM_DATA sent: explicit repair.
    pub explicit_repair_sent: u64,
    /// How often what was new took the place of what had not been read of a stream.
    pub stream_breaks: u64,
    /// NACKs sent.
    pub nacks_sent: u64,
    /// NACKs not sent because others requested the same.
    pub nacks_suppressed: u64,
    /// NACKs heard as sender.
    pub nacks_received: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// Of those, acknowledgements of watermarks.
    pub watermarks_acknowledged: u64,
    /// Datagrams received, before parsing.
    pub datagrams_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Source symbols received and new.
    pub source_received: u64,
    /// Parity symbols received and new.
    pub parity_received: u64,
    /// Source symbols recovered by decoding.
    pub recovered: u64,
    /// Sender messages missing by sequence number.
    pub lost: u64,
    /// Events the driver did not fetch in time.
    pub events_dropped: u64,
    drops: [u64; REASONS],
}

impl Stats {
    /// Counts one drop.
    pub fn drop(&mut self, reason: DropReason) {
        self.drops[reason as usize] += 1;
    }
    /// Datagrams so far that nobody here had any use for, and that an honest node would not send here.
    pub fn of_no_use(&self) -> u64 {
        let reasons = [
            DropReason::Malformed,
            DropReason::NotForUs,
            DropReason::NoRole,
            DropReason::TooManySenders,
            DropReason::TooManyReceivers,
            DropReason::ForeignSource,
            DropReason::Unconfirmed,
            DropReason::ObjectInfo,
            DropReason::NotAdmitted,
        ];
        reasons.iter().map(|reason| self.drops[*reason as usize]).sum()
    }

    /// Counts a datagram that did not parse.
    pub fn malformed(&mut self, _error: WireError) {
        self.drop(DropReason::Malformed);
    }
    /// Drops for `reason` so far.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_counter_and_name() {
        let mut stats = Stats::default();
        for reason in DropReason::ALL {
            stats.drop(reason);
        }
        assert!(DropReason::ALL.iter().all(|r| stats.dropped(*r) == 1));
        let names: alloc::collections::BTreeSet<_> =
            DropReason::ALL.iter().map(|r| r.name()).collect();
        assert_eq!(names.len(), REASONS);
    }
}
