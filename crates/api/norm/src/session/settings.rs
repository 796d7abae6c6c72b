//! What a program has set of a session. It holds before and after the session begins to send or to
//! receive.

use std::{net::IpAddr, time::Duration};

use fanfare_proto::{
    Bitrate, CongestionControl, FecConfig, FecId, FieldSize, FtiMode, InstanceId, JoinPolicy,
    Nacking, ReceiverConfig, SenderConfig,
};

use crate::kinds::{Probing, SyncPolicy, Tracking};

/// The rate of a program that sets none (NRL's).
const RATE: f64 = 64_000.0;
/// A first guess of the round trip, in seconds. Until it is measured, a stream takes one buffer in twenty
/// of them: with NRL's quarter of a second a program that writes fast stood still for five.
const GRTT: f64 = 0.05;
/// Seconds between probes, at least and at most; they take no more than one part in 2000 of the rate. A
/// guess that was too long, or a moment in which the machine was busy, wears off by a tenth with each.
const PROBES: (f64, f64) = (0.02, 0.02);
/// NRL's factor of flow control counts cycles of GRTT times K + 1. A request may come after 3 K + 4 GRTT:
/// back-off, hold-off, gathering, and the way there and back. For K = 4 these are 3.2 cycles where NRL
/// waits for 2.
pub(crate) const FLOW_CONTROL: f64 = 1.6;
/// The most that a program gets that lets congestion control decide.
const RATE_MAX: u64 = 40_000_000_000;
/// Times what a sender promises to repair that is kept of a stream: a program that is not given its
/// processor for a tenth of a second loses nothing at 100,000 messages a second over ZeroMQ.
pub(crate) const STREAM_WINDOWS: u32 = 8;
/// Silence after which a sender that comes anew is believed. NRL's receivers believe it at once, and a
/// sender that ends soon repairs nothing later. So much less than starting a program takes; the datagrams
/// of a sender of more than 560 kbit/s are closer together, so no stranger's word ends its transfer.
const REPLACED_AFTER: Duration = Duration::from_millis(20);
/// Longest segment: with all headers in one datagram.
pub(crate) const SEGMENT_MAX: u16 = 64_000;
/// Largest backoff factor on the wire.
const BACKOFF_MAX: f64 = 15.0;

/// Settings of a session.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) interface: Option<String>,
    pub(crate) source: Option<IpAddr>,
    /// Hears only this address: of SetRxPortReuse.
    pub(crate) only_from: Option<IpAddr>,
    pub(crate) ttl: u8,
    pub(crate) tos: u8,
    pub(crate) loopback: bool,
    pub(crate) multicast_loopback: bool,
    pub(crate) tx_port: u16,
    /// Others may have the port, too.
    pub(crate) reuse: bool,
    pub(crate) tx_only: bool,
    pub(crate) tx_buffer: Option<usize>,
    pub(crate) rx_buffer: Option<usize>,
    pub(crate) tx_loss: f64,
    pub(crate) rx_loss: f64,
    pub(crate) report_interval: f64,

    pub(crate) rate: f64,
    pub(crate) bounds: (f64, f64),
    pub(crate) control: CongestionControl,
    /// With congestion control, the rate stays what it is and is only told.
    pub(crate) advice_only: bool,
    /// What `control` is when it is switched on.
    pub(crate) chosen: CongestionControl,
    pub(crate) flow_control: f64,
    pub(crate) cache: (u64, u32, u32),
    pub(crate) auto_parity: u8,
    pub(crate) grtt: f64,
    pub(crate) grtt_max: f64,
    pub(crate) probing: Probing,
    pub(crate) probes: (f64, f64),
    pub(crate) backoff: u8,
    pub(crate) group_size: u32,
    pub(crate) tx_robust: u32,
    pub(crate) limit_info: bool,
    pub(crate) tracking: Tracking,

    pub(crate) sync: SyncPolicy,
    pub(crate) nacking: Nacking,
    pub(crate) rx_robust: u32,
    pub(crate) rx_cache: u16,
    pub(crate) silent: bool,
    /// Blocks that a silent receiver waits for what is missing.
    pub(crate) silent_delay: Option<u32>,
    pub(crate) unicast_nacks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interface: None,
            source: None,
            only_from: None,
            ttl: 255,
            tos: 0,
            loopback: false,
            multicast_loopback: false,
            tx_port: 0,
            reuse: false,
            tx_only: false,
            tx_buffer: None,
            rx_buffer: None,
            tx_loss: 0.0,
            rx_loss: 0.0,
            report_interval: 10.0,
            rate: RATE,
            bounds: (-1.0, -1.0),
            control: CongestionControl::Fixed,
            advice_only: false,
            chosen: CongestionControl::Norm,
            flow_control: 2.0,
            cache: (20 << 20, 8, 256),
            auto_parity: 0,
            grtt: GRTT,
            grtt_max: 10.0,
            probing: Probing::Active,
            probes: PROBES,
            backoff: 4,
            group_size: 1000,
            tx_robust: 20,
            limit_info: false,
            tracking: Tracking::default(),
            sync: SyncPolicy::Current,
            nacking: Nacking::Normal,
            rx_robust: 20,
            rx_cache: 256,
            silent: false,
            silent_delay: None,
            unicast_nacks: false,
        }
    }
}

