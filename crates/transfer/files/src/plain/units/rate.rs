//! Rates as people write them: bits per second, and what is said of anything else.

use fanfare_node::proto::Bitrate;

use super::decimal::decimal;
use crate::plain::exit::Failure;

/// The fastest rate that is taken, in bits per second.
const RATE_MOST: f64 = 1e12;
/// How a rate is written.
const FORMS: &str = "Write bits per second as 64k, 10M, 1G or 64000";

/// Reads `64k`, `10M`, `1.5G` or plain bits per second.
pub fn rate(text: &str) -> Result<Bitrate, Failure> {
    rate_of("rate", text)
}

/// The same for the option `what`.
pub fn rate_of(what: &str, text: &str) -> Result<Bitrate, Failure> {
    read_rate(text).map_err(|why| {
        let text = format!("{what} ({text}): {why}");
        Failure::usage("rate.invalid", text)
    })
}

/// Why it is no rate, and what to do.
fn read_rate(text: &str) -> Result<Bitrate, String> {
    let wrong = |why: &str| format!("{why}. {FORMS}");
    if text.is_empty() {
        return Err(wrong("it is empty"));
    }
    if text.contains(char::is_whitespace) {
        return Err(wrong("it has a space"));
    }
    if text.starts_with('-') {
        return Err(wrong("a rate cannot be negative"));
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let value = decimal(number).ok_or_else(|| wrong("not a rate"))?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return Err(unknown_unit(value, unit)),
    };
    match value * factor {
        bits if bits < 1.0 => Err(wrong("nothing would ever be sent")),
        // More than any link; keeps arithmetic on it exact.
        bits if bits > RATE_MOST => Err(wrong("it is more than 1000G")),
        bits => Ok(Bitrate::bps(bits as u64)),
    }
}

/// Of a unit that is none of ours: mostly bytes where bits are meant, or bits written at length.
fn unknown_unit(value: f64, unit: &str) -> String {
    let exponent = unit.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    if exponent.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return format!("it has an exponent. {FORMS}");
    }
    let is_prefix = |c: &char| matches!(c, 'k' | 'K' | 'm' | 'M' | 'g' | 'G');
    let prefix = unit.chars().next().filter(is_prefix);
    let prefix = prefix.map_or_else(String::new, |c| match c {
        'k' | 'K' => "k".to_owned(),
        _ => c.to_ascii_uppercase().to_string(),
    });
    let factor = match prefix.as_str() {
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => 1.0,
    };
    let rest = unit.trim_start_matches(|c| is_prefix(&c)).trim_start_matches('i');
    // Eight times as many bits: only where that is a rate.
    let fits = value > 0.0 && value * 8.0 * factor <= RATE_MOST;
    match rest {
        "B" | "B/s" | "Bps" | "bytes" if fits => format!(
            "that is bytes, and a rate is in bits per second. Write {value}{prefix} for {value} \
             {prefix}bit/s, or {}{prefix} for {value} {prefix}B/s",
            value * 8.0
        ),
        "b" | "b/s" | "bps" | "bit" | "bit/s" | "bits" | "" if fits => {
            format!("'{unit}' is not a unit. Write {value}{prefix} for {value} {prefix}bit/s")
        }
        _ => format!("'{unit}' is not a unit. {FORMS}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_per_second_in_thousands() {
        assert_eq!(rate("10M").unwrap(), Bitrate::mbps(10));
        assert_eq!(rate("64k").unwrap(), Bitrate::kbps(64));
        assert_eq!(rate("1.5G").unwrap(), Bitrate::mbps(1500));
        assert_eq!(rate("64000").unwrap(), Bitrate::kbps(64));
    }

    fn refused(text: &str) -> String {
        let failure = rate(text).expect_err(text);
        assert_eq!((failure.code, failure.exit), ("rate.invalid", crate::plain::exit::Exit::Usage));
        failure.to_string()
    }

    #[test]
    fn what_is_no_rate_is_told_why_and_the_accepted_forms() {
        let huge = "9".repeat(400);
        for (text, why) in [
            ("0", "nothing would ever be sent"),
            ("0G", "nothing would ever be sent"),
            ("-1", "a rate cannot be negative"),
            ("-10M", "a rate cannot be negative"),
            ("", "it is empty"),
            ("1e9", "it has an exponent"),
            ("1e999", "it has an exponent"),
            ("1E-3", "it has an exponent"),
            ("10 M", "it has a space"),
            (" ", "it has a space"),
            ("9999G", "it is more than 1000G"),
            ("18446744073709551616", "it is more than 1000G"),
            (huge.as_str(), "it is more than 1000G"),
            ("M", "not a rate"),
            ("1.2.3", "not a rate"),
            (".", "not a rate"),
            ("inf", "not a rate"),
            ("NaN", "not a rate"),
            ("½M", "not a rate"),
            ("1,000", "',000' is not a unit"),
            ("10X", "'X' is not a unit"),
            ("9999GB", "'GB' is not a unit"),
            ("0GB", "'GB' is not a unit"),
        ] {
            assert_eq!(
                refused(text),
                format!(
                    "error: rate ({text}): {why}. Write bits per second as 64k, 10M, 1G or 64000"
                )
            );
        }
    }

    #[test]
    fn bytes_where_bits_are_meant_are_told_both_rates() {
        let told = |text: &str| refused(text).split_once(": that is bytes").unwrap().1.to_owned();
        let both = |rates: &str| format!(", and a rate is in bits per second. Write {rates}");
        assert_eq!(told("1GB"), both("1G for 1 Gbit/s, or 8G for 1 GB/s"));
        assert_eq!(told("1.5MB/s"), both("1.5M for 1.5 Mbit/s, or 12M for 1.5 MB/s"));
        assert_eq!(told("100B"), both("100 for 100 bit/s, or 800 for 100 B/s"));
        assert_eq!(told("2KiB"), both("2k for 2 kbit/s, or 16k for 2 kB/s"));
    }

    #[test]
    fn bits_in_another_spelling_are_told_ours() {
        for (text, ours) in [
            ("10Gb", "'Gb' is not a unit. Write 10G for 10 Gbit/s"),
            ("10Mbit/s", "'Mbit/s' is not a unit. Write 10M for 10 Mbit/s"),
            ("10m", "'m' is not a unit. Write 10M for 10 Mbit/s"),
            ("5bps", "'bps' is not a unit. Write 5 for 5 bit/s"),
        ] {
            assert_eq!(refused(text), format!("error: rate ({text}): {ours}"));
        }
    }
}
