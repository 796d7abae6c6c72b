//! How full the limited tables of a node are.

/// Publishers of which it is known what has become of their messages. Whoever is heard only through others
/// may be made up, and the session keeps few of those in view.
pub const PUBLISHERS_MAX: usize = 4096;
/// Publishers that a node's session should keep in view: in a group every node is one, and four companies
/// of 24 and their staff are 157. Of who is beyond it nothing is heard.
pub const SENDERS_IN_VIEW: usize = 256;
/// Messages of one publisher that a node's session should keep in view, its own as well: more than two hours
/// of one a second. What is older can be had from nobody. A bad link of 230 kbit/s brings 25 short ones a
/// second, and what nine peers lack of them is repaired up to 80 s later.
pub const OBJECTS_IN_VIEW: u16 = 8192;
/// Messages that are waited for until a deadline: those of a busy group for minutes.
pub const DEADLINES_MAX: usize = 65_536;

/// Entries of a node's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Publishers, this node among them; at most [`PUBLISHERS_MAX`], or as many as the session has in view.
    pub publishers: usize,
    /// Deadlines of messages; at most [`DEADLINES_MAX`].
    pub deadlines: usize,
    /// Requests of others, also answered ones that are remembered.
    pub requests: usize,
    /// Messages that wait to be forwarded.
    pub relays: usize,
}
