//! Multiplication by a constant as the look-ups and bit matrices of vector instructions.

use crate::field::{gf8, gf16};

/// Products of a GF(2^8) constant by the 16 low nibbles, then by the 16 high ones.
pub(super) static NIBBLES: [[u8; 32]; 256] = nibbles();

/// The matrix of each GF(2^8) constant, as GF2P8AFFINEQB takes it.
pub(super) static MATRICES: [u64; 256] = matrices();

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

const fn matrices() -> [u64; 256] {
    let mut matrices = [0; 256];
    let mut constant = 0;
    while constant < 256 {
        let mut columns = [constant as u8; 8];
        let mut bit = 1;
        while bit < 8 {
            columns[bit] = gf8::double(columns[bit - 1]);
            bit += 1;
        }
        matrices[constant] = affine(u64::from_le_bytes(columns));
        constant += 1;
    }
    matrices
}

/// The matrix with these columns (byte i: the image of bit i) in the order of GF2P8AFFINEQB: a row
/// in each byte, that of output bit 0 in the highest.
const fn affine(columns: u64) -> u64 {
    // Transposing 8x8 bits: swap blocks of 1, 2, then 4 bits across the diagonal.
    let mut m = columns;
    let swap = (m ^ (m >> 7)) & 0x00aa_00aa_00aa_00aa;
    m ^= swap ^ (swap << 7);
    let swap = (m ^ (m >> 14)) & 0x0000_cccc_0000_cccc;
    m ^= swap ^ (swap << 14);
    let swap = (m ^ (m >> 28)) & 0x0000_0000_f0f0_f0f0;
    m ^= swap ^ (swap << 28);
    m.swap_bytes()
}

/// A GF(2^16) constant times a^0 … a^15.
fn powers16(constant: u16) -> [u16; 16] {
    let mut powers = [constant; 16];
    for bit in 1..16 {
        powers[bit] = gf16::double(powers[bit - 1]);
    }
    powers
}

/// Products of a GF(2^16) constant by the 16 values of each nibble, lowest nibble first: their low
/// bytes, and their high bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nibbles16 {
    pub(super) low: [[u8; 16]; 4],
    pub(super) high: [[u8; 16]; 4],
}

impl Nibbles16 {
    pub(super) const ZERO: Self = Self { low: [[0; 16]; 4], high: [[0; 16]; 4] };

    pub(super) fn new(constant: u16) -> Self {
        let powers = powers16(constant);
        let mut tables = Self::ZERO;
        for nibble in 0..4 {
            let mut products = [0u16; 16];
            for bit in 0..4 {
                let power = powers[4 * nibble + bit];
                for entry in 0..1 << bit {
                    products[entry + (1 << bit)] = products[entry] ^ power;
                }
            }
            tables.low[nibble] = products.map(|product| product as u8);
            tables.high[nibble] = products.map(|product| (product >> 8) as u8);
        }
        tables
    }
}

/// A GF(2^16) constant as bit matrices between low and high bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrices16 {
    pub(super) low_to_low: u64,
    pub(super) low_to_high: u64,
    pub(super) high_to_low: u64,
    pub(super) high_to_high: u64,
}

impl Matrices16 {
    pub(super) const ZERO: Self =
        Self { low_to_low: 0, low_to_high: 0, high_to_low: 0, high_to_high: 0 };

    pub(super) fn new(constant: u16) -> Self {
        let powers = powers16(constant);
        let matrix = |from: usize, shift: u32| {
            let bits = 0..8;
            affine(bits.fold(0, |columns, bit| {
                columns | u64::from((powers[from + bit] >> shift) as u8) << (8 * bit)
            }))
        };
        Self {
            low_to_low: matrix(0, 0),
            low_to_high: matrix(0, 8),
            high_to_low: matrix(8, 0),
            high_to_high: matrix(8, 8),
        }
    }
}
