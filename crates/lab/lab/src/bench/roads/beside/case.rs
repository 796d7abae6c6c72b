//! Cases: who is beside a transfer, and which queue they share.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::bench::{
    rate::CONGESTION_CONTROL,
    roads::{
        emulated::{codel, products},
        sender::BBR,
    },
};

/// Who is beside a transfer by default, and which queue they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BesideCase {
    /// Kind of the others.
    pub rival: BesideRival,
    /// Number of the others.
    pub flows: usize,
    /// Queue before the line.
    pub queue: BesideQueue,
}

/// Kind of flows beside a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideRival {
    /// TCP with CUBIC.
    Cubic,
    /// TCP with BBR.
    Bbr,
    /// `fanfare send` by default.
    Ours,
}

/// Queue that all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideQueue {
    /// Drop-tail of half a product of rate and round trip.
    Half,
    /// Drop-tail of one.
    One,
    /// Drop-tail of four.
    Four,
    /// A queue for each flow, one product together.
    Fair,
    /// Controlled delay (RFC 8289).
    CoDel,
}

/// Rate of the line, bit/s, and its round trip without queues, milliseconds.
pub(super) const RATE: u64 = 10_000_000;
pub(super) const ROUND_TRIP_MS: u32 = 50;

/// Others that are beside a transfer, with their number.
const RIVALS: [BesideRivals; 5] = [
    BesideRivals { rival: BesideRival::Cubic, flows: 1 },
    BesideRivals { rival: BesideRival::Cubic, flows: 3 },
    BesideRivals { rival: BesideRival::Bbr, flows: 1 },
    BesideRivals { rival: BesideRival::Bbr, flows: 3 },
    BesideRivals { rival: BesideRival::Ours, flows: 1 },
];

#[derive(Debug, Clone, Copy)]
struct BesideRivals {
    rival: BesideRival,
    flows: usize,
}

impl BesideRival {
    /// The kernel's name of its congestion control; `None` for ours.
    pub(super) fn congestion(self) -> Option<&'static str> {
        match self {
            Self::Cubic => Some(CONGESTION_CONTROL),
            Self::Bbr => Some(BBR),
            Self::Ours => None,
        }
    }
}

impl BesideQueue {
    const ALL: [Self; 5] = [Self::Half, Self::One, Self::Four, Self::Fair, Self::CoDel];

    /// It as a scenario has it.
    pub(super) fn text(self) -> String {
        let (kind, times) = match self {
            Self::Half => ("drop-tail", 0.5),
            Self::One => ("drop-tail", 1.0),
            Self::Four => ("drop-tail", 4.0),
            Self::Fair => ("fair", 1.0),
            Self::CoDel => return codel(RATE, ROUND_TRIP_MS),
        };
        format!("{{ kind = \"{kind}\", bytes = {} }}", products(RATE, ROUND_TRIP_MS, times))
    }
}

impl BesideCase {
    /// All cases.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let of = |rivals: BesideRivals| {
            let BesideRivals { rival, flows } = rivals;
            BesideQueue::ALL.map(|queue| Self { rival, flows, queue })
        };
        RIVALS.into_iter().flat_map(of).collect()
    }

    /// The cases of these names, with a star for any rest. All of them for no name.
    ///
    /// # Errors
    /// Which name is unknown, and which there are.
    pub fn chosen(names: &[String]) -> Result<Vec<Self>, String> {
        let all = Self::all();
        if names.is_empty() {
            return Ok(all);
        }
        let mut chosen = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let fits = |case: &&Self| match name.strip_suffix('*') {
                Some(start) => case.to_string().starts_with(start),
                None => case.to_string() == name,
            };
            let before = chosen.len();
            chosen.extend(all.iter().filter(fits));
            if chosen.len() == before {
                let names: Vec<String> = all.iter().map(Self::to_string).collect();
                return Err(format!(
                    "road ({name}): no such case of flows beside each other. Use one of {}",
                    names.join(", ")
                ));
            }
        }
        Ok(chosen)
    }
}

impl fmt::Display for BesideRival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cubic => CONGESTION_CONTROL,
            Self::Bbr => BBR,
            Self::Ours => "ours",
        })
    }
}

impl fmt::Display for BesideQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Half => "tail0.5",
            Self::One => "tail1",
            Self::Four => "tail4",
            Self::Fair => "fair",
            Self::CoDel => "codel",
        })
    }
}

impl fmt::Display for BesideCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}-{}", self.rival, self.flows, self.queue))
    }
}

impl Serialize for BesideCase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_a_name_and_is_found_by_it() {
        let all = BesideCase::all();
        assert_eq!(all.len(), 25);
        for one in all {
            assert_eq!(BesideCase::chosen(&[one.to_string()]), Ok(vec![one]));
        }
        assert_eq!(BesideCase::chosen(&["bbr*".to_owned()]).unwrap().len(), 10);
        let unknown = BesideCase::chosen(&["reno1-tail1".to_owned()]).unwrap_err();
        assert!(
            unknown.contains("(reno1-tail1)") && unknown.contains("cubic3-tail0.5"),
            "{unknown}"
        );
    }

    #[test]
    fn a_queue_is_a_half_one_or_four_products() {
        let bytes = |queue: BesideQueue, bytes: u64| {
            let text = queue.text();
            assert!(text.contains(&format!("bytes = {bytes} ")), "{text}");
        };
        bytes(BesideQueue::Half, 31_250);
        bytes(BesideQueue::One, 62_500);
        bytes(BesideQueue::Four, 250_000);
        assert!(BesideQueue::Fair.text().contains("fair"));
        assert!(BesideQueue::CoDel.text().contains("codel"));
    }
}
