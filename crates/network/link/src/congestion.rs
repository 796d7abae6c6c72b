//! What decides the rate of a QUIC connection.

use std::{fmt, str::FromStr, sync::Arc};

use quinn::{TransportConfig, congestion};

/// A controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// CUBIC (RFC 9438), as quinn has it. Where packets are lost at random its window holds two of them: a
    /// message and its copies then wait for each other.
    Cubic,
    /// BBR, as quinn has it.
    #[default]
    Bbr,
    /// NewReno (RFC 9002).
    Reno,
}

impl Control {
    pub(crate) fn install(self, transport: &mut TransportConfig) {
        match self {
            Self::Cubic => {
                transport
                    .congestion_controller_factory(Arc::new(congestion::CubicConfig::default()));
            }
            Self::Bbr => {
                transport.congestion_controller_factory(Arc::new(congestion::BbrConfig::default()));
            }
            Self::Reno => {
                transport
                    .congestion_controller_factory(Arc::new(congestion::NewRenoConfig::default()));
            }
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Reno => "reno",
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Control {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Cubic, Self::Bbr, Self::Reno];
        all.into_iter().find(|one| one.name() == text).ok_or("it is cubic, bbr or reno")
    }
}
