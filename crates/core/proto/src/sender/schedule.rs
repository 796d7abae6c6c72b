//! Which machine sends next, and when. Sending and waiting follow the same order.

use super::{Sender, ack::Point};
use crate::{context::Context, event::Event, time::Time, timer::Timer};

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextMessage {
    Eot,
    RepairAdv,
    Squelch,
    Probe,
    RollCall,
    Watermark(Point),
    /// A part of an object.
    Object,
    Flush,
}

impl NextMessage {
    fn timer(self) -> Timer {
        match self {
            Self::RepairAdv | Self::Squelch => Timer::RepairAggregate,
            Self::Probe => Timer::Probe,
            Self::RollCall => Timer::RollCall,
            Self::Object => Timer::Pace,
            Self::Watermark(_) | Self::Flush | Self::Eot => Timer::Flush,
        }
    }
}

impl Sender {
    /// What each machine has to say and from when on, first come first served.
    fn candidates(&self) -> [Option<(Time, NextMessage)>; 8] {
        let mut candidates = [None; 8];
        let when = |at: Option<Time>, next_message| at.map(|at| (at, next_message));
        if self.eot.is_asked() && (self.eot.has_begun() || self.may_leave()) {
            candidates[0] = when(self.eot.due_at(), NextMessage::Eot);
            return candidates;
        }
        let collecting = self.repair.collecting().is_some();
        let new = self.cache.has_new() || self.cache.has_repair();
        let objects = new || self.has_cover();
        candidates[1] =
            when(self.repair_adv.due_at().filter(|_| collecting), NextMessage::RepairAdv);
        candidates[2] = when(self.squelch.due_at(), NextMessage::Squelch);
        candidates[3] = self.is_working().then(|| (self.probe_at(), NextMessage::Probe));
        candidates[4] = when(self.roll_call.due_at(), NextMessage::RollCall);
        if !self.held {
            candidates[5] = self.watermark_due();
            candidates[6] = objects.then_some((Time::ZERO, NextMessage::Object));
            let may_flush = !objects && !collecting && self.cache.newest_begun().is_some();
            candidates[7] = when(self.flush.due_at().filter(|_| may_flush), NextMessage::Flush);
        }
        candidates
    }

    /// While receivers are gathered a probe goes with each call: the answer tells the round trip. Of
    /// few that have answered without having heard one, the next request shall tell it.
    fn probe_at(&self) -> Time {
        let unmeasured = !self.held && self.is_small_group() && !self.all_measured();
        let soon = match self.held {
            true => self.roll_call.due_at().map(|call| call.max(self.probe.renewable_at())),
            false => unmeasured.then(|| self.probe.renewable_at()),
        };
        soon.map_or(self.probe.due_at(), |soon| soon.min(self.probe.due_at()))
    }

    /// The watermark's turn: everything before it was sent, nothing before it is requested.
    fn watermark_due(&self) -> Option<(Time, NextMessage)> {
        let point = self.watermark.point()?;
        let past = match point.until {
            0 => self.cache.is_past(point.ordinal),
            until => self.cache.is_past_symbols(point.ordinal, until),
        };
        let reached = past && !self.repair.concerns(point.ordinal);
        self.watermark.due_at().filter(|_| reached).map(|at| (at, NextMessage::Watermark(point)))
    }

    /// Whose turn it is now.
    pub(super) fn next_message(&self) -> Option<NextMessage> {
        self.candidates()
            .into_iter()
            .flatten()
            .find(|(at, _)| *at <= self.now)
            .map(|(_, next_message)| next_message)
    }

    fn is_settled(&self) -> bool {
        let objects = self.cache.has_new() || self.cache.has_repair();
        !objects && self.repair.collecting().is_none() && self.flush.is_done()
    }

    /// A flush that was answered with a request has not ended: its repair will start it again.
    fn may_end_flush(&self) -> bool {
        !self.cache.has_repair() && self.repair.collecting().is_none()
    }

    fn may_leave(&self) -> bool {
        self.held || self.is_settled()
    }

    /// Whether receivers are waited for or served: only then probes go.
    fn is_working(&self) -> bool {
        let measures = self.few.is_some() && !self.all_measured() && self.probe.is_trying();
        !self.is_settled() || !self.watermark.is_done() || self.roll_call.is_on() || measures
    }

    /// Nothing left to send, repair, flush, have acknowledged, or take leave of.
    pub fn is_idle(&self) -> bool {
        match self.eot.is_asked() {
            true => self.eot.is_done(),
            false => self.is_settled() && self.watermark.is_done(),
        }
    }

    /// When to be called next, and why.
    pub fn next_timeout(&self) -> Option<(Time, Timer)> {
        let pacer = self.pacer.wake(self.rate());
        let speech = self.candidates().into_iter().flatten().map(|(at, next_message)| {
            match at <= self.now {
                true => (pacer, Timer::Pace),
                false => (at.max(pacer), next_message.timer()),
            }
        });
        let possible = speech.filter(|(at, _)| *at < Time::FAR_FUTURE);
        possible.chain(self.silent_timers().into_iter().flatten()).min()
    }

    /// What happens by the clock without a message. [`Self::tick`] leaves none of them due.
    fn silent_timers(&self) -> [Option<(Time, Timer)>; 8] {
        let when = |at: Option<Time>, timer| at.map(|at| (at, timer));
        if self.eot.has_begun() {
            return [None; 8];
        }
        [
            when(self.repair.next_timeout(self.cycle_timing()), Timer::RepairAggregate),
            when(self.grtt.next_timeout(), Timer::Probe),
            when(self.flush.next_timeout().filter(|_| self.may_end_flush()), Timer::Flush),
            when(self.watermark.next_timeout(), Timer::Flush),
            when(self.cache.next_timeout(self.quiet(), self.config.repair_window), Timer::Cache),
            (!self.closing.is_empty()).then_some((self.now, Timer::Cache)),
            when(self.controller.next_timeout(), Timer::Rate),
            when(self.streams_writable_at(), Timer::Cache),
        ]
    }

    /// Tells the time to the machines that wait for it.
    pub(super) fn tick(&mut self, ctx: &mut Context<'_>) {
        let now = self.now;
        self.begin_batch();
        self.ticked = Some(now);
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller.on_timeout(now);
        }
        self.grtt.poll(now);
        self.advertise_grtt();
        if let Some(demand) = self.repair.poll_activation(now, self.cycle_timing()) {
            self.activate(&demand);
        }
        self.watermark.poll(now);
        if let Some(outcomes) = self.watermark.poll_done() {
            self.on_watermark_done(&outcomes);
            ctx.events.push(Event::WatermarkDone { outcomes });
        }
        if self.may_end_flush() && self.flush.poll_done(now) {
            self.cache.on_flushed(now);
            if !self.cache.has_new() {
                ctx.events.push(Event::FlushDone);
            }
        }
        for object in self.cache.purge(now, self.quiet(), self.config.repair_window) {
            self.on_purged(&object, ctx.events);
        }
        for (key, complete) in self.closing.drain(..) {
            ctx.storage.close(key, complete);
        }
        self.poll_streams(ctx.events);
    }
}
