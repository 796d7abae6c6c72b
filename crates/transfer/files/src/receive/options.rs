//! How to receive.

use std::{net::IpAddr, sync::Arc, time::Duration};

use crate::content::tree::Carried;
use fanfare_crypto::policy::Policy;
use fanfare_crypto::{Identity, PublicKey};
use fanfare_node::disk::placement::Conflict;
use fanfare_proto::NodeId;

use crate::{file_storage::PartLimits, stream::StreamTarget};

/// When receiving is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Until {
    /// When it is stopped.
    #[default]
    Stopped,
    /// When the first sender that sent something has said good-bye.
    SenderEnded,
    /// When so many files have been told to be in their place: those that came, and those sent that
    /// were there already, from an earlier run too.
    Files(u64),
}

/// Whose objects are taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SenderFilter {
    /// Everybody's; with [`Until::SenderEnded`], those of the first sender of which something is taken.
    #[default]
    Any,
    /// Those of the sender with this node id.
    Node(NodeId),
    /// Those of senders at this address.
    Address(IpAddr),
    /// Those of the first sender that gives itself this name.
    Name(String),
    /// Those that this key has signed.
    Key(PublicKey),
}

impl SenderFilter {
    /// The node id, if it is one.
    pub(crate) fn node(&self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(*node),
            Self::Any | Self::Address(_) | Self::Name(_) | Self::Key(_) => None,
        }
    }
}

/// Choice of a stream of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainWanted {
    /// Its place; the first is 1.
    pub place: u32,
    /// The chain of which the stream before was taken, where that is known.
    pub after: Option<u64>,
}

/// How to receive.
#[derive(Debug, Clone, Default)]
pub struct ReceiveOptions {
    /// What this receiver calls itself. Default empty.
    pub name: String,
    /// What to do where a file of the same name is already. Default to keep both.
    pub conflict: Conflict,
    /// Create the directory. Default false.
    pub create_dirs: bool,
    /// Remove what earlier attempts have left of unfinished files. Default false: it is used.
    pub discard_parts: bool,
    /// How much of unfinished files stays for another attempt. Default a tenth of the volume, for a
    /// month.
    pub part_limits: PartLimits,
    /// Remove what stands beneath the directories that a sender names and is not at the sender, when
    /// it asks for that. Nothing that travels is authenticated: whoever can send to the group can
    /// ask. Default false.
    pub allow_delete: bool,
    /// Refuse to remove more names than this at once. Default no bound.
    pub max_delete: Option<u64>,
    /// Take owners, attributes, ACLs and special bits, as far as a sender carries them. Whoever can
    /// send to the group can then make a file set-user-ID. Default none of it.
    pub carried: Carried,
    /// Take symbolic links that lead out of the directory. They are never followed here; others may
    /// follow them. Default false.
    pub outside_links: bool,
    /// Receive from this sender only. Default from all.
    pub from: SenderFilter,
    /// Take only the stream of this name. Senders of others, and of files, are not heard. Default any.
    pub stream: Option<String>,
    /// Take only this stream of a chain; senders whose streams have no place in a chain are heard. If a
    /// sender is already beyond that place, or belongs to another chain, receiving ends
    /// ([`ReceiveEnd::OutOfPlace`](crate::event::ReceiveEnd::OutOfPlace)). Default any.
    pub chain: Option<ChainWanted>,
    /// Who may send what. Default everybody everything.
    pub policy: Option<Arc<Policy>>,
    /// Refuse what one transfer brings beyond so many bytes. Default no bound.
    pub max_size: Option<u64>,
    /// Refuse what one transfer brings beyond so many files. Default no bound.
    pub max_files: Option<u64>,
    /// Take a stream, and no files, and put it there instead of into the directory. Default none.
    pub to: Option<StreamTarget>,
    /// Where a number of files has been received: stay until their senders end, and pass on to others what
    /// they lack. Default false.
    pub serves: bool,
    /// When to end. Default when stopped.
    pub until: Until,
    /// End when nothing new has come for so long. Default never.
    pub timeout: Option<Duration>,
    /// End when no transfer has begun for so long. Default never.
    pub start_timeout: Option<Duration>,
    /// Time that a sender may be silent whose transfer has begun, with [`Until::SenderEnded`]. Default
    /// 60 s.
    pub silence: Option<Duration>,
    /// Sign receipts of what a sender has signed. Default nothing is signed.
    pub identity: Option<Arc<Identity>>,
}
