//! The sender: sends what the window allows, and reads ACKs.

use fanfare_proto::Time;

use super::config::{Config, LossDetection};
use super::duplicate_acks;
use super::hystart::HyStart;
use super::rack::{self, Rack};
use super::recovery::{Phase, Recovery};
use super::rto::Rto;
use super::scoreboard::{Delivered, Scoreboard, Sent};
use super::segment::{Sack, Segment};
use super::window::Window;

/// What there is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Always more.
    Greedy,
    /// This many bytes.
    Bytes(u64),
}

/// What a sender has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Segments sent, all kinds.
    pub sent: u64,
    /// Of them, sent again.
    pub retransmitted: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// Windows reduced for a mark.
    pub marks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes for lost tails.
    pub probes: u64,
    /// Recoveries and timeouts that were not for a loss, taken back.
    pub undone: u64,
}

/// The sending end of a flow. There is no handshake: it sends when first polled.
///
/// After every `on_*` call [`Sender::poll_segment`] until it has no more.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
    /// Bytes there are to send, from the beginning.
    available: u64,
    /// The next new byte.
    next: u64,
    board: Scoreboard,
    window: Window,
    recovery: Recovery,
    rto: Rto,
    rack: Rack,
    hystart: HyStart,
    /// A round trip ends when all before this is acknowledged.
    round_end: u64,
    /// The window, not the source, kept the last poll from sending.
    window_limited: bool,
    /// The next new segment says that a mark was answered.
    announce_reduction: bool,
    last_sent: Time,
    rto_at: Option<Time>,
    probe_at: Option<Time>,
    probe_due: bool,
    /// A probe is out until all before this is acknowledged.
    probed: Option<u64>,
    stats: SenderStats,
}

impl Sender {
    /// A sender that has not sent anything.
    #[must_use]
    pub fn new(config: Config, source: Source) -> Self {
        let available = match source {
            Source::Greedy => u64::MAX,
            Source::Bytes(bytes) => bytes,
        };
        Self {
            config,
            available,
            next: 0,
            board: Scoreboard::default(),
            window: Window::new(&config),
            recovery: Recovery::default(),
            rto: Rto::new(config.min_rto),
            rack: Rack::default(),
            hystart: HyStart::default(),
            round_end: 0,
            window_limited: false,
            announce_reduction: false,
            last_sent: Time::ZERO,
            rto_at: None,
            probe_at: None,
            probe_due: false,
            probed: None,
            stats: SenderStats::default(),
        }
    }

