//! All of it together, for whoever owns the sockets.

use std::{net::SocketAddr, time::Duration};

use fanfare_wire::units::Time;

use crate::{
    Salt,
    greeting::Greeting,
    hello::{self, Question},
    key::{Key, KeyId},
    notice::{Notice, Notices},
    opener::Opener,
    packet::{Form, Kind, kind_of},
    refusal::Refusal,
    schedule::Epoch,
    sealer::Sealer,
};

/// The clock that is set is compared with the one that only runs: by more than this, the machine was
/// stopped and went on, perhaps as a copy of itself.
const JUMP: Duration = Duration::from_secs(1);

/// A stranger is asked who it is with no more than so many times the bytes that came: the address on them
/// may be another's (QUIC's rule: RFC 9000 8.1).
const REFLECTED: usize = 3;

/// Hellos with another clock that are borne before people are told: an answer comes within one or two.
const CLOCK_PATIENCE: u32 = 5;

/// A new key is spoken with so long after it is there: by then the others have it, too, as they look for
/// one every second.
const SPOKEN_AFTER: Duration = Duration::from_secs(3);

/// What time it is, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// By the clock that only runs.
    pub now: Time,
    /// By the clock that is set, since 1970.
    pub clock: Duration,
}

/// What a group has agreed on.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The keys: it speaks with the first and understands all.
    pub keys: Vec<Key>,
    /// How long the envelope is.
    pub form: Form,
    /// Whether it may ask and answer: who is not to be heard does not.
    pub speaks: bool,
    /// Stands for the group's address.
    context: [u8; 8],
}

impl Settings {
    /// With these keys in the group of this address; for sessions with one receiver, "unicast".
    #[must_use]
    pub fn new(keys: Vec<Key>, group: &str) -> Self {
        let name = format!("fanfare group {group}");
        let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
        let context = digest.as_ref().first_chunk().copied().unwrap_or_default();
        Self { keys, form: Form::Long, speaks: true, context }
    }

    /// In this form.
    #[must_use]
    pub fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Without a word of its own.
    #[must_use]
    pub fn silent(self, silent: bool) -> Self {
        Self { speaks: !silent, ..self }
    }
}

/// What stands for the group.
#[cfg(test)]
pub(crate) fn context_of(settings: &Settings) -> [u8; 8] {
    settings.context
}

/// What one node seals and opens.
#[derive(Debug)]
pub struct Seal {
    settings: Settings,
    own: Epoch,
    sealer: Sealer,
    opener: Opener,
    greeting: Greeting,
    notices: Notices,
    question: Question,
    /// The key to speak with next, and from when.
    next: Option<(Epoch, Time)>,
    /// How far the two clocks are apart.
    apart: Option<Duration>,
    /// Hellos in a row whose clock was far from ours.
    off: u32,
}

impl Seal {
    /// With a salt that no other start of any node has.
    ///
    /// # Panics
    /// Without a key.
    #[must_use]
    pub fn new(settings: Settings, salt: Salt) -> Self {
        let epochs: Vec<Epoch> = settings.keys.iter().map(Epoch::of).collect();
        let own = epochs.first().expect("a key to speak with").clone();
        Self {
            sealer: Sealer::new(settings.form, own.clone(), salt),
            opener: Opener::new(settings.form, epochs),
            greeting: Greeting::new(settings.form),
            notices: Notices::default(),
            question: question(&salt),
            next: None,
            apart: None,
            off: 0,
            own,
            settings,
        }
    }

    /// Bytes that each message becomes longer by.
    #[must_use]
    pub fn overhead(&self) -> usize {
        self.settings.form.overhead()
    }

