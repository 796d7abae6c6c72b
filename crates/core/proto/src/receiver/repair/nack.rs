//! The NACK cycle: idle, backoff, sent or suppressed, hold-off (RFC 5740 5.3, RFC 5401 3.2).

use crate::receiver::{position::Position, timing::Timing};
use crate::{
    rng::Rng,
    time::{Duration, Time},
    timer::Timer,
};

/// Cycles suppressed without any repair arriving, after which others are no longer heeded: somebody
/// may be forging NACKs to keep us silent.
const UNHEEDED_MAX: u8 = 2;

/// How this receiver's feedback travels, as far as the cycle depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NackPath {
    /// To the group: others overhear it.
    Group,
    /// To the sender of a multicast session.
    Sender,
    /// The only receiver: nothing to wait for.
    Unicast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Waiting for others to ask; `limit` is the sender's position at its beginning.
    Backoff {
        until: Time,
        limit: Position,
    },
    /// Waiting for repair; `again` is set when a need was seen meanwhile. `packet`: the packet that
    /// is under way.
    Holdoff {
        since: Time,
        packet: Duration,
        again: Option<Position>,
    },
}

/// One sender's NACK cycle.
#[derive(Debug)]
pub(crate) struct NackCycle {
    path: NackPath,
    phase: Phase,
    unheeded: u8,
    /// The sender calls the roll: it serves a few at once, and nothing twice.
    ours: bool,
}

impl NackCycle {
    pub(crate) fn new(path: NackPath) -> Self {
        Self { path, phase: Phase::Idle, unheeded: 0, ours: false }
    }

    /// Feedback takes another way from now on.
    pub(crate) fn set_path(&mut self, path: NackPath) {
        self.path = path;
    }

    /// The sender is one of ours.
    pub(crate) fn on_roll_call(&mut self) {
        self.ours = true;
    }

    /// The sender is one of ours that knows all its few receivers, which is what a back-off factor
    /// of 1 tells of it: it serves each request at once, and nothing twice.
    pub(crate) fn is_answered_at_once(&self, timing: &Timing) -> bool {
        answers_at_once(self.ours, timing)
    }

    /// Something before `limit` is missing at a block's end, a flush or a timeout. True when a
    /// back-off begins.
    pub(crate) fn on_need(
        &mut self,
        now: Time,
        limit: Position,
        timing: &Timing,
        rng: &mut Rng,
    ) -> bool {
        let path = (self.path, self.ours);
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Backoff { .. } => return false,
            Phase::Holdoff { since, packet, again } => {
                if now < holdoff_end(path, *since, *packet, timing) {
                    *again = (*again).max(Some(limit));
                    return false;
                }
            }
        }
        self.begin(now, limit, timing, rng)
    }

    fn begin(&mut self, now: Time, limit: Position, timing: &Timing, rng: &mut Rng) -> bool {
        let backoff = timing.backoff_time(rng);
        // RFC 5740 5.3: where receivers do not hear each other, those that would speak late leave
        // it to the rest; otherwise all would speak when the sender's advertisements fail.
        let late = timing.grtt * timing.backoff.saturating_sub(1);
        let leave = self.path == NackPath::Sender && timing.backoff > 1 && backoff > late;
        // Once in a row: a sender that flushes for two seconds must hear us before it gives up.
        if leave && self.unheeded == 0 {
            self.unheeded += 1;
            self.hold_off(now, Duration::ZERO);
            return false;
        }
        self.phase = Phase::Backoff { until: now + backoff, limit };
        true
    }

    /// The hold-off is over and something was missed meanwhile: a new back-off begins.
    pub(crate) fn on_timeout(&mut self, now: Time, timing: &Timing, rng: &mut Rng) -> bool {
        match self.phase {
            Phase::Holdoff { since, packet, again: Some(limit) }
                if holdoff_end((self.path, self.ours), since, packet, timing) <= now =>
            {
                self.begin(now, limit, timing, rng)
            }
            _ => false,
        }
    }

    /// Whether others' requests count now.
    pub(crate) fn listens(&self) -> bool {
        matches!(self.phase, Phase::Backoff { .. })
    }

    /// The back-off has ended: the position at its beginning.
    pub(crate) fn due(&self, now: Time) -> Option<Position> {
        match self.phase {
            Phase::Backoff { until, limit } if until <= now => Some(limit),
            _ => None,
        }
    }

    /// Whether to speak whatever others asked.
    pub(crate) fn insists(&self) -> bool {
        self.unheeded >= UNHEEDED_MAX
    }

    /// Nothing is missing any more.
    pub(crate) fn satisfied(&mut self) {
        self.phase = Phase::Idle;
    }

    /// The NACK went out.
    pub(crate) fn sent(&mut self, now: Time, packet_interval: Duration) {
        self.unheeded = 0;
        self.hold_off(now, packet_interval);
    }

    /// It did not: `asked` by others already, or the sender has gone back to before our needs.
    pub(crate) fn suppressed(&mut self, now: Time, asked: bool) {
        self.unheeded = self.unheeded.saturating_add(u8::from(asked));
        self.hold_off(now, Duration::ZERO);
    }

    /// Something that was missing has arrived.
    pub(crate) fn on_repair(&mut self) {
        self.unheeded = 0;
    }

    fn hold_off(&mut self, now: Time, packet: Duration) {
        self.phase = Phase::Holdoff { since: now, packet, again: None };
    }

    /// By the timing of now: a GRTT that has fallen ends a hold-off sooner.
    pub(crate) fn next_timeout(&self, timing: &Timing) -> Option<(Time, Timer)> {
        match self.phase {
            Phase::Backoff { until, .. } => Some((until, Timer::NackBackoff)),
            Phase::Holdoff { since, packet, again: Some(_) } => {
                let end = holdoff_end((self.path, self.ours), since, packet, timing);
                Some((end, Timer::NackHoldoff))
            }
            Phase::Idle | Phase::Holdoff { .. } => None,
        }
    }
}

