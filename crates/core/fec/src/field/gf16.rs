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

/// Powers of a, and their logarithms.
type Tables = ([u16; 65535], [u16; 65536]);

// 256 KiB, which a program need not carry: they are made at the first use, in less than a millisecond.
#[cfg(feature = "std")]
static TABLES: std::sync::LazyLock<Box<Tables>> = std::sync::LazyLock::new(|| Box::new(tables()));
// That takes a lock, which no_std does not have.
#[cfg(not(feature = "std"))]
static TABLES: Tables = tables();

/// a times `element`.
pub(crate) const fn double(element: u16) -> u16 {
    (element << 1) ^ (REDUCTION * (element >> 15))
}

const fn tables() -> Tables {
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
        TABLES.0[(log % Self::ORDER) as usize]
    }

    fn log(element: u16) -> u32 {
        u32::from(TABLES.1[usize::from(element)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generates_every_nonzero_element() {
        let mut seen = vec![false; 65536];
        TABLES.0.iter().for_each(|&element| seen[usize::from(element)] = true);
        assert!(seen[1..].iter().all(|&seen| seen) && !seen[0]);
    }

    #[test]
    fn exp_undoes_log() {
        assert!((1..=65535).all(|element| Gf16::exp(Gf16::log(element)) == element));
    }
}
