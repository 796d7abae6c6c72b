//! The sending side: rate, round trip, parity, repetitions.

use std::time::Duration;

use fanfare_proto::{Bitrate, CongestionControl};
use fanfare_wire::QuantizedRtt;

use crate::{
    kinds::Probing,
    session::{
        opening::Refusal,
        settings::{FLOW_CONTROL, SenderStart, Settings, bits, seconds},
    },
};

use super::{
    access::{Access, guard},
    session::on,
    words::{Word, set_errno},
};

/// An instance id that no other run has.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetRandomSessionId() -> u16 {
    use std::hash::{BuildHasher as _, RandomState};
    guard("NormGetRandomSessionId", 1, || RandomState::new().hash_one(0) as u16)
}

/// Why a session does not begin, as `errno`.
pub(super) fn tell_refusal(name: &str, refusal: &Refusal) {
    match refusal {
        Refusal::Argument => set_errno(libc::EINVAL),
        Refusal::Open(error) => {
            crate::log::line(crate::log::ERROR, &format!("{name}: {error}"));
            let source = std::error::Error::source(error);
            let system = source.and_then(|source| source.downcast_ref::<std::io::Error>());
            let number = system.and_then(std::io::Error::raw_os_error);
            set_errno(number.unwrap_or(libc::EADDRNOTAVAIL));
        }
    }
}

/// Begins to send.
#[unsafe(no_mangle)]
pub extern "C" fn NormStartSender(
    session: Word,
    instance: u16,
    space: u32,
    segment: u16,
    source: u16,
    parity: u16,
    fec_id: u8,
) -> bool {
    on("NormStartSender", session, false, |at| {
        let start = SenderStart { instance, space, segment, source, parity, fec_id };
        at.wakes = true;
        match at.session.start_sender(at.now, &start) {
            Ok(()) => true,
            Err(refusal) => {
                tell_refusal("NormStartSender", &refusal);
                false
            }
        }
    })
}

/// Sends no more. What was not sent is lost.
#[unsafe(no_mangle)]
pub extern "C" fn NormStopSender(session: Word) {
    on("NormStopSender", session, (), |at| at.session.stop_sender(at.desk));
}

fn apply_rate(at: &mut Access<'_>) {
    let limit = at.session.settings.rate_limit();
    at.session.sending.proto.sender().set_rate(limit);
    at.wakes = true;
}

/// Bits a second, of everything with UDP's payload.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxRate(session: Word, rate: f64) {
    on("NormSetTxRate", session, (), |at| {
        let Some(rate) = bits(rate) else { return set_errno(libc::EINVAL) };
        if at.session.fixed.rate.is_none() {
            at.session.settings.rate = rate;
            apply_rate(at);
            // While it adapts it is no limit, but where it goes on from.
            at.session.sending.proto.sender().put_rate(Bitrate::bps((rate as u64).max(1)));
        }
    });
}

/// The rate at present.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetTxRate(session: Word) -> f64 {
    on("NormGetTxRate", session, 0.0, |at| {
        let set = at.session.settings.rate;
        match at.session.sending.proto.is_sender() {
            true => at.session.sending.proto.sender().rate().as_bps() as f64,
            false => set,
        }
    })
}

/// Bounds of congestion control; below zero there is none.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxRateBounds(session: Word, min: f64, max: f64) {
    on("NormSetTxRateBounds", session, (), |at| {
        if min.is_nan() || max.is_nan() || max == f64::INFINITY || min == f64::INFINITY {
            return set_errno(libc::EINVAL);
        }
        if at.session.fixed.rate.is_none() {
            at.session.settings.bounds = (min, max);
            apply_rate(at);
        }
    });
}

/// Lets receivers decide the rate, or keeps it.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetCongestionControl(session: Word, enable: bool, adjust: bool) {
    on("NormSetCongestionControl", session, (), |at| {
        if at.session.fixed.control.is_some() {
            return;
        }
        let control = match enable && adjust {
            true => at.session.settings.chosen,
            false => CongestionControl::Fixed,
        };
        let adapted = at.session.settings.control != CongestionControl::Fixed;
        let stays =
            adapted && control == CongestionControl::Fixed && at.session.fixed.rate.is_none();
        if stays && at.session.sending.proto.is_sender() {
            // As with NRL's, the rate stays where it has come to.
            at.session.settings.rate = at.session.sending.proto.sender().rate().as_bps() as f64;
        }
        at.session.settings.control = control;
        at.session.settings.advice_only = enable && !adjust;
        let limit: Bitrate = at.session.settings.rate_limit();
        let mut sender = at.session.sending.proto.sender();
        sender.set_rate(limit);
        sender.set_congestion(control);
        at.wakes = true;
    });
}

/// How long bytes and objects are kept for repair that stand in the way of new ones: so many cycles of
/// requests. With 0 they go at once.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetFlowControl(session: Word, factor: f64) {
    on("NormSetFlowControl", session, (), |at| {
        let Some(factor) = seconds(factor) else { return set_errno(libc::EINVAL) };
        at.session.settings.flow_control = factor;
        at.session.sending.proto.sender().set_repair_cycles(factor * FLOW_CONTROL);
        at.wakes = true;
    });
}

