//! What others ask of this node's own short messages: sums over them, where one serves several who ask.

use super::{GroupNode, mixing::FRAME_MAX, relaying::COMMAND};
use crate::{
    age,
    foresight::Lane,
    frame::HEADER,
    mixture::{self, TERMS_MAX},
    round::Pending,
};
use alloc::vec::Vec;
use fanfare_proto::{ObjectKey, ObjectTransportId, Storage, Time};
use fanfare_wire::Nack;

/// Bytes of a NORM_INFO beside its content: 16, and EXT_FTI.
const INFO: usize = 16 + 12;

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
        let dropped = self.round.on_request(nack.feedback.source_id, short.into_iter());
        self.stats.demands_dropped += dropped;
    }

    fn own_object(&self, index: u64) -> ObjectKey {
        let object = ObjectTransportId((index & 0xffff) as u16);
        ObjectKey { sender: self.session.node_id(), instance: self.fields.instance_id, object }
    }

    /// The sender has gathered: what sums serve is taken from it.
    pub(super) fn close_round(&mut self) {
        if !self.round.is_open() {
            return;
        }
        let repairs = self.session.sender().info_repairs();
        if repairs.is_empty() {
            return;
        }
        let Some(log) = self.logs.get(&self.session.node_id()) else { return };
        let pending = repairs.into_iter().filter_map(|object| {
            let index = log.index(object);
            let own = self.publisher.get(self.own_object(index))?;
            own.message.content.as_ref()?;
            let info = own.message.encode();
            let (bytes, alone) = (mixture::wrap(&info)?.len(), INFO + info.len());
            Some(Pending { index, bytes, alone, age: own.age.at(self.now) })
        });
        let pending: Vec<Pending> = pending.collect();
        let members = &self.members;
        let taken = self.round.close(&pending, |node| members.has_told(node), frame);
        for index in taken {
            let object = self.own_object(index).object;
            self.session.sender().take_info_repair(object);
        }
    }

    /// When the next sum is to go.
    pub(super) fn next_answer(&self) -> Option<Time> {
        self.round.answers().then(|| self.session.next_turn())
    }

    /// The next sum for those who asked, within the sender's rate and before what is new.
    pub(super) fn poll_answer(&mut self, buf: &mut Vec<u8>, storage: &mut dyn Storage) -> bool {
        while self.next_answer().is_some_and(|at| at <= self.now)
            && let Some(of) = self.round.poll()
        {
            let terms = of.iter().map(|index| (index & 0xffff) as u32);
            let terms = terms.map(|term| Some((term, self.own_term(Lane::Short, term, storage)?)));
            // What cannot be sent any more is left out; of one alone there is no sum.
            let (terms, bytes): (Vec<_>, Vec<_>) = terms.flatten().unzip();
            if terms.len() > 1 {
                self.write_own_sum(Lane::Short, terms, &bytes, buf);
                self.stats.answers_sent += 1;
                self.session.sender().on_answered(buf.len());
                return true;
            }
        }
        false
    }
}

/// Bytes of a sum of these, if one frame holds it.
fn frame(of: &[Pending]) -> Option<usize> {
    let terms: Vec<u32> = of.iter().map(|one| (one.index & 0xffff) as u32).collect();
    let longest = of.iter().map(|one| one.bytes).max()?;
    let (oldest, newest) = (of.first()?.age, of.last()?.age);
    let ages = age::room_of_sum(oldest, newest);
    let bytes = COMMAND + ages + HEADER + mixture::overhead(&terms) + longest;
    (bytes <= FRAME_MAX && terms.len() <= TERMS_MAX).then_some(bytes)
}
