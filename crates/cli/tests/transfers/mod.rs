//! Files from one process to others.

mod archive;
mod changing;
mod choice;
mod delete;
mod delta;
mod durability;
mod endings;
mod hosts;
mod interfaces;
mod layers;
mod overruns;
mod pack;
mod resume;
mod senders;
mod sparse;
mod stream;
mod streams;
mod transfer;
mod trees;
