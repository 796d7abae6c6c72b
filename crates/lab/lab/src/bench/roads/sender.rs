//! Senders on a road, and their options.

use std::{fmt, str::FromStr};

use serde::Serialize;

use super::road::RoadCase;
use crate::{
    bench::rate::{CONGESTION_CONTROL, short},
    peer::System,
};

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
    /// NRL's libnorm with its congestion control.
    Libnorm,
    /// `uftp -C tfmcc` (RFC 4654).
    Uftp,
    /// TCP (CUBIC) to each receiver, all at once.
    Tcp,
    /// TCP (BBR) to each receiver, all at once.
    TcpBbr,
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
    /// Rate by libnorm.
    Libnorm,
    /// Rate by uftp.
    Uftp,
    /// Rate by TCP, with CUBIC.
    Tcp,
    /// Rate by TCP, with BBR.
    TcpBbr,
}

/// The kernel's name of BBR.
pub(super) const BBR: &str = "bbr";

impl RoadControl {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Default,
        Self::Told,
        Self::Norm,
        Self::LossTolerant,
        Self::Libnorm,
        Self::Uftp,
        Self::Tcp,
        Self::TcpBbr,
    ];

    /// Its name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Told => "told",
            Self::Norm => "norm",
            Self::LossTolerant => "loss-tolerant",
            Self::Libnorm => "libnorm",
            Self::Uftp => "uftp",
            Self::Tcp => "tcp",
            Self::TcpBbr => "tcp-bbr",
        }
    }

    /// System whose programs send; ours for our own controllers.
    pub(super) fn system(self) -> System {
        match self {
            Self::Default | Self::Told | Self::Norm | Self::LossTolerant => System::Fanfare,
            Self::Libnorm => System::Norm,
            Self::Uftp => System::Uftp,
            Self::Tcp | Self::TcpBbr => System::Tcp,
        }
    }

    /// Its senders on a road: one for each rate that is told.
    pub(super) fn senders(self, road: &RoadCase) -> Vec<RoadSender> {
        match self {
            Self::Default => vec![RoadSender::Default],
            Self::Told => road.told().into_iter().map(RoadSender::Told).collect(),
            Self::Norm => vec![RoadSender::Norm],
            Self::LossTolerant => vec![RoadSender::LossTolerant],
            Self::Libnorm => vec![RoadSender::Libnorm],
            Self::Uftp => vec![RoadSender::Uftp],
            Self::Tcp => vec![RoadSender::Tcp],
            Self::TcpBbr => vec![RoadSender::TcpBbr],
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
            Self::Libnorm => &["--cc"],
            Self::Uftp => &["-C", "tfmcc"],
            Self::Tcp => &["--congestion", CONGESTION_CONTROL],
            Self::TcpBbr => &["--congestion", BBR],
        };
        options.iter().map(|option| (*option).to_owned()).collect()
    }

    /// The way in which it finds its rate.
    pub(super) fn control(self) -> RoadControl {
        match self {
            Self::Default => RoadControl::Default,
            Self::Told(_) => RoadControl::Told,
            Self::Norm => RoadControl::Norm,
            Self::LossTolerant => RoadControl::LossTolerant,
            Self::Libnorm => RoadControl::Libnorm,
            Self::Uftp => RoadControl::Uftp,
            Self::Tcp => RoadControl::Tcp,
            Self::TcpBbr => RoadControl::TcpBbr,
        }
    }

    /// True if it sends a copy to each receiver.
    pub(super) fn sends_copies(self) -> bool {
        matches!(self, Self::Tcp | Self::TcpBbr)
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
            Self::Told(rate) => f.pad(&format!("told {}", short(*rate))),
            other => f.pad(other.control().name()),
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
            let road = RoadCase::chosen(&["lan".to_owned()], &[3]).unwrap()[0];
            let senders = control.senders(&road);
            assert!(!senders.is_empty() && senders.iter().all(|it| it.control() == control));
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

    #[test]
    fn each_peer_is_told_to_find_its_rate_by_itself() {
        let options = |sender: RoadSender| sender.options().join(" ");
        assert_eq!(options(RoadSender::Libnorm), "--cc");
        assert_eq!(options(RoadSender::Uftp), "-C tfmcc");
        assert_eq!(options(RoadSender::Tcp), "--congestion cubic");
        assert_eq!(options(RoadSender::TcpBbr), "--congestion bbr");
    }
}
