//! Rates, times and sizes as people write and read them; `rate`: rates.

mod decimal;
mod rate;

use std::time::Duration;

pub use rate::{rate, rate_of};

use crate::plain::exit::Failure;
use decimal::decimal;

/// Shortest that holds the announcement of a file with a short name.
const SEGMENT_MIN: u16 = 128;

/// Reads `500ms`, `30s`, `2m`, `1h`, `7d` or plain seconds.
pub fn time(what: &str, text: &str) -> Result<Duration, Failure> {
    let wrong = || {
        let text = format!("{what} ({text}): not a time. Write it as 500ms, 30s, 2m, 1h or 7d");
        Failure::usage("time.invalid", text)
    };
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match &text[split..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let seconds = decimal(&text[..split]).ok_or_else(wrong)? * factor;
    Duration::try_from_secs_f64(seconds).ok().filter(|d| d.as_secs() < 1 << 32).ok_or_else(wrong)
}

/// How long a message is of use: some time at least.
pub fn expiry(text: &str) -> Result<Duration, Failure> {
    let expiry = time("expiry", text)?;
    if expiry.as_millis() == 0 {
        return Err(no_expiry(text));
    }
    Ok(expiry)
}

/// Of a message that would be of no use to anybody.
pub fn no_expiry(given: &str) -> Failure {
    let text = format!(
        "expiry ({given}): nobody would be given the message. Leave it out, or give some time"
    );
    Failure::usage("time.invalid", text)
}

/// Reads a size of segments; whether it is too long, the link decides.
pub fn segment(text: &str) -> Result<u16, Failure> {
    text.parse().ok().filter(|size| *size >= SEGMENT_MIN).ok_or_else(|| {
        let text =
            format!("segment ({text}): not a size of at least {SEGMENT_MIN} bytes. Use 1400");
        Failure::usage("segment.invalid", text)
    })
}

/// Reads `1400`, `64KiB`, `1.5MiB`, `1GiB`.
pub fn bytes(what: &str, text: &str) -> Result<u64, Failure> {
    let wrong = || {
        let text =
            format!("{what} ({text}): not a size. Write bytes as 1400, 64KiB, 10MiB or 1GiB");
        Failure::usage("size.invalid", text)
    };
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match &text[split..] {
        "" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let value = decimal(&text[..split]).ok_or_else(wrong)? * factor;
    // What a NORM object can have, and exact as a number of 53 bits.
    if value < (1_u64 << 48) as f64 { Ok(value as u64) } else { Err(wrong()) }
}

/// `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `10 s`, `0.5 s`: a time that a user gave, back in words.
pub fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// `4 min 10 s`, as an estimate is written.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_of_a_time_has_two_units_at_most() {
        let about = |seconds| about(Duration::from_secs_f64(seconds));
        let told = [0.2, 59.0, 250.0, 7300.0, 180_000.0].map(about);
        assert_eq!(told, ["1 s", "59 s", "4 min 10 s", "2 h 1 min", "2 d 2 h"]);
    }

    #[test]
    fn times_have_units() {
        assert_eq!(time("wait", "500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(time("wait", "2m").unwrap(), Duration::from_secs(120));
        assert_eq!(time("wait", "1.5").unwrap(), Duration::from_millis(1500));
        assert_eq!(time("keep", "10d").unwrap(), Duration::from_secs(864_000));
        for text in ["", "-1s", "5 s", "3w", "s", "1,5s", "99999999999999h"] {
            assert!(time("wait", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_message_is_of_use_for_some_time() {
        assert_eq!(expiry("1d").unwrap(), Duration::from_secs(86_400));
        for text in ["0", "0s", "0.0h", "0.5ms"] {
            assert!(
                expiry(text).unwrap_err().text.starts_with(&format!("expiry ({text}): nobody"))
            );
        }
    }

    #[test]
    fn segments_have_room_for_a_name() {
        assert_eq!(segment("1400").unwrap(), 1400);
        for text in ["127", "0", "-1", "1KiB", "65536", ""] {
            assert!(segment(text).unwrap_err().text.contains("at least 128"), "{text}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        let read = |text| bytes("cache", text).ok();
        assert_eq!(
            ["1400", "64KiB", "1.5MiB", "1GiB"].map(read),
            [1400, 64 << 10, 3 << 19, 1 << 30].map(Some)
        );
        for text in ["", "1KB", "-1", "1 GiB", "GiB", "999999GiB", "1e3"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_and_times_are_shown_short() {
        assert_eq!([size(1023), size(1536), size(8 << 20)], ["1023 B", "1.5 KiB", "8.0 MiB"]);
        assert_eq!(
            [seconds(Duration::from_secs(10)), seconds(Duration::from_millis(500))],
            ["10 s", "0.5 s"]
        );
    }
}
