//! Controlled delay: drops at the head when packets have waited too long for too long.
//!
//! RFC 8289, section 5. It drops and does not mark.

use std::collections::VecDeque;

use fanfare_proto::{Duration, Time, rng::Rng};

use super::{Discipline, Room, Verdict};
use crate::packet::Packet;

/// Waiting time that is not too long (RFC 8289 4.3: 5 % of the interval).
pub(crate) const TARGET: Duration = Duration::from_millis(5);
/// Time for which packets may have waited too long (RFC 8289 4.2: about the longest round trip).
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of the largest packet: a queue no longer than this is not too long on a slow line (RFC 8289 5.6).
const PACKET_MAX: u64 = 1500;
/// Intervals after which a new round of drops does not begin where the last one ended (RFC 8289 5.5).
const FORGOTTEN: u32 = 16;

/// CoDel at work.
#[derive(Debug)]
pub(crate) struct CoDelQueue {
    room: Room,
    target: Duration,
    interval: Duration,
    waiting: VecDeque<WaitingPacket>,
    bytes: u64,
    /// Time from which packets will have waited too long for an interval; `None` while they do not.
    long_at: Option<Time>,
    /// Time of the next drop, while it drops.
    next_drop: Time,
    is_dropping: bool,
    /// Drops of this round, and of the last one when it began.
    count: u32,
    last_count: u32,
    /// Drops that nobody has asked about.
    dropped: u64,
}

#[derive(Debug)]
struct WaitingPacket {
    since: Time,
    packet: Packet,
}

/// The packet at the head, and if it may be dropped.
struct HeadPacket {
    packet: Packet,
    is_late: bool,
}

impl CoDelQueue {
    pub(crate) fn new(room: Room, target: Duration, interval: Duration) -> Self {
        Self {
            room,
            target,
            interval,
            waiting: VecDeque::new(),
            bytes: 0,
            long_at: None,
            next_drop: Time::ZERO,
            is_dropping: false,
            count: 0,
            last_count: 0,
            dropped: 0,
        }
    }

    /// Takes the head, and judges how long it waited (RFC 8289 5.6, `dodequeue`).
    fn take_head(&mut self, now: Time) -> Option<HeadPacket> {
        let Some(WaitingPacket { since, packet }) = self.waiting.pop_front() else {
            self.long_at = None;
            return None;
        };
        self.bytes -= packet.bytes as u64;
        let is_long = now.since(since) >= self.target && self.bytes > PACKET_MAX;
        let is_late = is_long && self.long_at.is_some_and(|at| now >= at);
        self.long_at = is_long.then(|| self.long_at.unwrap_or(now + self.interval));
        Some(HeadPacket { packet, is_late })
    }

    /// Drops follow each other by the interval over the root of their number (RFC 8289 5.3).
    fn drop_after(&self, from: Time) -> Time {
        from + self.interval.div_f64(f64::from(self.count.max(1)).sqrt())
    }

    /// Drops the head that was taken, and takes the next.
    fn drop_one(&mut self, now: Time) -> Option<HeadPacket> {
        self.dropped += 1;
        self.take_head(now)
    }

    /// Goes on with a round of drops, or ends it.
    fn go_on(&mut self, now: Time, mut head: Option<HeadPacket>) -> Option<HeadPacket> {
        self.is_dropping = head.as_ref().is_some_and(|head| head.is_late);
        while self.is_dropping && now >= self.next_drop {
            self.count += 1;
            head = self.drop_one(now);
            self.is_dropping = head.as_ref().is_some_and(|head| head.is_late);
            if self.is_dropping {
                self.next_drop = self.drop_after(self.next_drop);
            }
        }
        head
    }

    /// Begins a round, nearly as fast as the last one was if that was a short time ago.
    fn begin(&mut self, now: Time) -> Option<HeadPacket> {
        let head = self.drop_one(now);
        self.is_dropping = true;
        let more = self.count.saturating_sub(self.last_count);
        let is_near = now.since(self.next_drop) < FORGOTTEN * self.interval;
        self.count = if more > 1 && is_near { more } else { 1 };
        self.next_drop = self.drop_after(now);
        self.last_count = self.count;
        head
    }
}

