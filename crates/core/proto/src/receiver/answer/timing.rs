//! The timer parameters that a sender advertises, within this receiver's limits.

use crate::{backoff::random_backoff, config::ReceiverConfig, rng::Rng, time::Duration};
use fanfare_wire::{GroupSize, QuantizedRtt, header::SenderFields};

/// So many receivers, the least group that can be advertised, may speak nearly at once: all their
/// requests would be about as many as slip through in a large group. Senders advertise at least as
/// many as they have heard, so that a group taken for smaller than it is corrects itself.
const FEW: u32 = 10;
/// The least K among them.
const FLOOR_OF_FEW: u32 = 1;

/// Bytes that the acknowledgements of a few take, four times: so that few meet even where all share one
/// medium. Each has 200, with a short name and headers.
const ACKS_ROOM: f64 = 4.0 * 200.0 * FEW as f64;
/// No less than a scheduler's slice, seconds.
const ACKS_ROOM_MIN: f64 = 0.01;

/// GRTT, K and group size of one sender (RFC 5740 4.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    unicast: bool,
    floor: u32,
    grtt_max: Duration,
    /// As it is believed: grtt, backoff, gsize.
    advertised: (u8, u8, u8),
    /// As the last message said, where that was something else.
    changed: Option<(u8, u8, u8)>,
    pub(crate) grtt: Duration,
    /// Backoff factor K; zero in a unicast session.
    pub(crate) backoff: u32,
    pub(crate) group_size: u32,
}

impl Timing {
    pub(crate) fn new(unicast: bool, config: &ReceiverConfig, sender: &SenderFields) -> Self {
        let mut timing = Self {
            unicast,
            floor: u32::from(config.backoff_floor),
            grtt_max: config.grtt_max,
            advertised: (sender.grtt.0, sender.backoff, sender.gsize.0),
            changed: None,
            grtt: Duration::ZERO,
            backoff: 0,
            group_size: 0,
        };
        timing.read(sender);
        timing
    }

    /// Every message repeats it; mostly nothing has changed. Two messages in a row must say what is new: a single
    /// one may have been changed on the way, and a request would wait for a long GRTT.
    pub(crate) fn on_message(&mut self, sender: &SenderFields) {
        let advertised = (sender.grtt.0, sender.backoff, sender.gsize.0);
        if advertised == self.advertised {
            self.changed = None;
        } else if self.changed.replace(advertised) == Some(advertised) {
            (self.advertised, self.changed) = (advertised, None);
            self.read(sender);
        }
    }

    /// GRTT, backoff factor and group size as the sender said them last.
    pub(crate) fn advertised(&self) -> (QuantizedRtt, u8, GroupSize) {
        let (grtt, backoff, gsize) = self.advertised;
        (QuantizedRtt(grtt), backoff, GroupSize(gsize))
    }

    fn read(&mut self, sender: &SenderFields) {
        // A forged GRTT must not put receivers to sleep, nor a forged K wake them all at once.
        self.grtt = Duration::from_nanos(sender.grtt.to_nanos()).min(self.grtt_max);
        self.group_size = sender.gsize.to_receivers();
        let few = self.group_size <= FEW;
        let floor = if few { self.floor.min(FLOOR_OF_FEW) } else { self.floor };
        self.backoff = if self.unicast { 0 } else { u32::from(sender.backoff).max(floor) };
    }

    /// A NACK's back-off (RFC 5740 5.3).
    pub(crate) fn backoff_time(&self, rng: &mut Rng) -> Duration {
        random_backoff(self.grtt * self.backoff, self.group_size, rng)
    }

    /// Uniform in 0..GRTT: spreads acknowledgements (RFC 5740 5.5.3). None in a unicast session. A few
    /// need no more than room for what they say, where it is known that the sender sends `rate` bytes a
    /// second.
    pub(crate) fn ack_delay(&self, rate: f64, rng: &mut Rng) -> Duration {
        let room =
            if self.group_size <= FEW && rate > 0.0 { ACKS_ROOM / rate } else { f64::INFINITY };
        let most = self.grtt.as_secs_f64().min(room.max(ACKS_ROOM_MIN));
        if self.unicast { Duration::ZERO } else { uniform(Duration::from_secs_f64(most), rng) }
    }
}

