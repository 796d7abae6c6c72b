//! pcap files: a header, then each packet with its time and two lengths.

use super::{
    input::{Broken, Input, time},
    origin::{Each, Origin},
};
use crate::sensor::dissect::Frame;

/// What the first four bytes say: byte order, and in what seconds are divided.
struct Form {
    little: bool,
    nanos: u128,
}

impl Form {
    fn of(magic: [u8; 4]) -> Option<Self> {
        match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => Some(Self { little: false, nanos: 1000 }),
            [0xd4, 0xc3, 0xb2, 0xa1] => Some(Self { little: true, nanos: 1000 }),
            [0xa1, 0xb2, 0x3c, 0x4d] => Some(Self { little: false, nanos: 1 }),
            [0x4d, 0x3c, 0xb2, 0xa1] => Some(Self { little: true, nanos: 1 }),
            _ => None,
        }
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn word_at(&self, bytes: &[u8], at: usize) -> u32 {
        self.word([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }
}

pub(super) fn read(
    input: &mut Input<'_>,
    magic: [u8; 4],
    each: &mut Each<'_>,
) -> Result<u64, Broken> {
    let form = Form::of(magic).ok_or_else(|| input.broken("it is no file of packets"))?;
    let head = input.bytes(20)?.to_vec();
    // The upper bits tell of a checksum.
    let link = form.word_at(&head, 16) & 0x0fff_ffff;
    let mut count = 0;
    while let Some(seconds) = input.word()? {
        let rest = input.bytes(12)?;
        let (part, copied) = (form.word_at(rest, 0), form.word_at(rest, 4));
        let length = form.word_at(rest, 8);
        let at = u128::from(form.word(seconds)) * 1_000_000_000 + u128::from(part) * form.nanos;
        let bytes = input.bytes(copied as usize)?;
        each(Origin { link, interface: 0 }, Frame { at: time(at), bytes, length, segment: 0 });
        count += 1;
    }
    Ok(count)
}
