//! One direction of a path: what happens to a datagram that enters it.

use fanfare_proto::{Bitrate, Duration, Time, rng::Rng};
use std::collections::BTreeMap;

/// IPv4 and UDP headers: they occupy a link, though not the protocol's own count of its rate.
pub const HEADER_BYTES: usize = 28;

/// How datagrams get lost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each for itself, with this probability (Bernoulli).
    Independent(f64),
    /// In bursts (Gilbert-Elliott, everything lost in the bad state).
    Bursts {
        /// Share of all datagrams lost, 0 to 1.
        mean: f64,
        /// Mean length of a burst, datagrams; at least 1.
        burst: f64,
    },
    /// As recorded ([`crate::Plan::loss_trace`]), from its beginning and over and over.
    Trace(TraceId),
    /// Each bit is wrong with this probability, and a datagram with a wrong bit is lost: long ones
    /// more often than short ones.
    BitErrors(f64),
}

/// The number of a loss trace of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceId(pub u16);

/// Recorded losses: of consecutive datagrams, those that were lost.
pub(crate) type Traces = BTreeMap<TraceId, Vec<bool>>;

impl Loss {
    /// Whether the next datagram, of so many bytes with its headers, is lost.
    pub(crate) fn takes(
        self,
        memory: &mut LinkMemory,
        bytes: usize,
        chance: &mut LinkRandomness<'_>,
    ) -> bool {
        match self {
            Self::None => false,
            Self::Independent(p) => chance.rng.random_bool(p),
            // 1 - (1 - p)^bits, exact for small p.
            Self::BitErrors(p) => {
                chance.rng.random_bool(-libm::expm1(bytes as f64 * 8.0 * libm::log1p(-p)))
            }
            Self::Bursts { mean, burst } => {
                let leave = 1.0 / burst.max(1.0);
                // In balance: mean = enter / (enter + leave).
                let enter = leave * mean / (1.0 - mean).max(f64::EPSILON);
                let rng = &mut *chance.rng;
                memory.bad =
                    if memory.bad { !rng.random_bool(leave) } else { rng.random_bool(enter) };
                memory.bad
            }
            Self::Trace(id) => {
                let trace = chance.traces.get(&id).map_or(&[][..], Vec::as_slice);
                let lost = trace.get(memory.position).copied().unwrap_or(false);
                memory.position = (memory.position + 1) % trace.len().max(1);
                lost
            }
        }
    }
}

/// Where a link's fates come from.
#[derive(Debug)]
pub(crate) struct LinkRandomness<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) traces: &'a Traces,
}

/// What one direction of a path does. Plain data: a plan copies and changes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Whether anything passes. Default true.
    pub up: bool,
    /// Line rate; `None` takes no time (the default).
    pub rate: Option<Bitrate>,
    /// Bytes that may wait for the line; more are dropped at the tail. Default 64 KiB. Without a
    /// rate nothing waits.
    pub queue_bytes: u64,
    /// One-way delay. Default 5 ms.
    pub delay: Duration,
    /// Uniform random addition to the delay, up to this. It lets datagrams overtake. Default 0.
    pub jitter: Duration,
    /// Loss. Default none.
    pub loss: Loss,
    /// Share delivered twice. Default 0.
    pub duplicate: f64,
    /// Share held back by three more delays, so that later ones overtake. Default 0.
    pub reorder: f64,
    /// Share delivered with one bit inverted, as if the UDP checksum had not seen it. Default 0.
    pub corrupt: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            up: true,
            rate: None,
            queue_bytes: 64 << 10,
            delay: Duration::from_millis(5),
            jitter: Duration::ZERO,
            loss: Loss::None,
            duplicate: 0.0,
            reorder: 0.0,
            corrupt: 0.0,
        }
    }
}

