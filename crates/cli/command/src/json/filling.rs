//! Lines, made of what the node tells.

use fanfare_files::{
    How, MemoryUse, Placed, SlowVerdict,
    event::{
        Limit, Outcome, PackedFiles, Receipt, ReceiveProgress, ReceiveReport, ReceiverProgress,
        ReceiverView, SendProgress, SendReport,
    },
    receipt::Reason,
};
use fanfare_node::{
    WayCounts,
    group::{GroupEvent, GroupReport, GroupStatus, Losses},
    messaging::GroupStats,
    proto::{Bitrate, DropReason, NodeId, ObjectKey, Stats},
};

use super::{
    hex::hex,
    line::{Line, Message, Progress, ResultLine},
    messages::{
        CrossingWay, Drops, GatewayLine, Member, MemberLine, Members, StatusLine, Way, WayLine,
    },
    receiving::File,
    sending::{
        LimitLine, OutcomeLine, PlannedLine, ReceiptLine, Receiver, ReceiverProgressLine,
        Receivers, Reported, SlowLine,
    },
};

/// What a subscriber was given, and what not.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    pub messages: u64,
    pub unwritten: u64,
    pub dropped: u64,
    pub lost: u64,
    pub bytes: u64,
}

impl Member {
    /// What an event says of another member.
    pub fn of(event: &GroupEvent) -> Option<Self> {
        let (node, state) = match event {
            GroupEvent::Joined { node } => (node, "joined"),
            GroupEvent::Left { node } => (node, "left"),
            GroupEvent::HearsUs { node, hears: true } => (node, "hears-us"),
            GroupEvent::HearsUs { node, hears: false } => (node, "deaf-to-us"),
            _ => return None,
        };
        Some(Self { id: node.0, state: state.to_owned() })
    }
}

impl Line {
    pub fn receiver(view: &ReceiverView) -> Self {
        let state = view.state.map_or("plain", |state| state.name()).to_owned();
        let source = view.source.map(|source| source.to_string());
        let (id, name, free) = (view.id.0, view.name.clone(), view.free);
        Self::Receiver(Receiver { id, name, state, source, free })
    }

    pub fn slow(view: &ReceiverView, verdict: SlowVerdict, rate: Bitrate) -> Self {
        Self::Slow(SlowLine {
            id: view.id.0,
            name: view.name.clone(),
            verdict: verdict.name().to_owned(),
            rate_bps: rate.as_bps(),
        })
    }

    pub fn send_progress(p: &SendProgress) -> Self {
        Self::Progress(Progress::Send {
            sent_bytes: p.sent_bytes,
            total_bytes: p.total_bytes,
            rate_bps: p.rate.as_bps(),
            repair_bytes: p.repair_bytes,
            wire_bytes: p.wire_bytes,
            complete: p.complete as u64,
            receivers: p.receivers as u64,
            limiting: limit_line(&p.limit),
            lossiest: p.lossiest.as_ref().map(|(view, _)| view.label()),
            lossiest_loss: p.lossiest.as_ref().map(|(_, loss)| rounded(*loss)),
            rate_reason: p.limit.code().to_owned(),
            rate_limited_by: p.limit.receiver_label(),
        })
    }

    pub fn receive_progress(p: &ReceiveProgress) -> Self {
        let loss = rounded(p.loss);
        Self::Progress(Progress::Receive { bytes: p.bytes, total_bytes: p.total_bytes, loss })
    }

    /// One for each file that it is about.
    pub fn receipts(receipt: &Receipt) -> impl Iterator<Item = Self> {
        let line = |file: &str, hash: [u8; 32], bytes| {
            Self::Receipt(ReceiptLine {
                id: receipt.receiver.id.0,
                name: receipt.receiver.name.clone(),
                object: receipt.object,
                file: file.to_owned(),
                hash: hex(&hash),
                bytes,
                seconds: rounded(receipt.elapsed.as_secs_f64()),
            })
        };
        let packed = receipt.packed.iter().flat_map(PackedFiles::iter);
        let alone = receipt.packed.is_none().then_some(receipt);
        let alone = alone.map(move |receipt| line(&receipt.file, receipt.hash, receipt.bytes));
        packed.map(move |file| line(file.name, file.hash, file.bytes)).chain(alone)
    }

