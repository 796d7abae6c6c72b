//! Datagrams in and out, and time.

use std::time::Duration;

use fanfare_proto::{RecvMeta, Time, Transmit};

use super::{Half, Session};

/// How often it is looked whether there is room for a refused object.
const ROOM_INTERVAL: Duration = Duration::from_millis(5);
/// How often it is looked whether a stream goes on without what is missing, and whether nodes are back.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

impl Session {
    /// A run of datagrams arrived, each `stride` bytes long but for the last.
    pub(crate) fn hear(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        self.news = true;
        let stride = stride.max(1);
        if self.settings.rx_loss <= 0.0 {
            return self.take_in(now, meta, run, stride);
        }
        for datagram in run.chunks(stride) {
            if !self.chance.random_bool(self.settings.rx_loss) {
                self.take_in(now, meta, datagram, stride);
            }
        }
    }

    /// The receiver hears everything, the sender what receivers say.
    fn take_in(&mut self, now: Time, meta: RecvMeta, run: &[u8], stride: usize) {
        if self.sending.proto.is_sender() {
            let Half { proto, store, .. } = &mut self.sending;
            let answers = run.chunks(stride).filter(|datagram| is_feedback(datagram));
            answers.for_each(|answer| proto.handle_datagram(now, meta, answer, store));
        }
        if self.receiving.proto.is_receiver() {
            let Half { proto, store, .. } = &mut self.receiving;
            proto.handle_datagrams(now, meta, run, stride, store);
        }
    }

    /// Time has passed.
    pub(crate) fn on_time(&mut self, now: Time) {
        for Half { proto, store, .. } in [&mut self.receiving, &mut self.sending] {
            proto.handle_timeout(now, store);
        }
    }

    /// What may be sent now.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        most: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some(transmit) = self.poll_command(now, buffer) {
            return Some(transmit);
        }
        let mut halves = [&mut self.receiving, &mut self.sending].into_iter();
        halves.find_map(|Half { proto, store, .. }| proto.poll_transmit(now, most, buffer, store))
    }

    /// The socket refused what was to be sent: to the protocol it is lost.
    pub(crate) fn on_send_error(&mut self, error: &std::io::Error) {
        crate::log::line(crate::log::INFO, &format!("sending to {}: {error}", self.group));
    }

    /// When something is to be done next.
    pub(crate) fn next_time(&self, now: Time) -> Option<Time> {
        let [sending, receiving] = [&self.sending, &self.receiving]
            .map(|half| half.proto.poll_timeout().map(|(at, _)| at));
        let room = self.tx.refused.then(|| now + ROOM_INTERVAL);
        let looks = self.settings.silent
            || self.settings.nacking != fanfare_proto::Nacking::Normal
            || !self.own_nacking.is_empty();
        let look = looks.then(|| now + LOOK_INTERVAL);
        let command = self.command_due();
        [sending, receiving, room, look, command, self.timer].into_iter().flatten().min()
    }
}

/// NACK, ACK and REPORT, by the low half of a message's first byte (RFC 5740 4.1).
fn is_feedback(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| (4..=6).contains(&(first & 0x0f)))
}
