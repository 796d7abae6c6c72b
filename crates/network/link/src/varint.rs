//! Numbers of variable length, as in QUIC (RFC 9000, 16).

/// The largest that can be written.
pub const MAX: u64 = (1 << 62) - 1;

/// Appends a number; larger ones than [`MAX`] are written as that.
pub fn put(value: u64, out: &mut Vec<u8>) {
    let value = value.min(MAX);
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// How many bytes [`put`] appends.
#[must_use]
pub const fn len(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Takes a number from the front; `None` when it is cut off.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let len = 1 << (first >> 6);
    let (head, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    let value = head[1..].iter().fold(u64::from(first & 0x3f), |v, byte| v << 8 | u64::from(*byte));
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_rfc_9000() {
        // Appendix A.1 of RFC 9000.
        let cases: [(u64, &[u8]); 4] = [
            (37, &[0x25]),
            (15_293, &[0x7b, 0xbd]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
        ];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            put(value, &mut out);
            assert_eq!((out.as_slice(), len(value)), (bytes, bytes.len()));
            let mut rest = bytes;
            assert_eq!((take(&mut rest), rest.len()), (Some(value), 0));
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
        }
    }
}
