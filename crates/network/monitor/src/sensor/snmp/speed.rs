//! What a line carries, of two columns that say it: ifSpeed in bit/s, of 32 bits, and ifHighSpeed in
//! Mbit/s (RFC 2863). Either may be missing, 0, cut or wrong.

/// From here on ifSpeed says only that it is more. Some agents stop one before the largest number.
const SPEED_FULL: u64 = u32::MAX as u64 - 1;
/// The full ifSpeed (RFC 2863).
const OR_MORE: u64 = u32::MAX as u64;
/// No line carries more: a bundle of 32 lines of 1.6 Tbit/s, the fastest Ethernet (IEEE 802.3dj). bit/s.
const LINE_MAX: u64 = 32 * 1_600_000_000_000;
const MEGA: u64 = 1_000_000;
/// 2^32 bit/s in whole Mbit/s, rounded in both ways: an agent that makes ifHighSpeed of its full ifSpeed.
const CUT: std::ops::RangeInclusive<u64> = 4294..=4295;

/// In bit/s; `None` where neither column tells it. [`OR_MORE`] where it is that or more.
pub(super) fn of_columns(speed: Option<u64>, high: Option<u64>) -> Option<u64> {
    let exact = speed.filter(|speed| (1..SPEED_FULL).contains(speed));
    let is_full = speed.is_some_and(|speed| speed >= SPEED_FULL);
    // Some agents write bit/s or kbit/s there.
    let is_other_unit = |high: &u64| {
        exact.is_some_and(|exact| *high == exact || high.saturating_mul(1000) == exact)
    };
    let coarse = high
        .filter(|high| *high > 0 && !is_other_unit(high))
        .filter(|high| !(is_full && CUT.contains(high)))
        .map(|high| high.saturating_mul(MEGA))
        .filter(|coarse| *coarse <= LINE_MAX);
    match (exact, coarse) {
        // The same, and one of them is rounded.
        (Some(exact), Some(coarse)) if exact.abs_diff(coarse) < MEGA => Some(exact),
        // They differ: then the older column was cut to its 32 bits, or never set.
        (_, Some(coarse)) => Some(coarse),
        (exact, None) => exact.or(is_full.then_some(OR_MORE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_column_wins_where_it_can_say_it_and_the_coarse_one_elsewhere() {
        const MAX: u64 = u32::MAX as u64;
        let cases = [
            // Both, and they agree; the coarse one may be rounded up or down, also to 0.
            (Some(1_000_000_000), Some(1000), Some(1_000_000_000)),
            (Some(1_544_000), Some(1), Some(1_544_000)),
            (Some(1_544_000), Some(2), Some(1_544_000)),
            (Some(512_000), Some(0), Some(512_000)),
            (Some(512_000), Some(1), Some(512_000)),
            (Some(64_000), Some(0), Some(64_000)),
            // One of them alone.
            (Some(100_000_000), None, Some(100_000_000)),
            (None, Some(100), Some(100_000_000)),
            (Some(0), Some(100), Some(100_000_000)),
            // More than 32 bits can say; alone it is that or more.
            (Some(MAX), Some(10_000), Some(10_000_000_000)),
            (Some(MAX - 1), Some(8000), Some(8_000_000_000)),
            (Some(MAX), None, Some(MAX)),
            (Some(MAX), Some(0), Some(MAX)),
            (Some(MAX), Some(4294), Some(MAX)),
            (Some(MAX), Some(4295), Some(MAX)),
            (Some(MAX - 1), None, Some(MAX)),
            // Cut to 32 bits: 20 Gbit/s modulo 2^32, and 10.
            (Some(2_820_130_816), Some(20_000), Some(20_000_000_000)),
            (Some(1_410_065_408), Some(10_000), Some(10_000_000_000)),
            // Another unit than the column has.
            (Some(100_000_000), Some(100_000_000), Some(100_000_000)),
            (Some(10_000_000), Some(10_000_000), Some(10_000_000)),
            (Some(100_000_000), Some(100_000), Some(100_000_000)),
            (None, Some(1_000_000_000), None),
            // Never set.
            (Some(10_000_000), Some(1000), Some(1_000_000_000)),
            (Some(0), Some(0), None),
            (None, None, None),
            (Some(u64::MAX), Some(u64::MAX), Some(MAX)),
        ];
        for (speed, high, expected) in cases {
            assert_eq!(of_columns(speed, high), expected, "{speed:?} {high:?}");
        }
    }
}