    /// There are `bytes` more to send.
    pub fn offer(&mut self, bytes: u64) {
        self.available = self.available.saturating_add(bytes);
    }
    /// Bytes acknowledged in order.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.board.acked()
    }
    /// Whether all there is has been sent and acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.board.acked() == self.available
    }
    /// The congestion window, segments.
    #[must_use]
    pub fn congestion_window(&self) -> u32 {
        self.window.segments()
    }
    /// Segments held to be in the network.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }
    /// What it has done.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        self.stats
    }

    /// A segment of the other end has come.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.ack > self.next {
            return; // It acknowledges what was never sent: RFC 9293 3.10.7.4.
        }
        let delivered = self.board.on_ack(segment.ack, segment.sack.ranges());
        self.measure(now, segment, &delivered);
        if delivered.advanced {
            if self.recovery.undo(segment.timestamp_echo, &mut self.window) {
                self.board.unmark_lost();
                self.stats.undone += 1;
            }
            self.recovery.on_acked(self.board.acked(), &mut self.window);
        }
        if segment.ecn_echo {
            self.on_mark();
        }
        let lost = self.detect_loss(now, &delivered);
        self.resize(now, &delivered, lost);
        self.set_timers(now, delivered.advanced);
    }

    /// What to send now, if anything.
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        if std::mem::take(&mut self.probe_due) {
            return self.probe(now);
        }
        if self.board.outstanding() == 0 && now.since(self.last_sent) > self.rto.timeout() {
            self.window.restart();
        }
        self.window_limited = self.board.in_flight() >= self.window.segments();
        if self.window_limited {
            return None;
        }
        match self.board.resend_lost(now) {
            Some(sent) => Some(self.resend(now, sent)),
            None => self.send_new(now),
        }
    }

    /// When [`Sender::on_timeout`] is due.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        [self.rto_at, self.probe_at, self.rack.at].into_iter().flatten().min()
    }

    /// Time has come.
    pub fn on_timeout(&mut self, now: Time) {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if due(self.rack.at) && self.detect_loss(now, &Delivered::default()) > 0 {
            self.recovery.reduce(1, false, self.board.in_flight(), &mut self.window);
        }
        if due(self.probe_at) {
            // The probe takes the timeout's place, which then gets its full time.
            self.probe_at = None;
            self.probe_due = true;
            self.rto_at = Some(now + self.rto.timeout());
        } else if due(self.rto_at) {
            self.on_rto(now);
        }
    }

    /// A round trip, if this ACK tells one.
    fn measure(&mut self, now: Time, segment: &Segment, delivered: &Delivered) {
        let echo = segment.timestamp_echo.filter(|_| delivered.advanced);
        let Some(sent_at) = delivered.earliest.or(delivered.earliest_sacked).or(echo) else {
            return;
        };
        let round_over = segment.ack > self.round_end;
        let sample = now.since(sent_at);
        self.rto.on_sample(sample, round_over);
        if round_over {
            self.round_end = self.next;
        }
        let watches = self.config.hystart && self.window.slow_start();
        if watches && self.recovery.phase() == Phase::Open {
            let window = self.window.segments();
            if self.hystart.on_ack(now, sample, self.rto.min_rtt(), window, round_over) {
                self.window.end_slow_start();
            }
        }
    }

    fn on_mark(&mut self) {
        if self.config.ecn && self.recovery.phase() == Phase::Open {
            self.recovery.enter(Phase::Reduction, self.next, None, &mut self.window);
            self.announce_reduction = true;
            self.stats.marks += 1;
        }
    }

    /// Finds what is lost by now; the first begins a recovery.
    fn detect_loss(&mut self, now: Time, delivered: &Delivered) -> u32 {
        let lost = match self.config.loss_detection {
            LossDetection::DuplicateAcks => duplicate_acks::detect(&mut self.board),
            LossDetection::RackTlp => {
                self.rack.on_delivered(now, delivered, self.rto.min_rtt());
                self.rack.detect(now, &mut self.board, &self.rto, self.recovery.mending())
            }
        };
        if self.board.lost() > 0 && !self.recovery.mending() {
            let resent_at = self.board.earliest_resent();
            self.recovery.enter(Phase::Recovery, self.next, resent_at, &mut self.window);
            self.stats.recoveries += 1;
        }
        lost
    }

    /// The window's change for an ACK: down in a reduction, else up when it was full.
    fn resize(&mut self, now: Time, delivered: &Delivered, lost: u32) {
        match self.recovery.phase() {
            Phase::Recovery | Phase::Reduction => {
                let clean = delivered.advanced && lost == 0;
                let in_flight = self.board.in_flight();
                self.recovery.reduce(delivered.segments, clean, in_flight, &mut self.window);
            }
            Phase::Open | Phase::Loss if delivered.advanced && self.window_limited => {
                self.window.on_acked(now, self.rto.min_rtt(), delivered.segments);
            }
            Phase::Open | Phase::Loss => {}
        }
    }

    fn set_timers(&mut self, now: Time, advanced: bool) {
        if self.board.outstanding() == 0 {
            (self.rto_at, self.probe_at, self.probed) = (None, None, None);
            return;
        }
        if advanced {
            self.rto_at = Some(now + self.rto.timeout());
        }
        if self.probed.is_some_and(|end| self.board.acked() >= end) {
            self.probed = None;
        }
        self.set_probe(now);
    }

    /// A probe is for a flow without signs of loss.
    fn set_probe(&mut self, now: Time) {
        let calm = !self.recovery.mending() && self.board.sacked() == 0 && self.probed.is_none();
        let probes = self.config.loss_detection == LossDetection::RackTlp;
        self.probe_at = (calm && probes).then(|| {
            let at = now + rack::probe_timeout(&self.rto, self.board.outstanding());
            self.rto_at.map_or(at, |rto_at| at.min(rto_at))
        });
    }

    fn on_rto(&mut self, now: Time) {
        let again = self.rto.backoff() > 0;
        let first = self.board.acked();
        let all = self.config.loss_detection == LossDetection::DuplicateAcks;
        let (rack, rto) = (&self.rack, &self.rto);
        self.board.mark_lost(|sent| all || sent.sequence == first || rack.overdue(now, sent, rto));
        self.rto.on_timeout();
        let (in_flight, resent_at) = (self.board.in_flight(), self.board.earliest_resent());
        self.recovery.on_timeout(first, self.next, again, in_flight, resent_at, &mut self.window);
        (self.rack.at, self.probe_at, self.probed) = (None, None, None);
        self.rto_at = Some(now + self.rto.timeout());
        self.stats.timeouts += 1;
    }

    /// A probe: new data if there is, else the last segment again (RFC 8985 7.3).
    fn probe(&mut self, now: Time) -> Option<Segment> {
        self.stats.probes += 1;
        self.probed = Some(self.next);
        let probe = match self.send_new(now) {
            None => self.board.resend_last(now).map(|sent| self.resend(now, sent)),
            new => new,
        };
        self.probe_at = None;
        probe
    }

    fn send_new(&mut self, now: Time) -> Option<Segment> {
        let room = (self.board.acked() + self.config.receive_window).min(self.available);
        let length = room.saturating_sub(self.next).min(u64::from(self.config.segment_size)) as u32;
        let whole =
            length == self.config.segment_size || self.next + u64::from(length) == self.available;
        if length == 0 || !whole {
            return None;
        }
        let sequence = self.next;
        self.next += u64::from(length);
        self.board.push(sequence, length, now);
        let mut segment = self.segment(now, sequence, length, false);
        segment.window_reduced = std::mem::take(&mut self.announce_reduction);
        self.set_probe(now);
        Some(segment)
    }

    fn resend(&mut self, now: Time, sent: Sent) -> Segment {
        if sent.sequence == self.board.acked() {
            // The first hole's next try gets its full time, as RFC 6675 5 allows.
            self.rto_at = None;
        }
        self.stats.retransmitted += 1;
        self.segment(now, sent.sequence, sent.length, true)
    }

    fn segment(&mut self, now: Time, sequence: u64, length: u32, again: bool) -> Segment {
        self.recovery.on_sent(now, again);
        self.rto_at.get_or_insert(now + self.rto.timeout());
        self.last_sent = now;
        self.stats.sent += 1;
        Segment {
            sequence,
            length,
            ack: 0,
            sack: Sack::default(),
            timestamp: now,
            timestamp_echo: None,
            // RFC 3168 6.1.5: not on what is sent again.
            ecn_capable: self.config.ecn && !again,
            congestion_experienced: false,
            ecn_echo: false,
            window_reduced: false,
            header_bytes: self.config.header_bytes,
        }
    }
}
