//! Sources that send nothing of use: so many of their datagrams are read, and the others are not.
//!
//! A source is an address, and addresses can be forged. So one that has ever sent something of use is
//! not limited: whoever takes a sender's address cannot silence the sender by it.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use crate::time::Time;

/// Datagrams of no use that are read of one source: as many in a second, and at first. A receiver that
/// comes late, or a sender of another group on this port, sends fewer.
const PER_SECOND: u32 = 1000;
const AT_FIRST: u32 = 2000;
/// Sources remembered; the one heard longest ago gives way.
const SOURCES_MAX: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Source {
    /// It has sent something of use.
    useful: bool,
    tokens: u32,
    filled: Time,
}

/// All sources of late.
#[derive(Debug, Default)]
pub(crate) struct StraySources {
    known: BTreeMap<SocketAddr, Source>,
    /// Heard last, and of use: most datagrams are its.
    last: Option<SocketAddr>,
}

impl StraySources {
    /// Whether a datagram from there is to be read at all.
    pub(crate) fn admits(&mut self, now: Time, source: SocketAddr) -> bool {
        if self.last == Some(source) {
            return true;
        }
        let Some(known) = self.known.get_mut(&source) else { return true };
        if !known.useful {
            let since = now.since(known.filled);
            let new = (since.as_nanos() * u128::from(PER_SECOND) / 1_000_000_000) as u32;
            if new > 0 {
                known.tokens = known.tokens.saturating_add(new).min(AT_FIRST);
                known.filled = now;
            }
        }
        known.useful || known.tokens > 0
    }

    /// A datagram from there was read.
    pub(crate) fn on_read(&mut self, now: Time, source: SocketAddr, useful: bool) {
        if useful && self.last == Some(source) {
            return;
        }
        if !self.known.contains_key(&source) && self.known.len() >= SOURCES_MAX {
            // Those of use stay for as long as there are others.
            let oldest = self.known.iter().min_by_key(|(_, known)| (known.useful, known.filled));
            if let Some(oldest) = oldest.map(|(source, _)| *source) {
                self.known.remove(&oldest);
                self.last = self.last.filter(|last| *last != oldest);
            }
        }
        let new = Source { useful: false, tokens: AT_FIRST, filled: now };
        let known = self.known.entry(source).or_insert(new);
        if useful {
            known.useful = true;
            self.last = Some(source);
        } else {
            known.tokens = known.tokens.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Duration, at};

    /// Longest time in which [`AT_FIRST`] is full again.
    const FULL: Duration = Duration::from_secs((AT_FIRST / PER_SECOND) as u64);

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 6003))
    }

    /// How many of `count` datagrams of no use, one each 50 microseconds, are read.
    fn read(strays: &mut StraySources, from: Time, source: SocketAddr, count: u32) -> u32 {
        let mut read = 0;
        for n in 0..count {
            let now = from + Duration::from_micros(50) * n;
            if strays.admits(now, source) {
                strays.on_read(now, source, false);
                read += 1;
            }
        }
        read
    }

    #[test]
    fn of_a_source_of_no_use_a_thousand_datagrams_a_second_are_read() {
        let mut strays = StraySources::default();
        // 20,000 a second for three seconds.
        let all = read(&mut strays, at(0), address(66), 60_000);
        assert!((4900..=5100).contains(&all), "{all}");
        assert!(strays.admits(at(3000) + FULL, address(66)), "it may become of use");
        assert!(strays.admits(at(3000), address(1)));
    }

    #[test]
    fn who_was_of_use_is_heard_whatever_is_sent_in_its_name() {
        let mut strays = StraySources::default();
        strays.on_read(at(0), address(1), true);
        strays.on_read(at(0), address(2), true);
        assert_eq!(read(&mut strays, at(0), address(1), 10_000), 10_000);
        // Even where thousands of other sources are heard meanwhile.
        for n in 0..10_000u16 {
            let other = SocketAddr::from(([10, 1, (n >> 8) as u8, n as u8], 1));
            strays.on_read(at(u64::from(n)), other, false);
        }
        assert!(strays.known[&address(1)].useful && strays.known.len() <= SOURCES_MAX);
    }
}
