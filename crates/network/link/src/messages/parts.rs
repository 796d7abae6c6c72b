//! Unreliable messages of several datagrams: put together in time, or dropped.

use std::{collections::BTreeMap, time::Duration};

use fanfare_proto::Time;

use super::{
    Class,
    head::{Head, PARTS_MAX},
};

/// Messages that may be incomplete at once.
const INCOMPLETE_MAX: usize = 1024;
/// Parts come within so many round trips, or not at all.
const ROUND_TRIPS: u32 = 2;
/// And within this at least: two datagrams may be sent that far apart on a slow line.
const LEAST: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Incomplete {
    head: Head,
    until: Time,
    parts: Vec<Option<Vec<u8>>>,
}

/// Messages of which parts are missing.
#[derive(Debug, Default)]
pub struct Parts {
    incomplete: BTreeMap<u64, Incomplete>,
}

impl Parts {
    /// A part has come; the message, when it is whole.
    pub fn on_part(
        &mut self,
        (now, round_trip): (Time, Duration),
        head: Head,
        (part, parts): (u8, u8),
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        let (part, parts) = (usize::from(part), usize::from(parts));
        if part >= parts || parts > PARTS_MAX {
            return None;
        }
        if parts == 1 {
            return Some(bytes.to_vec());
        }
        if self.incomplete.len() >= INCOMPLETE_MAX && !self.incomplete.contains_key(&head.number) {
            return None;
        }
        let until = now + (ROUND_TRIPS * round_trip).max(LEAST);
        let fresh = || Incomplete { head, until, parts: vec![None; parts] };
        let entry = self.incomplete.entry(head.number).or_insert_with(fresh);
        *entry.parts.get_mut(part)? = Some(bytes.to_vec());
        if entry.parts.iter().any(Option::is_none) {
            return None;
        }
        let whole = self.incomplete.remove(&head.number)?;
        Some(whole.parts.into_iter().flatten().flatten().collect())
    }

    /// Drops those whose time is over; of which class and tag they are.
    pub fn expire(&mut self, now: Time) -> Vec<(Class, u64)> {
        let late = self.incomplete.extract_if(.., |_, entry| entry.until <= now);
        late.map(|(_, entry)| (entry.head.class, entry.head.tag)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(200);

    fn head(number: u64) -> Head {
        let class = Class::UnreliableUnsequenced;
        Head { class, replace: false, given_up: false, number, sequence: 0, tag: 3 }
    }

    #[test]
    fn parts_in_any_order_make_the_message() {
        let mut parts = Parts::default();
        let at = (Time::ZERO, RTT);
        assert_eq!(parts.on_part(at, head(1), (2, 3), b"c"), None);
        assert_eq!(parts.on_part(at, head(1), (0, 3), b"a"), None);
        assert_eq!(parts.on_part(at, head(1), (0, 3), b"a"), None);
        assert_eq!(parts.on_part(at, head(1), (1, 3), b"b"), Some(b"abc".to_vec()));
        assert_eq!(parts.on_part(at, head(2), (0, 1), b"d"), Some(b"d".to_vec()));
    }

    #[test]
    fn what_is_incomplete_after_two_round_trips_is_dropped() {
        let mut parts = Parts::default();
        parts.on_part((Time::ZERO, RTT), head(1), (0, 2), b"a");
        assert_eq!(parts.expire(Time::ZERO + RTT), []);
        assert_eq!(parts.expire(Time::ZERO + 2 * RTT), [(Class::UnreliableUnsequenced, 3)]);
        assert_eq!(parts.on_part((Time::ZERO, RTT), head(1), (1, 2), b"b"), None);
    }
}
