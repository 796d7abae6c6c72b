//! A receiver of layers: it parses and measures, and turns its controller's level into joins and
//! leaves.

use super::{
    Announcement, Arrival, GroupRange, Header, LayeredControl, LayeredController, Refusal,
    SessionParameters,
    packet_pairs::Pairs,
    round_trip::RoundTrip,
    rtt_request::RttRequest,
    sequence_gaps::Gaps,
    subscription::{Cycle, Membership, Subscription},
    timing::SLOT,
};
use alloc::{boxed::Box, vec::Vec};
use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

/// Slots are thought to last so much longer: a packet that tells of the turn is better than a guess.
const SLOT_SLACK: Duration = Duration::from_millis(50);

/// What a receiver has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayeredStats {
    /// Announcements followed.
    pub announcements: u64,
    /// Announcements refused.
    pub refused: u64,
    /// Packets of layers that it was in.
    pub packets: u64,
    /// Packets missing among them.
    pub lost: u64,
    /// Packets of layers that it was not, or no longer, in.
    pub unwanted: u64,
    /// Changes of the level.
    pub changes: u64,
    /// What the last packet pair told, bit/s.
    pub pair_bps: u64,
}

/// A receiver of one session.
#[derive(Debug)]
pub struct LayeredReceiver {
    control: LayeredControl,
    allowed: GroupRange,
    rng: Rng,
    session: Option<FollowedSession>,
    gaps: Gaps,
    pairs: Pairs,
    round_trip: RoundTrip,
    subscription: Subscription,
    /// Why the last announcement was refused.
    refusal: Option<Refusal>,
    stats: LayeredStats,
}

/// A session that it follows.
#[derive(Debug)]
struct FollowedSession {
    announcement: Announcement,
    controller: Box<dyn LayeredController>,
    cycle: Cycle,
    slot: u32,
    /// When the next slot begins, should no packet say so. Waves have a base channel that does.
    slot_ends: Time,
    level: usize,
}

impl FollowedSession {
    /// A packet of this slot has come. The newest decides where layers are.
    fn on_slot(&mut self, now: Time, slot: u32) {
        if self.cycle.turns() && slot > self.slot {
            self.slot = slot;
            self.slot_ends = now + SLOT + SLOT_SLACK;
            self.controller.on_slot(now, slot);
        }
    }
    fn on_timeout(&mut self, now: Time) {
        if self.may_guess() && self.slot_ends <= now {
            // Whoever is in the lowest layer alone hears nothing of the turn: its channel falls silent.
            self.slot += 1;
            self.slot_ends = self.slot_ends + SLOT;
        }
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller.on_timeout(now);
        }
    }
    /// Whether a slot may be thought over without a word of the sender.
    fn may_guess(&self) -> bool {
        self.cycle.turns() && self.cycle.fixed == 0
    }
    fn next_timeout(&self) -> Option<Time> {
        let slot_ends = self.may_guess().then_some(self.slot_ends);
        self.controller.next_timeout().into_iter().chain(slot_ends).min()
    }
}

impl LayeredReceiver {
    /// A receiver that listens for announcements. `seed` also makes the number by which it is known.
    #[must_use]
    pub fn new(control: LayeredControl, allowed: GroupRange, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let round_trip = RoundTrip::new(rng.next_u64() as u32);
        let mut subscription = Subscription::default();
        subscription.set(0, 0, Cycle::default());
        Self {
            control,
            allowed,
            rng,
            session: None,
            gaps: Gaps::default(),
            pairs: Pairs::default(),
            round_trip,
            subscription,
            refusal: None,
            stats: LayeredStats::default(),
        }
    }

    /// An announcement arrived.
    pub fn on_announcement(&mut self, now: Time, header: &Header, bytes: &[u8]) {
        match Announcement::parse(bytes, self.allowed).and_then(|a| self.follow(now, a)) {
            Ok(()) => self.stats.announcements += 1,
            Err(refusal) => {
                self.stats.refused += 1;
                self.refusal = Some(refusal);
                return;
            }
        }
        let Some(session) = &mut self.session else { return };
        session.on_slot(now, header.slot);
        if session.controller.wants_round_trip() {
            let sample = self.round_trip.on_announcement(now, &session.announcement, &mut self.rng);
            if let Some(sample) = sample {
                session.controller.on_round_trip(sample, transit(now, header.sent));
            }
        }
        self.settle();
    }

    /// The first announcement is followed; later ones may answer questions but change nothing.
    fn follow(&mut self, now: Time, new: Announcement) -> Result<(), Refusal> {
        if let Some(FollowedSession { announcement: old, .. }) = &mut self.session {
            let (ask_share, echoes) = (old.ask_share, core::mem::take(&mut old.echoes));
            let comparable = Announcement { ask_share, echoes: Vec::new(), ..new.clone() };
            if *old != comparable {
                old.echoes = echoes;
                return Err(Refusal::Changed);
            }
            (old.ask_share, old.echoes) = (new.ask_share, new.echoes);
            return Ok(());
        }
        if new.send_pattern != self.control.send_pattern() {
            return Err(Refusal::SendPattern(new.send_pattern));
        }
        let layers = new.layers().map_err(Refusal::Layers)?;
        let cycle = Cycle::of(new.send_pattern, layers.count());
        let terms = SessionParameters { layers, interval: new.interval, packet: new.packet };
        let controller = self.control.start(now, terms, self.rng.next_u64());
        let (slot, slot_ends, level) = (0, now + SLOT + SLOT_SLACK, 0);
        self.session =
            Some(FollowedSession { announcement: new, controller, cycle, slot, slot_ends, level });
        Ok(())
    }

