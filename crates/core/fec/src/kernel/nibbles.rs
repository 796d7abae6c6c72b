//! Multiplication by a constant as look-ups of nibbles.

use crate::field::{gf8, gf16};

/// Products of a GF(2^8) constant by the 16 low nibbles, then by the 16 high ones.
pub(super) static NIBBLES: [[u8; 32]; 256] = nibbles();

const fn nibbles() -> [[u8; 32]; 256] {
    let mut tables = [[0; 32]; 256];
    let mut constant = 0;
    while constant < 256 {
        let mut powers = [constant as u8; 8];
        let mut bit = 1;
        while bit < 8 {
            powers[bit] = gf8::double(powers[bit - 1]);
            bit += 1;
        }
        let mut entry: usize = 1;
        while entry < 16 {
            // The entry without its lowest set bit is already there.
            let (rest, bit) = (entry & (entry - 1), entry.trailing_zeros() as usize);
            tables[constant][entry] = tables[constant][rest] ^ powers[bit];
            tables[constant][16 + entry] = tables[constant][16 + rest] ^ powers[4 + bit];
            entry += 1;
        }
        constant += 1;
    }
    tables
}

/// Products of a GF(2^16) constant by the 16 values of each nibble, lowest nibble first: the four
/// tables of their low bytes, then those of their high bytes.
pub(super) type Nibbles16 = [[u8; 16]; 8];

// Linear in the constant, so four entries, one for each of its nibbles, add up to any.
static NIBBLES16: [[Nibbles16; 16]; 4] = all_nibbles16();

const fn all_nibbles16() -> [[Nibbles16; 16]; 4] {
    let mut all = [[[[0; 16]; 8]; 16]; 4];
    let mut entry = 0;
    while entry < 64 {
        let mut power = ((entry % 16) << (4 * (entry / 16))) as u16;
        let tables = &mut all[entry / 16][entry % 16];
        let mut bit = 0;
        while bit < 16 {
            let mut value = 0;
            while value < 16 {
                if value >> (bit % 4) & 1 == 1 {
                    tables[bit / 4][value] ^= power as u8;
                    tables[4 + bit / 4][value] ^= (power >> 8) as u8;
                }
                value += 1;
            }
            power = gf16::double(power);
            bit += 1;
        }
        entry += 1;
    }
    all
}

/// The tables of a GF(2^16) constant.
pub(super) fn nibbles16(constant: u16) -> Nibbles16 {
    let mut sum = [[0; 16]; 8];
    for (position, entries) in NIBBLES16.iter().enumerate() {
        let entry = entries[usize::from(constant >> (4 * position) & 0xf)].as_flattened();
        sum.as_flattened_mut().iter_mut().zip(entry).for_each(|(sum, entry)| *sum ^= entry);
    }
    sum
}
