//! GF(2^8) with x^8 + x^4 + x^3 + x^2 + 1 (RFC 5510 8.1).

use super::Logarithms;

/// The polynomial without its leading term: what x^8 is congruent to.
pub(crate) const REDUCTION: u8 = 0x1d;

/// The field of 256 elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gf8;

impl Gf8 {
    pub(crate) const ORDER: u32 = 255;
}

// Three times round, for logarithms that are not reduced.
static EXP: [u8; 765] = tables().0;
static LOG: [u8; 256] = tables().1;

/// a times `element`.
pub(crate) const fn double(element: u8) -> u8 {
    (element << 1) ^ (REDUCTION * (element >> 7))
}

const fn tables() -> ([u8; 765], [u8; 256]) {
    let (mut exp, mut log) = ([0; 765], [0; 256]);
    let (mut power, mut element) = (0, 1);
    while power < 765 {
        exp[power] = element;
        log[element as usize] = (power % 255) as u8;
        element = double(element);
        power += 1;
    }
    (exp, log)
}

impl Logarithms for Gf8 {
    const ORDER: u32 = Self::ORDER;

    fn exp(log: u32) -> u16 {
        u16::from(EXP[log as usize])
    }

    fn log(element: u16) -> u32 {
        u32::from(LOG[usize::from(element as u8)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generates_every_nonzero_element() {
        let mut seen = [false; 256];
        EXP.iter().for_each(|&element| seen[usize::from(element)] = true);
        assert!(seen[1..].iter().all(|&seen| seen) && !seen[0]);
    }

    #[test]
    fn exp_undoes_log() {
        assert!((1..256).all(|element| Gf8::exp(Gf8::log(element)) == element));
    }
}