    /// A packet of a layer arrived.
    pub fn on_packet(&mut self, now: Time, header: &Header, bytes: usize) {
        let Some(session) = &mut self.session else { return };
        session.on_slot(now, header.slot);
        if !self.subscription.hears(header.channel) {
            self.stats.unwanted += 1;
            return;
        }
        let lost = self.gaps.on_packet(header);
        self.stats.packets += 1;
        self.stats.lost += u64::from(lost);
        let pair = self.pairs.on_packet(now, header, bytes);
        if let Some(pair) = pair {
            self.stats.pair_bps = libm::round(pair) as u64;
        }
        let transit = transit(now, header.sent);
        let arrival = Arrival { header: *header, bytes, lost, pair, transit };
        session.controller.on_packet(now, &arrival);
        self.settle();
    }

    /// The time of [`Self::next_timeout`] has come.
    pub fn on_timeout(&mut self, now: Time) {
        let Some(session) = &mut self.session else { return };
        session.on_timeout(now);
        self.settle();
    }
    /// When it wants to be asked again.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let session = self.session.as_ref().and_then(FollowedSession::next_timeout);
        session.into_iter().chain(self.round_trip.next_timeout()).min()
    }

    fn settle(&mut self) {
        let Some(session) = &mut self.session else { return };
        let level = session.controller.level();
        self.stats.changes += u64::from(level != session.level);
        session.level = level;
        for channel in self.subscription.set(level, session.slot, session.cycle) {
            self.gaps.forget(channel);
        }
    }

    /// The next group to join or leave.
    pub fn poll_membership(&mut self) -> Option<Membership> {
        self.subscription.poll()
    }
    /// What it asks the sender now.
    pub fn poll_rtt_request(&mut self, now: Time) -> Option<RttRequest> {
        self.round_trip.poll(now)
    }
    /// How many layers it is in.
    #[must_use]
    pub fn level(&self) -> usize {
        self.session.as_ref().map_or(0, |session| session.level)
    }
    /// The session that it follows, as it was announced.
    #[must_use]
    pub fn announcement(&self) -> Option<&Announcement> {
        self.session.as_ref().map(|session| &session.announcement)
    }
    /// Why the last announcement that was refused was.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }
    /// What it has counted.
    #[must_use]
    pub fn stats(&self) -> LayeredStats {
        self.stats
    }
}

/// From the sender's clock to ours, which may be behind it.
fn transit(now: Time, sent: Time) -> f64 {
    now.as_secs_f64() - sent.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Channel, SendPattern,
            tests::{announcement, header},
        },
        *,
    };
    use core::net::Ipv4Addr;
    use fanfare_wire::units::rate::Bitrate;
    use fanfare_wire::units::time::at;

    fn receiver(control: LayeredControl) -> LayeredReceiver {
        let first = Ipv4Addr::new(239, 255, 43, 0).into();
        LayeredReceiver::new(control, GroupRange { first, count: 200 }, 1)
    }
    fn hear(receiver: &mut LayeredReceiver, announcement: &Announcement) {
        let mut bytes = Vec::new();
        announcement.encode(&mut bytes);
        receiver.on_announcement(Time::ZERO, &header(0), &bytes);
    }
    fn memberships(receiver: &mut LayeredReceiver) -> Vec<Membership> {
        core::iter::from_fn(|| receiver.poll_membership()).collect()
    }

    #[test]
    fn nothing_but_the_session_is_joined_before_an_announcement() {
        let mut receiver = receiver(LayeredControl::Plm);
        assert_eq!(memberships(&mut receiver), [Membership::Join(Channel::SESSION)]);
        receiver.on_packet(Time::ZERO, &header(0), 512);
        assert_eq!((receiver.level(), memberships(&mut receiver).len()), (0, 0));
        hear(&mut receiver, &announcement());
        assert_eq!(memberships(&mut receiver), [Membership::Join(Channel(1))]);
    }

    #[test]
    fn a_session_that_changes_its_layers_or_suits_another_scheme_is_refused_and_counted() {
        let mut receiver = receiver(LayeredControl::Plm);
        hear(&mut receiver, &Announcement { send_pattern: SendPattern::Slots, ..announcement() });
        assert_eq!(receiver.refusal(), Some(Refusal::SendPattern(SendPattern::Slots)));
        hear(&mut receiver, &announcement());
        let faster = super::super::Scheme::Equal { rate: Bitrate::mbps(20), count: 100 };
        hear(&mut receiver, &Announcement { scheme: faster, ..announcement() });
        assert_eq!(receiver.refusal(), Some(Refusal::Changed));
        hear(&mut receiver, &announcement());
        let LayeredStats { announcements, refused, .. } = receiver.stats();
        assert_eq!((announcements, refused), (2, 2));
    }

    #[test]
    fn a_question_comes_back_as_it_was() {
        let question = RttRequest { receiver: 0xfedc_ba98, asked: 0x0123_4567 };
        assert_eq!(RttRequest::from_bytes(&question.to_bytes()), Some(question));
        assert_eq!(RttRequest::from_bytes(&question.to_bytes()[..7]), None);
    }

    #[test]
    fn loss_is_counted_on_joined_layers_and_foreign_sessions_are_ignored() {
        let mut receiver = receiver(LayeredControl::Rlm);
        hear(&mut receiver, &Announcement { send_pattern: SendPattern::Even, ..announcement() });
        for (n, sequence) in [0, 1, 4].into_iter().enumerate() {
            receiver.on_packet(at(n as u64), &Header { sequence, ..header(0) }, 512);
        }
        receiver.on_packet(at(5), &header(9), 512);
        let stats = receiver.stats();
        assert_eq!((stats.packets, stats.lost, stats.unwanted), (3, 2, 1));
    }
}
