//! Counters of a group node. Every reason to drop something has one.

/// What a node has done and refused so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupStats {
    /// Symbols and short messages of others sent because they were asked for.
    pub repairs_sent: u64,
    /// Of the repairs those that were sums, of parts of a block or across objects.
    pub sums_sent: u64,
    /// Sums over own messages, sent unasked while nobody is heard.
    pub proactive_sums_sent: u64,
    /// Sums over own messages, sent in place of several that were asked for.
    pub answers_sent: u64,
    /// Sums across objects not kept because there is no room, or because what followed was wrong.
    pub sums_dropped: u64,
    /// Short messages of others passed on unasked.
    pub relays_sent: u64,
    /// Datagrams of repairs, but for short messages: a symbol, a description, or a sum, those of own messages among them.
    pub repair_frames_sent: u64,
    /// Their UDP payload bytes.
    pub repair_bytes_sent: u64,
    /// Datagrams with short messages of others.
    pub compact_frames_sent: u64,
    /// Their UDP payload bytes.
    pub compact_bytes_sent: u64,
    /// Requests in few bytes.
    pub nack_frames_sent: u64,
    /// Their UDP payload bytes.
    pub nack_bytes_sent: u64,
    /// Repairs of others heard.
    pub repairs_heard: u64,
    /// Those that brought something new.
    pub repairs_useful: u64,
    /// Announcements sent.
    pub states_sent: u64,
    /// Their UDP payload bytes.
    pub state_bytes_sent: u64,
    /// Announcements heard.
    pub states_heard: u64,
    /// Requests to others heard that this node could serve.
    pub demands: u64,
    /// Requests not kept because too many are open.
    pub demands_dropped: u64,
    /// Frames of ours that make no sense, or of another version.
    pub frames_refused: u64,
    /// Short messages heard that have the topic of one that is not here, or are of an origin that is not known.
    pub topics_unknown: u64,
    /// Objects of others that gave way in the cache.
    pub evicted: u64,
    /// Messages, own ones among them, that had expired or were as old as anything is kept.
    pub expired: u64,
    /// Messages that were waited for, or never heard of, and will not come: their publisher keeps them no
    /// longer, or it has published so many since that they are out of view ([`crate::OBJECTS_IN_VIEW`]).
    pub missed: u64,
    /// Messages whose bytes had not the hash that was announced.
    pub wrong: u64,
    /// Nodes not kept because too many are known.
    pub members_dropped: u64,
    /// Publishers forgotten because too many were heard of.
    pub publishers_dropped: u64,
    /// Publishers that are not asked for any more when they fall silent, because too many were heard of.
    pub origins_dropped: u64,
    /// Short messages not passed on because too many wait.
    pub relays_dropped: u64,
    /// Own messages, and announcements of nodes, of which it is not kept how nodes stand to them.
    pub standings_dropped: u64,
    /// Own messages that cannot be withdrawn by their tag, because too many have one.
    pub tags_dropped: u64,
    /// Messages waited for less long than was wanted because too many are.
    pub deadlines_dropped: u64,
}
