//! One flow of the model: the real controller with its pacing, what its application has to send, and
//! the real meter at its receiver.

use super::{Packet, SIZE};
use crate::{
    Feedback, Limits, Probing, RateController,
    auto::{Auto, nearness::Nearness},
    path::PathMeter,
};
use alloc::{collections::BTreeMap, vec::Vec};
use fanfare_wire::units::{
    rate::Bitrate,
    time::{Duration, Time},
};
use fanfare_wire::{
    NodeId,
    ext::{CcFlags, ExtTime},
};

const PROBE: usize = 60;
/// A sender that was late catches up with so much at once, and with the rest half as fast again as it
/// sends, as the pacer does.
const LATE: Duration = Duration::from_millis(1);

/// An application that has no more than so many messages at a time.
#[derive(Debug, Clone, Copy)]
struct Offer {
    every: Duration,
    messages: u32,
    left: u32,
    next: Time,
}

/// The controller, and at the other end the meter.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) control: Auto,
    offer: Option<Offer>,
    next_probe: Time,
    sequence: u16,
    grtt: Duration,
    /// The message sent last, and whether the next goes with it.
    begun: Time,
    owed: usize,
    debt: Duration,
    news: bool,
    spoken: Time,
    pair: u32,
    meter: PathMeter,
    expected: u64,
    rtt: Option<Duration>,
    nearness: Nearness,
    heard: Option<(u16, Time, Time)>,
    probes: BTreeMap<u16, Time>,
    loss_event: Option<Time>,
    /// The sender's process has no processor until then, and the receiver's.
    pub(super) stalled: [Time; 2],
    pub(super) stalls: [Time; 2],
    /// Kernel arrivals in order.
    pub(super) arrived: Time,
}

impl Flow {
    /// Begins at `start`, with at most this rate.
    pub(super) fn new(start: Time, max: Bitrate) -> Self {
        let limits = Limits {
            min: Bitrate::bps(SIZE as u64 * 8),
            max,
            segment: 1400,
            rtt: Duration::from_millis(250),
            open: false,
        };
        Self {
            control: Auto::new(start, limits),
            offer: None,
            next_probe: start,
            sequence: 0,
            grtt: Duration::from_millis(250),
            begun: start,
            owed: 0,
            debt: Duration::ZERO,
            news: false,
            spoken: Time::ZERO,
            pair: 0,
            meter: PathMeter::default(),
            expected: 0,
            rtt: None,
            nearness: Nearness::default(),
            heard: None,
            probes: BTreeMap::new(),
            loss_event: None,
            stalled: [start; 2],
            stalls: [start; 2],
            arrived: start,
        }
    }

    /// From now on there are so many messages, so often, and no more.
    pub(super) fn offer(&mut self, now: Time, every: Duration, messages: u32) {
        self.offer = Some(Offer { every, messages, left: 0, next: now });
    }

    /// What goes now: bytes, and a probe's number.
    pub(super) fn poll(&mut self, now: Time, out: &mut Vec<(usize, Option<u16>)>) {
        while self.control.next_timeout().is_some_and(|at| at <= now) {
            self.control.on_timeout(now);
        }
        loop {
            let rate = self.control.rate();
            let due = self.due();
            if due > now && self.pair == 0 || self.next_probe > now && !self.has_data(now) {
                return;
            }
            let begun = if self.pair == 0 { due.max(now.before(LATE)) } else { self.begun };
            if self.pair == 0 {
                let made_up = self.debt.min(rate.time_for(self.owed) / 3);
                self.debt = self.debt.saturating_sub(made_up) + begun.since(due);
            }
            let (bytes, probe) = if self.next_probe <= now {
                self.sequence = self.sequence.wrapping_add(1);
                let probing =
                    Probing { grtt: self.grtt, cc_sequence: self.sequence, sending: true };
                self.control.on_probe(now, &probing);
                self.next_probe = now + self.control.probe_interval(self.grtt).unwrap();
                self.probes.insert(self.sequence, now);
                (PROBE, Some(self.sequence))
            } else {
                if let Some(offer) = &mut self.offer {
                    offer.left -= 1;
                }
                (SIZE, None)
            };
            if self.pair == 0 {
                self.owed = 0;
            }
            self.owed += bytes;
            self.begun = begun;
            let pair = if self.control.pairs() { 2 } else { 0 };
            self.pair = if probe.is_some() { pair } else { self.pair.saturating_sub(1) };
            self.control.on_sent(now, bytes);
            if self.control.wants_probe() {
                self.next_probe = now;
            }
            out.push((bytes, probe));
        }
    }