impl Link {
    /// Nothing passes.
    #[must_use]
    pub fn down() -> Self {
        Self { up: false, ..Self::default() }
    }
    /// No delay and no fault: for the part of a path that is modelled elsewhere.
    #[must_use]
    pub fn wire() -> Self {
        Self { delay: Duration::ZERO, ..Self::default() }
    }
    /// With this one-way delay.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }
    /// With up to this much more delay, at random.
    #[must_use]
    pub fn jitter(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }
    /// Each datagram lost with probability `p`.
    #[must_use]
    pub fn loss(self, p: f64) -> Self {
        Self { loss: if p > 0.0 { Loss::Independent(p) } else { Loss::None }, ..self }
    }
    /// Bursts of `burst` datagrams on average, `mean` of all lost.
    #[must_use]
    pub fn bursts(self, mean: f64, burst: f64) -> Self {
        Self { loss: Loss::Bursts { mean, burst }, ..self }
    }
    /// Datagrams lost as in a trace of the plan.
    #[must_use]
    pub fn trace(self, trace: TraceId) -> Self {
        Self { loss: Loss::Trace(trace), ..self }
    }
    /// With this line rate and queue.
    #[must_use]
    pub fn rate(self, rate: Bitrate, queue_bytes: u64) -> Self {
        Self { rate: Some(rate), queue_bytes, ..self }
    }
    /// A share delivered twice.
    #[must_use]
    pub fn duplicate(self, p: f64) -> Self {
        Self { duplicate: p, ..self }
    }
    /// A share overtaken by later ones.
    #[must_use]
    pub fn reorder(self, p: f64) -> Self {
        Self { reorder: p, ..self }
    }
    /// A share with one bit wrong.
    #[must_use]
    pub fn corrupt(self, p: f64) -> Self {
        Self { corrupt: p, ..self }
    }

    /// Whether its fate depends on what passed before.
    #[must_use]
    pub(crate) fn remembers(&self) -> bool {
        self.rate.is_some() || matches!(self.loss, Loss::Bursts { .. } | Loss::Trace(_))
    }

    /// What becomes of a datagram of `bytes` that enters at `now`.
    pub(crate) fn carry(
        &self,
        memory: &mut LinkMemory,
        now: Time,
        bytes: usize,
        chance: &mut LinkRandomness<'_>,
    ) -> LinkOutcome {
        if !self.up {
            return LinkOutcome::Down;
        }
        let Some(left) = self.transmit(memory, now, bytes) else { return LinkOutcome::QueueFull };
        self.propagate(memory, left, bytes, chance)
    }

    /// What becomes of a datagram whose last bit has left at `left`.
    pub(crate) fn propagate(
        &self,
        memory: &mut LinkMemory,
        left: Time,
        bytes: usize,
        chance: &mut LinkRandomness<'_>,
    ) -> LinkOutcome {
        if !self.up {
            return LinkOutcome::Down;
        }
        if self.loss.takes(memory, bytes + HEADER_BYTES, chance) {
            return LinkOutcome::Lost;
        }
        let rng = &mut *chance.rng;
        let first = self.arrival(left, bytes, rng);
        let second = happens(self.duplicate, rng).then(|| self.arrival(left, bytes, rng));
        LinkOutcome::Arrives(first, second)
    }

    /// When its last bit has left; `None` when the queue is full.
    fn transmit(&self, memory: &mut LinkMemory, now: Time, bytes: usize) -> Option<Time> {
        let Some(rate) = self.rate else { return Some(now) };
        let waiting = rate.bytes_in(memory.free_at.since(now));
        if waiting > 0 && waiting + bytes as u64 > self.queue_bytes {
            return None;
        }
        memory.free_at = memory.free_at.max(now) + rate.time_for(bytes + HEADER_BYTES);
        Some(memory.free_at)
    }

    fn arrival(&self, left: Time, bytes: usize, rng: &mut Rng) -> Arrival {
        let jitter = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        let mut at = left + self.delay;
        if jitter > 0 {
            at = at + Duration::from_nanos(rng.below(jitter));
        }
        if happens(self.reorder, rng) {
            at = at + 3 * self.delay;
        }
        let flip = happens(self.corrupt, rng).then(|| rng.below(bytes as u64 * 8));
        Arrival { at, flip }
    }
}

/// Chance without drawing when nothing can come of it: a plain link costs no random number.
fn happens(p: f64, rng: &mut Rng) -> bool {
    p > 0.0 && rng.random_bool(p)
}

/// What a link remembers between datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkMemory {
    /// The line is busy until then.
    free_at: Time,
    /// In the bad state of the burst model.
    bad: bool,
    /// The next datagram's place in the loss trace.
    position: usize,
}

