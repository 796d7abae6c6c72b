//! The round-trip time without synchronised clocks: a few receivers ask, and the announcement
//! answers.
//!
//! The thesis takes twice the one-way latency of synchronised clocks, and leaves the rest open
//! (5.5.7, 7.3.2). Here a receiver asks the sender by unicast. The next announcement repeats the
//! receiver's clock and says how long the sender kept the question, so neither clock has to be
//! right. The announcement also says which share of the receivers may ask in an interval. So about
//! [`super::announcement::ECHOES_MAX`] receivers ask, however many there are. Between two samples
//! the receiver adds the change of the one-way transit time, as TFMCC does (RFC 4654 2.4.3).

use super::{
    Announcement, Echo, RttRequest,
    announcement::{ECHOES_MAX, EVERYBODY},
};
use alloc::vec::Vec;
use fanfare_wire::units::{
    rng::Rng,
    time::{Duration, Time},
};

/// Who knows its round trip asks so much more rarely: transit tells of changes meanwhile.
const KNOWN: f64 = 1.0 / 8.0;
/// Answers older than this are of an earlier round of the 32-bit clock, or invented.
const AGE_MAX: Duration = Duration::from_secs(60);

/// A clock as questions carry it.
fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// The asking side.
#[derive(Debug)]
pub(super) struct RoundTrip {
    receiver: u32,
    due: Option<Time>,
    known: bool,
}

impl RoundTrip {
    pub(super) fn new(receiver: u32) -> Self {
        Self { receiver, due: None, known: false }
    }

    /// Gives the round trip, when the announcement answers us; decides whether to ask again.
    pub(super) fn on_announcement(
        &mut self,
        now: Time,
        announcement: &Announcement,
        rng: &mut Rng,
    ) -> Option<Duration> {
        let mine = announcement.echoes.iter().find(|echo| echo.receiver == self.receiver);
        let sample = mine.and_then(|echo| {
            let away = Duration::from_micros(u64::from(clock(now).wrapping_sub(echo.asked)));
            away.checked_sub(echo.held).filter(|_| away < AGE_MAX)
        });
        self.known |= sample.is_some();
        let share = f64::from(announcement.ask_share) / f64::from(EVERYBODY);
        if rng.random_bool(if self.known { share * KNOWN } else { share }) {
            // Spread over half an interval: questions of many do not come at once, and the next
            // announcement still has the answer.
            self.due = Some(now + announcement.interval.mul_f64(rng.unit() / 2.0));
        }
        sample
    }
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.due
    }
    pub(super) fn poll(&mut self, now: Time) -> Option<RttRequest> {
        self.due.take_if(|due| *due <= now)?;
        Some(RttRequest { receiver: self.receiver, asked: clock(now) })
    }
}

/// The answering side.
#[derive(Debug)]
pub(super) struct Answers {
    waiting: Vec<(RttRequest, Time)>,
    asked: usize,
    share: u16,
}

impl Default for Answers {
    fn default() -> Self {
        Self { waiting: Vec::new(), asked: 0, share: EVERYBODY }
    }
}

impl Answers {
    pub(super) fn on_rtt_request(&mut self, now: Time, question: RttRequest) {
        self.asked += 1;
        if self.waiting.len() < ECHOES_MAX {
            self.waiting.push((question, now));
        }
    }
    /// For the next announcement: the answers, and who may ask then. Too many questions lower the
    /// share at once, few raise it slowly.
    pub(super) fn take(&mut self, now: Time) -> (Vec<Echo>, u16) {
        let asked = core::mem::take(&mut self.asked);
        self.share = if asked > ECHOES_MAX {
            (usize::from(self.share) * ECHOES_MAX / asked).max(1) as u16
        } else if asked < ECHOES_MAX / 2 {
            self.share.saturating_mul(2)
        } else {
            self.share
        };
        let echo = |(question, at): (RttRequest, Time)| Echo {
            receiver: question.receiver,
            asked: question.asked,
            held: now.since(at),
        };
        (self.waiting.drain(..).map(echo).collect(), self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    #[test]
    fn a_round_trip_needs_no_common_clock() {
        let (mut answers, mut rng) = (Answers::default(), Rng::new(1));
        let mut asker = RoundTrip::new(7);
        let announcement = super::super::tests::announcement();
        // The receiver's clock is 40 s ahead of the sender's; 30 ms each way.
        assert_eq!(asker.on_announcement(ms(40_000), &announcement, &mut rng), None);
        let at = asker.next_timeout().unwrap();
        let question = asker.poll(at).unwrap();
        answers.on_rtt_request(ms(130), question);
        let (echoes, ask_share) = answers.take(ms(500));
        let answer = Announcement { echoes, ask_share, ..announcement };
        let sample = asker.on_announcement(at + Duration::from_millis(430), &answer, &mut rng);
        assert_eq!(sample.map(|rtt| rtt.as_millis()), Some(60));
    }

    #[test]
    fn ten_thousand_receivers_ask_as_often_as_ten() {
        let (mut answers, mut rng) = (Answers::default(), Rng::new(1));
        let mut askers: Vec<RoundTrip> = (0..10_000).map(RoundTrip::new).collect();
        let mut asked = Vec::new();
        for round in 0..40 {
            let (echoes, ask_share) = answers.take(ms(round * 1000));
            let call = Announcement { echoes, ask_share, ..super::super::tests::announcement() };
            let before = asked.len();
            for asker in &mut askers {
                asker.on_announcement(ms(round * 1000), &call, &mut rng);
                let question = asker.poll(ms(round * 1000 + 999));
                asked.extend(question);
            }
            asked[before..].iter().for_each(|q| answers.on_rtt_request(ms(round * 1000 + 999), *q));
        }
        // All 10,000 in the first round, which nobody could foresee; then few.
        assert!((10_000..12_000).contains(&asked.len()), "{}", asked.len());
    }

    #[test]
    fn an_answer_from_the_future_or_the_distant_past_is_ignored() {
        let (mut asker, mut rng) = (RoundTrip::new(7), Rng::new(1));
        let echo = |asked, held| Echo { receiver: 7, asked, held: Duration::from_millis(held) };
        for wrong in [echo(2_000_000, 0), echo(900_000, 500), echo(0x8000_0000, 0)] {
            let call =
                Announcement { echoes: alloc::vec![wrong], ..super::super::tests::announcement() };
            assert_eq!(asker.on_announcement(ms(1000), &call, &mut rng), None);
        }
    }
}
