//! Senders on a road, and their options.

use std::{fmt, str::FromStr};

use serde::Serialize;

use super::road::RoadCase;
use crate::bench::rate::{CONGESTION_CONTROL, short};

/// Way in which a sender finds its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoadControl {
    /// `fanfare send` without `--rate` and `--cc`.
    Default,
    /// `fanfare send --cc fixed --rate`.
    Told,
    /// `fanfare send --cc norm`.
    Norm,
    /// `fanfare send --cc loss-tolerant`.
    LossTolerant,
    /// TCP (CUBIC) to each receiver, all at once.
    Tcp,
}

/// One sender: how it finds its rate, with the rate that it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoadSender {
    /// Without `--rate` and `--cc`.
    Default,
    /// At this rate, bit/s.
    Told(u64),
    /// Rate by NORM-CC.
    Norm,
    /// Rate by NORM-CCL.
    LossTolerant,
    /// Rate by TCP.
    Tcp,
}

impl RoadControl {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 5] =
        [Self::Default, Self::Told, Self::Norm, Self::LossTolerant, Self::Tcp];

    /// Its name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Told => "told",
            Self::Norm => "norm",
            Self::LossTolerant => "loss-tolerant",
            Self::Tcp => "tcp",
        }
    }

    /// Its senders on a road: one for each rate that is told.
    pub(super) fn senders(self, road: &RoadCase) -> Vec<RoadSender> {
        match self {
            Self::Default => vec![RoadSender::Default],
            Self::Told => road.told().into_iter().map(RoadSender::Told).collect(),
            Self::Norm => vec![RoadSender::Norm],
            Self::LossTolerant => vec![RoadSender::LossTolerant],
            Self::Tcp => vec![RoadSender::Tcp],
        }
    }
}

impl FromStr for RoadControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        crate::name::find(text, Self::ALL, Self::name, "not a sender")
    }
}

impl RoadSender {
    /// Options beside those that all have.
    pub(super) fn options(self) -> Vec<String> {
        let options: &[&str] = match self {
            Self::Default => &[],
            Self::Told(rate) => return told(rate),
            Self::Norm => &["--cc", "norm"],
            Self::LossTolerant => &["--cc", "loss-tolerant"],
            Self::Tcp => &["--congestion", CONGESTION_CONTROL],
        };
        options.iter().map(|option| (*option).to_owned()).collect()
    }

    /// True if it is one of our controllers, which find a rate.
    pub(super) fn is_controller(self) -> bool {
        matches!(self, Self::Default | Self::Norm | Self::LossTolerant)
    }
}

fn told(rate: u64) -> Vec<String> {
    let rate = rate.to_string();
    ["--cc", "fixed", "--rate", &rate].map(str::to_owned).to_vec()
}

impl fmt::Display for RoadSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Told(rate) => f.pad(&format!("told {}", short(*rate))),
            Self::Norm => f.pad("norm"),
            Self::LossTolerant => f.pad("loss-tolerant"),
            Self::Tcp => f.pad("tcp"),
        }
    }
}

impl Serialize for RoadSender {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_is_found_by_its_name() {
        for control in RoadControl::ALL {
            assert_eq!(control.name().parse(), Ok(control));
        }
        let unknown = "fast".parse::<RoadControl>().unwrap_err();
        assert!(unknown.contains("loss-tolerant"), "{unknown}");
    }

    #[test]
    fn a_told_rate_is_fixed_and_default_is_told_nothing() {
        let road = RoadCase::chosen(&["tbf-1M-64k".to_owned()], &[3]).unwrap()[0];
        let told = RoadControl::Told.senders(&road);
        assert_eq!(told, [RoadSender::Told(960_000)]);
        assert_eq!(told[0].options(), ["--cc", "fixed", "--rate", "960000"]);
        assert_eq!(told[0].to_string(), "told 960k");
        assert!(RoadSender::Default.options().is_empty());
    }
}