/// What NormStartSender is told.
#[derive(Debug, Clone, Copy)]
pub struct SenderStart {
    /// The instance id.
    pub instance: u16,
    /// Bytes for parity.
    pub space: u32,
    /// Bytes of a segment.
    pub segment: u16,
    /// Source symbols of a block.
    pub source: u16,
    /// Parity symbols that a block can have.
    pub parity: u16,
    /// Encoding id; any but 2, 5 and 129 leaves it open.
    pub fec_id: u8,
}

impl SenderStart {
    /// The code, if there is such a one.
    fn fec(&self) -> Option<(FecId, FieldSize)> {
        let symbols = u32::from(self.source) + u32::from(self.parity);
        let code = match self.fec_id {
            2 if symbols > 255 => (FecId::ReedSolomonM, FieldSize::M16),
            2 => (FecId::ReedSolomonM, FieldSize::M8),
            5 => (FecId::ReedSolomon8, FieldSize::M8),
            129 => (FecId::SmallBlockSystematic, FieldSize::M8),
            // Bindings leave the last argument out, and anything may stand there.
            _ if symbols > 255 => (FecId::ReedSolomonM, FieldSize::M16),
            _ => (FecId::ReedSolomon8, FieldSize::M8),
        };
        let most = if code.1 == FieldSize::M16 { 65_535 } else { 255 };
        let odd = code.1 == FieldSize::M16 && !self.segment.is_multiple_of(2);
        let fits = self.source > 0 && symbols <= most && !odd;
        (fits && (1..=SEGMENT_MAX).contains(&self.segment)).then_some(code)
    }
}

impl Settings {
    /// The most that is sent.
    pub(crate) fn rate_limit(&self) -> Bitrate {
        let adapts = self.control != CongestionControl::Fixed;
        match self.bounds.1 {
            most if adapts && most > 0.0 => Bitrate::bps(most as u64),
            _ if adapts => Bitrate::bps(RATE_MAX),
            _ => Bitrate::bps((self.rate as u64).max(1)),
        }
    }

    /// How to send. `None`: there is no such code, or no such segment.
    pub(crate) fn sender(&self, start: &SenderStart) -> Option<SenderConfig> {
        let (id, field) = start.fec()?;
        let proactive = u16::from(self.auto_parity).min(start.parity);
        let (bytes, _, most) = self.cache;
        Some(SenderConfig {
            instance_id: InstanceId(start.instance),
            segment_size: start.segment,
            fec: FecConfig {
                id,
                field,
                source: start.source,
                parity: start.parity,
                proactive,
                ..FecConfig::default()
            },
            // NRL's receivers need it on what they hear first, whenever they join.
            fti: if self.limit_info { FtiMode::InfoOnly } else { FtiMode::Always },
            congestion: self.control,
            rate: self.rate_limit(),
            backoff_factor: self.backoff,
            group_size: self.group_size,
            grtt_initial: Duration::from_secs_f64(self.grtt),
            grtt_max: Duration::from_secs_f64(self.grtt_max),
            probe_min: Duration::from_secs_f64(self.probes.0),
            probe_max: Duration::from_secs_f64(self.probes.1),
            robust_factor: self.tx_robust,
            cache_objects: most as usize,
            cache_bytes: bytes,
            parity_cache: start.space as usize,
            ..SenderConfig::default()
        })
    }

