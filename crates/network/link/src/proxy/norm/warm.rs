//! A new session does not know how fast the line is, and begins with ten packets in a round trip. A page
//! of small files asks for little at a time, so it would learn that slowly. So the first bytes of a
//! session are filling, which nobody reads, until the rate is known or enough is sent.

use std::time::Duration;

use fanfare_proto::Time;

use crate::proxy::mux::span::{self, RECORD_HEAD, Record};

/// Filling of a session in each direction, unless somebody chooses: twice what a line of 1 Mbit/s and half
/// a second of round trip has on its way.
pub const WARM_UP: u64 = 128 << 10;
/// And for so long at most: a slow line is not kept busy.
const LONGEST: Duration = Duration::from_secs(3);
/// No connection has this number.
const NOBODY: u64 = 0;

/// What is left of it.
#[derive(Debug)]
pub(crate) struct WarmUp {
    left: usize,
    until: Option<Time>,
}

impl WarmUp {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: usize::try_from(bytes).unwrap_or(usize::MAX), until: None }
    }

    /// A span of at most so many bytes, while the rate is not known.
    pub(crate) fn poll(&mut self, now: Time, most: usize, is_known: bool) -> Option<Vec<u8>> {
        let until = *self.until.get_or_insert(now + LONGEST);
        if is_known || now >= until {
            self.left = 0;
        }
        let size = most.min(self.left);
        self.left -= size;
        let bytes = vec![0; size.saturating_sub(RECORD_HEAD)];
        (!bytes.is_empty()).then(|| {
            let mut filling = span::begin();
            span::put(&Record { id: NOBODY, offset: 0, bytes: &bytes, last: false }, &mut filling);
            filling
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::mux::Mux;

    #[test]
    fn filling_has_a_bound_ends_when_the_rate_is_known_and_is_read_by_nobody() {
        let mut warm = WarmUp::new(5_000);
        let mut mux = Mux::new(0);
        let (now, later) = (Time::ZERO, Time::ZERO + LONGEST);
        let mut sent = 0;
        while let Some(filling) = warm.poll(now, 2_000, false) {
            assert!(filling.len() <= 2_000);
            mux.on_span(&filling).unwrap();
            assert_eq!(mux.poll_event(), None);
            sent += filling.len();
        }
        assert!((4_800..=5_000).contains(&sent), "{sent}");
        let mut known = WarmUp::new(5_000);
        assert!(known.poll(now, 2_000, true).is_none() && known.poll(now, 2_000, false).is_none());
        let mut slow = WarmUp::new(5_000);
        assert!(slow.poll(now, 2_000, false).is_some() && slow.poll(later, 2_000, false).is_none());
    }
}
