//! Spans: what travels as one NORM object, pieces of one or more connections.
//!
//! ```text
//! "FX" | version 1 and kind 0 (1) | records
//! record   connection (varint) | offset (varint) | length * 2 + last (varint) | bytes
//! ```
//! `last`: nothing of that connection follows in this direction.

use crate::varint;

const MAGIC: [u8; 3] = [b'F', b'X', 0x10];
/// Longest span, bytes.
pub const SPAN_MAX: usize = 64 << 10;
/// Most that a record has beside its bytes.
pub const RECORD_HEAD: usize = 8 + 8 + 4;

/// A piece of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Which connection.
    pub id: u64,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Nothing follows.
    pub last: bool,
}

impl Record<'_> {
    /// Where it ends; it cannot wrap, since both numbers have 62 bits at most.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Begins a span.
#[must_use]
pub fn begin() -> Vec<u8> {
    MAGIC.to_vec()
}

/// Whether there is nothing in it yet.
#[must_use]
pub const fn is_empty(span: &[u8]) -> bool {
    span.len() <= MAGIC.len()
}

/// Appends a record.
pub fn put(record: &Record<'_>, span: &mut Vec<u8>) {
    varint::put(record.id, span);
    varint::put(record.offset, span);
    varint::put((record.bytes.len() as u64) << 1 | u64::from(record.last), span);
    span.extend_from_slice(record.bytes);
}

/// All records of a span; `None` when it cannot be read.
#[must_use]
pub fn parse(span: &[u8]) -> Option<Vec<Record<'_>>> {
    let mut rest = span.strip_prefix(&MAGIC)?;
    if span.len() > SPAN_MAX {
        return None;
    }
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (id, offset) = (varint::take(&mut rest)?, varint::take(&mut rest)?);
        let length = varint::take(&mut rest)?;
        let (bytes, behind) = rest.split_at_checked(usize::try_from(length >> 1).ok()?)?;
        rest = behind;
        let record = Record { id, offset, bytes, last: length & 1 == 1 };
        if record.end() > varint::MAX {
            return None;
        }
        records.push(record);
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_come_back_and_a_cut_span_is_refused() {
        let one = Record { id: 3, offset: 70_000, bytes: b"hello", last: false };
        let two = Record { id: 1 << 40, offset: 0, bytes: b"", last: true };
        let mut span = begin();
        assert!(is_empty(&span));
        put(&one, &mut span);
        let first = span.len();
        put(&two, &mut span);
        assert_eq!(parse(&span), Some(vec![one, two]));
        for cut in 0..span.len() {
            let whole = cut == MAGIC.len() || cut == first;
            assert_eq!(parse(&span[..cut]).is_some(), whole, "{cut}");
        }
    }

    #[test]
    fn offsets_that_would_wrap_are_refused() {
        let mut span = begin();
        put(&Record { id: 1, offset: varint::MAX, bytes: b"x", last: false }, &mut span);
        assert_eq!(parse(&span), None);
    }

    proptest! {
        #[test]
        fn spans_of_any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = parse(&[&MAGIC[..], &bytes].concat());
        }
    }
}