    /// How far each is, of `total_bytes`.
    pub fn receivers(each: &[ReceiverProgress], total_bytes: u64) -> Self {
        let line = |one: &ReceiverProgress| {
            let ReceiverView { id, name, state, source, .. } = &one.receiver;
            let state = state.map_or("plain", |state| state.name());
            ReceiverProgressLine {
                id: id.0,
                name: name.clone(),
                source: source.map(|source| source.to_string()),
                state: one.outcome.as_ref().map_or(state, Outcome::name).to_owned(),
                bytes: one.bytes,
                rate_bps: one.rate.map(Bitrate::as_bps),
                loss: rounded(one.loss),
                rtt: one.rtt.map(|rtt| rounded(rtt.as_secs_f64())),
                overruns: Some(one.overruns).filter(|overruns| *overruns > 0),
            }
        };
        let receivers = each.iter().map(line).collect();
        Self::Receivers(Receivers { total_bytes, receivers })
    }

    pub fn reported(view: &ReceiverView, file: &str, reason: Reason) -> Self {
        Self::Reported(Reported {
            id: view.id.0,
            name: view.name.clone(),
            file: file.to_owned(),
            reason: reason.name().to_owned(),
        })
    }

    pub fn file(key: ObjectKey, placed: &Placed, path: String, seconds: f64) -> Self {
        Self::File(File {
            path,
            size: placed.size,
            hash: hex(&placed.hash),
            verified: placed.verified,
            already: placed.is_already(),
            replaced: placed.how == How::Replaced,
            beside: placed.how == How::Beside,
            seconds: rounded(seconds),
            id: key.object.0,
            sender: key.sender.0,
            name_rejected: placed.name_rejected.map(|why| why.to_string()),
        })
    }

    pub fn message(code: &str, message: String) -> Message {
        Message { code: code.to_owned(), message }
    }

    pub fn send_result(report: &SendReport, wire_bytes: u64, exit: u8) -> Self {
        let seconds = report.elapsed.as_secs_f64();
        // What nobody is known to have has come nowhere.
        let came = seconds > 0.0 && report.complete() > 0;
        let goodput = if came { report.bytes as f64 * 8.0 / seconds } else { 0.0 };
        Self::Result(Box::new(ResultLine::Send {
            ok: exit == 0,
            exit,
            receivers: report.receivers.len() as u64,
            complete: report.complete() as u64,
            outcomes: outcomes(report),
            missing: report.missing.clone(),
            bytes: report.bytes,
            wire_bytes,
            repair_bytes: report.repair_bytes,
            seconds: rounded(seconds),
            goodput_bps: goodput as u64,
            limiting: report.limit.as_ref().map(limit_line),
            rate_reason: report.limit.as_ref().map(|limit| limit.code().to_owned()),
            rate_limited_by: report.limit.as_ref().and_then(Limit::receiver_label),
        }))
    }

    pub fn receive_result(report: &ReceiveReport, overruns: u64, exit: u8) -> Self {
        Self::Result(Box::new(ResultLine::Receive {
            ok: exit == 0,
            exit,
            files: report.files,
            bytes: report.bytes,
            failed: report.failures.len() as u64,
            deleted: report.deleted,
            refused: report.refused,
            refused_senders: report.refused_senders,
            overruns,
        }))
    }

    /// `complete` of `streams` came to all that were expected.
    pub fn streams_result(exit: u8, streams: u64, complete: u64, memory: MemoryUse) -> Self {
        Self::Result(Box::new(ResultLine::Streams {
            ok: exit == 0,
            exit,
            streams,
            complete,
            memory: memory.bound as u64,
            memory_most: memory.most as u64,
            memory_refused: memory.refused,
        }))
    }

