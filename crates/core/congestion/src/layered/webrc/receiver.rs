//! A WEBRC receiver (RFC 3738 3.2): once an epoch it may join the next wave.

use fanfare_wire::units::time::{Duration, Time};

use super::{
    super::{Arrival, Channel, LayeredController, SessionParameters, timing::EPOCH},
    equation,
    join_time::JoinTime,
    loss::Loss,
    reception::Reception,
    source::BASE,
    waves::WaveShape,
};

/// Without a packet for so many slots, or without a new slot for twice as many, the receiver leaves
/// the session (3.2.3.8), and enters it anew a slot later.
const SILENT_SLOTS: u32 = 1;
const STUCK_SLOTS: u32 = 2;
/// How much faster than now the rate may be in slow start (3.2.2.7).
const START_GAIN: f64 = 4.0;

/// What it knows once the base channel was heard.
#[derive(Debug, Clone)]
struct Measured {
    loss: Loss,
    join_time: JoinTime,
    reception: Reception,
    /// SSR_P; in slow start there is none.
    threshold: Option<f64>,
    /// Until then, more loss is of the same event.
    event_ends: Time,
    epoch_ends: Time,
    slot: u32,
    slot_began: Time,
}

/// A join that waits for its first packet.
#[derive(Debug, Clone, Copy)]
struct Joining {
    wave: usize,
    since: Time,
}

/// A WEBRC receiver.
#[derive(Debug, Clone)]
pub struct Webrc {
    shape: WaveShape,
    /// NWC.
    waves: usize,
    began: Time,
    heard: Time,
    measured: Option<Measured>,
    joining: Option<Joining>,
    /// When the first packet of the newest wave came.
    first_packet: Time,
    /// Not in the session until then.
    away_until: Option<Time>,
}

impl Webrc {
    /// With the base channel.
    #[must_use]
    pub fn new(now: Time, terms: &SessionParameters) -> Self {
        Self {
            shape: WaveShape::of(&terms.layers, terms.packet),
            waves: 0,
            began: now,
            heard: now,
            measured: None,
            joining: None,
            first_packet: now,
            away_until: None,
        }
    }

    fn slot(&self) -> Duration {
        Duration::from_secs_f64(self.shape.slot)
    }
    /// SSMINR_P.
    fn threshold_min(&self) -> f64 {
        self.shape.sum(2)
    }

    /// The first packet of the base channel.
    fn enter(&mut self, now: Time, arrival: &Arrival) {
        let into_slot = arrival.header.sequence % self.shape.base_packets().max(1);
        let took = now.since(self.began).as_secs_f64();
        self.measured = Some(Measured {
            loss: Loss::new(EPOCH.as_secs_f64() / self.shape.slot),
            join_time: JoinTime::new(took, self.shape.fall),
            reception: Reception::new(self.shape, into_slot),
            threshold: None,
            event_ends: now,
            epoch_ends: now + EPOCH,
            slot: arrival.header.slot,
            slot_began: now,
        });
    }

    /// Slow start is over: the equation gives from now on what arrives.
    fn end_start(measured: &mut Measured, threshold: f64) {
        measured.threshold = Some(threshold);
        let round_trip = measured.join_time.average();
        measured.loss.reset(measured.reception.arriving(), round_trip);
    }

    /// The first packet after a join (3.2.3.2).
    fn on_joined(&mut self, now: Time, since: Time) {
        self.joining = None;
        self.first_packet = now;
        let (least, shape, waves) = (self.threshold_min(), self.shape, self.waves as i32);
        let Some(measured) = &mut self.measured else { return };
        let half_period = -libm::log(shape.fall) / 2.0 / (1.0 - shape.fall) / shape.base
            * libm::pow(shape.fall, f64::from(waves));
        let took = now.since(since).as_secs_f64();
        let increase = measured.join_time.on_wave(took, half_period);
        // A sharp increase is a queue that grows (3.2.2.6).
        let large = (libm::pow(shape.fall, f64::from(waves + 1)) - 1.0)
            / (shape.fall * libm::log(shape.fall))
            / measured.reception.joined();
        if measured.threshold.is_none() && increase > large {
            let threshold = least.max(shape.fall * measured.reception.arriving());
            Self::end_start(measured, threshold);
        }
    }

