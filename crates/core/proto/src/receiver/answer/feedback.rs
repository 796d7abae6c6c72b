//! Congestion control feedback and RTT echo (RFC 5740 5.5.1, 5.5.2.2).

use crate::receiver::{
    timing::Timing,
    vouched::{Told, Vouched},
};
use crate::{
    backoff::random_backoff,
    congestion::{Mode, equation_rate},
    rng::Rng,
    time::{Duration, Time},
    timer::Timer,
};
use fanfare_wire::{
    NodeId, QuantizedLoss, QuantizedRate, QuantizedRtt,
    cmd::Cc,
    ext::{CcFlags, ExtCc},
    header::SendTime,
};

/// What this receiver measures of its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Loss event fraction.
    pub(crate) loss: f64,
    /// Bytes a second received.
    pub(crate) rate: f64,
    /// Mean bytes of a message.
    pub(crate) size: f64,
    /// By which factor the path would have the sender's rate change, where it is measured.
    pub(crate) outlook: Option<f64>,
}

/// Outlooks between which a receiver's answer is early or late: a queue that would have the rate
/// fall by a fifth says so at once, one that is empty waits longest.
const OUTLOOKS: (f64, f64) = (0.8, 1.02);

/// A back-off by a GRTT that has fallen to less than one part in so many falls with it.
const MUCH_NEARER: u32 = 4;

/// A rate that has fallen to less than this has fallen on purpose: it travels in 12 bits.
const SLOWER: f64 = 0.9;
/// What is left after a probe of the most that a sender has told: a thousandth in 66.
const FORGETS: f64 = 0.9;

#[derive(Debug, Clone, Copy)]
struct Probe {
    cc_sequence: u16,
    send_time: SendTime,
    heard: Time,
}

/// Answers CMD(CC).
#[derive(Debug)]
pub(crate) struct Feedback {
    unicast: bool,
    probe: Option<Probe>,
    /// EXT_RATE was heard: the sender wants EXT_CC in NACKs, too.
    wanted: bool,
    /// How the sender wants it measured.
    mode: Mode,
    /// Its rate as it told last, bytes a second.
    sending: f64,
    /// The most that it has told lately.
    most: f64,
    /// RTT as the sender told it.
    rtt: Option<Duration>,
    limiting: bool,
    due: Option<Time>,
    /// The GRTT by which that was drawn.
    drawn: Duration,
    holdoff: Time,
    /// Another receiver's report was enough: no answer before, unless the sender disregards that report.
    silent_until: Time,
    /// When it reported last.
    reported: Time,
    vouched: Vouched,
}

impl Feedback {
    pub(crate) fn new(unicast: bool) -> Self {
        Self {
            unicast,
            probe: None,
            wanted: false,
            mode: Mode::default(),
            sending: 0.0,
            most: 0.0,
            rtt: None,
            limiting: false,
            due: None,
            drawn: Duration::ZERO,
            holdoff: Time::ZERO,
            silent_until: Time::ZERO,
            reported: Time::ZERO,
            vouched: Vouched::default(),
        }
    }

    /// A CMD(CC) arrived. With EXT_RATE it requests an answer, of the limiting receivers at once. True when
    /// it tells our round trip, so that its sender has heard an answer of ours.
    pub(crate) fn on_probe(
        &mut self,
        now: Time,
        cc: &Cc<'_>,
        node: NodeId,
        (timing, measured): (&Timing, Measured),
        rng: &mut Rng,
    ) -> bool {
        let mut named = false;
        let (cc_sequence, send_time) = (cc.cc_sequence, cc.send_time);
        self.probe = Some(Probe { cc_sequence, send_time, heard: now });
        let (grtt, group_size, nodes) = (timing.grtt, timing.group_size, cc.nodes);
        let rate = cc.extensions.rate().map(|told| told.rate.to_bytes_per_second());
        let slower = rate.is_some_and(|rate| rate < SLOWER * self.most);
        self.most = rate.unwrap_or(0.0).max(self.most * FORGETS);
        self.vouched.on_probe(now, &Told { nodes, grtt, group_size, slower }, rng);
        self.limiting = false;
        if let Some(item) = cc.nodes.iter().find(|item| item.node == node) {
            self.limiting = item.flags.0 & (CcFlags::CLR | CcFlags::PLR) != 0;
            if item.flags.has(CcFlags::RTT) {
                named = true;
                self.rtt = Some(Duration::from_nanos(item.rtt.to_nanos()));
            }
        }
        let Some(rate) = cc.extensions.rate() else { return named };
        self.wanted = true;
        self.mode = Mode::of(cc.extensions.mode());
        self.sending = rate.rate.to_bytes_per_second();
        if self.mode == Mode::Path {
            // Silence by a first guess of the GRTT would outlast the start.
            let longest = timing.grtt * timing.backoff.max(4);
            self.silent_until = self.silent_until.min(now + longest);
            self.holdoff = self.holdoff.min(now + longest);
        }
        if self.limiting || self.unicast {
            self.due = Some(now);
        } else if let Some(due) = self.due {
            self.due = Some(now + self.shortened(due.since(now), timing.grtt));
        } else if now >= self.holdoff && (now >= self.silent_until || self.vouched.is_deaf()) {
            let ratio = self.ratio(measured, rate.rate.to_bytes_per_second(), timing);
            self.due = Some(now + backoff(ratio, timing, rng));
            self.drawn = timing.grtt;
        }
        named
    }

