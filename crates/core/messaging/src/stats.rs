//! Counters of a group node. Every reason to drop something has one.

/// What a node has done and refused so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupStats {
    /// Symbols and short messages of others, sent on request.
    pub repairs_sent: u64,
    /// Repairs that were sums, of parts of a block or across objects.
    pub sums_sent: u64,
    /// Proactive sums over own messages, sent while nobody is heard.
    pub proactive_sums_sent: u64,
    /// Sums over own messages, sent in answer to requests for several of them.
    pub answers_sent: u64,
    /// Coded packets dropped because there is no room, or because they were wrong.
    pub sums_dropped: u64,
    /// Short messages of others, forwarded without a request.
    pub relays_sent: u64,
    /// Datagrams with repairs other than short messages: a symbol, a description, or a sum, also of
    /// own messages.
    pub repair_frames_sent: u64,
    /// Their UDP payload bytes.
    pub repair_bytes_sent: u64,
    /// Datagrams with short messages of others.
    pub compact_frames_sent: u64,
    /// Their UDP payload bytes.
    pub compact_bytes_sent: u64,
    /// Compact NACKs.
    pub nack_frames_sent: u64,
    /// Their UDP payload bytes.
    pub nack_bytes_sent: u64,
    /// Repairs of others heard.
    pub repairs_heard: u64,
    /// Those that were new.
    pub repairs_useful: u64,
    /// Announcements sent.
    pub states_sent: u64,
    /// Their UDP payload bytes.
    pub state_bytes_sent: u64,
    /// What its monitor has said.
    pub notes_sent: u64,
    /// Their UDP payload bytes.
    pub note_bytes_sent: u64,
    /// What monitors of others have said.
    pub notes_heard: u64,
    /// Announcements heard.
    pub states_heard: u64,
    /// Requests to others heard that this node could serve.
    pub demands: u64,
    /// Requests not kept because too many are open.
    pub demands_dropped: u64,
    /// Malformed frames, and frames of another version.
    pub frames_refused: u64,
    /// Short messages heard whose topic or origin is not known here.
    pub topics_unknown: u64,
    /// Objects of others that were dropped from the cache.
    pub evicted: u64,
    /// Messages, own ones among them, that had expired or were as old as anything is kept.
    pub expired: u64,
    /// Messages that will not come: their publisher no longer has them, or has published so many
    /// since that they left the window ([`crate::OBJECTS_IN_VIEW`]).
    pub missed: u64,
    /// Messages whose bytes did not have the announced hash.
    pub wrong: u64,
    /// Nodes not kept because too many are known.
    pub members_dropped: u64,
    /// Publishers forgotten because too many were heard of.
    pub publishers_dropped: u64,
    /// Silent publishers that are no longer requested, because there are too many.
    pub origins_dropped: u64,
    /// Short messages not forwarded because too many wait.
    pub relays_dropped: u64,
    /// Own messages, and announcements of nodes, that are not tracked because there are too many.
    pub standings_dropped: u64,
    /// Own messages that cannot be withdrawn by their tag, because too many have one.
    pub tags_dropped: u64,
    /// Messages awaited for less than their deadline, because there are too many.
    pub deadlines_dropped: u64,
}
