//! Background flows: other traffic on the network. Each kind has a file, and all implement [`End`]
//! (`end`).

mod cbr;
mod end;
pub mod layered;
mod on_off;
mod running;
mod tcp;

pub use cbr::Cbr;
pub use end::{End, Incoming, Outgoing};
pub use on_off::OnOff;
pub(crate) use running::{Running, Side};
pub use tcp::{TcpSink, TcpSource};

use super::place::Place;
use crate::{
    results::series::Series,
    tcp::{Config, Source},
};
use core::ops::Range;
use fanfare_proto::{Bitrate, Duration, Time, rng::Rng};

/// The receiving end of a flow that nobody answers.
#[derive(Debug, Default)]
pub struct Sink {
    delivered: u64,
}

impl End for Sink {
    fn on_packet(&mut self, _now: Time, packet: Incoming<'_>) {
        self.delivered += packet.bytes.saturating_sub(crate::link::HEADER_BYTES) as u64;
    }
    fn poll_packet(&mut self, _now: Time) -> Option<Outgoing> {
        None
    }
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    fn delivered(&self) -> u64 {
        self.delivered
    }
}

/// What a background flow is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowKind {
    /// A constant rate.
    Cbr {
        /// On the wire, headers included.
        rate: Bitrate,
        /// Bytes of each packet on the wire.
        bytes: usize,
    },
    /// A constant rate now and then.
    OnOff {
        /// While on.
        rate: Bitrate,
        /// Bytes of each packet on the wire.
        bytes: usize,
        /// Mean time on, exponential.
        on: Duration,
        /// Mean time off, exponential.
        off: Duration,
    },
    /// TCP.
    Tcp {
        /// Its algorithm and settings, at both ends.
        config: Config,
        /// What there is to send.
        source: Source,
    },
}

impl FlowKind {
    /// Its name in files and tables.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cbr { .. } => "cbr",
            Self::OnOff { .. } => "on-off",
            Self::Tcp { .. } => "tcp",
        }
    }
    /// TCP that always has more to send.
    #[must_use]
    pub fn tcp(config: Config) -> Self {
        Self::Tcp { config, source: Source::Greedy }
    }
}

/// A background flow, as a plan describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Where it begins.
    pub from: Place,
    /// Where it ends.
    pub to: Place,
    /// What it is.
    pub kind: FlowKind,
    /// When it sends. Default always.
    pub during: Range<Duration>,
    /// What reports call it; without one its number, kind and ends.
    pub name: Option<String>,
}

impl Flow {
    /// A flow of this kind all the time.
    #[must_use]
    pub fn new(from: impl Into<Place>, to: impl Into<Place>, kind: FlowKind) -> Self {
        let during = Duration::ZERO..Duration::MAX;
        Self { from: from.into(), to: to.into(), kind, during, name: None }
    }
    /// In this time only.
    #[must_use]
    pub fn during(self, during: Range<Duration>) -> Self {
        Self { during, ..self }
    }
    /// With this name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Its two ends, at its start.
    pub(crate) fn ends(&self, now: Time, seed: u64) -> [Box<dyn End>; 2] {
        match self.kind {
            FlowKind::Cbr { rate, bytes } => {
                [Box::new(Cbr::new(rate, bytes, now)), Box::<Sink>::default()]
            }
            FlowKind::OnOff { rate, bytes, on, off } => {
                let source = OnOff::new(Cbr::new(rate, bytes, now), on, off, now, Rng::new(seed));
                [Box::new(source), Box::<Sink>::default()]
            }
            FlowKind::Tcp { config, source } => {
                [Box::new(TcpSource::new(config, source)), Box::new(TcpSink::new(config))]
            }
        }
    }
}

/// What came of a background flow.
#[derive(Debug, Clone)]
pub struct FlowReport {
    /// Where it began.
    pub from: Place,
    /// Where it ended.
    pub to: Place,
    /// What it was.
    pub kind: FlowKind,
    /// Packets that its source sent.
    pub sent: u64,
    /// Bytes that the application at its end received.
    pub received: Series,
    /// Its name, if it has one.
    pub name: Option<String>,
}
