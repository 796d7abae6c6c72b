//! What a group's keys can do, whoever agrees on them.

use fanfare_crypto::Key;

use crate::{
    change::{Change, PublicId},
    fault::Fault,
};

/// One member, as all see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// What it calls itself.
    pub name: String,
    /// By which key it is known.
    pub public: PublicId,
    /// It may change the group: its place among the controllers, 0 first.
    pub controls: Option<usize>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The group has a new epoch.
    Epoch(u64),
    /// It is of an epoch that is over here.
    Already,
    /// We are no member any more.
    Removed,
}

/// A group's keys: who is in, and what they share.
pub trait GroupKeying {
    /// Everyone who is in.
    fn members(&self) -> Vec<MemberView>;

    /// How often the group has changed.
    fn epoch(&self) -> Option<u64>;

    /// What the members share in this epoch, for sealing.
    ///
    /// # Errors
    /// Not a member.
    fn key(&self) -> Result<Key, Fault>;

    /// Takes in those who have made these requests, and removes others, in one change. It holds here
    /// at once; the others are to be told.
    ///
    /// # Errors
    /// Only controllers may; a request may be none.
    fn change(&mut self, joining: &[Vec<u8>], leaving: &[PublicId]) -> Result<Change, Fault>;

    /// A change that a controller has told.
    ///
    /// # Errors
    /// It is not for this epoch, or by nobody who may.
    fn apply(&mut self, change: &Change) -> Result<Applied, Fault>;
}
