//! Settings of a sender that an application changes while it runs, and watermarks at an object of its
//! choice.

use super::{Grtt, GrttLimits, Limits, Sender, ack::Watermark, cache::Found};
use crate::{
    congestion::CongestionControl,
    rate::Bitrate,
    stream::StreamPolicy,
    time::{Duration, Time},
};
use alloc::vec::Vec;
use fanfare_wire::{NodeId, ObjectTransportId};

impl Sender {
    /// Asks `nodes` to acknowledge this object and all before it; of a stream what was packed so far.
    /// `question`: bytes that their applications are to answer. False when there is nothing of it.
    pub fn set_watermark_at(
        &mut self,
        now: Time,
        object: ObjectTransportId,
        nodes: &[NodeId],
        question: Option<Vec<u8>>,
    ) -> bool {
        self.now = self.now.max(now);
        let Found::Cached(ordinal) = self.cache.find(object) else { return false };
        let Some(point) = self.end_of(ordinal) else { return false };
        self.question = question;
        self.watermark = Watermark::new(self.config.robust_factor, self.config.patience);
        self.begin_watermark(Some(point), nodes);
        true
    }

    /// Asks nobody any more.
    pub fn cancel_watermark(&mut self) {
        self.question = None;
        self.watermark = Watermark::new(self.config.robust_factor, self.config.patience);
    }

    /// Whether old bytes of a stream give way to new ones at once.
    pub fn set_stream_push(&mut self, id: ObjectTransportId, push: bool) {
        let Found::Cached(ordinal) = self.cache.find(id) else { return };
        let stream = self.cache.get_mut(ordinal).and_then(|object| object.stream.as_mut());
        if let Some(stream) = stream {
            stream.policy = if push { StreamPolicy::Live } else { StreamPolicy::Repaired };
        }
    }

    /// Whether an object, or a stream, would be taken now.
    pub fn has_room(&self, now: Time) -> bool {
        !self.cache.is_full() || self.cache.has_idle(now, self.quiet())
    }

    /// Cycles of requests for which what was sent is kept for repair.
    pub fn set_repair_cycles(&mut self, cycles: f64) {
        self.patience = cycles;
    }

    /// The rate at present, from where it adapts.
    pub fn put_rate(&mut self, now: Time, rate: Bitrate) {
        self.now = self.now.max(now);
        self.controller.on_rate_put(self.now, rate);
        self.advertise_grtt();
    }

    /// A guess of the GRTT until it is measured, or once more.
    pub fn set_grtt(&mut self, now: Time, estimate: Duration) {
        self.now = self.now.max(now);
        self.config.grtt_initial = estimate;
        self.restart_grtt(estimate);
    }

    /// The most that is advertised.
    pub fn set_grtt_max(&mut self, now: Time, max: Duration) {
        self.now = self.now.max(now);
        self.config.grtt_max = max;
        self.restart_grtt(self.grtt.estimate());
    }

    fn restart_grtt(&mut self, estimate: Duration) {
        let limits = GrttLimits {
            min: self.config.grtt_min,
            max: self.config.grtt_max,
            unicast: self.unicast,
            decay_interval: self.config.probe_min,
        };
        self.grtt = Grtt::new(self.now, estimate, limits);
        self.advertise_grtt();
    }

    /// Backoff factor K, and the number of receivers that is assumed.
    pub fn set_backoff(&mut self, factor: u8, group_size: u32) {
        (self.config.backoff_factor, self.config.group_size) = (factor, group_size);
    }

    /// Proactive parity symbols of each block from now on.
    pub fn set_proactive(&mut self, symbols: u16) {
        self.coding.proactive = symbols.min(self.coding.parity);
    }

    /// Bytes of a segment of objects and streams that are taken from now on. Those that were taken
    /// before keep theirs.
    pub fn set_segment_size(&mut self, size: u16) {
        self.coding.set_segment_size(size);
        self.controller.on_segment_size(usize::from(self.coding.segment_size));
    }

    /// Repetitions of flushes and of requests for acknowledgement.
    pub fn set_robust_factor(&mut self, factor: u32) {
        self.config.robust_factor = factor;
        self.flush.set_robust(factor);
        self.watermark.set_robust(factor);
    }

    /// Objects kept for repair, and their bytes.
    pub fn set_cache(&mut self, objects: usize, bytes: u64) {
        self.cache.set_bounds(objects, bytes);
    }

    /// Begins with another rate control.
    pub fn set_congestion(&mut self, now: Time, control: CongestionControl) {
        self.now = self.now.max(now);
        if self.config.congestion == control {
            return;
        }
        self.config.congestion = control;
        self.restart_congestion(now);
    }

    /// Messages go by other ways from now on: how near receivers have been says nothing of these.
    pub fn measure_anew(&mut self) {
        self.receivers.forget_nearness();
    }

    /// Begins with rate control anew, as at the start: the path is another one.
    pub fn restart_congestion(&mut self, now: Time) {
        self.now = self.now.max(now);
        let segment = usize::from(self.coding.segment_size);
        let limits = Limits::new(self.config.rate, segment, self.grtt.estimate());
        let limits = Limits { open: self.config.open_group, ..limits };
        self.controller = self.config.congestion.start(limits, self.now);
        self.advertise_grtt();
    }
}
