//! What group nodes say to each other, and whole datagrams between: a node neither panics nor loops, and
//! what it keeps has bounds.
#![no_main]

#[path = "../../crates/core/messaging/tests/world/mod.rs"]
mod world;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| world::World::new().run(input));