    /// Packets are missing before this one (3.2.3.4).
    fn on_loss(&mut self, now: Time, lost: u32) {
        let (least, fall) = (self.threshold_min(), self.shape.fall);
        let Some(measured) = &mut self.measured else { return };
        let threshold = least.max(fall * measured.reception.arriving());
        let is_new = now >= measured.event_ends;
        if is_new {
            let lasts = Duration::from_secs_f64(measured.join_time.average());
            measured.event_ends = now + lasts;
        }
        if measured.threshold.is_none() {
            Self::end_start(measured, threshold);
        } else if is_new {
            measured.threshold = Some(threshold);
        }
        measured.loss.on_packets(1);
        if is_new {
            measured.loss.on_event();
        }
        measured.loss.on_packets(lost - 1);
    }

    /// An epoch is over (3.2.3.5): a join, if it may be.
    fn on_epoch(&mut self, now: Time) {
        let waves = self.waves;
        let Some(measured) = &mut self.measured else { return };
        measured.epoch_ends = measured.epoch_ends + EPOCH;
        measured.reception.on_epoch(waves, measured.threshold.is_none());
        measured.loss.on_epoch();
        if let Some(joining) = self.joining {
            let patience = Duration::from_secs_f64(measured.join_time.patience());
            if now.since(joining.since) >= patience {
                measured.reception.on_failed_join(waves);
                self.waves -= 1;
                self.joining = None;
            }
            return;
        }
        if self.may_join(now) {
            self.join(now);
        }
    }

    /// All conditions of 3.2.3.6.
    fn may_join(&mut self, now: Time) -> bool {
        let (least, waves, shape) = (self.threshold_min(), self.waves, self.shape);
        let most = shape.sum(shape.active);
        let Some(measured) = &mut self.measured else { return false };
        if now < measured.event_ends || waves >= shape.active {
            return false;
        }
        let next = measured.reception.with_next(waves);
        if measured.threshold.is_none() {
            if now.since(self.first_packet) < EPOCH {
                return false;
            }
            if measured.reception.falls_short(waves) || next > most * (1.0 + 1e-6) {
                let threshold = least.max(measured.reception.arriving());
                Self::end_start(measured, threshold);
                return false;
            }
            return START_GAIN * measured.reception.arriving() >= next;
        }
        let round_trip = measured.join_time.average();
        let equation = equation::rate(measured.loss.probability(), round_trip);
        let target = measured.threshold.unwrap_or(0.0).max(equation).min(most);
        if target < next {
            return false;
        }
        if measured.reception.has_fallen() {
            return true;
        }
        // The rate that the equation asks for, and the path does not give, is not kept in mind.
        measured.loss.reset(next, round_trip);
        false
    }

    fn join(&mut self, now: Time) {
        let Some(measured) = &mut self.measured else { return };
        let wave = (measured.slot as usize + self.waves) % self.shape.channels();
        self.waves += 1;
        measured.reception.on_join(self.waves);
        self.joining = Some(Joining { wave, since: now });
    }

    /// When silence, or a slot without an end, is too long.
    fn gives_up(&self) -> Time {
        let silent = self.heard + self.slot() * SILENT_SLOTS;
        let stuck = self.measured.as_ref().map(|m| m.slot_began + self.slot() * STUCK_SLOTS);
        stuck.map_or(silent, |stuck| silent.min(stuck))
    }
    /// How many waves it is in.
    #[must_use]
    pub fn waves(&self) -> usize {
        self.waves
    }
    /// Whether it is in slow start.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        self.measured.as_ref().is_none_or(|measured| measured.threshold.is_none())
    }
}

