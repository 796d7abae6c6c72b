//! Packets of a capture file: pcap and pcapng. What is whole is read, and the place where it ends is named.
//!
//! - `classic`: pcap, in both byte orders, with micro- and nanoseconds; `blocks`: pcapng
//! - `input`: the file as it is read, unpacked where gzip has packed it; `origin`: what is told of a packet

mod blocks;
mod classic;
mod input;
mod origin;

use std::io::{BufReader, Read};

use flate2::read::MultiGzDecoder;
pub use input::Broken;
use input::Input;
pub use origin::{Each, Origin};

/// What programs pack files with, by their first bytes. Only gzip is unpacked.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const PACKED: [([u8; 4], &str); 3] = [
    ([0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    ([0x04, 0x22, 0x4d, 0x18], "lz4"),
    ([0xfd, b'7', b'z', b'X'], "xz"),
];

/// Hands over each packet of a file; gives their number.
pub fn replay(from: &mut dyn Read, each: &mut Each<'_>) -> Result<u64, Broken> {
    let mut input = Input::new(from);
    let magic = input.word()?.ok_or_else(|| input.broken("it is empty"))?;
    if magic.starts_with(&GZIP) {
        let whole = (&magic[..]).chain(from);
        let mut unpacked = BufReader::new(MultiGzDecoder::new(whole));
        let mut input = Input::new(&mut unpacked);
        let magic = input.word()?.ok_or_else(|| input.broken("it is empty inside"))?;
        return packets(&mut input, magic, each);
    }
    packets(&mut input, magic, each)
}

fn packets(input: &mut Input<'_>, magic: [u8; 4], each: &mut Each<'_>) -> Result<u64, Broken> {
    if let Some((_, tool)) = PACKED.iter().find(|(start, _)| *start == magic) {
        return Err(input.broken(format!(
            "it is packed. Unpack it: {tool} -dc FILE | fanfare sensor --read -"
        )));
    }
    match magic {
        [0x0a, 0x0d, 0x0d, 0x0a] => blocks::read(input, each),
        magic => classic::read(input, magic, each),
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
