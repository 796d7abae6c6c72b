//! What comes in: by whom it was sealed, and whether it is to be believed.

use std::{collections::BTreeMap, time::Duration};

use fanfare_wire::units::Time;

use crate::{
    Salt,
    hello::{Hello, HelloHead, Question},
    key::KeyId,
    member::Member,
    packet::{Form, Head},
    refusal::Refusal,
    schedule::Epoch,
    seal::Moment,
};

/// How far the clock of a hello may be from ours, without having answered a question of ours. Longer than
/// machines without NTP drift in a month (2 s a day), and short for a recording.
pub(crate) const CLOCK: Duration = Duration::from_secs(120);
/// Members that are followed; 1.5 KiB each. Whoever is silent for longest gives way.
const MEMBERS_MAX: usize = 1024;
/// Members of one slot that are tried: slots are drawn from 65,536 (in short form from 256).
const SAME_SLOT: usize = 8;

/// What was sealed with a key that is no longer ours opens for so long: all members learn of a change within
/// seconds (trust: the longer of ten seconds and four round trips, which none has).
const OLD_KEYS: Duration = Duration::from_secs(10);

/// The opening half.
#[derive(Debug)]
pub(crate) struct Opener {
    form: Form,
    epochs: Vec<Epoch>,
    /// Those that were ours, and until when they open.
    old: Vec<(Epoch, Time)>,
    members: BTreeMap<u16, Vec<Member>>,
    count: usize,
}

impl Opener {
    pub(crate) fn new(form: Form, epochs: Vec<Epoch>) -> Self {
        Self { form, epochs, old: Vec::new(), members: BTreeMap::new(), count: 0 }
    }

    /// Opens with these from now on, and for a while with those before.
    pub(crate) fn rekey(&mut self, now: Time, epochs: Vec<Epoch>) {
        let before = std::mem::replace(&mut self.epochs, epochs);
        let ours = |id| self.epochs.iter().any(|epoch| epoch.id == id);
        self.old.retain(|(epoch, _)| !ours(epoch.id));
        let gone = before.into_iter().filter(|epoch| !ours(epoch.id));
        self.old.extend(gone.map(|epoch| (epoch, now + OLD_KEYS)));
    }

    /// When the next old key opens nothing any more.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.old.iter().map(|(_, until)| *until).min()
    }

    /// Old keys go, and those who have no other.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.next_timeout().is_none_or(|at| now < at) {
            return;
        }
        self.old.retain(|(_, until)| now < *until);
        let kept: Vec<KeyId> = self.all().map(|epoch| epoch.id).collect();
        for same in self.members.values_mut() {
            same.retain(|member| kept.contains(&member.key));
        }
        self.members.retain(|_, same| !same.is_empty());
        self.count = self.members.values().map(Vec::len).sum();
    }

    fn all(&self) -> impl Iterator<Item = &Epoch> {
        self.epochs.iter().chain(self.old.iter().map(|(epoch, _)| epoch))
    }

    /// Where members of this slot are found: in short form only its low byte is known.
    fn slot(&self, slot: u16) -> u16 {
        if self.form == Form::Short { slot & 0xff } else { slot }
    }

    pub(crate) fn open(
        &mut self,
        now: Time,
        head: &Head,
        bytes: (&[u8], &[u8; 8]),
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if head.form != self.form {
            return Err(Refusal::Form);
        }
        let slot = self.slot(head.slot);
        let members = self.members.get_mut(&slot).into_iter().flatten();
        let mut refusal = Refusal::Stranger;
        for member in members {
            if head.form == Form::Long && member.epoch != head.epoch {
                continue;
            }
            match member.open(now, head, bytes, out) {
                Ok(()) => return Ok(()),
                Err(why) => refusal = why,
            }
        }
        Err(refusal)
    }

    /// A hello: what it says, if it is one of a member. It makes its sender known, unless its clock is so
    /// far from ours.
    pub(crate) fn on_hello(
        &mut self,
        at: Moment,
        datagram: &[u8],
        context: &[u8; 8],
        own: (&Salt, &Question),
    ) -> Result<(Hello, Option<Duration>), Refusal> {
        let head = HelloHead::parse(datagram).ok_or(Refusal::Malformed)?;
        if head.salt == *own.0 {
            return Err(Refusal::Own);
        }
        let epoch = self.all().find(|epoch| epoch.id == head.key);
        let epoch = epoch.ok_or(Refusal::OtherKey(head.key))?.clone();
        let hello = head.open(&epoch, context, datagram).ok_or(Refusal::Forged)?;
        let slot = self.slot(head.slot);
        let known = self.members.entry(slot).or_default();
        if let Some(member) = known.iter_mut().find(|member| member.salt == head.salt) {
            member.on_hello(at.now, &hello);
            return Ok((hello, None));
        }
        let off = hello.clock.abs_diff(at.clock);
        if off > CLOCK && hello.answers != *own.1 {
            return Ok((hello, Some(off)));
        }
        let who = (head.slot, head.salt);
        let new = Member::new(at.now, who, &epoch, self.form, &hello).ok_or(Refusal::Malformed)?;
        if known.len() >= SAME_SLOT {
            known.remove(0);
            self.count -= 1;
        }
        known.push(new);
        self.count += 1;
        self.shrink(at.now);
        Ok((hello, None))
    }

    /// Whoever was silent for longest gives way.
    fn shrink(&mut self, now: Time) {
        if self.count <= MEMBERS_MAX {
            return;
        }
        let all = self.members.values().flatten();
        let oldest = all.max_by_key(|member| now.since(member.heard)).map(|m| (m.slot, m.salt));
        if let Some((slot, salt)) = oldest {
            let slot = self.slot(slot);
            if let Some(same) = self.members.get_mut(&slot) {
                same.retain(|member| member.salt != salt);
                self.count -= 1;
            }
            self.members.retain(|_, same| !same.is_empty());
        }
    }
}
