//! What is said first: what has changed most and waited longest, for each byte that it takes.

use alloc::vec::Vec;

use fanfare_wire::units::{Duration, Time};

/// Something that could be said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate<K> {
    pub(crate) key: K,
    /// What it is worth before change and age.
    pub(crate) weight: f64,
    /// Changes since it was said last.
    pub(crate) changes: u32,
    /// When it was said last; `None` for never.
    pub(crate) said: Option<Time>,
    /// Bytes that it takes.
    pub(crate) bytes: usize,
}

impl<K: Copy + Ord> Candidate<K> {
    /// Waiting grows without bound, so nothing waits for ever.
    fn score(&self, now: Time, interval: Duration) -> f64 {
        let waited = match self.said {
            Some(said) => now.since(said).as_secs_f64() / interval.as_secs_f64().max(1e-3),
            // As if it had waited long, and no longer than what has.
            None => 4.0,
        };
        self.weight * f64::from(1 + self.changes) * waited / self.bytes.max(1) as f64
    }
}

/// Those that fit into `room` bytes, the best first.
pub(crate) fn choose<K: Copy + Ord>(
    mut candidates: Vec<Candidate<K>>,
    room: usize,
    now: Time,
    interval: Duration,
) -> Vec<K> {
    candidates.sort_by(|a, b| {
        let order = b.score(now, interval).total_cmp(&a.score(now, interval));
        order.then(a.key.cmp(&b.key))
    });
    let mut left = room;
    let mut chosen = Vec::new();
    for candidate in candidates {
        if candidate.bytes <= left {
            left -= candidate.bytes;
            chosen.push(candidate.key);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_starves_however_much_the_others_change() {
        const ROOM: usize = 100;
        let mut all: Vec<Candidate<u32>> = (0..40)
            .map(|key| Candidate { key, weight: 1.0, changes: 0, said: None, bytes: 20 })
            .collect();
        let second = Duration::from_secs(1);
        let mut longest = [0_u64; 40];
        let mut last = [0_u64; 40];
        for turn in 1..400_u64 {
            let now = Time::ZERO.plus(Duration::from_secs(turn));
            // Half of them change all the time.
            all.iter_mut().filter(|one| one.key % 2 == 0).for_each(|one| one.changes += 1);
            for key in choose(all.clone(), ROOM, now, second) {
                let one = &mut all[key as usize];
                (one.changes, one.said) = (0, Some(now));
                longest[key as usize] = longest[key as usize].max(turn - last[key as usize]);
                last[key as usize] = turn;
            }
        }
        // 800 bytes of state, 100 a turn.
        assert!(longest.iter().all(|turns| *turns <= 40), "{longest:?}");
    }

    #[test]
    fn what_has_changed_goes_before_what_has_not() {
        let said = Some(Time::ZERO);
        let one = |key, changes| Candidate { key, weight: 1.0, changes, said, bytes: 10 };
        let now = Time::ZERO.plus(Duration::from_secs(1));
        assert_eq!(choose(Vec::from([one(1, 0), one(2, 1)]), 10, now, Duration::from_secs(1)), [2]);
    }
}