/// Uniform in 0..`max`.
pub(crate) fn uniform(max: Duration, rng: &mut Rng) -> Duration {
    Duration::from_nanos(rng.below(u64::try_from(max.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanfare_wire::{InstanceId, NodeId, QuantizedRtt, Sequence, quantized::GroupSize};

    fn fields(grtt: Duration, backoff: u8) -> SenderFields {
        to_group(1000, grtt, backoff)
    }

    fn to_group(receivers: u32, grtt: Duration, backoff: u8) -> SenderFields {
        SenderFields {
            sequence: Sequence(0),
            source_id: NodeId(1),
            instance_id: InstanceId(1),
            grtt: QuantizedRtt::from_nanos(grtt.as_nanos() as u64),
            backoff,
            gsize: GroupSize::from_receivers(receivers),
        }
    }

    #[test]
    fn a_forged_grtt_or_k_stays_within_this_receivers_bounds() {
        let config = ReceiverConfig::default();
        let timing = Timing::new(false, &config, &fields(Duration::from_secs(900), 0));
        assert_eq!((timing.grtt, timing.backoff), (config.grtt_max, 4));
    }

    #[test]
    fn only_a_few_receivers_may_answer_at_once() {
        let backoff = |receivers, backoff| {
            let advertised = to_group(receivers, Duration::from_millis(10), backoff);
            Timing::new(false, &ReceiverConfig::default(), &advertised).backoff
        };
        assert_eq!([backoff(10, 0), backoff(10, 1), backoff(10, 6)], [1, 1, 6]);
        assert_eq!([backoff(11, 0), backoff(11, 1), backoff(11, 6)], [4, 4, 6]);
    }

    #[test]
    fn changed_advertisements_are_followed() {
        let config = ReceiverConfig::default();
        let mut timing = Timing::new(false, &config, &fields(Duration::from_millis(10), 4));
        let (slow, other) = (fields(Duration::from_secs(1), 6), fields(Duration::from_secs(9), 6));
        [slow, other, slow].iter().for_each(|said| timing.on_message(said));
        assert!(timing.grtt < Duration::from_secs(1), "no two in a row say the same");
        timing.on_message(&slow);
        assert!(timing.grtt >= Duration::from_secs(1) && timing.backoff == 6);
        [other, slow, other].iter().for_each(|said| timing.on_message(said));
        assert!(timing.grtt < Duration::from_secs(9), "what is believed denies it");
    }

    #[test]
    fn a_few_receivers_acknowledge_within_the_time_of_their_messages_at_the_senders_rate() {
        let longest = |receivers, rate| {
            let advertised = to_group(receivers, Duration::from_millis(600), 1);
            let timing = Timing::new(false, &ReceiverConfig::default(), &advertised);
            let mut rng = Rng::new(1);
            (0..1000).map(|_| timing.ack_delay(rate, &mut rng).as_millis()).max().unwrap()
        };
        assert!((60..=64).contains(&longest(10, 125_000.0)), "at 1 Mbit/s");
        assert_eq!(longest(10, 125e6), 9);
        let grtt = 590..=700;
        assert!(grtt.contains(&longest(10, 7_000.0)), "at 56 kbit/s");
        assert!(grtt.contains(&longest(10, 0.0)), "where the rate is not known");
        assert!(grtt.contains(&longest(11, 125e6)), "more than a few");
    }

    #[test]
    fn in_a_unicast_session_nobody_waits() {
        let timing =
            Timing::new(true, &ReceiverConfig::default(), &fields(Duration::from_secs(1), 4));
        let mut rng = Rng::new(1);
        assert!(
            timing.backoff_time(&mut rng).is_zero() && timing.ack_delay(1e6, &mut rng).is_zero()
        );
    }
}
