//! Values as people write them.

use std::{collections::BTreeSet, time::Duration};

use fanfare::{
    files::{Conflict, Until},
    groups::{History, Ordering},
    protocol::CongestionControl,
    stream::{Flush, Framing, Start, StreamPolicy},
};
use fanfare_files::plain::units;

use crate::error::Error;

/// Who is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Anyone,
    Nobody,
    Count(usize),
    Names(BTreeSet<String>),
}

pub(crate) type Read<T> = Result<T, Error>;

fn wrong(name: &str, text: &str, what: &str) -> Error {
    Error::mistake(format!("{name} ({text}): {what}"))
}

/// One of some words.
fn one_of<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Read<T> {
    let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        wrong(name, text, &format!("not one of {}", known.join(", ")))
    })
}

pub(crate) fn flag(name: &str, text: &str) -> Read<bool> {
    one_of(name, text, &[("true", true), ("false", false), ("1", true), ("0", false)])
}

pub(crate) fn number<T: std::str::FromStr>(name: &str, text: &str) -> Read<T> {
    text.parse().map_err(|_| wrong(name, text, "not a number that fits here"))
}

pub(crate) fn time(name: &str, text: &str) -> Read<Duration> {
    Ok(units::time(name, text)?)
}

/// `never`, or a time.
pub(crate) fn time_or_never(name: &str, text: &str) -> Read<Option<Duration>> {
    if text == "never" { Ok(None) } else { time(name, text).map(Some) }
}

pub(crate) fn probability(name: &str, text: &str) -> Read<f64> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| wrong(name, text, "not a probability. Give 0 to 1"))
}

pub(crate) fn control(name: &str, text: &str) -> Read<CongestionControl> {
    let words = [
        ("auto", CongestionControl::Auto),
        ("norm", CongestionControl::Norm),
        ("ecn", CongestionControl::Ecn),
        ("loss-tolerant", CongestionControl::LossTolerant),
        ("fixed", CongestionControl::Fixed),
    ];
    one_of(name, text, &words)
}

pub(crate) fn conflict(name: &str, text: &str) -> Read<Conflict> {
    let words = [
        ("keep-both", Conflict::KeepBoth),
        ("overwrite", Conflict::Overwrite),
        ("keep", Conflict::Keep),
    ];
    one_of(name, text, &words)
}

pub(crate) fn policy(name: &str, text: &str) -> Read<StreamPolicy> {
    let words = [
        ("lossless", StreamPolicy::Lossless),
        ("repaired", StreamPolicy::Repaired),
        ("live", StreamPolicy::Live),
    ];
    one_of(name, text, &words)
}

pub(crate) fn framing(name: &str, text: &str) -> Read<Framing> {
    let words = [
        ("raw", Framing::Raw),
        ("u16", Framing::U16),
        ("varint", Framing::Varint),
        ("line", Framing::Line),
    ];
    one_of(name, text, &words)
}

pub(crate) fn start(name: &str, text: &str) -> Read<Start> {
    one_of(name, text, &[("earliest", Start::Earliest), ("now", Start::Now)])
}

pub(crate) fn ordering(name: &str, text: &str) -> Read<Ordering> {
    let words = [
        ("arrival", Ordering::Arrival),
        ("source", Ordering::Source),
        ("source-topic", Ordering::SourceTopic),
        ("latest", Ordering::Latest),
    ];
    one_of(name, text, &words)
}

/// `idle`, `asked`, or a time.
pub(crate) fn flush(name: &str, text: &str) -> Read<Flush> {
    match text {
        "idle" => Ok(Flush::Idle),
        "asked" => Ok(Flush::Asked),
        text => units::time(name, text)
            .map(Flush::After)
            .map_err(|_| wrong(name, text, "not idle, asked, or a time such as 20ms")),
    }
}

/// `stopped`, `sender-ended`, or a number of files.
pub(crate) fn until(name: &str, text: &str) -> Read<Until> {
    match text {
        "stopped" => Ok(Until::Stopped),
        "sender-ended" => Ok(Until::SenderEnded),
        text => text
            .parse()
            .map(Until::Files)
            .map_err(|_| wrong(name, text, "not stopped, sender-ended, or a number of files")),
    }
}

/// `all`, a number of messages, or a time with its unit.
pub(crate) fn history(name: &str, text: &str) -> Read<History> {
    if text == "all" {
        return Ok(History::All);
    }
    if let Ok(count) = text.parse() {
        return Ok(History::Last(count));
    }
    units::time(name, text)
        .map(History::Since)
        .map_err(|_| wrong(name, text, "not all, a number of messages, or a time such as 30s"))
}

/// `anyone`, `nobody`, a number, or names with commas between.
pub(crate) fn expected(name: &str, text: &str) -> Read<Expected> {
    match text {
        "anyone" => return Ok(Expected::Anyone),
        "nobody" => return Ok(Expected::Nobody),
        _ => {}
    }
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) {
        return match text.parse() {
            Ok(count) if count > 0 => Ok(Expected::Count(count)),
            _ => Err(wrong(name, text, "not a number of receivers. Give 3, or names such as a,b")),
        };
    }
    let names: BTreeSet<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    match names.contains("") {
        true => Err(wrong(name, text, "a name is empty. Give 3, or names such as a,b")),
        false => Ok(Expected::Names(names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_expected_is_a_word_a_number_or_names() {
        assert_eq!(expected("expect", "anyone"), Ok(Expected::Anyone));
        assert_eq!(expected("expect", "3"), Ok(Expected::Count(3)));
        let names = ["a", "b"].map(str::to_owned).into();
        assert_eq!(expected("expect", "a, b"), Ok(Expected::Names(names)));
        for text in ["0", "", "a,,b", "99999999999999999999999"] {
            assert!(expected("expect", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_word_that_is_not_known_is_told_the_known_ones() {
        let error = policy("policy", "fast").unwrap_err();
        assert_eq!(error.text, "policy (fast): not one of lossless, repaired, live");
        assert!(flush("flush", "20ms").is_ok() && flush("flush", "soon").is_err());
        assert!(history("history", "5").is_ok() && history("history", "five").is_err());
        assert!(probability("loss", "1.5").is_err() && probability("loss", "NaN").is_err());
    }
}
