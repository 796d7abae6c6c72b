//! Relays in memory: what comes on one side goes out on the others, once.

mod beside_files;
mod limits;
mod repairs;
mod turns;
mod ways;
mod world;
