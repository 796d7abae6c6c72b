//! Values with units as people write them: `512kbps`, `242ms`, `1%`, `64KiB`.

use core::ops::RangeInclusive;
use fanfare_proto::{Bitrate, Duration};

/// `512kbps` is 512,000 bit/s, `512Kibps` 524,288.
pub(crate) fn rate(text: &str) -> Result<Bitrate, String> {
    let units = [
        ("Gibps", (1u64 << 30) as f64),
        ("Mibps", (1u64 << 20) as f64),
        ("Kibps", 1024.0),
        ("Gbps", 1e9),
        ("Mbps", 1e6),
        ("kbps", 1e3),
        ("bps", 1.0),
    ];
    let bits =
        with_unit(text, &units).ok_or("not a rate. Write it as 512kbps, 10Mbps or 512Kibps")?;
    // More than any line; keeps arithmetic on it exact.
    within(bits, 1.0..=1e12, "from 1bps to 1000Gbps").map(|bits| Bitrate::bps(bits as u64))
}

/// `242ms`, `1.5s`, `10us`, `2min`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let units = [("min", 60.0), ("ms", 1e-3), ("us", 1e-6), ("h", 3600.0), ("s", 1.0)];
    let seconds = with_unit(text, &units).ok_or("not a time. Write it as 242ms, 1.5s or 2min")?;
    // A year: more than anybody waits for, and less than a count of nanoseconds holds.
    within(seconds, 0.0..=31_536_000.0, "at most a year").map(Duration::from_secs_f64)
}

/// `1400`, `64KiB`, `1MB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("GiB", (1u64 << 30) as f64),
        ("MiB", (1u64 << 20) as f64),
        ("KiB", 1024.0),
        ("GB", 1e9),
        ("MB", 1e6),
        ("kB", 1e3),
        ("B", 1.0),
        ("", 1.0),
    ];
    let bytes = with_unit(text, &units).ok_or("not a size. Write it as 1400, 64KiB or 1MB")?;
    // The largest object on the wire has 48 bits.
    within(bytes, 0.0..=281_474_976_710_655.0, "below 256 TiB").map(|bytes| bytes as u64)
}

/// `0.01` or `1%`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = with_unit(text, &[("%", 0.01), ("", 1.0)]);
    let share = share.ok_or("not a share. Write it as 0.01 or 1%")?;
    within(share, 0.0..=1.0, "from 0 to 1 (0% to 100%)")
}

/// `1e-6` of `1e-6/bit`: wrong bits for each bit sent.
pub(crate) fn error_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().map_err(|_| "not an error rate. Write it as 1e-6/bit");
    within(rate?, 0.0..=0.5, "from 0 to 0.5")
}

/// `50ppm`, `-20ppm`.
pub(crate) fn drift(text: &str) -> Result<i32, String> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let ppm = with_unit(digits, &[("ppm", 1.0)]);
    let ppm = ppm.ok_or("not a drift. Write it as 50ppm or -20ppm")?;
    within(ppm, 0.0..=500_000.0, "at most 500000ppm").map(|ppm| sign * ppm as i32)
}

/// A plain number.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let number = with_unit(text, &[("", 1.0)]).ok_or("not a number of 0 or more")?;
    within(number, 0.0..=1e15, "below 10^15")
}

/// A whole number.
pub(crate) fn count(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let outside = format!("not a whole number from {} to {}", range.start(), range.end());
    text.parse().ok().filter(|count| range.contains(count)).ok_or(outside)
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?.trim_end();
        let plain = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        let number: f64 = if plain { digits.parse().ok()? } else { return None };
        Some(number * factor)
    })
}

fn within(value: f64, range: RangeInclusive<f64>, words: &str) -> Result<f64, String> {
    if range.contains(&value) { Ok(value) } else { Err(format!("must be {words}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_in_thousands_or_in_1024s() {
        assert_eq!(rate("512kbps"), Ok(Bitrate::bps(512_000)));
        assert_eq!(rate("512Kibps"), Ok(Bitrate::bps(524_288)));
        assert_eq!(rate("1.5 Mbps"), Ok(Bitrate::bps(1_500_000)));
    }

    #[test]
    fn times_sizes_shares_and_drifts_have_their_units() {
        assert_eq!(time("242ms"), Ok(Duration::from_millis(242)));
        assert_eq!(time("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(
            [size("1400"), size("64KiB"), size("1MB")],
            [Ok(1400), Ok(65_536), Ok(1_000_000)]
        );
        assert_eq!([share("1%"), share("0.25")], [Ok(0.01), Ok(0.25)]);
        assert_eq!([drift("50ppm"), drift("-20ppm")], [Ok(50), Ok(-20)]);
        assert_eq!(count("7", 1..=9), Ok(7));
        assert_eq!(error_rate("3e-7"), Ok(3e-7));
        assert!(error_rate("NaN").is_err() && error_rate("1%").is_err());
    }

    #[test]
    fn what_is_no_value_is_told_an_accepted_form() {
        for text in ["512kbs", "-1Mbps", "", "kbps", "1e3bps", "inf bps", "1,5Mbps", "NaNbps"] {
            assert!(rate(text).unwrap_err().contains("512kbps"), "{text}");
        }
        for text in ["5", "-1s", "1d", "s"] {
            assert!(time(text).unwrap_err().contains("242ms"), "{text}");
        }
        assert!(rate("0bps").is_err() && rate("2000Gbps").is_err() && share("101%").is_err());
        assert!(count("10", 1..=9).is_err() && count("1.5", 1..=9).is_err() && drift("5").is_err());
    }
}