    /// The key that it speaks with.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.own.id
    }

    /// The group has changed its key: it opens with these from now on, for a while with those before, and
    /// soon speaks with the first. Nothing is changed by none.
    pub fn rekey(&mut self, now: Time, keys: Vec<Key>) {
        let epochs: Vec<Epoch> = keys.iter().map(Epoch::of).collect();
        let Some(first) = epochs.first() else { return };
        let speaks = first.id == self.own.id;
        self.next = (!speaks).then(|| (first.clone(), now + SPOKEN_AFTER));
        self.opener.rekey(now, epochs);
        self.settings.keys = keys;
    }

    /// Whether it needs a new salt: its keys are used up or are others now, or the machine was stopped and
    /// went on.
    pub fn needs_salt(&mut self, at: Moment) -> bool {
        self.opener.on_timeout(at.now);
        if let Some((epoch, _)) = self.next.take_if(|(_, from)| *from <= at.now) {
            self.own = epoch;
        }
        let apart = at.clock.saturating_sub(at.now.since(Time::ZERO));
        let before = *self.apart.get_or_insert(apart);
        self.apart = Some(apart);
        let other = self.sealer.key() != self.own.id;
        other || self.sealer.is_used_up() || before.abs_diff(apart) > JUMP
    }

    /// Goes on with other keys of its own.
    pub fn renew(&mut self, salt: Salt) {
        self.sealer = Sealer::new(self.settings.form, self.own.clone(), salt);
        self.question = question(&salt);
        self.greeting.begin_anew();
    }

    /// It goes soon: who has just come has to know who we are before our last messages.
    pub fn greet_again(&mut self) {
        self.greeting.begin_anew();
    }

    /// Appends the sealed message to `out`.
    pub fn seal(&mut self, at: Moment, plain: &[u8], out: &mut Vec<u8>) {
        self.sealer.seal(at.now, &self.settings.context, plain, out);
    }

    /// Who we are, as a datagram; it asks others nothing.
    pub fn hello(&mut self, at: Moment, answers: Option<[u8; 8]>) -> Vec<u8> {
        self.say(at, false, answers.unwrap_or_default())
    }

    fn say(&mut self, at: Moment, asks: bool, answers: Question) -> Vec<u8> {
        let what = (self.question, asks, answers);
        self.sealer.hello(at.clock, &self.settings.context, what)
    }

    /// A message is about to go there: the hello that goes ahead, if one is due.
    pub fn greet(&mut self, at: Moment, to: SocketAddr) -> Option<Vec<u8>> {
        self.greeting.is_due(at.now, to).then(|| self.say(at, false, Question::default()))
    }

    /// A hello that goes out by itself, and where to.
    pub fn poll(&mut self, at: Moment) -> Option<(SocketAddr, Vec<u8>)> {
        let (to, asks, answers) = self.greeting.poll(at.now)?;
        Some((to, self.say(at, asks, answers)))
    }

    /// When [`Self::poll`] or [`Self::needs_salt`] has something.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        let speaks = self.next.as_ref().map(|(_, from)| *from);
        [self.greeting.next_timeout(), self.opener.next_timeout(), speaks]
            .into_iter()
            .flatten()
            .min()
    }

    /// Opens a datagram and appends what is in it to `out`. A hello has nothing in it.
    ///
    /// # Errors
    /// Why it goes no further. It is counted.
    pub fn open(
        &mut self,
        at: Moment,
        source: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let opened = self.try_open(at, source, datagram, out);
        if let Err(refusal) = opened {
            self.on_refusal(refusal);
            let asks = datagram.len() * REFLECTED >= hello::LEN;
            if matches!(refusal, Refusal::Stranger) && self.settings.speaks && asks {
                self.greeting.on_stranger(source);
            }
        }
        opened
    }

    /// The same of a datagram that went to all hosts, of whatever group. What does not open may be for
    /// others: nobody is told, and nothing is answered, unless hellos are so rare that one has to be asked for.
    ///
    /// # Errors
    /// Why it goes no further.
    pub fn open_call(
        &mut self,
        at: Moment,
        source: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let opened = self.try_open(at, source, datagram, out);
        let asks = self.settings.form == Form::Short && self.settings.speaks;
        if matches!(opened, Err(Refusal::Stranger)) && asks {
            self.greeting.on_stranger(source);
        }
        opened
    }

    fn on_refusal(&mut self, refusal: Refusal) {
        let settled = self.settings.speaks && self.off < CLOCK_PATIENCE;
        if !(settled && matches!(refusal, Refusal::Clock(_))) {
            self.notices.on_refusal(refusal, self.own.id);
        }
    }

    fn try_open(
        &mut self,
        at: Moment,
        source: SocketAddr,
        datagram: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match kind_of(datagram) {
            Kind::Clear => Err(Refusal::Clear),
            Kind::Malformed => Err(Refusal::Malformed),
            Kind::Hello => self.on_hello(at, source, datagram),
            Kind::Message(head) => {
                let bytes = (datagram, &self.settings.context);
                match self.opener.open(at.now, &head, bytes, out) {
                    Err(Refusal::Stranger) if self.is_own(head.form, head.slot) => {
                        Err(Refusal::Own)
                    }
                    other => other,
                }
            }
        }
    }

    fn is_own(&self, form: Form, slot: u16) -> bool {
        let mask = if form == Form::Short { 0xff } else { 0xffff };
        self.sealer.slot() & mask == slot & mask
    }

    fn on_hello(&mut self, at: Moment, source: SocketAddr, datagram: &[u8]) -> Result<(), Refusal> {
        let own = (self.sealer.salt(), &self.question);
        let (hello, off) = self.opener.on_hello(at, datagram, &self.settings.context, own)?;
        if hello.asks && self.settings.speaks {
            self.greeting.on_asked(source, hello.question);
        }
        match off {
            None => {
                self.greeting.on_known(source);
                self.off = 0;
                Ok(())
            }
            Some(by) => {
                // Its answer to a question of ours tells whether it is there now.
                if self.settings.speaks {
                    self.greeting.on_stranger(source);
                }
                self.off += 1;
                Err(Refusal::Clock(by))
            }
        }
    }

    /// What people are to be told now.
    pub fn poll_notice(&mut self, now: Time) -> Option<Notice> {
        self.notices.poll(now)
    }
}

/// Not a part of the salt, which everybody hears.
fn question(salt: &Salt) -> Question {
    let digest = ring::digest::digest(&ring::digest::SHA256, salt);
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

/// What a node without a key notices of sealed packets.
#[derive(Debug, Default)]
pub struct Keyless {
    notices: Notices,
}

impl Keyless {
    /// True if a datagram that went to all hosts is sealed: it may be for others, and nobody is told.
    #[must_use]
    pub fn is_sealed_call(datagram: &[u8]) -> bool {
        crate::packet::is_sealed(datagram)
    }

    /// Whether a datagram is sealed: it goes no further then.
    pub fn is_sealed(&mut self, datagram: &[u8]) -> bool {
        let sealed = crate::packet::is_sealed(datagram);
        if sealed {
            self.notices.on_sealed();
        }
        sealed
    }

    /// What people are to be told now.
    pub fn poll_notice(&mut self, now: Time) -> Option<Notice> {
        self.notices.poll(now)
    }
}

#[cfg(test)]
mod tests;
