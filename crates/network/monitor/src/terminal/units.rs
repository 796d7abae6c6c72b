//! Numbers for people, as the page writes them.

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut at = 0;
    while value >= step && at + 1 < units.len() {
        value /= step;
        at += 1;
    }
    let digits = match value {
        _ if at == 0 || value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {}", units[at])
}

pub(super) fn size(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

pub(super) fn rate(bits: f64) -> String {
    scaled(bits, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

pub(super) fn share(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

pub(super) fn time(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

pub(super) fn millis(seconds: f64) -> String {
    if seconds < 0.01 {
        format!("{:.1} ms", seconds * 1000.0)
    } else {
        format!("{:.0} ms", seconds * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!((size(0.0), size(1536.0)), ("0 B".to_owned(), "1.50 KiB".to_owned()));
        assert_eq!(
            (rate(999.0), rate(12_340_000.0)),
            ("999 bit/s".to_owned(), "12.3 Mbit/s".to_owned())
        );
        assert_eq!((time(59.4), time(3700.0)), ("59 s".to_owned(), "1 h 1 min".to_owned()));
        assert_eq!((millis(0.0012), share(0.0789)), ("1.2 ms".to_owned(), "7.9 %".to_owned()));
    }
}
