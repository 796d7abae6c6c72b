//! Files from one process to others.

mod archive;
mod changing;
mod choice;
mod codes;
mod delete;
mod delta;
mod durability;
mod endings;
mod hosts;
mod interfaces;
mod layers;
mod overruns;
mod pack;
mod parts;
mod progress;
mod resume;
mod sealed;
mod senders;
mod shims;
mod sparse;
mod stream;
mod streams;
mod transfer;
mod trees;
mod watch;
