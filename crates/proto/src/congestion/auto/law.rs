//! The law of `auto`: how long a flow's messages should queue, and what follows when they do not.
//!
//! Flows that share a queue see the same delay. The delay that a flow wants falls with its rate, so
//! the one that has more slows down while the one that has less does not: they meet.

use libm::sqrt;

/// The delay that a flow of [`REFERENCE`] messages a second wants; others by the root of their rate,
/// the slower the longer. At 1 Mbit/s one flow keeps 4 of its messages queued and ten keep 1.3
/// each, 16 % of a second: the error of one message is a tenth of it. At 1 Gbit/s it is 1.6 ms,
/// which receivers still measure. Growing with the rate instead, a flow alone would queue
/// everything; not growing, a fast one nothing that could be measured.
const DELAY: f64 = 0.05;
const REFERENCE: f64 = 85.0;
/// But no more than this share of the round trip, nor less than a message and a half: short paths
/// have short queues, and to keep a link busy takes one.
const SHARE: f64 = 0.25;
const OWN: f64 = 1.5;
/// How much of the excess delay one round trip takes away. A report is one and a half round trips
/// old when it counts: with a gain of 0.3 the loop comes to rest without swinging.
const GAIN: f64 = 0.3;
/// One report lowers the rate to no less than this share of what arrives.
const LEAST: f64 = 0.5;

/// The queueing delay in seconds at which a flow of `rate` messages a second rests.
pub(crate) fn wanted_delay(rate: f64, rtt: f64) -> f64 {
    let rate = rate.max(1e-3);
    (DELAY * sqrt(REFERENCE / rate)).min(SHARE * rtt).max(OWN / rate).min(rtt)
}

/// By which factor the rate should change when messages queue for `queue` seconds.
pub(crate) fn change(queue: f64, wanted: f64, rtt: f64) -> f64 {
    (1.0 + GAIN * (wanted - queue) / rtt.max(1e-6)).clamp(LEAST, 1.0 + GAIN)
}