    /// What is left of a back-off: one by a first guess of the GRTT would outlast a short transfer to a group
    /// that has proved near. Only where the path is measured much hangs on the first answers.
    fn shortened(&mut self, left: Duration, grtt: Duration) -> Duration {
        if self.mode != Mode::Path || grtt >= self.drawn / MUCH_NEARER {
            return left;
        }
        let share = grtt.as_secs_f64() / self.drawn.as_secs_f64();
        self.drawn = grtt;
        left.mul_f64(share)
    }

    /// The sender's rate as it told last, bytes a second; 0: it has told none.
    pub(crate) fn sending(&self) -> f64 {
        self.sending
    }

    /// How this receiver's rate stands to the sender's, 0 (it limits) to 1: the lower, the earlier
    /// it answers (RFC 4654 2.5).
    fn ratio(&self, measured: Measured, sending: f64, timing: &Timing) -> f64 {
        if sending <= 0.0 {
            return 1.0;
        }
        if let Some(outlook) = measured.outlook {
            return ((outlook - OUTLOOKS.0) / (OUTLOOKS.1 - OUTLOOKS.0)).clamp(0.0, 1.0);
        }
        if measured.loss <= 0.0 {
            return (measured.rate / sending).clamp(0.0, 1.0);
        }
        let rate = equation_rate(measured.size, self.path_rtt(timing), measured.loss);
        (((rate / sending).clamp(0.5, 0.9) - 0.5) / 0.4).clamp(0.0, 1.0)
    }

    /// Feedback of another receiver, or of several (REPAIR_ADV).
    pub(crate) fn on_overheard(
        &mut self,
        now: Time,
        (node, cc): (NodeId, &ExtCc),
        m: Measured,
        timing: &Timing,
    ) {
        let (Some(_), false) = (self.due, self.limiting || self.unicast) else { return };
        let confirmed = self.rtt.is_some() || !cc.flags.has(CcFlags::RTT);
        let others = cc.rate.to_bytes_per_second();
        let ours = self.rate(m, timing).0;
        let limits_less = match self.mode {
            // Who has measured nothing yet says nothing to those who have.
            Mode::Path => (others > 0.0 || ours <= 0.0) && ours >= 0.9 * others,
            Mode::Norm | Mode::Ecn | Mode::LossTolerant => ours > 0.9 * others,
        };
        let superfluous = !cc.flags.has(CcFlags::CLR) && confirmed && limits_less;
        if superfluous && self.vouched.silences(now, node, others) {
            self.due = None;
            self.silent_until = now + timing.grtt * timing.backoff.max(4);
        }
    }

    /// A NACK carried EXT_CC: that answers the probe.
    pub(crate) fn on_nack_sent(&mut self, now: Time, timing: &Timing) {
        if self.wanted && self.due.take().is_some() {
            self.reported = now;
            self.holdoff = now + timing.grtt * timing.backoff;
        }
    }

