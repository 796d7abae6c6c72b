//! Loss of each receiver over the whole transfer.

use std::collections::BTreeMap;

use fanfare_proto::{NodeId, ReceiverReport};

use super::peers::loss_of;

/// What one has lost of what was sent.
#[derive(Debug, Default)]
struct Lost {
    bytes: f64,
    of: f64,
}

/// Counts at even intervals.
#[derive(Debug, Default)]
pub(super) struct TransferLosses {
    each: BTreeMap<NodeId, Lost>,
    /// Bytes sent when it was counted last.
    sent: u64,
}

impl TransferLosses {
    /// So many bytes have been sent by now, and this is what receivers say that they lose.
    pub(super) fn count(&mut self, sent: u64, reports: &[ReceiverReport]) {
        let bytes = sent.saturating_sub(self.sent) as f64;
        self.sent = sent;
        for report in reports {
            let lost = self.each.entry(report.node).or_default();
            lost.bytes += bytes * loss_of(report);
            lost.of += bytes;
        }
    }

    /// The share that it has lost; of a transfer too short to be counted, what it said last.
    pub(super) fn share(&self, report: &ReceiverReport) -> f64 {
        match self.each.get(&report.node) {
            Some(lost) if lost.of > 0.0 => lost.bytes / lost.of,
            _ => loss_of(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use fanfare_proto::Time;

    use super::*;

    fn report(loss: f64) -> ReceiverReport {
        ReceiverReport {
            node: NodeId(7),
            source: ([10, 0, 0, 7], 4000).into(),
            rtt: None,
            loss,
            reception: None,
            nacks: 0,
            overruns: 0,
            heard: Time::ZERO,
            evicted: false,
            deferred: false,
        }
    }

    #[test]
    fn loss_is_that_of_all_that_was_sent_and_not_of_the_last_report() {
        let mut losses = TransferLosses::default();
        assert_eq!(losses.share(&report(0.25)), 0.25);
        losses.count(1_000, &[report(0.1)]);
        losses.count(4_000, &[report(0.0)]);
        losses.count(4_000, &[report(1.0)]);
        assert!((losses.share(&report(1.0)) - 0.025).abs() < 1e-9);
    }
}