fn answers_at_once(ours: bool, timing: &Timing) -> bool {
    ours && timing.backoff <= 1
}

/// Our sender is asked by its only receiver so often in a round trip, and no more often than this. It
/// knows what is under way, so a request costs no second repair; and a loss does not wait until an
/// earlier one is mended.
const PARTS: u32 = 4;
const PART_MIN: Duration = Duration::from_millis(20);

/// RFC 5740 5.3: (K+2)*GRTT lets a repair arrive before it is requested again. With one receiver
/// the sender does not gather requests: one GRTT, and the packet under way. Nor does a sender of ours
/// that knows all its few receivers.
fn holdoff_end(
    (path, ours): (NackPath, bool),
    since: Time,
    packet: Duration,
    timing: &Timing,
) -> Time {
    let unicast = path == NackPath::Unicast;
    let at_once = answers_at_once(ours, timing);
    let packet = packet.min(timing.grtt);
    since
        + match (unicast, at_once) {
            (true, true) => (timing.grtt / PARTS).max(PART_MIN).min(timing.grtt) + packet,
            (true, false) | (false, true) => timing.grtt + packet,
            (false, false) => timing.grtt * (timing.backoff + 2),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::ReceiverConfig,
        receiver::{position::ObjectIndex, tests::Script},
    };
    use fanfare_wire::quantized::GroupSize;

    fn timing() -> Timing {
        Timing::new(false, &ReceiverConfig::default(), &Script::new().fields())
    }

    fn at(block: u64) -> Position {
        Position { object: ObjectIndex(0x1_0000), block }
    }

    #[test]
    fn a_need_begins_a_backoff_of_at_most_k_grtt() {
        let (mut nack, timing) = (NackCycle::new(NackPath::Group), timing());
        assert!(nack.on_need(Time::ZERO, at(1), &timing, &mut Rng::new(1)));
        let (until, why) = nack.next_timeout(&timing).unwrap();
        assert!(until <= Time::ZERO + timing.grtt * 4 && why == Timer::NackBackoff);
        assert!(!nack.on_need(Time::ZERO, at(2), &timing, &mut Rng::new(1)));
        assert_eq!(nack.due(until), Some(at(1)));
    }

    #[test]
    fn a_need_seen_in_holdoff_begins_a_new_cycle_at_its_end() {
        let (mut nack, timing) = (NackCycle::new(NackPath::Group), timing());
        let mut rng = Rng::new(1);
        nack.sent(Time::ZERO, Duration::ZERO);
        assert_eq!(nack.next_timeout(&timing), None);
        assert!(!nack.on_need(Time::ZERO, at(3), &timing, &mut rng));
        let (end, why) = nack.next_timeout(&timing).unwrap();
        assert_eq!((end, why), (Time::ZERO + timing.grtt * 6, Timer::NackHoldoff));
        assert!(nack.on_timeout(end, &timing, &mut rng) && nack.listens());
    }

    #[test]
    fn a_falling_grtt_ends_a_running_holdoff() {
        let (mut nack, timing) = (NackCycle::new(NackPath::Group), timing());
        nack.sent(Time::ZERO, Duration::ZERO);
        nack.on_need(Time::ZERO, at(3), &timing, &mut Rng::new(1));
        let mut shorter = timing;
        shorter.grtt = timing.grtt / 10;
        let end = Time::ZERO + shorter.grtt * 6;
        assert_eq!(nack.next_timeout(&shorter).unwrap().0, end);
        assert!(!nack.on_timeout(end, &timing, &mut Rng::new(1)));
        assert!(nack.on_timeout(end, &shorter, &mut Rng::new(1)));
    }

    #[test]
    fn a_lone_receiver_holds_off_for_one_grtt_and_a_packet() {
        let (mut nack, timing) = (NackCycle::new(NackPath::Unicast), timing());
        let packet = Duration::from_millis(2);
        nack.sent(Time::ZERO, packet);
        nack.on_need(Time::ZERO, at(1), &timing, &mut Rng::new(1));
        assert_eq!(nack.next_timeout(&timing).unwrap().0, Time::ZERO + timing.grtt + packet);
    }

    #[test]
    fn a_lone_receiver_of_our_sender_asks_four_times_in_a_long_round_trip() {
        let mut far = Script::new().fields();
        far.backoff = 1;
        let timing = Timing::new(true, &ReceiverConfig::default(), &far);

        let mut nack = NackCycle::new(NackPath::Unicast);
        nack.on_roll_call();
        nack.sent(Time::ZERO, Duration::ZERO);
        nack.on_need(Time::ZERO, at(1), &timing, &mut Rng::new(1));
        let pause = (timing.grtt / PARTS).max(PART_MIN).min(timing.grtt);
        assert_eq!(nack.next_timeout(&timing).unwrap().0, Time::ZERO + pause);
    }

    #[test]
    fn a_sender_that_knows_its_few_receivers_is_asked_again_after_one_grtt() {
        let mut few = Script::new().fields();
        (few.backoff, few.gsize) = (1, GroupSize::from_receivers(10));
        let few = Timing::new(false, &ReceiverConfig::default(), &few);
        for (timing, ours, holdoff) in [(few, true, 1), (few, false, 3), (timing(), true, 6)] {
            let mut nack = NackCycle::new(NackPath::Group);
            if ours {
                nack.on_roll_call();
            }
            nack.sent(Time::ZERO, Duration::ZERO);
            nack.on_need(Time::ZERO, at(1), &timing, &mut Rng::new(1));
            assert_eq!(nack.next_timeout(&timing).unwrap().0, Time::ZERO + timing.grtt * holdoff);
        }
    }

    #[test]
    fn without_overhearing_late_receivers_yield_a_limited_number_of_times() {
        let (mut nack, timing) = (NackCycle::new(NackPath::Sender), timing());
        let (mut rng, mut now, mut left) = (Rng::new(1), Time::ZERO, 0);
        for _ in 0..100 {
            let spoke = nack.on_need(now, at(1), &timing, &mut rng);
            left = if spoke { 0 } else { left + 1 };
            assert!(left <= 2);
            if let Some((until, _)) = nack.next_timeout(&timing).filter(|_| spoke) {
                nack.sent(until, Duration::ZERO);
            }
            now = now + timing.grtt * 20;
        }
    }
}
