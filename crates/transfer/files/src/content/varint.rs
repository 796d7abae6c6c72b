//! Numbers in as few bytes as they need: LEB128, seven bits a byte, lowest first, the highest bit set
//! in all but the last.

use std::io::{self, Read};

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads one.
///
/// # Errors
/// It cannot be read, or has more than 64 bits.
pub(crate) fn read(input: &mut impl Read) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        let bits = u64::from(byte[0] & 0x7f);
        number |= bits << shift;
        if (bits << shift) >> shift != bits {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if byte[0] & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_as_it_was_and_one_that_is_too_long_does_not() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(read(&mut &bytes[..]).unwrap(), number);
            assert!((0..bytes.len()).all(|cut| read(&mut &bytes[..cut]).is_err()));
        }
        assert!(read(&mut &[0xff; 12][..]).is_err());
        let mut beyond = [0xff; 10];
        beyond[9] = 0x02;
        assert!(read(&mut &beyond[..]).is_err());
    }
}
