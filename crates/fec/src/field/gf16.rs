//! GF(2^16) with x^16 + x^12 + x^3 + x + 1 (RFC 5510 8.1).

use super::Logarithms;

/// The polynomial without its leading term: what x^16 is congruent to.
pub(crate) const REDUCTION: u16 = 0x100b;

/// The field of 65536 elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gf16;

impl Gf16 {
    pub(crate) const ORDER: u32 = 65535;
}

// 256 KiB of constants: made at run time they would need a lock, which no_std does not have.
static EXP: [u16; 65535] = tables().0;
static LOG: [u16; 65536] = tables().1;

/// a times `element`.
pub(crate) const fn double(element: u16) -> u16 {
    (element << 1) ^ (REDUCTION * (element >> 15))
}

const fn tables() -> ([u16; 65535], [u16; 65536]) {
    let (mut exp, mut log) = ([0; 65535], [0; 65536]);
    let (mut power, mut element) = (0, 1);
    while power < 65535 {
        exp[power] = element;
        log[element as usize] = power as u16;
        element = double(element);
        power += 1;
    }
    (exp, log)
}

impl Logarithms for Gf16 {
    const ORDER: u32 = Self::ORDER;

    fn exp(log: u32) -> u16 {
        EXP[(log % Self::ORDER) as usize]
    }

    fn log(element: u16) -> u32 {
        u32::from(LOG[usize::from(element)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generates_every_nonzero_element() {
        let mut seen = vec![false; 65536];
        EXP.iter().for_each(|&element| seen[usize::from(element)] = true);
        assert!(seen[1..].iter().all(|&seen| seen) && !seen[0]);
    }

    #[test]
    fn exp_undoes_log() {
        assert!((1..=65535).all(|element| Gf16::exp(Gf16::log(element)) == element));
    }
}
