//! What every controller of a single rate is told, and asked.

use alloc::vec::Vec;

use fanfare_wire::units::{
    Ecn,
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{
    NodeId,
    ext::{CcFlags, ExtMode, ExtPath},
};

/// Bounds of a controller's rate.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Never less: one segment a second, or a segment per GRTT where that is longer (as NRL).
    pub min: Bitrate,
    /// Never more: what the application set.
    pub max: Bitrate,
    /// Bytes of a full segment, for equations that count in packets.
    pub segment: usize,
    /// What the round trip is reckoned at before it was measured.
    pub rtt: Duration,
    /// Anyone may be there who has not been asked: the nearest is not taken for all of them. Default false.
    pub open: bool,
}

impl Limits {
    /// For a rate of at most `max`, messages with `segment` bytes of data, and `rtt` as a first guess.
    #[must_use]
    pub fn new(max: Bitrate, segment: usize, rtt: Duration) -> Self {
        let min = Bitrate::bps(segment as u64 * 8).min(max);
        Self { min, max, segment, rtt, open: false }
    }

    /// Within the bounds.
    #[must_use]
    pub fn clamp(&self, rate: Bitrate) -> Bitrate {
        rate.clamp(self.min.min(self.max), self.max)
    }
}

/// What receivers are asked to take for congestion (EXT_MODE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Any loss, any mark: RFC 5740, and every plain NORM receiver.
    #[default]
    Norm,
    /// Marks alone (NORM-CCE).
    Ecn,
    /// Loss that is not isolated, and marks (NORM-CCL).
    LossTolerant,
    /// As `Norm`, with a path report beside it.
    Path,
}

impl Mode {
    /// Of its number on the wire.
    #[must_use]
    pub fn of(ext: Option<ExtMode>) -> Self {
        match ext.map(|ext| ext.mode) {
            Some(ExtMode::ECN) => Self::Ecn,
            Some(ExtMode::LOSS_TOLERANT) => Self::LossTolerant,
            Some(ExtMode::PATH) => Self::Path,
            _ => Self::Norm,
        }
    }

    /// As it travels; RFC 5740's own way needs no word.
    #[must_use]
    pub fn to_wire(self) -> Option<ExtMode> {
        let mode = match self {
            Self::Norm => return None,
            Self::Ecn => ExtMode::ECN,
            Self::LossTolerant => ExtMode::LOSS_TOLERANT,
            Self::Path => ExtMode::PATH,
        };
        Some(ExtMode { mode })
    }
}

/// What one receiver reported (EXT_CC, EXT_PATH in an ACK or NACK).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// Who.
    pub node: NodeId,
    /// `cc_sequence` of the probe that it heard last.
    pub cc_sequence: u16,
    /// Round-trip time that this very message tells.
    pub sample: Option<Duration>,
    /// The same, smoothed over its messages.
    pub rtt: Option<Duration>,
    /// The least round trip lately: without the queue that there is now.
    pub nearest: Option<Duration>,
    /// Loss event fraction, 0 to 1.
    pub loss: f64,
    /// Rate it would stand.
    pub rate: Bitrate,
    /// Its flags.
    pub flags: CcFlags,
    /// What it measured of its path, when it was asked ([`Mode::Path`]).
    pub path: Option<ExtPath>,
}

/// The rate in bytes a second that TCP would have: RFC 5740 5.5.2.
#[must_use]
pub fn equation_rate(size: f64, rtt: Duration, loss: f64) -> f64 {
    let rtt = rtt.as_secs_f64().max(1e-6);
    let p = loss.clamp(1e-9, 1.0);
    let root = libm::sqrt(2.0 * p / 3.0);
    size / (rtt * (root + 12.0 * p * libm::sqrt(3.0 * p / 8.0) * (1.0 + 32.0 * p * p)))
}

/// What a probe finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probing {
    /// As advertised.
    pub grtt: Duration,
    /// `cc_sequence` of the probe.
    pub cc_sequence: u16,
    /// Data or repairs were sent since the last probe: silence of receivers tells something.
    pub sending: bool,
}

/// Why the rate is what it is, for the user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// It was set, or what was set is reached.
    Set,
    /// Nothing was heard yet, or not for long.
    NoFeedback,
    /// Growing until something limits it.
    Start,
    /// Loss on the way to this receiver: its loss event fraction.
    Loss(NodeId, f64),
    /// Routers mark what goes to this receiver: share of messages.
    Marks(NodeId, f64),
    /// Messages to this receiver wait in a queue so long.
    Queue(NodeId, Duration),
    /// No more arrives at this receiver.
    Path(NodeId),
    /// This receiver's buffer has run over: its machine is behind, not the network.
    Overrun(NodeId),
}

