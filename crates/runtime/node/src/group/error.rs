//! Why a member of a group cannot do what it is asked.

use std::fmt;

use fanfare_messaging::PublishError;

/// Why something asked of a member was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupError {
    /// The message was not taken.
    Publish(PublishError),
    /// The message has more bytes than this node's policy allows.
    TooLarge {
        /// Its bytes.
        size: u64,
        /// The most.
        max: u64,
    },
    /// It could not be made durable, and was not published; why.
    NotDurable(String),
    /// There is no room for its bytes in the durable cache.
    Cache(std::io::ErrorKind, String),
    /// The member has ended.
    Ended,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(error) => error.fmt(f),
            Self::TooLarge { size, max } => write!(
                f,
                "message ({size} bytes): is longer than messages may be here ({max} bytes). Raise \
                 --message-max here and at subscribers, or use fanfare send"
            ),
            Self::NotDurable(why) | Self::Cache(_, why) => write!(
                f,
                "message: could not be written to the cache directory, and was not published \
                 ({why}). Make room there, and publish it again"
            ),
            Self::Ended => write!(f, "group: this member has ended. Start it again"),
        }
    }
}

impl std::error::Error for GroupError {}
