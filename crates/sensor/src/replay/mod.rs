//! Packets of a capture file: pcap and pcapng. What is whole is read, and the place where it ends is named.
//!
//! - `classic`: pcap, in both byte orders, with micro- and nanoseconds; `blocks`: pcapng
//! - `input`: the file as it is read

mod blocks;
mod classic;
mod input;

use std::io::Read;

pub use input::Broken;

use crate::dissect::{Frame, LinkType};
use input::Input;

/// Hands over each packet of a file; gives their number.
pub fn replay(
    from: &mut dyn Read,
    each: &mut dyn FnMut(LinkType, Frame<'_>),
) -> Result<u64, Broken> {
    let mut input = Input::new(from);
    let magic = input.word()?.ok_or_else(|| input.broken("it is empty"))?;
    match magic {
        [0x0a, 0x0d, 0x0d, 0x0a] => blocks::read(&mut input, each),
        magic => classic::read(&mut input, magic, each),
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