/// What becomes of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOutcome {
    /// The link does not pass anything.
    Down,
    /// Lost on the way.
    Lost,
    /// The queue was full.
    QueueFull,
    /// It arrives, perhaps twice.
    Arrives(Arrival, Option<Arrival>),
}

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// The bit that is inverted, counted from the first byte's highest.
    pub flip: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(link: Link, n: usize) -> Vec<LinkOutcome> {
        let (mut memory, mut rng) = (LinkMemory::default(), Rng::new(1));
        let traces = Traces::from([(TraceId(4), vec![false, true, true])]);
        let mut carry = |_| {
            let chance = &mut LinkRandomness { rng: &mut rng, traces: &traces };
            link.carry(&mut memory, Time::ZERO, 972, chance)
        };
        (0..n).map(&mut carry).collect()
    }
    fn lost(outcomes: &[LinkOutcome]) -> usize {
        outcomes.iter().filter(|f| **f == LinkOutcome::Lost).count()
    }

    #[test]
    fn independent_loss_has_its_mean() {
        let lost = lost(&outcomes(Link::default().loss(0.3), 20_000));
        assert!((5_800..6_200).contains(&lost), "{lost}");
    }

    #[test]
    fn bit_errors_take_long_datagrams_more_often_than_short_ones() {
        // 972 bytes and 28 of headers at 1e-5: 1 - 0.99999^8000.
        let link = Link { loss: Loss::BitErrors(1e-5), ..Link::default() };
        let long = lost(&outcomes(link, 20_000));
        assert!((1_440..1_640).contains(&long), "{long}");
        let (mut memory, mut rng) = (LinkMemory::default(), Rng::new(1));
        let chance = &mut LinkRandomness { rng: &mut rng, traces: &Traces::new() };
        let short = (0..20_000).filter(|_| link.loss.takes(&mut memory, 40, chance)).count();
        assert!((40..90).contains(&short), "{short}");
    }

    #[test]
    fn bursts_have_their_mean_and_length() {
        let outcomes = outcomes(Link::default().bursts(0.1, 8.0), 200_000);
        let starts = outcomes
            .windows(2)
            .filter(|w| w[0] != LinkOutcome::Lost && w[1] == LinkOutcome::Lost)
            .count();
        let lost = lost(&outcomes);
        assert!((18_000..22_000).contains(&lost), "{lost}");
        assert!((7.0..9.0).contains(&(lost as f64 / starts as f64)), "{lost} in {starts}");
    }

    #[test]
    fn a_trace_is_followed_over_and_over_and_one_that_is_not_there_loses_nothing() {
        let outcomes = outcomes(Link::default().trace(TraceId(4)), 7);
        let kept: Vec<bool> =
            outcomes.iter().map(|outcome| *outcome != LinkOutcome::Lost).collect();
        assert_eq!(kept, [true, false, false, true, false, false, true]);
        assert_eq!(lost(&self::outcomes(Link::default().trace(TraceId(5)), 7)), 0);
    }

    #[test]
    fn a_line_serialises_and_its_queue_drops_at_the_tail() {
        // 1000 bytes with headers take 1 ms at 8 Mbit/s; 3000 bytes of queue hold three.
        let link = Link::wire().rate(Bitrate::mbps(8), 3_000);
        let outcomes = outcomes(link, 6);
        let arrivals: Vec<_> = outcomes
            .iter()
            .map_while(|outcome| match outcome {
                LinkOutcome::Arrives(a, None) => Some(a.at.as_nanos() / 1_000_000),
                _ => None,
            })
            .collect();
        assert_eq!(arrivals, [1, 2, 3]);
        assert!(outcomes[3..].iter().all(|f| *f == LinkOutcome::QueueFull), "{outcomes:?}");
    }

    #[test]
    fn a_link_that_is_down_passes_nothing_and_a_duplicating_one_passes_two() {
        assert!(outcomes(Link::down(), 5).iter().all(|f| *f == LinkOutcome::Down));
        let twice = outcomes(Link::default().duplicate(1.0), 5);
        assert!(twice.iter().all(|f| matches!(f, LinkOutcome::Arrives(_, Some(_)))));
    }

    #[test]
    fn reordering_lets_later_datagrams_overtake() {
        let times: Vec<_> = outcomes(Link::default().reorder(0.5), 50)
            .iter()
            .filter_map(|f| match f {
                LinkOutcome::Arrives(a, _) => Some(a.at),
                _ => None,
            })
            .collect();
        assert!(times.windows(2).any(|w| w[1] < w[0]));
    }
}