/// Bytes and numbers of objects that are kept for repair.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxCacheBounds(session: Word, bytes: i64, least: u32, most: u32) {
    on("NormSetTxCacheBounds", session, (), |at| {
        let (Ok(bytes), true) = (u64::try_from(bytes), most > 0) else {
            return set_errno(libc::EINVAL);
        };
        at.session.settings.cache = (bytes, least, most);
        at.session.sending.proto.sender().set_cache(most as usize, bytes);
    });
}

/// Parity symbols that go with each block without being asked for.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetAutoParity(session: Word, symbols: u8) {
    on("NormSetAutoParity", session, (), |at| {
        at.session.settings.auto_parity = symbols;
        at.session.sending.proto.sender().set_proactive(u16::from(symbols));
    });
}

/// A guess of the group's round trip until it is measured.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGrttEstimate(session: Word, estimate: f64) {
    on("NormSetGrttEstimate", session, (), |at| {
        let Some(estimate) = seconds(estimate) else { return set_errno(libc::EINVAL) };
        at.session.settings.grtt = estimate;
        at.session.sending.proto.sender().set_grtt(Duration::from_secs_f64(estimate));
        at.wakes = true;
    });
}

/// The round trip as it is advertised.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetGrttEstimate(session: Word) -> f64 {
    on("NormGetGrttEstimate", session, -1.0, |at| {
        let set = advertised(at.session.settings.grtt);
        match at.session.sending.proto.is_sender() {
            true => at.session.sending.proto.sender().grtt().as_secs_f64(),
            false => set,
        }
    })
}

/// As it travels, in a byte (RFC 5740 4.2).
fn advertised(seconds: f64) -> f64 {
    let nanos = u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(QuantizedRtt::from_nanos(nanos).to_nanos()).as_secs_f64()
}

/// The most that is advertised.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGrttMax(session: Word, max: f64) {
    on("NormSetGrttMax", session, (), |at| {
        let Some(max) = seconds(max) else { return set_errno(libc::EINVAL) };
        at.session.settings.grtt_max = max;
        at.session.sending.proto.sender().set_grtt_max(Duration::from_secs_f64(max));
    });
}

/// Whether the round trip is measured. Without it the guess stays.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGrttProbingMode(session: Word, mode: i32) {
    on("NormSetGrttProbingMode", session, (), |at| {
        at.session.settings.probing = Probing::of(mode);
        apply_probing(at);
    });
}

/// A day: nothing is probed more seldom.
const NEVER: Duration = Duration::from_secs(86_400);

fn apply_probing(at: &mut Access<'_>) {
    let (least, most) = at.session.settings.probes;
    let (least, most) = match at.session.settings.probing {
        Probing::None => (NEVER, NEVER),
        _ => (Duration::from_secs_f64(least), Duration::from_secs_f64(most)),
    };
    at.session.sending.proto.sender().set_probe_range(least, most);
    at.wakes = true;
}

/// How often the round trip is measured, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGrttProbingInterval(session: Word, min: f64, max: f64) {
    on("NormSetGrttProbingInterval", session, (), |at| {
        let (Some(min), Some(max)) = (seconds(min), seconds(max)) else {
            return set_errno(libc::EINVAL);
        };
        at.session.settings.probes = (min.min(max), max);
        apply_probing(at);
    });
}

fn apply_backoff(at: &mut Access<'_>) {
    let (factor, size) = (at.session.settings.backoff, at.session.settings.group_size);
    at.session.sending.proto.sender().set_backoff(factor, size);
}

/// How long receivers wait for each other before they ask, in round trips.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetBackoffFactor(session: Word, factor: f64) {
    on("NormSetBackoffFactor", session, (), |at| {
        let Some(factor) = Settings::backoff_factor(factor) else {
            return set_errno(libc::EINVAL);
        };
        at.session.settings.backoff = factor;
        apply_backoff(at);
    });
}

/// How many receivers are assumed.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetGroupSize(session: Word, size: u32) {
    on("NormSetGroupSize", session, (), |at| {
        at.session.settings.group_size = size.max(1);
        apply_backoff(at);
    });
}

/// How often flushes and questions are repeated; below zero without end.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxRobustFactor(session: Word, factor: i32) {
    on("NormSetTxRobustFactor", session, (), |at| {
        at.session.settings.tx_robust = Settings::robust(factor);
        let factor = at.session.settings.tx_robust;
        at.session.sending.proto.sender().set_robust_factor(factor);
    });
}

/// Kept for the next start: what receivers need to join travels with NORM_INFO alone.
#[unsafe(no_mangle)]
pub extern "C" fn NormLimitObjectInfo(session: Word, limit: bool) {
    on("NormLimitObjectInfo", session, (), |at| at.session.settings.limit_info = limit);
}
