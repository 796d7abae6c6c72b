//! How fast segments are sent.
//!
//! A segment that is sent as fast as the sender may fills the queue of a narrow path, and all else
//! waits behind it. So segments go at a pace that every viewer's path carries. What goes at a pace
//! tells nothing of what the path carries beyond it: now and then one goes as fast as it may.

/// Of what the narrowest path carries.
const SHARE: f64 = 0.8;
/// At least so much more than the renditions that are in use: a segment is there before half of the
/// next one is taken, with its repairs.
const LEAST: f64 = 2.5;
/// One segment in so many tells what the path carries: as often as a viewer may climb. Where it tells
/// nothing new it was in vain, and delayed what else goes there: the next one is later, twice each time.
const FIRST: u32 = 4;
const MOST: u32 = 16;
/// So much more than before is new.
const NEW: f64 = 1.2;

/// Decides the pace.
#[derive(Debug, Clone)]
pub struct Pace {
    /// The segment that told last, and how many come until the next one.
    told: u32,
    gap: u32,
    /// What the narrowest path carried then.
    carried: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { told: 0, gap: FIRST, carried: 0.0 }
    }
}

impl Pace {
    /// Bits a second for the segment of this number; `None`: as fast as the sender may. `rates`: of the
    /// renditions in use, together; `carries`: what the narrowest path carries, where a viewer knows.
    pub fn of(&mut self, rates: u64, carries: Option<u64>, number: u32) -> Option<u64> {
        let carries = carries? as f64;
        let is_new = carries > self.carried * NEW;
        // What tells more is followed by another at once.
        let gap = if is_new { 1 } else { self.gap };
        if number >= self.told.saturating_add(gap) {
            self.gap = if is_new { FIRST } else { (self.gap * 2).min(MOST) };
            (self.told, self.carried) = (number, carries);
        }
        if number == self.told {
            return None;
        }
        Some((carries * SHARE).max(rates as f64 * LEAST) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments that went as fast as they may, of those from `from` on.
    fn free(pace: &mut Pace, numbers: std::ops::Range<u32>, carries: u64) -> Vec<u32> {
        numbers.filter(|n| pace.of(64_000, Some(carries), *n).is_none()).collect()
    }

    #[test]
    fn segments_leave_room_on_a_narrow_path() {
        let mut pace = Pace::default();
        assert_eq!(pace.of(64_000, None, 0), None);
        let _ = free(&mut pace, 1..3, 1_000_000);
        assert_eq!(pace.of(200_000, Some(1_000_000), 3), Some(800_000));
        assert_eq!(pace.of(64_000, Some(100_000), 4), Some(160_000));
    }

    #[test]
    fn what_tells_nothing_new_is_tried_ever_more_seldom_and_what_does_at_once_again() {
        let mut pace = Pace::default();
        assert_eq!(free(&mut pace, 1..100, 128_000), [1, 5, 13, 29, 45, 61, 77, 93]);
        // The one at 125 finds more, and so does the next.
        assert_eq!(free(&mut pace, 100..126, 128_000), [109, 125]);
        assert_eq!(free(&mut pace, 126..127, 437_000), [126]);
        assert_eq!(free(&mut pace, 127..140, 620_000), [127, 131, 139]);
    }
}