impl Discipline for CoDelQueue {
    fn on_packet(&mut self, now: Time, packet: Packet, _rng: &mut Rng) -> Verdict {
        if !self.room.takes(self.waiting.len(), self.bytes, packet.bytes) {
            return Verdict::dropped(packet);
        }
        self.bytes += packet.bytes as u64;
        self.waiting.push_back(WaitingPacket { since: now, packet });
        Verdict::default()
    }
    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        let head = self.take_head(now);
        let head = if self.is_dropping {
            self.go_on(now, head)
        } else if head.as_ref().is_some_and(|head| head.is_late) {
            self.begin(now)
        } else {
            head
        };
        head.map(|head| head.packet)
    }
    fn poll_dropped(&mut self) -> u64 {
        core::mem::take(&mut self.dropped)
    }
    fn packets(&self) -> usize {
        self.waiting.len()
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Bitrate;

    use super::*;
    use crate::queue::{Limit, tests::packet};

    const LINE: Bitrate = Bitrate::mbps(8);

    fn queue() -> CoDelQueue {
        CoDelQueue::new(Limit::Packets(1000).room(LINE), TARGET, INTERVAL)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Each millisecond one packet leaves (8 Mbit/s), and so many come: the milliseconds in which some are
    /// dropped at the head.
    fn drops(queue: &mut CoDelQueue, millis: std::ops::Range<u64>, come: u64) -> Vec<u64> {
        let rng = &mut Rng::new(1);
        let mut dropped = Vec::new();
        for now in millis {
            for _ in 0..come {
                queue.on_packet(at(now), packet(0, 1000, None), rng);
            }
            queue.poll_packet(at(now));
            dropped.extend((0..queue.poll_dropped()).map(|_| now));
        }
        dropped
    }

    fn fill(queue: &mut CoDelQueue, packets: u64) {
        for _ in 0..packets {
            queue.on_packet(Time::ZERO, packet(0, 1000, None), &mut Rng::new(1));
        }
    }

    #[test]
    fn a_queue_that_stays_long_loses_packets_ever_faster_after_an_interval() {
        let mut queue = queue();
        fill(&mut queue, 400);
        let dropped = drops(&mut queue, 0..600, 1);
        // 5 ms until it is late, 100 ms until it has been so for long; then 100, 71, 58, 50 … ms apart.
        assert_eq!(dropped[..5], [105, 205, 276, 334, 384], "{dropped:?}");
    }

    #[test]
    fn a_burst_that_drains_within_an_interval_loses_nothing() {
        for packets in [10, 50, 100] {
            let mut queue = queue();
            fill(&mut queue, packets);
            assert_eq!(drops(&mut queue, 0..500, 0), [0; 0], "{packets}");
        }
    }

    #[test]
    fn one_packet_that_takes_longer_than_the_target_is_no_queue() {
        for millis in [6, 60, 600] {
            let mut queue = queue();
            for number in 0..50 {
                fill(&mut queue, 1);
                assert!(queue.poll_packet(at(millis * (number + 1))).is_some());
            }
            assert_eq!(queue.poll_dropped(), 0, "{millis}");
        }
    }

    #[test]
    fn a_round_that_follows_soon_begins_nearly_as_fast_as_the_last_one_ended() {
        let mut queue = queue();
        fill(&mut queue, 400);
        drops(&mut queue, 0..600, 1);
        let before = queue.count;
        // It drains, and fills again.
        drops(&mut queue, 600..1100, 0);
        assert!(!queue.is_dropping);
        drops(&mut queue, 1100..1140, 5);
        drops(&mut queue, 1140..1220, 1);
        assert!(before > 3 && queue.is_dropping && queue.count > 1, "{before} {}", queue.count);
    }

    #[test]
    fn what_finds_no_room_is_dropped_at_the_tail() {
        for packets in [1, 3, 10] {
            let room = Limit::Packets(packets).room(LINE);
            let mut queue = CoDelQueue::new(room, TARGET, INTERVAL);
            fill(&mut queue, 20);
            assert_eq!((queue.packets(), queue.poll_dropped()), (packets as usize, 0));
        }
    }
}
