//! Answers requests for this node's own short messages with sums. One sum serves several
//! requesters.

use super::{GroupNode, coding::FRAME_MAX, encapsulation::COMMAND};
use crate::{
    age,
    coding::coded_packet::{self, Class, TERMS_MAX},
    coding::proactive::SizeClass,
    frames::frame::HEADER,
    repair::repair_round::{Closing, Pending},
    source_log::id_of,
};
use alloc::{collections::BTreeSet, vec::Vec};
use fanfare_proto::{Duration, ObjectKey, ObjectTransportId, Storage, Time};
use fanfare_wire::Nack;

/// Bytes of a NORM_INFO beside its content: 16, and EXT_FTI.
const INFO: usize = 16 + 12;

/// What one alone lacks waits for others for so many times as requests are gathered. Those who could repair it leave it to
/// its publisher about as long.
const ALONE_WAITS: u32 = 3;

impl GroupNode {
    /// Somebody asks this node: who, and for what, is noted until the sender has gathered all requests.
    pub(super) fn on_own_request(&mut self, nack: &Nack<'_>) {
        if !self.config.announces || self.config.silent {
            return;
        }
        let names = self.infos_asked(nack);
        let names = names.iter().flat_map(|(first, end)| first..end);
        let short = names.filter(|index| {
            let own = self.publisher.get(self.own_object(*index));
            own.is_some_and(|own| own.message.content.is_some())
        });
        let short: Vec<u64> = short.collect();
        let dropped = self.round.on_request(self.now, nack.feedback.source_id, short.into_iter());
        self.stats.demands_dropped += dropped;
    }

    fn own_object(&self, index: u64) -> ObjectKey {
        let (sender, instance) = self.own_incarnation();
        ObjectKey { sender, instance, object: id_of(index) }
    }

    /// The sender has gathered, or what one alone lacks has waited: what sums serve is taken from it.
    pub(super) fn close_round(&mut self) {
        let waits = self.round.due(self.hold());
        let overdue = waits.is_some_and(|due| due <= self.now);
        let open = self.round.is_open();
        if !open && waits.is_none() && !self.round.has_left() {
            return;
        }
        let repairs = self.session.sender().info_repairs();
        let Some(log) = self.logs.get(&self.own_incarnation()) else { return };
        let repairs = repairs.into_iter().map(|object| log.index(object)).collect();
        self.round.on_pending(&repairs);
        let idle = !self.session.sender().has_new();
        let over = open && !repairs.is_empty();
        if over || overdue || idle && waits.is_some() {
            self.answer_round(&repairs, idle);
        }
    }

    fn answer_round(&mut self, repairs: &BTreeSet<u64>, idle: bool) {
        let hold = if idle { Duration::ZERO } else { self.hold() };
        let holdoff = self.session.sender().grtt();
        let closing = Closing { now: self.now, hold, holdoff };
        let Self { round, members, publisher, session, fields, now, .. } = self;
        let (sender, instance) = (session.node_id(), fields.instance_id);
        let pending = |index: u64| {
            let own = publisher.get(ObjectKey { sender, instance, object: id_of(index) })?;
            own.message.content.as_ref()?;
            let info = own.message.encode();
            let (bytes, alone) = (coded_packet::wrap(&info)?.len(), INFO + info.len());
            Some(Pending { index, bytes, alone, age: own.age.at(*now) })
        };
        let closed = round.close(closing, repairs, |node| members.has_told(node), pending, frame);
        for index in closed.taken {
            session.sender().take_info_repair(id_of(index));
        }
        for index in closed.given {
            session.sender().give_info_repair(id_of(index));
        }
    }

    /// How long what one alone lacks waits for others who ask.
    fn hold(&self) -> Duration {
        self.session.gathering() * ALONE_WAITS
    }

    /// When the next sum is to go, or to be made.
    pub(super) fn next_answer(&self) -> Option<Time> {
        let next = self.round.answers().then(|| self.session.next_turn());
        next.into_iter().chain(self.round.due(self.hold())).min()
    }

    /// The next sum for those who asked, within the sender's rate and before what is new, but for a message that came
    /// while nothing waited.
    pub(super) fn poll_answer(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        let until = self.now + self.session.sender().grtt();
        while self.session.next_turn() <= self.now
            && !self.session.sender().has_prompt()
            && let Some(of) = self.round.poll(until)
        {
            let terms = of.iter().map(|index| Class::Info.told(*index));
            let terms =
                terms.map(|term| Some((term, self.own_term(SizeClass::Short, term, storage)?)));
            // What cannot be sent any more is left out; one that is left alone goes as it is.
            let (terms, bytes): (Vec<_>, Vec<_>) = terms.flatten().unzip();
            if terms.len() > 1 {
                self.write_own_sum(SizeClass::Short, terms, &bytes, buf);
                self.stats.answers_sent += 1;
                self.session.sender().on_answered(buf.len());
                return true;
            }
            for object in terms.into_iter().map(|term| ObjectTransportId(term as u16)) {
                self.session.sender().give_info_repair(object);
            }
        }
        false
    }
}

/// Bytes of a sum of these, if one frame holds it.
fn frame(of: &[Pending]) -> Option<usize> {
    let terms: Vec<u32> = of.iter().map(|one| Class::Info.told(one.index)).collect();
    let longest = of.iter().map(|one| one.bytes).max()?;
    let (oldest, newest) = (of.first()?.age, of.last()?.age);
    let ages = age::room_of_sum(oldest, newest);
    let bytes = COMMAND + ages + HEADER + coded_packet::overhead(&terms) + longest;
    (bytes <= FRAME_MAX && terms.len() <= TERMS_MAX).then_some(bytes)
}
