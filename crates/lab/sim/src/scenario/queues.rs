//! `queue = { kind = … }`: which packets wait, are marked, or are dropped.

use fanfare_proto::Duration;

use super::{fields::Fields, units};
use crate::queue::{AboveMax, INTERVAL, Limit, QUANTUM, Queue, Red, TARGET};

/// Bytes that wait when nothing is said, as on a link without a queue of its own.
const DEFAULT: Limit = Limit::Bytes(64 << 10);
/// Packets of a queue, at most.
const PACKETS_MAX: u64 = 1_000_000;
/// Bytes of a turn: to the largest IP packet's.
const QUANTA: core::ops::RangeInclusive<u64> = 1..=65_535;

#[derive(Clone, Copy)]
enum Kind {
    DropTail,
    Red,
    Fair,
    CoDel,
    Policer,
}

/// Reads a queue before a link of this one-way delay.
pub(super) fn read(fields: &Fields<'_>, delay: Duration) -> Option<Queue> {
    let kinds = [
        ("drop-tail", Kind::DropTail),
        ("red", Kind::Red),
        ("fair", Kind::Fair),
        ("codel", Kind::CoDel),
        ("policer", Kind::Policer),
    ];
    let kind = fields.need("kind", fields.choice("kind", &kinds), "\"drop-tail\"");
    let queue = match kind? {
        Kind::DropTail => Some(Queue::DropTail(limit(fields, delay))),
        Kind::Fair => {
            let quantum = fields.count("quantum", QUANTA).map_or(QUANTUM, |n| n as u32);
            Some(Queue::Fair { limit: limit(fields, delay), quantum })
        }
        Kind::CoDel => {
            let time = |key, or_else| fields.read(key, units::time).unwrap_or(or_else);
            let (target, interval) = (time("target", TARGET), time("interval", INTERVAL));
            Some(Queue::CoDel { limit: limit(fields, delay), target, interval })
        }
        Kind::Red => red(fields).map(Queue::Red),
        Kind::Policer => {
            let rate = fields.need("rate", fields.read("rate", units::rate), "\"1Mbps\"");
            let burst = fields.need("burst", fields.read("burst", units::size), "\"64kB\"");
            rate.zip(burst).map(|(rate, burst)| Queue::Policer { rate, burst })
        }
    };
    fields.finish();
    queue
}

/// In packets, bytes, or round trips of the rate; the round trip is twice the link's delay unless
/// `rtt` says otherwise.
fn limit(fields: &Fields<'_>, delay: Duration) -> Limit {
    let packets = fields.count("packets", 1..=PACKETS_MAX).map(|n| Limit::Packets(n as u32));
    let bytes = fields.read("bytes", units::size).map(Limit::Bytes);
    let rtt = fields.read("rtt", units::time).unwrap_or(2 * delay);
    let bdp = fields.read("bdp", units::number).map(|times| Limit::Bdp { times, rtt });
    let said = [packets, bytes, bdp].into_iter().flatten();
    if said.clone().count() > 1 {
        let text = "queue: has more than one limit. Keep one of packets, bytes and bdp";
        fields.mistakes.note(fields.at, text);
    }
    said.last().unwrap_or(DEFAULT)
}

/// `weight` is the queue's share in the average; a Cisco router's weighting constant n is written as
/// `weighting_constant = n`, its denominator d as `p = 1 / d`.
fn red(fields: &Fields<'_>) -> Option<Red> {
    let min = fields.need("min", fields.read("min", units::number), "5");
    let max = fields.need("max", fields.read("max", units::number), "15");
    let base = Red::new(min.unwrap_or(0.0), max.unwrap_or(1.0));
    let above = [("mark", AboveMax::Mark), ("drop", AboveMax::Drop)];
    let constant = fields.count("weighting_constant", 0..=16).map(|n| 1.0 / f64::from(1u32 << n));
    let red = Red {
        weight: fields.read("weight", units::share).or(constant).unwrap_or(base.weight),
        max_p: fields.read("p", units::share).unwrap_or(base.max_p),
        gentle: fields.flag("gentle").unwrap_or(base.gentle),
        ecn: fields.flag("ecn").unwrap_or(base.ecn),
        above_max: fields.choice("above_max", &above).unwrap_or(base.above_max),
        limit: fields.count("packets", 1..=PACKETS_MAX).map_or(base.limit.max(1), |n| n as u32),
        ring: fields.count("ring", 0..=PACKETS_MAX).map_or(base.ring, |n| n as u32),
        ..base
    };
    if let (Some(value), true) = (fields.get("max"), min? >= max?) {
        fields.wrong("max", value, "must be above min");
    }
    Some(red)
}
