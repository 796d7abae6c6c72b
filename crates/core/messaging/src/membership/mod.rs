//! The members of the group: who hears whom, who has what, and when a node announces itself.

pub(crate) mod delivery_ratio;
pub(crate) mod flood;
pub(crate) mod former_ids;
pub(crate) mod holders;
pub(crate) mod lost_members;
pub(crate) mod member;
pub(crate) mod members;
pub(crate) mod node_set;
pub(crate) mod state;
pub(crate) mod trickle;
