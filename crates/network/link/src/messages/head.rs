//! What stands before a message's bytes, in a stream or in a datagram.
//!
//! ```text
//! flags (1)   bits 0-1 class, bit 2 replaces earlier ones of its tag, bit 3 stands for one that was
//!             given up, bit 4 in a datagram: part of a message
//! number      varint: which message of its sender
//! sequence    varint, in class rs: its place among those
//! tag         varint
//! length      varint, in a stream; or in a datagram: part (1), parts (1)
//! ```

use super::{Class, SIZE_MAX};
use crate::varint;

const REPLACE: u8 = 4;
const GIVEN_UP: u8 = 8;
const PART: u8 = 16;

/// Most parts of a message in datagrams.
pub const PARTS_MAX: usize = 16;

/// The head of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its class.
    pub class: Class,
    /// Earlier ones of its tag are of no use any more.
    pub replace: bool,
    /// There is no such message any more: nothing waits for it.
    pub given_up: bool,
    /// Which message of its sender.
    pub number: u64,
    /// Its place among the sequenced reliable ones.
    pub sequence: u64,
    /// Its tag.
    pub tag: u64,
}

/// What follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// So many bytes, in a stream.
    Whole(usize),
    /// This part of so many.
    Part(u8, u8),
}

impl Head {
    /// Appends it.
    pub fn write(&self, body: Body, out: &mut Vec<u8>) {
        let class = match self.class {
            Class::ReliableSequenced => 0,
            Class::ReliableUnsequenced => 1,
            Class::UnreliableSequenced => 2,
            Class::UnreliableUnsequenced => 3,
        };
        let part = matches!(body, Body::Part(..));
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(
            class | flag(self.replace, REPLACE) | flag(self.given_up, GIVEN_UP) | flag(part, PART),
        );
        varint::put(self.number, out);
        if self.class == Class::ReliableSequenced {
            varint::put(self.sequence, out);
        }
        varint::put(self.tag, out);
        match body {
            Body::Whole(len) => varint::put(len as u64, out),
            Body::Part(part, parts) => out.extend_from_slice(&[part, parts]),
        }
    }

    /// Takes it from the front; `None` when it is cut off or cannot be.
    pub fn take(bytes: &mut &[u8]) -> Option<(Self, Body)> {
        let (&flags, rest) = bytes.split_first()?;
        *bytes = rest;
        let class = match flags & 3 {
            0 => Class::ReliableSequenced,
            1 => Class::ReliableUnsequenced,
            2 => Class::UnreliableSequenced,
            _ => Class::UnreliableUnsequenced,
        };
        let number = varint::take(bytes)?;
        let sequence = match class {
            Class::ReliableSequenced => varint::take(bytes)?,
            _ => 0,
        };
        let tag = varint::take(bytes)?;
        let body = if flags & PART == 0 {
            let len = usize::try_from(varint::take(bytes)?).ok().filter(|len| *len <= SIZE_MAX)?;
            Body::Whole(len)
        } else {
            let (&[part, parts], rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            let possible = part < parts && usize::from(parts) <= PARTS_MAX;
            possible.then_some(Body::Part(part, parts))?
        };
        let (replace, given_up) = (flags & REPLACE != 0, flags & GIVEN_UP != 0);
        let known = flags & !(3 | REPLACE | GIVEN_UP | PART) == 0;
        known.then_some((Self { class, replace, given_up, number, sequence, tag }, body))
    }
}

/// Longest head, bytes.
pub const HEAD_MAX: usize = 1 + 4 * 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_every_cut_is_refused() {
        for class in Class::ALL {
            for body in [Body::Whole(70_000), Body::Part(3, 16)] {
                let sequence = if class == Class::ReliableSequenced { 77 } else { 0 };
                let (replace, given_up) = (true, false);
                let head = Head { class, replace, given_up, number: 1 << 40, sequence, tag: 300 };
                let mut bytes = Vec::new();
                head.write(body, &mut bytes);
                assert!(bytes.len() <= HEAD_MAX);
                assert_eq!(Head::take(&mut bytes.as_slice()), Some((head, body)));
                for cut in 0..bytes.len() {
                    assert_eq!(Head::take(&mut &bytes[..cut]), None);
                }
            }
        }
    }

    #[test]
    fn lengths_and_parts_beyond_the_limits_are_refused() {
        let mut long = vec![1, 1, 0];
        varint::put(SIZE_MAX as u64 + 1, &mut long);
        assert_eq!(Head::take(&mut long.as_slice()), None);
        assert_eq!(Head::take(&mut &[3 | PART, 1, 0, 0, 17][..]), None);
        assert_eq!(Head::take(&mut &[3 | PART, 1, 0, 2, 2][..]), None);
        assert_eq!(Head::take(&mut &[0x80, 1, 0, 0][..]), None);
    }
}
