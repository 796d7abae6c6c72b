//! The configuration of a group node. Each field says its default and its cost.

use fanfare_proto::{Bitrate, Duration, SenderConfig};

/// Limits and intervals of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupConfig {
    /// Whether it repairs for others. Default true.
    pub repairs: bool,
    /// Whether it forwards short messages, without a request, to nodes that hear it but not the
    /// sender. Needs `repairs` and `announces`. Default true.
    pub relays: bool,
    /// The most that repairs of others' objects and forwarding may take, and what this node sends in all. They
    /// take no more than four fifths of what arrived of late or publishers say they may send, whatever this is, and
    /// what others send of them counts. Where nothing is known of that, 250 kbit/s. Default 10 Gbit/s.
    pub repair_rate: Bitrate,
    /// True if it takes what the medium carries into account: repairs take a part of that, and at its start a
    /// publisher waits for the farthest member. False: repairs may take all of `repair_rate`. Default true.
    pub follows_medium: bool,
    /// Others' objects kept for repair, bytes of content. Default 64 MiB.
    pub cache_bytes: u64,
    /// How long they are kept. Default 1 hour.
    pub cache_age: Duration,
    /// Messages up to this many bytes that fit beside their description into one segment travel in
    /// NORM_INFO. Default all that fit; 0 is none.
    pub inline_max: usize,
    /// Whether it announces itself: what it has, and whom it hears. Default true.
    pub announces: bool,
    /// Shortest interval of such announcements, after a change. Default 2 s.
    pub announce_min: Duration,
    /// Whether it greets the group when it subscribes first, and gives the newest short messages at
    /// once to who greets: so a late subscriber has them within a round trip and 0.2 s. It costs a
    /// burst of up to 16 short messages for each greeting. Default false.
    pub greets: bool,
    /// Whether what a silent publisher sent is given to others oldest first, and what such answers pass
    /// over is requested at once: for messages that are used in their order, like video. Otherwise
    /// nodes that answer begin at different ones, which spares repairs where they do not hear each
    /// other. Default false.
    pub in_order: bool,
    /// Longest interval, when nothing changes. Default 64 s.
    pub announce_max: Duration,
    /// Longest frame of its own, bytes of UDP payload. Default 1400.
    pub frame_max: usize,
    /// Sends nothing at all, only listens (EMCON). Default false.
    pub silent: bool,
    /// True if datagrams of one address alone come in, as with source-specific multicast. Then it does not heed what
    /// others tell of publishers that it does not hear itself. It says so: publishers that it does not hear need not
    /// wait for it. Default false.
    pub one_source: bool,
    /// Whether its own messages go to its own subscriptions, too. Default false.
    pub hears_itself: bool,
    /// Whether the driver must verify a stored message with a hash before it is delivered
    /// ([`crate::Event::Verify`]). Default false.
    pub verifies: bool,
    /// It has a monitor: it tells others of itself in a share of the channel, and keeps what they tell.
    /// Default none.
    pub monitor: Option<crate::monitor::Config>,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            repairs: true,
            relays: true,
            repair_rate: SenderConfig::RATE_MAX,
            follows_medium: true,
            cache_bytes: 64 << 20,
            cache_age: Duration::from_secs(3600),
            inline_max: usize::MAX,
            announces: true,
            announce_min: Duration::from_secs(2),
            greets: false,
            in_order: false,
            announce_max: Duration::from_secs(64),
            frame_max: 1400,
            silent: false,
            one_source: false,
            hears_itself: false,
            verifies: false,
            monitor: None,
        }
    }
}
