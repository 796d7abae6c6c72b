//! Files from one process to others.

mod archive;
mod changing;
mod choice;
mod delete;
mod delta;
mod durability;
mod endings;
mod interfaces;
mod layers;
mod overruns;
mod pack;
mod parts;
mod progress;
mod reach;
mod resume;
mod shims;
mod sparse;
mod stream;
mod streams;
mod transfer;
mod trees;
mod trust;
mod watch;