    /// How to receive, with so many bytes for what is incomplete.
    pub(crate) fn receiver(&self, space: u32) -> ReceiverConfig {
        ReceiverConfig {
            join: self.join(),
            silent: self.silent,
            buffer_max: space as usize,
            objects_max: self.rx_cache.max(1),
            segment_size_max: SEGMENT_MAX,
            stream_windows: STREAM_WINDOWS,
            robust_factor: self.rx_robust,
            nacking: self.nacking,
            replaced_after: Some(REPLACED_AFTER),
            ..ReceiverConfig::default()
        }
    }

    pub(crate) fn join(&self) -> JoinPolicy {
        match self.sync {
            SyncPolicy::Current => JoinPolicy::FromNow,
            SyncPolicy::Stream => JoinPolicy::ObjectStart,
            SyncPolicy::All => JoinPolicy::AllCached,
        }
    }

    /// Repetitions as a program gives them: below zero means without end.
    pub(crate) fn robust(factor: i32) -> u32 {
        u32::try_from(factor).map_or(u32::MAX, |factor| factor.max(1))
    }

    /// A backoff factor as it travels. `None`: it is no number.
    pub(crate) fn backoff_factor(factor: f64) -> Option<u8> {
        (factor.is_finite() && factor >= 0.0).then(|| factor.min(BACKOFF_MAX).round() as u8)
    }
}

/// Seconds that something can take, up to a day. `None`: they are none.
pub(crate) fn seconds(value: f64) -> Option<f64> {
    (value.is_finite() && value >= 0.0).then_some(value.min(86_400.0))
}

/// A rate in bits a second. `None`: it is none.
pub(crate) fn bits(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then_some(value.clamp(1.0, RATE_MAX as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(source: u16, parity: u16, segment: u16, fec_id: u8) -> SenderStart {
        SenderStart { instance: 1, space: 1 << 20, segment, source, parity, fec_id }
    }

    #[test]
    fn codes_and_segments_that_there_are_none_of_are_refused() {
        let settings = Settings::default();
        for (source, parity, segment, fec_id) in [
            (0, 4, 1400, 0),
            (16, 4, 0, 0),
            (16, 4, 65_535, 0),
            (200, 100, 1400, 5),
            (200, 100, 1400, 129),
            (40_000, 30_000, 1400, 0),
            (300, 10, 1401, 0),
        ] {
            let start = start(source, parity, segment, fec_id);
            assert!(settings.sender(&start).is_none(), "{start:?}");
        }
    }

    #[test]
    fn a_code_without_parity_and_one_of_long_blocks_are_taken() {
        let settings = Settings::default();
        let config = settings.sender(&start(16, 0, 1400, 0)).unwrap();
        assert_eq!((config.fec.id, config.fec.parity), (FecId::ReedSolomon8, 0));
        let config = settings.sender(&start(300, 10, 1400, 0)).unwrap();
        assert_eq!((config.fec.id, config.fec.field), (FecId::ReedSolomonM, FieldSize::M16));
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            assert_eq!((seconds(value), bits(value)), (None, None));
            assert_eq!(Settings::backoff_factor(value), None);
        }
        assert_eq!((bits(0.0), bits(1e300)), (None, Some(RATE_MAX as f64)));
        assert_eq!((Settings::robust(-1), Settings::robust(0)), (u32::MAX, 1));
    }
}
