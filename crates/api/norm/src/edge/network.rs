//! Interfaces, ports and sockets of a session, and losses on purpose.

use std::{ffi::c_char, net::IpAddr};

use fanfare_proto::CongestionControl;

use crate::session::settings::seconds;

use super::{
    session::{on, resolve},
    words::{Word, set_errno, text},
};

/// Refuses a setting that comes too late.
fn before_open(is_open: bool) -> bool {
    if is_open {
        set_errno(libc::EBUSY);
    }
    !is_open
}

/// Sends from this port, of this address if one is given: before the session begins.
///
/// # Safety
/// `address` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetTxPort(
    session: Word,
    port: u16,
    _reuse: bool,
    address: *const c_char,
) -> bool {
    // SAFETY: what the caller says.
    let address = unsafe { text(address) };
    on("NormSetTxPort", session, false, |at| {
        if !before_open(at.session.is_open()) {
            return false;
        }
        if let Some(address) = address {
            at.session.settings.interface = Some(address.to_owned());
        }
        at.session.settings.tx_port = port;
        true
    })
}

/// Sends only, and joins no group: before the session begins.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxOnly(session: Word, only: bool, _connect: bool) {
    on("NormSetTxOnly", session, (), |at| at.session.settings.tx_only = only);
}

/// Sends to another address: to another host at any time, to another group before the session begins.
/// With `connect` that host alone is heard, where one socket sends and hears.
///
/// # Safety
/// `address` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormChangeDestination(
    session: Word,
    address: *const c_char,
    port: u16,
    connect: bool,
) -> bool {
    // SAFETY: what the caller says.
    let address = unsafe { text(address) };
    on("NormChangeDestination", session, false, |at| {
        let Some(group) = address.and_then(|address| resolve(address, port)) else {
            set_errno(libc::EINVAL);
            return false;
        };
        let done = at.session.set_group(group, connect);
        at.wakes |= done;
        if !done {
            set_errno(libc::EBUSY);
        }
        done
    })
}

/// The port of a group is always shared, and that of one socket that sends and hears where `reuse` says
/// so. With `sender` only that host is heard.
///
/// # Safety
/// Each string is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetRxPortReuse(
    session: Word,
    reuse: bool,
    _bind: *const c_char,
    sender: *const c_char,
    _sender_port: u16,
) {
    // SAFETY: what the caller says.
    let sender = unsafe { text(sender) };
    on("NormSetRxPortReuse", session, (), |at| {
        at.session.settings.reuse = reuse;
        if let Some(sender) = sender.filter(|sender| !sender.is_empty()) {
            at.session.settings.only_from = resolve(sender, 0).map(|address| address.ip());
        }
    });
}

/// The interface of multicast, by name or address. What is wrong with it shows when the session begins.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetMulticastInterface(session: Word, name: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let name = unsafe { text(name) };
    on("NormSetMulticastInterface", session, false, |at| {
        if at.session.fixed.interface.is_none() {
            at.session.settings.interface = name.filter(|name| !name.is_empty()).map(str::to_owned);
        }
        true
    })
}

/// Hears this source only: before the session begins.
///
/// # Safety
/// `source` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn NormSetSSM(session: Word, source: *const c_char) -> bool {
    // SAFETY: what the caller says.
    let source = unsafe { text(source) };
    on("NormSetSSM", session, false, |at| {
        let resolved: Option<IpAddr> = source.and_then(|s| resolve(s, 0)).map(|a| a.ip());
        let usable = |ip: &IpAddr| {
            !ip.is_multicast()
                && at.session.group.ip().is_multicast()
                && ip.is_ipv4() == at.session.group.is_ipv4()
        };
        let Some(source) = resolved.filter(usable) else {
            set_errno(libc::EINVAL);
            return false;
        };
        let early = before_open(at.session.is_open());
        if early {
            at.session.settings.source = Some(source);
        }
        early
    })
}

/// Routers that multicast may pass, plus one.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTTL(session: Word, ttl: u8) -> bool {
    on("NormSetTTL", session, false, |at| {
        at.session.settings.ttl = at.session.fixed.ttl.unwrap_or(ttl);
        at.session.on_changed();
        at.wakes = true;
        true
    })
}

