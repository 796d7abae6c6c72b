//! Groups whose members change. MLS (RFC 9420) agrees on a new secret whenever somebody joins or leaves:
//! who has left opens nothing that is sealed afterwards, and who joins nothing from before.
//!
//! ```
//! use fanfare_mls::{GroupKeying, Member};
//! let (mut base, mut ship) = (Member::new("base").unwrap(), Member::new("ship").unwrap());
//! base.found().unwrap();
//! let change = base.change(&[ship.request().unwrap()], &[]).unwrap();
//! ship.join(&change).unwrap();
//! assert_eq!(base.key().unwrap(), ship.key().unwrap());
//!
//! // What the ship had does not open what comes after it was removed.
//! let change = base.change(&[], &[ship.public()]).unwrap();
//! ship.apply(&change).unwrap();
//! assert!(ship.key().is_err());
//! ```
//!
//! Only controllers change a group: the one that founded it, and the standbys that it names, in their
//! order. A change names a term. A standby that takes over begins a new term, and whoever has followed it
//! takes nothing of an older one: after a partition there are not two controllers in one term.
//!
//! - [`GroupKeying`]: what a group's keys can do, whoever agrees on them; [`Member`]: by MLS
//! - [`Change`]: what a controller tells the group; [`Invitation`]: what somebody needs who is to join
//! - `record`: how these are written; `store`: what MLS keeps of a group; [`Fault`]: why not

mod change;
mod fault;
mod invitation;
mod keying;
mod member;
mod record;
mod saved;
mod store;
#[cfg(test)]
mod tests;

pub use change::{Change, Leaving, PublicId};
pub use fault::Fault;
pub use invitation::{Invitation, InvitationError};
pub use keying::{Applied, GroupKeying, MemberView};
pub use member::Member;
