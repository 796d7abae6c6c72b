//! Unsigned numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit says
//! that more follow (LEB128).

use alloc::vec::Vec;

/// Appends a number.
pub fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes that it has.
pub fn len(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).div_ceil(7).max(1)
}

/// Takes a number from the front. `None` when the bytes end within it, or it passes 64 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Takes `count` bytes from the front.
pub fn split<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(front)
}

/// Takes `N` bytes from the front.
pub fn array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    split(bytes, N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_of_a_number_comes_back() {
        for number in [0, 1, 0x7f, 0x80, 300, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put(number, &mut out);
            let mut bytes = &out[..];
            assert_eq!((take(&mut bytes), bytes.len()), (Some(number), 0));
        }
    }

    #[test]
    fn a_number_cut_short_or_too_wide_is_refused() {
        assert_eq!(take(&mut &[0x80, 0x80][..]), None);
        assert_eq!(take(&mut &[0xff; 9][..]), None);
        let wide = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(take(&mut &wide[..]), None);
    }
}