    /// `held` of `messages` are held by others, and newer ones took the place of those `replaced`.
    pub fn publish_result(
        exit: u8,
        (messages, held, replaced): (u64, u64, u64),
        bytes: u64,
        (holders, lacking): (u64, Vec<u32>),
        drops: Option<Drops>,
    ) -> Self {
        let ok = exit == 0;
        Self::Result(Box::new(ResultLine::Publish {
            ok,
            exit,
            messages,
            held,
            bytes,
            holders,
            replaced,
            lacking,
            drops,
        }))
    }

    /// Of a bridge to a plain side: the way to there, and the way to the group.
    pub fn bridge_result(exit: u8, ways: [CrossingWay; 2]) -> Self {
        let [to_plain, to_group] = &ways;
        Self::Result(Box::new(ResultLine::Bridge {
            ok: exit == 0,
            exit,
            to_group: to_group.carried,
            to_plain: to_plain.carried,
            duplicates: to_group.duplicates + to_plain.duplicates,
            dropped: to_group.lost() + to_plain.lost(),
            ways: ways.into(),
        }))
    }

    pub fn gateway_result(
        exit: u8,
        (to, back): (Way, Way),
        ways: Vec<WayLine>,
        refused: u64,
        missed: u64,
    ) -> Self {
        let ok = exit == 0;
        Self::Result(Box::new(ResultLine::Gateway { ok, exit, to, back, refused, missed, ways }))
    }

    pub fn subscribe_result(exit: u8, taken: &Taken, drops: Option<Drops>) -> Self {
        let (ok, &Taken { messages, unwritten, dropped, lost, bytes }) = (exit == 0, taken);
        Self::Result(Box::new(ResultLine::Subscribe {
            ok,
            exit,
            messages,
            unwritten,
            dropped,
            lost,
            bytes,
            drops,
        }))
    }

    /// `groups`: of a node of several, all of them; and the gateways that this one is in.
    pub fn status(
        status: &GroupStatus,
        (groups, gateways): (Vec<String>, Vec<GatewayLine>),
    ) -> Self {
        Self::Status(Box::new(StatusLine {
            node: status.node.0,
            members: members(status),
            own: status.own,
            kept: status.kept.0,
            kept_bytes: status.kept.1,
            bytes_sent: status.session.bytes_sent,
            bytes_received: status.session.bytes_received,
            repairs_sent: status.group.repairs_sent,
            sums_sent: status.group.sums_sent,
            proactive_sums_sent: status.group.proactive_sums_sent,
            answers_sent: status.group.answers_sent,
            repairs_heard: status.group.repairs_heard,
            repairs_useful: status.group.repairs_useful,
            frames_refused: status.group.frames_refused,
            wrong: status.group.wrong,
            evicted: status.group.evicted,
            expired: status.group.expired,
            missed: status.group.missed,
            drops: Drops::of(&status.group, &status.session, &status.losses),
            groups,
            gateways,
        }))
    }

    pub fn members(status: &GroupStatus) -> Self {
        Self::Members(Members { members: members(status) })
    }

    pub fn planned(name: &str, size: u64) -> Self {
        Self::Planned(PlannedLine { name: name.to_owned(), size })
    }

    /// Of a sending that only said what it would send.
    pub fn dry_run_result(files: u64, would_send: u64, seconds: Option<f64>) -> Self {
        let (ok, exit) = (true, 0);
        Self::Result(Box::new(ResultLine::DryRun { ok, exit, files, would_send, seconds }))
    }

    /// Of `fanfare parts`.
    pub fn parts_result(parts: u64, taken: u64) -> Self {
        Self::Result(Box::new(ResultLine::Parts { ok: true, exit: 0, parts, taken }))
    }

