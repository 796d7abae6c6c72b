//! How fast segments are sent.
//!
//! A segment that is sent as fast as the sender may fills the queue of a narrow path, and all else
//! waits behind it. So segments go at a pace that every viewer's path carries. What goes at a pace
//! tells nothing of what the path carries beyond it: now and then one goes as fast as it may.

/// Of what the narrowest path carries.
const SHARE: f64 = 0.8;
/// At least so much more than the renditions that are in use: a segment is there before the next one
/// begins, with its repairs.
const LEAST: f64 = 1.6;
/// One segment in so many tells what the path carries: as often as a viewer may climb.
const PROBE_EVERY: u32 = 4;

/// Bits a second for the segment of this number; `None`: as fast as the sender may. `rates`: of the
/// renditions in use, together; `carries`: what the narrowest path carries, where a viewer knows.
#[must_use]
pub fn pace(rates: u64, carries: Option<u64>, number: u32) -> Option<u64> {
    let carries = carries.filter(|_| !number.is_multiple_of(PROBE_EVERY))?;
    let pace = (carries as f64 * SHARE).max(rates as f64 * LEAST);
    Some(pace as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_room_on_a_narrow_path_and_one_in_four_tells_what_it_carries() {
        assert_eq!(pace(400_000, Some(1_000_000), 5), Some(800_000));
        assert_eq!(pace(64_000, Some(100_000), 5), Some(102_400));
        assert_eq!(pace(64_000, None, 5), None);
        let free = (0..40).filter(|n| pace(64_000, Some(128_000), *n).is_none()).count();
        assert_eq!(free, 10);
    }
}