impl Reason {
    /// The receiver that limits.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Self::Set | Self::NoFeedback | Self::Start => None,
            Self::Loss(node, _)
            | Self::Marks(node, _)
            | Self::Queue(node, _)
            | Self::Path(node)
            | Self::Overrun(node) => Some(*node),
        }
    }
}

/// A single-rate controller: told what happens, requested the rate.
pub trait RateController: core::fmt::Debug + Send {
    /// A receiver reported.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback);
    /// Data is about to flow; the farthest of the receivers that have answered has this round trip.
    fn on_farthest(&mut self, now: Time, rtt: Duration) {
        let _ = (now, rtt);
    }
    /// A probe goes out.
    fn on_probe(&mut self, now: Time, probing: &Probing) {
        let _ = (now, probing);
    }
    /// A message of `bytes` goes out.
    fn on_sent(&mut self, now: Time, bytes: usize) {
        let _ = (now, bytes);
    }
    /// A receiver does not count any more.
    fn on_left(&mut self, now: Time, node: NodeId) {
        let _ = (now, node);
    }
    /// A receiver's system has dropped messages, as its socket's buffer was full. True when the
    /// controller slows down for that by itself.
    fn on_overrun(&mut self, now: Time, node: NodeId) -> bool {
        let _ = (now, node);
        false
    }
    /// The application set a rate (a cap for controllers that have their own mind).
    fn on_rate_set(&mut self, now: Time, rate: Bitrate);
    /// The application wants this rate now; it adapts from there. One that is fixed has it already.
    fn on_rate_put(&mut self, now: Time, rate: Bitrate) {
        let _ = (now, rate);
    }
    /// Messages have so many bytes of data from now on.
    fn on_segment_size(&mut self, bytes: usize) {
        let _ = bytes;
    }
    /// The time that [`Self::next_timeout`] named has come.
    fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }
    /// When something happens by the clock.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The rate to send at now.
    fn rate(&self) -> Bitrate;
    /// Gives what this report, followed, would make of the rate: 1 leaves it as it is. `None`: nothing.
    fn outlook(&self, now: Time, feedback: &Feedback) -> Option<f64> {
        let _ = (now, feedback);
        None
    }
    /// Why.
    fn reason(&self) -> Reason {
        Reason::Set
    }
    /// How receivers are to measure; `None`: they need not answer probes at all.
    fn mode(&self) -> Option<Mode> {
        None
    }
    /// How often to probe while sending; `None` as configured.
    fn probe_interval(&self, grtt: Duration) -> Option<Duration> {
        let _ = grtt;
        None
    }
    /// True when so much was sent since the last probe that one should not wait for its turn.
    fn wants_probe(&self) -> bool {
        false
    }
    /// Whether the two messages after a probe are to go back to back: how far apart they arrive
    /// tells the narrowest link's rate.
    fn pairs(&self) -> bool {
        false
    }
    /// Receivers that are to answer each probe at once, the limiting one first, with CLR or PLR.
    fn limiting(&self) -> Vec<(NodeId, CcFlags)> {
        Vec::new()
    }
    /// How messages are to be marked.
    fn ecn(&self) -> Option<Ecn> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equation_gives_tcps_rate() {
        // 1460 B, 100 ms, 1 %: 1.22 s/(R sqrt p) less the timeout term.
        let rate = equation_rate(1460.0, Duration::from_millis(100), 0.01);
        assert!((130_000.0..178_000.0).contains(&rate), "{rate}");
        // A line of ERA's published trace (appendix C of its thesis), bit/s.
        let traced = 8.0 * equation_rate(512.0, Duration::from_millis(50), 4.0 / 832.0);
        assert!((traced - 1_386_939.507_304_453_8).abs() < 1e-3, "{traced}");
    }

    #[test]
    fn a_mode_that_is_not_known_is_rfc_5740s() {
        assert_eq!(Mode::of(Some(ExtMode { mode: 200 })), Mode::Norm);
        for mode in [Mode::Norm, Mode::Ecn, Mode::LossTolerant, Mode::Path] {
            assert_eq!(Mode::of(mode.to_wire()), mode);
        }
    }
}