    pub fn early_result(exit: u8) -> Self {
        Self::Result(Box::new(ResultLine::Early { ok: exit == 0, exit }))
    }

    /// The line, without its end.
    pub fn to_text(&self) -> String {
        // Plain data with string keys: it always can be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl CrossingWay {
    /// Messages that did not cross and will not, for whatever reason but time.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.dropped + self.refused
    }

    /// One direction, and what its ends are called.
    #[must_use]
    pub fn of(from: &str, to: &str, counts: WayCounts) -> Self {
        let WayCounts { heard, carried, duplicates, expired, dropped, refused, waiting } = counts;
        let (from, to) = (from.to_owned(), to.to_owned());
        Self { from, to, heard, carried, duplicates, expired, dropped, refused, waiting }
    }
}

/// Those whom a node has heard of late.
fn members(status: &GroupStatus) -> Vec<MemberLine> {
    let line =
        |(id, hears_us): &(NodeId, Option<bool>)| MemberLine { id: id.0, hears_us: *hears_us };
    status.members.iter().map(line).collect()
}

impl Drops {
    fn of(group: &GroupStats, session: &Stats, losses: &Losses) -> Self {
        let datagrams = DropReason::ALL.iter();
        let datagrams = datagrams.map(|why| (why.name().to_owned(), session.dropped(*why)));
        Self {
            messages: losses.dropped,
            unkept: losses.unkept,
            events: losses.events,
            sums: group.sums_dropped,
            demands: group.demands_dropped,
            members: group.members_dropped,
            publishers: group.publishers_dropped,
            origins: group.origins_dropped,
            relays: group.relays_dropped,
            standings: group.standings_dropped,
            tags: group.tags_dropped,
            deadlines: group.deadlines_dropped,
            datagrams: datagrams.collect(),
        }
    }

    /// Those that there are, for people.
    pub fn to_words(&self) -> Option<String> {
        let named = [
            ("messages", self.messages),
            ("unkept", self.unkept),
            ("events", self.events),
            ("sums", self.sums),
            ("demands", self.demands),
            ("members", self.members),
            ("publishers", self.publishers),
            ("origins", self.origins),
            ("relays", self.relays),
            ("standings", self.standings),
            ("tags", self.tags),
            ("deadlines", self.deadlines),
        ];
        let shown = |(name, count): (&str, u64)| (count > 0).then(|| format!("{count} {name}"));
        // All that it sends comes back to it: that is no news.
        let datagrams = self.datagrams.iter().filter(|(name, _)| *name != DropReason::Own.name());
        let datagrams = datagrams.map(|(name, count)| (name.as_str(), *count));
        let datagrams: Vec<String> = datagrams.filter_map(shown).collect();
        let datagrams =
            (!datagrams.is_empty()).then(|| format!("of datagrams {}", datagrams.join(", ")));
        let words: Vec<String> = named.into_iter().filter_map(shown).chain(datagrams).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl From<&GroupReport> for Drops {
    fn from(report: &GroupReport) -> Self {
        Self::of(&report.group, &report.session, &report.losses)
    }
}

fn limit_line(limit: &Limit) -> LimitLine {
    LimitLine {
        code: limit.code().to_owned(),
        receiver: limit.receiver_label(),
        id: limit.receiver.as_ref().map(|view| view.id.0),
        text: limit.to_string(),
    }
}

fn outcomes(report: &SendReport) -> Vec<OutcomeLine> {
    let line = |result: &fanfare_files::event::ReceiverResult| OutcomeLine {
        id: result.view.id.0,
        name: result.view.name.clone(),
        outcome: result.outcome.name().to_owned(),
        loss: rounded(result.loss),
        nacks: result.nacks,
        seconds: rounded(result.elapsed.as_secs_f64()),
    };
    report.receivers.iter().map(line).collect()
}

/// Six digits after the point are more than is known.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
