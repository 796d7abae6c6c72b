//! From what the application has written to the symbols of its stream.

use std::time::Instant;

use fanfare_proto::{StreamFlush, StreamPolicy, Time};

use super::{
    mailbox::{Mail, Note},
    options::Flush,
    sending::Sending,
};

impl Sending {
    /// Writes what the application has written, as far as there is room.
    pub(super) fn pump(&mut self, now: Time) {
        while self.stuck.is_none() {
            if self.at == self.mail.bytes.len() && self.notes_done == self.mail.notes.len() {
                if self.close_asked {
                    return self.close(now);
                }
                (self.at, self.notes_done) = (0, 0);
                if !self.mailbox.take(&mut self.mail) {
                    self.mail = Mail::default();
                    return;
                }
            }
            let note = self.mail.notes.get(self.notes_done).copied();
            let end = note.map_or(self.mail.bytes.len(), |(at, _)| at);
            if self.at < end {
                self.write(now, end);
                continue;
            }
            self.notes_done += 1;
            match note {
                Some((_, Note::Message { bytes, until })) => self.begin_message(now, bytes, until),
                Some((_, Note::Flush(how))) => self.flush(now, how),
                Some((_, Note::Close)) => self.close_asked = true,
                None => {}
            }
        }
    }

    fn begin_message(&mut self, now: Time, bytes: usize, until: Option<Instant>) {
        let clock = Instant::now();
        if until.is_some_and(|until| until < clock) {
            self.expired += 1;
            self.skip = bytes;
        } else {
            self.until = until.map(|until| now + (until - clock));
            self.session.sender().mark_stream(self.setting.key.object);
        }
    }

    fn write(&mut self, now: Time, end: usize) {
        if self.skip > 0 {
            let count = self.skip.min(end - self.at);
            self.skip -= count;
            self.at += count;
            return;
        }
        let bytes = &self.mail.bytes[self.at..end];
        let stream = self.setting.key.object;
        let taken = self.session.sender().write_stream(now, stream, bytes, &mut self.rings);
        self.at += taken;
        if taken < bytes.len() {
            self.stuck = Some(now);
        }
        if taken > 0 {
            self.waiting.get_or_insert(now);
            self.note_life(now);
        }
    }

    fn flush(&mut self, now: Time, how: StreamFlush) {
        let stream = self.setting.key.object;
        self.session.sender().flush_stream(now, stream, how, &mut self.rings);
        self.waiting = None;
    }

    fn close(&mut self, now: Time) {
        if !self.closed {
            let stream = self.setting.key.object;
            self.closed = self.session.sender().close_stream(now, stream, &mut self.rings);
            self.stuck = (!self.closed).then_some(now);
        }
    }

    /// Sends what does not fill a symbol, when it is time.
    pub(super) fn flush_waiting(&mut self, now: Time) {
        let Some(since) = self.waiting.filter(|_| self.stuck.is_none()) else { return };
        let due = match self.setting.flush {
            Flush::Idle => !self.session.sender().has_new(),
            Flush::After(time) => since + time <= now,
            Flush::Asked => false,
        };
        if due {
            self.flush(now, StreamFlush::Passive);
        }
    }

    /// What was written just now is of use as long as its message says, or the stream.
    fn note_life(&mut self, now: Time) {
        if self.setting.policy == StreamPolicy::Lossless {
            return;
        }
        let until = self.until.or(self.setting.lifetime.map(|lifetime| now + lifetime));
        let progress = self.session.sender().stream_progress(self.setting.key.object);
        if let Some(progress) = progress {
            self.lives.on_written(until, progress.written);
        }
    }

    /// What is older than its lifetime is neither sent nor repaired.
    pub(super) fn expire(&mut self, now: Time) {
        if self.closed {
            return;
        }
        let stream = self.setting.key.object;
        let Some(progress) = self.session.sender().stream_progress(stream) else { return };
        if let Some(over) = self.lives.over(now, progress.packed) {
            self.session.sender().expire_stream(stream, progress.packed - over);
        }
    }
}
