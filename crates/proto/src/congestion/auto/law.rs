//! The law of `auto`: how long a flow's messages should queue, and what follows when they do not.
//!
//! Flows that share a queue see the same delay. The delay that a flow wants falls with its rate, so
//! the one that has more slows down while the one that has less does not: they meet.

use libm::{log, sqrt};

/// Messages of its own that a flow keeps in the queue at least. Less than one is enough to keep a
/// link busy together with others; alone it takes one.
const OWN: f64 = 0.7;
/// What a flow of [`REFERENCE`] messages a second would keep queued, and others by the root of their
/// rate: from 230 messages a second on that is more than [`OWN`]. At 1 Gbit/s [`OWN`] would be 8 µs,
/// which no receiver can measure; this is 160.
const DELAY: f64 = 0.02;
const REFERENCE: f64 = 85.0;
/// Where that nears the round trip, it is shortened: never more than the round trip over this.
const SHORT: f64 = 2.0;
/// How much of the excess delay one round trip takes away. A report is one and a half round trips
/// old when it counts: with a gain of 0.3 the loop comes to rest without swinging.
const GAIN: f64 = 0.3;
/// What one round trip does to a share that is not fair, as the mean delay of late tells.
const SHARE_GAIN: f64 = 0.03;
/// One report lowers the rate to no less than this share of what arrives.
const LEAST: f64 = 0.5;

/// The queueing delay in seconds at which a flow of `rate` messages a second rests.
pub(crate) fn wanted_delay(rate: f64, rtt: f64) -> f64 {
    let rate = rate.max(1e-3);
    let wanted = (DELAY * sqrt(REFERENCE / rate)).max(OWN / rate);
    wanted / (1.0 + SHORT * wanted / rtt.max(1e-6))
}

/// By which factor the rate should change when messages queue for `queue` seconds, and did for
/// `mean` of late.
pub(crate) fn change(queue: f64, mean: f64, wanted: f64, rtt: f64) -> f64 {
    let share = SHARE_GAIN * log(wanted / mean.max(1e-9)).clamp(-1.0, 1.0);
    (1.0 + GAIN * (wanted - queue) / rtt.max(1e-6) + share).clamp(LEAST, 1.0 + GAIN)
}
