//! Who holds up a stream: it has everything, and does not write it.
//!
//! A receiver whose pipe or disk is slow loses nothing, so its losses do not tell. But it confirms late
//! what it has written, and the sender reads no further. With `--slow evict` it is dropped when it
//! has written less than the least rate for as long as any slow receiver may.

use std::{collections::BTreeSet, time::Duration};

use fanfare_proto::{NodeId, Time};

use super::{queue::WATERMARK_BYTES, slow::Slow};

/// No receiver is dropped sooner: a disk may take so long for a sync.
const LEAST: Duration = Duration::from_secs(5);

/// How it stands with the watermark under way.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    since: Option<Time>,
    acknowledged: BTreeSet<NodeId>,
}

impl Stalls {
    pub(super) fn on_watermark(&mut self, now: Time) {
        self.since = Some(now);
        self.acknowledged.clear();
    }

    pub(super) fn on_acknowledged(&mut self, node: NodeId) {
        self.acknowledged.insert(node);
    }

    /// Those of `open` that have held it up for too long.
    pub(super) fn stalled(&self, now: Time, policy: Slow, open: &[NodeId]) -> Vec<NodeId> {
        let (Slow::Evict { min_rate }, Some(since)) = (policy, self.since) else {
            return Vec::new();
        };
        let due = WATERMARK_BYTES as f64 / min_rate.as_bytes_per_second().max(1.0);
        if now.since(since) < LEAST.max(Duration::from_secs_f64(due)) {
            return Vec::new();
        }
        open.iter().filter(|node| !self.acknowledged.contains(node)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Bitrate;

    use super::*;

    #[test]
    fn who_has_not_written_what_others_have_is_dropped_after_the_time_it_was_given() {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let (fast, slow) = (NodeId(1), NodeId(2));
        let mut stalls = Stalls::default();
        let evict = Slow::Evict { min_rate: Bitrate::mbps(100) };
        assert_eq!(stalls.stalled(at(9), evict, &[fast, slow]), []);
        stalls.on_watermark(at(10));
        stalls.on_acknowledged(fast);
        assert_eq!(stalls.stalled(at(14), evict, &[fast, slow]), []);
        assert_eq!(stalls.stalled(at(15), evict, &[fast, slow]), [slow]);
        assert_eq!(stalls.stalled(at(99), Slow::Keep, &[fast, slow]), []);
        let low = Slow::Evict { min_rate: Bitrate::mbps(1) };
        assert_eq!(stalls.stalled(at(15), low, &[fast, slow]), []);
        stalls.on_watermark(at(16));
        assert_eq!(stalls.stalled(at(17), evict, &[fast, slow]), []);
    }
}