/// The traffic class. Its lower two bits are congestion control's.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTOS(session: Word, tos: u8) -> bool {
    on("NormSetTOS", session, false, |at| {
        at.session.settings.tos = tos;
        at.session.on_changed();
        at.wakes = true;
        true
    })
}

/// Whether this session receives what it sends, and others on this machine do.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetLoopback(session: Word, loopback: bool) -> bool {
    on("NormSetLoopback", session, false, |at| {
        at.session.settings.loopback = loopback;
        at.session.receiving.proto.set_hears_itself(loopback);
        at.session.on_changed();
        at.wakes = true;
        true
    })
}

/// Whether others on this machine receive what this session sends.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetMulticastLoopback(session: Word, loopback: bool) -> bool {
    on("NormSetMulticastLoopback", session, false, |at| {
        at.session.settings.multicast_loopback = loopback;
        at.session.on_changed();
        at.wakes = true;
        true
    })
}

/// Datagrams are never fragmented here: true only where that is what the program wants.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetFragmentation(session: Word, fragmentation: bool) -> bool {
    on("NormSetFragmentation", session, false, |_| !fragmentation)
}

/// What counts as congestion.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetEcnSupport(session: Word, ecn: bool, ignore: bool, tolerate: bool) {
    on("NormSetEcnSupport", session, (), |at| {
        if at.session.fixed.control.is_some() {
            return;
        }
        let chosen = match (ecn, ignore, tolerate) {
            (_, _, true) => CongestionControl::LossTolerant,
            (true, ..) | (_, true, _) => CongestionControl::Ecn,
            _ => CongestionControl::Norm,
        };
        at.session.settings.chosen = chosen;
        if at.session.settings.control != CongestionControl::Fixed {
            at.session.settings.control = chosen;
            at.session.sending.proto.sender().set_congestion(chosen);
        }
    });
}

/// Kept, and without effect: `tshark` decodes NORM.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetMessageTrace(session: Word, _trace: bool) {
    on("NormSetMessageTrace", session, (), |_| ());
}

/// Loses so many percent of what is sent.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxLoss(session: Word, percent: f64) {
    on("NormSetTxLoss", session, (), |at| {
        let Some(percent) = seconds(percent) else { return set_errno(libc::EINVAL) };
        at.session.settings.tx_loss = (percent / 100.0).min(1.0);
    });
}

/// Loses so many percent of what is received.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetRxLoss(session: Word, percent: f64) {
    on("NormSetRxLoss", session, (), |at| {
        let Some(percent) = seconds(percent) else { return set_errno(libc::EINVAL) };
        at.session.settings.rx_loss = (percent / 100.0).min(1.0);
    });
}

/// Kept: there are no reports to be told at this interval.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetReportInterval(session: Word, interval: f64) {
    on("NormSetReportInterval", session, (), |at| {
        let Some(interval) = seconds(interval) else { return set_errno(libc::EINVAL) };
        at.session.settings.report_interval = interval;
    });
}

/// Gives it back.
#[unsafe(no_mangle)]
pub extern "C" fn NormGetReportInterval(session: Word) -> f64 {
    on("NormGetReportInterval", session, 0.0, |at| at.session.settings.report_interval)
}

/// Asks for so many bytes for what waits to be sent.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetTxSocketBuffer(session: Word, bytes: u32) -> bool {
    on("NormSetTxSocketBuffer", session, false, |at| {
        at.session.settings.tx_buffer = Some(bytes as usize);
        at.session.on_changed();
        at.wakes = true;
        bytes > 0
    })
}

/// Asks for so many bytes for what was not yet read.
#[unsafe(no_mangle)]
pub extern "C" fn NormSetRxSocketBuffer(session: Word, bytes: u32) -> bool {
    on("NormSetRxSocketBuffer", session, false, |at| {
        at.session.settings.rx_buffer = Some(bytes as usize);
        at.session.on_changed();
        at.wakes = true;
        bytes > 0
    })
}
