//! Keys, identities, lists of whom to believe, and signed receipts, as files; and the commands about
//! them.
//!
//! - [`file`](mod@file): files that hold secrets; [`key`]: those that a group shares; [`follow`]: read
//!   again when they change
//! - [`identity`]: this node's own key pair; [`trust`]: whose signatures are believed
//! - [`receipts`]: signed ones, verified later; `exits`: how these commands end

mod exits;
pub mod file;
pub mod follow;
pub mod identity;
pub mod key;
pub mod receipts;
pub mod trust;
