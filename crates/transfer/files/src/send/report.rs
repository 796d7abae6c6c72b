//! What is told of a sending: as it goes, and what it came to.

use std::time::Duration;

use fanfare_proto::{ReceiverReport, Session, Stats, Time};

use super::{Expect, Phase, SendJob, peers::loss_of};
use crate::event::Outbox;

use crate::event::{
    Limit, ReceiverProgress, ReceiverView, SendEnd, SendEvent, SendProgress, SendReport,
    TransferEvent,
};

/// A report of loss counts so long, and twenty GRTT: who loses nothing any more says nothing.
const FRESH: Duration = Duration::from_secs(5);
const FRESH_GRTT: u32 = 20;

impl SendJob {
    /// Who is still waited for.
    pub(super) fn tell_waiting(&self, out: &mut Outbox) {
        if matches!(self.phase, Phase::Gathering(_)) && self.options.expect != Expect::Anyone {
            out.push(TransferEvent::Send(SendEvent::Waiting {
                receivers: self.peers.len(),
                expected: self.options.expect.count().unwrap_or(0),
                missing: self.missing(),
            }));
        }
    }

    fn missing(&self) -> Vec<String> {
        match &self.options.expect {
            Expect::Names(names) => self.peers.missing(names),
            Expect::Hosts(hosts) => self.peers.missing_hosts(hosts),
            Expect::Anyone | Expect::Count(_) => Vec::new(),
        }
    }

    /// What is known of those still to be served.
    pub(super) fn open_reports(&self, session: &mut Session) -> Vec<ReceiverReport> {
        let mut reports = session.sender().receivers();
        reports.retain(|report| self.peers.is_open(report.node));
        reports
    }

    fn repair_bytes(&self, stats: &Stats) -> u64 {
        (stats.parity_repair_sent + stats.explicit_repair_sent) * self.segment_size
    }

    /// Of those still to be served, who loses most, by what it said lately.
    fn lossiest(&self, now: Time, session: &mut Session) -> Option<(ReceiverView, f64)> {
        let fresh = FRESH + session.sender().grtt() * FRESH_GRTT;
        let losses = self.open_reports(session).into_iter().filter_map(|report| {
            let said = report.reception.map_or(report.heard, |reception| reception.until);
            let loss = loss_of(&report);
            (loss > 0.0 && now.since(said) < fresh).then_some((report.node, loss))
        });
        let (node, loss) = losses.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some((self.peers.view(node), loss))
    }

    fn limit(&self, session: &mut Session) -> Limit {
        let reason = session.sender().rate_reason();
        let receiver = reason.node().map(|node| self.peers.view(node));
        Limit { reason, receiver, answered: self.peers.len() > 0 }
    }

    pub(super) fn progress(&self, now: Time, session: &mut Session) -> SendProgress {
        let lossiest = self.lossiest(now, session);
        SendProgress {
            sent_bytes: session.sender().progress(),
            total_bytes: self.queue.bytes_to_send(),
            rate: session.sender().rate(),
            repair_bytes: self.repair_bytes(&session.stats()),
            wire_bytes: session.stats().bytes_sent,
            lossiest,
            limit: self.limit(session),
            complete: self.peers.complete(),
            receivers: self.peers.len(),
        }
    }

    pub(super) fn progress_of_each(&self, session: &mut Session) -> Vec<ReceiverProgress> {
        self.peers.progress(&session.sender().receivers())
    }

    /// What it came to.
    pub(crate) fn report(&self, session: &mut Session) -> SendReport {
        let reports = session.sender().receivers();
        let (Phase::Leaving(end, _) | Phase::Done(end)) = self.phase else {
            return self.report_as(SendEnd::Interrupted, &reports, session);
        };
        self.report_as(end, &reports, session)
    }

    fn report_as(&self, end: SendEnd, reports: &[ReceiverReport], session: &Session) -> SendReport {
        let ended = self.ended.unwrap_or(self.started);
        SendReport {
            end,
            receivers: self
                .peers
                .results(self.started, reports, &self.losses, |id| self.queue.name_of(id)),
            missing: self.missing(),
            expected: self.options.expect.count(),
            changed: self.queue.changed.clone(),
            broken: self.queue.broken(),
            objects: self.queue.files,
            bytes: self.queue.bytes,
            repair_bytes: self.repair_bytes(&session.stats()),
            limit: self.limits.longest(),
            elapsed: ended.since(self.started),
        }
    }
}