impl LayeredController for Webrc {
    fn on_packet(&mut self, now: Time, arrival: &Arrival) {
        self.heard = now;
        if self.measured.is_none() {
            if arrival.header.channel == BASE {
                self.enter(now, arrival);
            }
            return;
        }
        if let Some(Joining { wave, since }) = self.joining
            && arrival.header.channel == Channel(wave as u8 + 2)
        {
            self.on_joined(now, since);
        }
        if arrival.lost > 0 {
            self.on_loss(now, arrival.lost);
        }
        if let Some(measured) = &mut self.measured {
            measured.reception.on_packet(arrival.lost);
            measured.loss.on_packets(1);
        }
    }
    /// The lowest wave is over (3.2.3.3).
    fn on_slot(&mut self, now: Time, slot: u32) {
        let channels = self.shape.channels() as u32;
        let Some(measured) = &mut self.measured else { return };
        while measured.slot < slot {
            measured.reception.on_slot(self.waves > 0);
            let ended = measured.slot % channels;
            if self.joining.is_some_and(|joining| joining.wave as u32 == ended) {
                self.joining = None;
            }
            self.waves = self.waves.saturating_sub(1);
            measured.slot += 1;
            measured.slot_began = now;
        }
    }
    fn on_timeout(&mut self, now: Time) {
        if let Some(until) = self.away_until {
            if until <= now {
                (self.away_until, self.began, self.heard) = (None, now, now);
            }
            return;
        }
        if self.gives_up() <= now {
            (self.waves, self.measured, self.joining) = (0, None, None);
            self.away_until = Some(now + self.slot());
            return;
        }
        if self.measured.as_ref().is_some_and(|measured| measured.epoch_ends <= now) {
            self.on_epoch(now);
        }
    }
    fn next_timeout(&self) -> Option<Time> {
        let epoch = self.measured.as_ref().map(|measured| measured.epoch_ends);
        Some(
            self.away_until.unwrap_or_else(|| {
                epoch.map_or(self.gives_up(), |epoch| epoch.min(self.gives_up()))
            }),
        )
    }
    fn level(&self) -> usize {
        if self.away_until.is_some() { 0 } else { 1 + self.waves }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{Header, Scheme, tests::header},
        *,
    };
    use fanfare_wire::units::{rate::Bitrate, time::at};

    /// 50 packets a second on the base channel, nine waves.
    fn terms() -> SessionParameters {
        let scheme = Scheme::Waves { base: Bitrate::bps(204_800), fall: 750, count: 10 };
        let interval = Duration::from_secs(1);
        SessionParameters { layers: scheme.layers().unwrap(), interval, packet: 512 }
    }
    fn packet(channel: u8, lost: u32) -> Arrival {
        let header = Header { channel: Channel(channel), ..header(0) };
        Arrival { header, bytes: 512, lost, pair: None, transit: 0.03 }
    }
    /// A receiver whose base channel was heard after 100 ms.
    fn entered() -> Webrc {
        let mut webrc = Webrc::new(Time::ZERO, &terms());
        webrc.on_packet(at(100), &packet(1, 0));
        webrc
    }
    /// Lets it hear `rate` packets a second of the base channel, and the first packet of each wave
    /// 60 ms after its join, until `ms`.
    fn hear(webrc: &mut Webrc, from: u64, until: u64, rate: u64) {
        for ms in (from..until).step_by(10) {
            while webrc.next_timeout().is_some_and(|next| next <= at(ms)) {
                let next = webrc.next_timeout().unwrap();
                webrc.on_timeout(next);
            }
            for _ in 0..(ms + 10) * rate / 1000 - ms * rate / 1000 {
                webrc.on_packet(at(ms), &packet(1, 0));
            }
            if let Some(joining) = webrc.joining
                && at(ms).since(joining.since) >= Duration::from_millis(60)
            {
                webrc.on_packet(at(ms), &packet(joining.wave as u8 + 2, 0));
            }
        }
    }

