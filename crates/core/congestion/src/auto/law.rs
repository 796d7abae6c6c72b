//! The law of `auto`: how long a flow's messages should queue, and what follows when they do not.
//!
//! Flows that share a queue see the same delay. The delay that a flow wants falls with its rate, so
//! the one that has more slows down while the one that has less does not: they meet.

use fanfare_wire::units::time::Duration;
use libm::{log, pow};

/// Messages of its own that a flow keeps in the queue: half of Copa's default, so that ten flows
/// leave room in a queue of half a bandwidth-delay product. At 1 Mbit/s ten flows see a tenth of a
/// second, of which the error of a message is an eighth; with 0.7 they shared noticeably less well.
const OWN: f64 = 1.0;
/// From this rate on, in messages a second, it keeps more, with what is missing of this power to
/// one, as one message is soon too short to be measured: at 1 Gbit/s 12 µs, where this is 70.
const FAST: f64 = 70.0;
const POWER: f64 = 0.75;
/// Where that nears the round trip, it is shortened: never more than the round trip over this.
const SHORT: f64 = 1.0;
/// The controller reckons with no shorter round trip than this. In less time a process may not have
/// had its processor: Linux gives others 3 ms at a time and more, so what a shorter span shows is
/// scheduling. A person does not notice ten milliseconds.
pub(crate) const REACTION: Duration = Duration::from_millis(10);
/// On paths so short the queue may be this much longer: below a millisecond the delay that is
/// measured is noise of interrupts, timers and batches (Swift, TIMELY and CoDel have such floors).
pub(crate) const NOISE: f64 = 1e-3;
/// From this round trip on nothing is added: there a queue is long against the noise.
const LONG: Duration = Duration::from_millis(20);

/// How much of the excess delay one round trip takes away. A report is one and a half round trips
/// old when it counts: with a gain of 0.3 the loop comes to rest without swinging.
const GAIN: f64 = 0.3;
/// What a round trip does to a share that is not fair, as the mean delay of late tells: on long
/// paths the wanted delays of unequal flows differ by too little for [`GAIN`] alone.
const SHARE_GAIN: f64 = 0.04;
/// One report lowers the rate to no less than this share of what arrives.
pub(super) const LEAST: f64 = 0.5;
/// Share of messages lost that says nothing of who limits: of a thousand receivers with losses of their own one
/// always has more than others.
const ORDINARY: f64 = 0.1;

/// And with no less than so many messages, each as long as a slow link takes for it: fewer say too
/// little, and one of them is a queue of the whole round trip.
const MESSAGES: u32 = 8;
/// A message of 1400 bytes at 45 kbit/s. The rate may be as low as it is for want of anything to send.
const MESSAGE_MAX: Duration = Duration::from_millis(250);

/// The round trip to reckon with. It is `rtt` now and was `least` at least; a message takes `message`
/// at the present rate.
pub(crate) fn reckoned(rtt: Duration, least: Duration, message: Duration) -> Duration {
    if !is_short(least) {
        return rtt;
    }
    REACTION.max(least).max(message.min(MESSAGE_MAX) * MESSAGES)
}

/// Whether a path of this round trip, without a queue, is one whose noise is longer than its delays.
pub(crate) fn is_short(rtt: Duration) -> bool {
    rtt < LONG
}

/// The queueing delay in seconds at which a flow of `rate` messages a second rests.
pub(crate) fn wanted_delay(rate: f64, rtt: f64) -> f64 {
    let rate = rate.max(1e-3);
    let wanted = OWN / rate.min(FAST) * pow(FAST / rate.max(FAST), POWER);
    allowance(rtt) + wanted / (1.0 + SHORT * wanted / rtt.max(1e-6))
}

/// What [`NOISE`] adds to the wanted delay on a path of this round trip, seconds.
pub(super) fn allowance(rtt: f64) -> f64 {
    let (long, short) = (LONG.as_secs_f64(), REACTION.as_secs_f64());
    NOISE * ((long - rtt) / (long - short)).clamp(0.0, 1.0)
}

/// What a share of messages lost leaves of what a receiver would stand. A queue that others keep full looks like
/// none: then losses alone say that too much is sent.
pub(crate) fn kept_of_lost(lost: f64) -> f64 {
    (1.0 - (lost - ORDINARY).max(0.0)).max(0.0)
}

/// By which factor the rate should change when messages queue for `queue` seconds, and did for
/// `mean` of late.
pub(crate) fn change(queue: f64, mean: f64, wanted: f64, rtt: f64) -> f64 {
    let share = SHARE_GAIN * log(wanted / mean.max(1e-9)).clamp(-1.0, 1.0);
    (1.0 + GAIN * (wanted - queue) / rtt.max(1e-6) + share).clamp(LEAST, 1.0 + GAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_a_flow_the_shorter_its_messages_should_queue() {
        let delays = [1.0, 8.5, 85.0, 850.0, 8500.0, 85_000.0].map(|rate| wanted_delay(rate, 0.1));
        assert!(delays.is_sorted_by(|a, b| a > b), "{delays:?}");
        assert!(delays[0] < 0.1 && delays[5] > 60e-6, "{delays:?}");
    }

    #[test]
    fn on_a_short_path_a_millisecond_of_noise_is_no_queue_and_on_a_long_one_it_is() {
        let near = Duration::from_micros(200);
        let short = reckoned(near, near, Duration::ZERO).as_secs_f64();
        assert!(wanted_delay(85_000.0, short) > 1e-3 && change(1e-3, 1e-3, 1.07e-3, short) > 1.0);
        assert_eq!(allowance(0.02), 0.0);
        assert!(wanted_delay(85_000.0, 0.02) < 0.1e-3);
    }

    #[test]
    fn a_queue_that_is_too_long_slows_and_one_that_is_too_short_hastens() {
        assert!(change(0.10, 0.02, 0.02, 0.1) < 0.8);
        assert!(change(0.00, 0.02, 0.02, 0.1) > 1.03);
        assert_eq!(change(0.02, 0.02, 0.02, 0.1), 1.0);
        assert_eq!(change(9.00, 0.02, 0.02, 0.1), LEAST);
    }

    #[test]
    fn who_loses_most_of_what_is_sent_stands_little_of_it() {
        assert_eq!([-0.2, 0.0, 0.1].map(kept_of_lost), [1.0; 3]);
        assert!(kept_of_lost(0.3) < 0.81 && kept_of_lost(0.9) < 0.21);
        assert!(kept_of_lost(1.0) > 0.0);
    }

    #[test]
    fn a_flow_whose_delay_was_long_below_what_it_wants_gains() {
        assert!(change(0.02, 0.01, 0.02, 0.1) > 1.02);
        assert!(change(0.02, 0.04, 0.02, 0.1) < 0.98);
    }
}
