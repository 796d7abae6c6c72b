//! Multiplication by a constant as the bit matrices of GFNI.

use crate::field::{gf8, gf16};

/// The matrix of each GF(2^8) constant, as GF2P8AFFINEQB takes it.
pub(super) static MATRICES: [u64; 256] = matrices();

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

/// A GF(2^16) constant as bit matrices between low and high bytes: low to low, low to high, high to
/// low, high to high.
pub(super) type Matrices16 = [u64; 4];

// Linear in the constant, so four entries, one for each of its nibbles, add up to any.
static MATRICES16: [[Matrices16; 16]; 4] = all_matrices16();

const fn all_matrices16() -> [[Matrices16; 16]; 4] {
    let mut all = [[[0; 4]; 16]; 4];
    let mut entry = 0;
    while entry < 64 {
        let constant = ((entry % 16) << (4 * (entry / 16))) as u16;
        all[entry / 16][entry % 16] = [
            matrix16(constant, 0, 0),
            matrix16(constant, 0, 8),
            matrix16(constant, 8, 0),
            matrix16(constant, 8, 8),
        ];
        entry += 1;
    }
    all
}

/// a^first … a^(first + 7) times `constant` in GF(2^16), their low or high bytes: the columns of the
/// matrix from the byte at bit `first` to the byte at bit `shift`.
const fn matrix16(constant: u16, first: usize, shift: u32) -> u64 {
    let (mut columns, mut power, mut bit) = (0, constant, 0);
    while bit < first + 8 {
        if bit >= first {
            columns |= ((power >> shift) as u8 as u64) << (8 * (bit - first));
        }
        power = gf16::double(power);
        bit += 1;
    }
    affine(columns)
}

/// The matrices of a GF(2^16) constant.
pub(super) fn matrices16(constant: u16) -> Matrices16 {
    let mut sum = [0; 4];
    for (position, entries) in MATRICES16.iter().enumerate() {
        let entry = &entries[usize::from(constant >> (4 * position) & 0xf)];
        sum.iter_mut().zip(entry).for_each(|(sum, entry)| *sum ^= entry);
    }
    sum
}