    /// A new loss event, or a queue that jumps: the limiting receiver says so at once, or when `pause`
    /// has passed since its last report.
    pub(crate) fn on_news(&mut self, now: Time, pause: Duration) {
        if self.limiting && self.wanted {
            let at = if pause.is_zero() { now } else { now.max(self.reported + pause) };
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Whether to send ACK(CC) now.
    pub(crate) fn poll(&mut self, now: Time, timing: &Timing) -> bool {
        let due = self.due.is_some_and(|due| due <= now);
        if due {
            self.due = None;
            self.holdoff = now + timing.grtt * timing.backoff;
            self.reported = now;
        }
        due
    }

    pub(crate) fn next_timeout(&self) -> Option<(Time, Timer)> {
        self.due.map(|at| (at, Timer::CcFeedback))
    }

    /// How the sender wants it measured.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether NACKs should carry EXT_CC.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// The last probe's send time plus the time held here: every NACK and ACK carries it.
    pub(crate) fn grtt_response(&self, now: Time) -> Option<SendTime> {
        let probe = self.probe?;
        let held = now.since(probe.heard);
        let micros = u64::from(probe.send_time.micros) + u64::from(held.subsec_micros());
        let seconds = (held.as_secs() + micros / 1_000_000) as u32;
        Some(SendTime {
            seconds: probe.send_time.seconds.wrapping_add(seconds),
            micros: (micros % 1_000_000) as u32,
        })
    }

    /// The window of one loss event: this receiver's RTT where known.
    pub(crate) fn path_rtt(&self, timing: &Timing) -> Duration {
        self.rtt.unwrap_or(timing.grtt)
    }

    /// What the path would bear, bytes a second, and the flags that say how it was found.
    fn rate(&self, measured: Measured, timing: &Timing) -> (f64, u8) {
        match (measured.outlook, self.mode) {
            (Some(outlook), _) => return (outlook * self.sending, 0),
            // Nothing of the path is measured yet: calls and the first message of an object tell how
            // little was sent, not what the path bears. A sender in this mode disregards a rate of 0.
            (None, Mode::Path) => return (0.0, CcFlags::START),
            (None, _) => {}
        }
        let twice = 2.0 * measured.rate;
        if measured.loss <= 0.0 {
            return (twice, CcFlags::START);
        }
        let equation = equation_rate(measured.size, self.path_rtt(timing), measured.loss);
        if twice < equation { (twice, CcFlags::LIMIT) } else { (equation, 0) }
    }

    /// EXT_CC of an ACK or NACK.
    pub(crate) fn report(&self, measured: Measured, timing: &Timing) -> ExtCc {
        let (rate, mut flags) = self.rate(measured, timing);
        if self.limiting {
            flags |= CcFlags::CLR;
        }
        if self.rtt.is_some() {
            flags |= CcFlags::RTT;
        }
        let rtt = u64::try_from(self.path_rtt(timing).as_nanos()).unwrap_or(u64::MAX);
        ExtCc {
            cc_sequence: self.probe.map_or(0, |probe| probe.cc_sequence),
            flags: CcFlags(flags),
            rtt: QuantizedRtt::from_nanos(rtt),
            loss: QuantizedLoss::from_fraction(measured.loss),
            rate: QuantizedRate::from_bytes_per_second(rate),
        }
    }
}

/// NRL's mix: a quarter by the rate, three quarters by chance.
fn backoff(ratio: f64, timing: &Timing, rng: &mut Rng) -> Duration {
    let max = timing.grtt * timing.backoff.max(4);
    max.mul_f64(0.25 * ratio) + random_backoff(max.mul_f64(0.75), timing.group_size, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ReceiverConfig, receiver::tests::Script};
    use alloc::vec::Vec;
    use fanfare_wire::{Cmd, Message, cmd::CcNodes, ext::Extensions};

    const STEADY: Measured = Measured { loss: 0.0, rate: 1e5, size: 1000.0, outlook: None };

    fn timing() -> Timing {
        Timing::new(false, &ReceiverConfig::default(), &Script::new().fields())
    }

    /// After a probe, with the answer still waiting.
    fn waiting() -> Feedback {
        let mut feedback = Feedback::new(false);
        let cc = Cc {
            sender: Script::new().fields(),
            cc_sequence: 5,
            send_time: SendTime { seconds: u32::MAX, micros: 999_999 },
            extensions: Extensions::default(),
            nodes: CcNodes::default(),
        };
        feedback.on_probe(Time::ZERO, &cc, NodeId(2), (&timing(), STEADY), &mut Rng::new(1));
        feedback.wanted = true;
        feedback.due = Some(Time::ZERO + Duration::from_millis(80));
        feedback
    }

    fn others(rate: f64, flags: u8) -> ExtCc {
        ExtCc {
            cc_sequence: 5,
            flags: CcFlags(flags),
            rtt: QuantizedRtt(100),
            loss: QuantizedLoss(0),
            rate: QuantizedRate::from_bytes_per_second(rate),
        }
    }

    #[test]
    fn a_backoff_from_a_guessed_grtt_is_shortened_when_the_group_proves_near() {
        let (mut feedback, mut rng) = (Feedback::new(false), Rng::new(1));
        let mode = Mode::Path.to_wire().unwrap().to_bytes();
        let rate = QuantizedRate::from_bytes_per_second(1e5);
        let mut bytes = Vec::new();
        let cc = Cc {
            sender: Script::new().fields(),
            cc_sequence: 5,
            send_time: SendTime { seconds: 1, micros: 0 },
            extensions: Extensions::parse(&mode).unwrap(),
            nodes: CcNodes::default(),
        };
        cc.encode(Some(rate), &[], &mut bytes);
        let Ok(Message::Cmd(Cmd::Cc(cc))) = Message::parse(&bytes) else { panic!("no probe") };
        let mut due = |grtt| {
            let mut timing = timing();
            timing.grtt = Duration::from_millis(grtt);
            feedback.on_probe(Time::ZERO, &cc, NodeId(2), (&timing, STEADY), &mut rng);
            feedback.next_timeout().unwrap().0.since(Time::ZERO)
        };
        let first = due(250);
        assert_eq!([due(250), due(70)], [first; 2], "one back-off for all of a kind");
        assert_eq!([due(25), due(20)], [first / 10; 2]);
    }

    /// When a receiver that was silenced by the guess of 250 ms answers a probe in this mode that tells `grtt`.
    fn answers_after_silence(mode: Mode, grtt: u64) -> Duration {
        let (mut feedback, mut rng) = (Feedback::new(false), Rng::new(1));
        let silent = Time::ZERO + Duration::from_millis(1000);
        (feedback.silent_until, feedback.holdoff) = (silent, silent);
        let mut bytes = Vec::new();
        let extensions = mode.to_wire().unwrap().to_bytes();
        let cc = Cc {
            sender: Script::new().fields(),
            cc_sequence: 5,
            send_time: SendTime { seconds: 1, micros: 0 },
            extensions: Extensions::parse(&extensions).unwrap(),
            nodes: CcNodes::default(),
        };
        cc.encode(Some(QuantizedRate::from_bytes_per_second(1e5)), &[], &mut bytes);
        let Ok(Message::Cmd(Cmd::Cc(cc))) = Message::parse(&bytes) else { panic!("no probe") };
        let mut timing = timing();
        timing.grtt = Duration::from_millis(grtt);
        (0..100)
            .map(|n| Time::ZERO + Duration::from_millis(20 * n))
            .find(|now| {
                feedback.on_probe(*now, &cc, NodeId(2), (&timing, STEADY), &mut rng);
                feedback.due.is_some()
            })
            .map_or(Duration::MAX, |now| now.since(Time::ZERO))
    }

    #[test]
    fn a_silence_by_a_guessed_grtt_ends_sooner_when_the_group_proves_near() {
        let millis = |mode, grtt| answers_after_silence(mode, grtt).as_millis();
        assert!(millis(Mode::Path, 2) <= 20);
        assert!((40..=240).contains(&millis(Mode::Path, 30)));
        assert_eq!(millis(Mode::Path, 250), 1000, "as long as it is told");
        assert_eq!(millis(Mode::LossTolerant, 2), 1000, "only where the path is measured");
    }

    #[test]
    fn feedback_of_a_slower_receiver_suppresses_ours() {
        let mut feedback = waiting();
        feedback.on_overheard(Time::ZERO, (NodeId(3), &others(1e3, 0)), STEADY, &timing());
        assert_eq!(feedback.next_timeout(), None);
    }

    /// How many answers are sent in 200 probes of a sender that names nobody, while somebody reports a
    /// rate of next to nothing after each. Its rate falls to a hundredth in the middle.
    fn answers_beside_a_low_report() -> [usize; 2] {
        let (mut feedback, mut rng) = (Feedback::new(false), Rng::new(1));
        let answers = |slow: bool, feedback: &mut Feedback, rng: &mut Rng| {
            let (mut answers, start) = (0, if slow { 100 } else { 0 });
            for n in start..start + 100u32 {
                let now = Time::ZERO + timing().grtt * n;
                let rate = if slow { 1e4 } else { 1e6 };
                probe(feedback, now, rate, rng);
                for part in 1..10u32 {
                    let now = now + timing().grtt * part / 10;
                    feedback.on_overheard(now, (NodeId(3), &others(10.0, 0)), STEADY, &timing());
                    if feedback.next_timeout().is_some_and(|(at, _)| at <= now) {
                        answers += 1;
                        feedback.on_nack_sent(now, &timing());
                    }
                }
            }
            answers
        };
        [false, true].map(|slow| answers(slow, &mut feedback, &mut rng))
    }

    fn probe(feedback: &mut Feedback, now: Time, rate: f64, rng: &mut Rng) {
        let cc = Cc {
            sender: Script::new().fields(),
            cc_sequence: 5,
            send_time: SendTime { seconds: 1, micros: 0 },
            extensions: Extensions::default(),
            nodes: CcNodes::default(),
        };
        let mut bytes = Vec::new();
        cc.encode(Some(QuantizedRate::from_bytes_per_second(rate)), &[], &mut bytes);
        let Ok(Message::Cmd(Cmd::Cc(cc))) = Message::parse(&bytes) else { panic!("no probe") };
        feedback.on_probe(now, &cc, NodeId(2), (&timing(), STEADY), rng);
    }

    #[test]
    fn a_low_report_that_the_sender_disregards_does_not_silence_all_when_the_sender_slows_down() {
        let [before, after] = answers_beside_a_low_report();
        assert!(before == 0 && (2..=30).contains(&after), "{before}, {after}");
    }

    #[test]
    fn feedback_of_a_faster_or_of_the_limiting_receiver_does_not() {
        let mut feedback = waiting();
        feedback.on_overheard(Time::ZERO, (NodeId(3), &others(1e7, 0)), STEADY, &timing());
        feedback.on_overheard(
            Time::ZERO,
            (NodeId(3), &others(1e3, CcFlags::CLR)),
            STEADY,
            &timing(),
        );
        feedback.on_overheard(
            Time::ZERO,
            (NodeId(3), &others(1e3, CcFlags::RTT)),
            STEADY,
            &timing(),
        );
        assert!(feedback.next_timeout().is_some());
    }

    #[test]
    fn a_measured_path_says_what_the_rate_should_become() {
        let feedback = Feedback { sending: 1e5, ..waiting() };
        let queued = Measured { outlook: Some(0.7), ..STEADY };
        let report = feedback.report(queued, &timing());
        assert!((report.rate.to_bytes_per_second() - 7e4).abs() < 1e3);
        let ratio =
            |outlook| feedback.ratio(Measured { outlook: Some(outlook), ..STEADY }, 1e5, &timing());
        assert!(ratio(0.7) == 0.0 && ratio(0.95) < ratio(1.0) && ratio(1.3) == 1.0);
    }

    #[test]
    fn a_receiver_without_a_path_measurement_reports_no_rate() {
        let feedback = Feedback { mode: Mode::Path, sending: 1e5, ..waiting() };
        let early = feedback.report(STEADY, &timing());
        assert!(early.rate.to_bytes_per_second() == 0.0 && early.flags.has(CcFlags::START));
    }

    #[test]
    fn feedback_without_a_measurement_suppresses_only_receivers_without_one() {
        let asked = || Feedback { mode: Mode::Path, sending: 1e5, ..waiting() };
        let (mut new, mut old) = (asked(), asked());
        new.on_overheard(Time::ZERO, (NodeId(3), &others(0.0, 0)), STEADY, &timing());
        assert_eq!(new.next_timeout(), None);
        let measured = Measured { outlook: Some(1.0), ..STEADY };
        old.on_overheard(Time::ZERO, (NodeId(3), &others(0.0, 0)), measured, &timing());
        assert!(old.next_timeout().is_some());
    }

    #[test]
    fn a_nack_answers_the_probe() {
        let mut feedback = waiting();
        feedback.on_nack_sent(Time::ZERO, &timing());
        assert_eq!(feedback.next_timeout(), None);
    }

    #[test]
    fn without_loss_twice_the_receive_rate_is_reported_and_with_loss_the_equations() {
        let feedback = waiting();
        let start = feedback.report(STEADY, &timing());
        assert!(start.flags.has(CcFlags::START));
        assert!((start.rate.to_bytes_per_second() - 2e5).abs() < 1e3);
        let lossy = feedback.report(Measured { loss: 0.1, ..STEADY }, &timing());
        assert!(!lossy.flags.has(CcFlags::START) && lossy.rate.to_bytes_per_second() < 2e5);
    }

    #[test]
    fn the_echo_adds_the_time_held_across_the_clocks_wrap() {
        let echo = waiting().grtt_response(Time::ZERO + Duration::from_micros(1)).unwrap();
        assert_eq!((echo.seconds, echo.micros), (0, 0));
    }
}