    #[test]
    fn slow_start_joins_wave_by_wave_and_ends_at_the_first_loss() {
        let mut webrc = entered();
        assert_eq!((webrc.level(), webrc.is_starting()), (1, true));
        hear(&mut webrc, 110, 1500, 50);
        assert!(webrc.waves() >= 1 && webrc.is_starting(), "{webrc:?}");
        webrc.on_packet(at(1500), &packet(1, 1));
        let measured = webrc.measured.as_ref().unwrap();
        // The threshold is P times what arrives, but no less than the base and two waves have.
        assert!((measured.threshold.unwrap() - terms_sum(2)).abs() < 1e-6, "{measured:?}");
        // The equation gives what arrives.
        let rate = equation::rate(measured.loss.probability(), measured.join_time.average());
        assert!((rate / measured.reception.arriving() - 1.0).abs() < 1e-3, "{rate}");
    }
    fn terms_sum(waves: usize) -> f64 {
        WaveShape::of(&terms().layers, 512).sum(waves)
    }

    #[test]
    fn waves_that_bring_nothing_end_slow_start_without_loss() {
        let mut webrc = entered();
        // Whatever is joined, 50 packets a second come.
        hear(&mut webrc, 110, 9000, 50);
        assert!(!webrc.is_starting(), "{webrc:?}");
    }

    #[test]
    fn nothing_is_joined_while_a_join_or_a_loss_event_is_in_progress() {
        let mut webrc = entered();
        webrc.join(at(200));
        webrc.on_timeout(at(600));
        assert_eq!(webrc.waves(), 1);
        webrc.on_packet(at(650), &packet(2, 1));
        let ends = webrc.measured.as_ref().unwrap().event_ends;
        assert!(ends > at(650) && !webrc.may_join(at(651)));
    }

    #[test]
    fn each_slot_takes_the_lowest_wave_and_the_base_channel_stays() {
        let mut webrc = entered();
        (0..3).for_each(|_| webrc.join(at(200)));
        let levels: alloc::vec::Vec<usize> = (1..=5)
            .map(|slot| {
                webrc.on_slot(at(10_000 * u64::from(slot)), slot);
                webrc.level()
            })
            .collect();
        assert_eq!(levels, [3, 2, 1, 1, 1]);
    }

    #[test]
    fn a_join_without_a_packet_fails_after_ten_round_trips() {
        let mut webrc = entered();
        webrc.join(at(200));
        for n in 0..4 {
            webrc.on_packet(at(550 + 500 * n), &packet(1, 0));
            webrc.on_timeout(at(600 + 500 * n));
        }
        // ARTT is 100 ms: a second after the join it is given up.
        assert!(webrc.joining.is_none_or(|joining| joining.since > at(1100)), "{webrc:?}");
    }

    #[test]
    fn who_hears_nothing_for_a_slot_leaves_and_enters_anew() {
        let mut webrc = entered();
        webrc.join(at(200));
        while webrc.level() > 0 {
            let next = webrc.next_timeout().unwrap();
            assert!(next <= at(10_100));
            webrc.on_timeout(next);
        }
        let back = webrc.next_timeout().unwrap();
        webrc.on_timeout(back);
        assert_eq!((webrc.level(), webrc.is_starting(), back), (1, true, at(20_100)));
        webrc.on_packet(at(20_200), &packet(1, 0));
        assert!(webrc.measured.is_some());
    }

    #[test]
    fn a_slot_that_never_ends_is_left_though_packets_come() {
        let mut webrc = entered();
        hear(&mut webrc, 110, 20_000, 50);
        assert!(webrc.level() > 0);
        hear(&mut webrc, 20_000, 20_200, 50);
        assert_eq!(webrc.level(), 0);
    }
}