    fn has_data(&mut self, now: Time) -> bool {
        let Some(offer) = &mut self.offer else { return true };
        if now >= offer.next {
            (offer.left, offer.next) = (offer.messages, now + offer.every);
        }
        offer.left > 0
    }

    fn due(&self) -> Time {
        let time = self.control.rate().time_for(self.owed);
        self.begun + time.saturating_sub(self.debt.min(time / 3))
    }

    /// When something may go next.
    pub(super) fn next(&self, now: Time) -> Time {
        let due = match self.offer.filter(|offer| offer.left == 0) {
            Some(offer) => offer.next.min(self.next_probe),
            None => self.due(),
        };
        let timer = self.control.next_timeout().unwrap_or(Time::FAR_FUTURE);
        // Rates change between: looked at again within 20 ms.
        due.min(timer).max(now + Duration::from_micros(1)).min(now + Duration::from_millis(20))
    }

    /// The receiver reads a packet that had arrived earlier, and may have something to report.
    pub(super) fn hear(&mut self, arrived: Time, now: Time, packet: &Packet) -> Option<Feedback> {
        let lost = packet.number.saturating_sub(self.expected);
        self.expected = packet.number + 1;
        let rtt = self.rtt.unwrap_or(self.grtt);
        self.meter.on_message(arrived, packet.bytes, lost, packet.marked, rtt);
        if packet.bytes == SIZE {
            let micros = packet.sent.as_nanos() / 1000;
            self.meter.on_stamp(arrived, ExtTime::of_micros(micros));
        }
        let mut news = self.meter.take_jump();
        if lost > 0 && self.loss_event.is_none_or(|event| now.since(event) >= rtt) {
            self.loss_event = Some(now);
            news = true;
        }
        if let Some(sequence) = packet.probe {
            self.heard = Some((sequence, packet.sent, now));
            news = true;
        }
        self.news |= news;
        let (sequence, _, heard) = self.heard.filter(|_| self.news)?;
        if now.since(self.spoken) < self.meter.pause() && packet.probe.is_none() {
            return None;
        }
        (self.news, self.spoken) = (false, now);
        let path = self.meter.report();
        Some(Feedback {
            node: NodeId(2),
            cc_sequence: sequence,
            sample: Some(now.since(heard)),
            rtt: None,
            nearest: None,
            loss: 0.0,
            rate: Bitrate::bps(0),
            flags: CcFlags::default(),
            path,
        })
    }

    /// The sender has a report: it adds its own measure of the round trip.
    pub(super) fn on_report(&mut self, now: Time, feedback: &mut Feedback) {
        if let Some(sent) = self.probes.get(&feedback.cc_sequence) {
            let held = feedback.sample.unwrap_or_default();
            let sample = now.since(*sent).saturating_sub(held);
            let old = self.rtt.unwrap_or(sample);
            let rtt = old.mul_f64(0.9) + sample.mul_f64(0.1);
            (self.rtt, self.grtt) = (Some(rtt), rtt);
            (feedback.sample, feedback.rtt) = (Some(sample), Some(rtt));
            feedback.nearest = Some(self.nearness.on_rtt(now, sample));
        }
        self.control.on_feedback(now, feedback);
    }
}
