//! Why something cannot be done.

use std::fmt;

/// Why something cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Not a member of any group.
    NoMember,
    /// A member of one already.
    Member,
    /// Only a controller may change the group.
    NoController,
    /// It is of an older term than one that was followed.
    OldTerm,
    /// It goes on from another epoch than this one.
    OtherEpoch {
        /// The one that it goes on from.
        from: u64,
        /// Ours.
        ours: u64,
    },
    /// There is nobody of this key.
    Unknown,
    /// It is not what it should be.
    Malformed(&'static str),
    /// There are no random bytes.
    NoRandom,
    /// What MLS says.
    Mls(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMember => f.write_str("this node is no member of the group"),
            Self::Member => f.write_str("this node is a member already"),
            Self::NoController => f.write_str("only a controller may change the group"),
            Self::OldTerm => f.write_str("another controller has taken over since"),
            Self::OtherEpoch { from, ours } => {
                write!(f, "the change goes on from epoch {from}, and this node is in {ours}")
            }
            Self::Unknown => f.write_str("the group has no such member"),
            Self::Malformed(what) => write!(f, "the {what} cannot be read"),
            Self::NoRandom => f.write_str("the system has no random bytes to give"),
            Self::Mls(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl From<mls_rs::error::MlsError> for Fault {
    fn from(error: mls_rs::error::MlsError) -> Self {
        Self::Mls(error.to_string())
    }
}
