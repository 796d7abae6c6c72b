//! The law of `auto`: how long a flow's messages should queue, and what follows when they do not.
//!
//! Flows that share a queue see the same delay. The delay that a flow wants falls with its rate, so
//! the one that has more slows down while the one that has less does not: they meet.

use libm::sqrt;

/// Messages of its own that a flow keeps in the queue. One would do to keep a link busy; at 1
/// Mbit/s ten flows with one and a half see 176 ms, of which the error of a message is a tenth.
const OWN: f64 = 1.5;
/// From this rate on, in messages a second, a flow keeps more, with the root of the rate: at 1
/// Gbit/s one and a half are 18 µs, which no receiver can measure; 44 are half a millisecond.
const OWN_RATE: f64 = 100.0;
/// But no more than this share of what is on the way, so that short paths do not queue for long.
const OWN_SHARE: f64 = 0.25;
/// How much of the excess delay one round trip takes away. A report is one and a half round trips
/// old when it counts: with a gain of 0.3 the loop comes to rest without swinging.
const GAIN: f64 = 0.3;
/// One report lowers the rate to no less than this share of what arrives.
const LEAST: f64 = 0.5;

/// The queueing delay in seconds at which a flow of `rate` messages a second rests.
pub(crate) fn wanted_delay(rate: f64, rtt: f64) -> f64 {
    let rate = rate.max(1e-3);
    let own = OWN * sqrt(rate / OWN_RATE).max(1.0);
    own.min((OWN_SHARE * rate * rtt).max(OWN)) / rate
}

/// By which factor the rate should change when messages queue for `queue` seconds.
pub(crate) fn change(queue: f64, wanted: f64, rtt: f64) -> f64 {
    (1.0 + GAIN * (wanted - queue) / rtt.max(1e-6)).clamp(LEAST, 1.0 + GAIN)
}
