//! Another member that sends: its keys by generation, and which of its numbers have come.

use fanfare_wire::units::{Duration, Time};

use crate::{
    Salt,
    cipher::{Cipher, Forged},
    hello::Hello,
    key::KeyId,
    packet::{Form, Head},
    refusal::Refusal,
    schedule::{Chain, Epoch},
    window::Window,
};

/// What was sealed with the generation before may be on its way for so long: more than four times the
/// longest round trip that a group has (a GEO satellite's is 0.6 s).
const OVERLAP: Duration = Duration::from_secs(10);
/// Generations of one start of a sender: it draws a new salt before. So a hello cannot make anybody
/// count for long.
pub(crate) const GENERATIONS_MAX: u32 = 1024;

/// One start of one sender.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) salt: Salt,
    pub(crate) slot: u16,
    /// Which of our keys it has, and the low bits of that epoch.
    pub(crate) key: KeyId,
    pub(crate) epoch: u8,
    form: Form,
    chain: Chain,
    generation: u32,
    current: Cipher,
    previous: Option<(Cipher, Time)>,
    /// Made when a message of it may have come.
    next: Option<(Chain, Cipher)>,
    window: Window,
    pub(crate) heard: Time,
}

fn cipher(form: Form, chain: &Chain) -> Option<Cipher> {
    let material = if form == Form::Long { chain.packet() } else { chain.short() };
    Cipher::new(form, &material)
}

impl Member {
    /// As its hello says.
    pub(crate) fn new(
        now: Time,
        (slot, salt): (u16, Salt),
        epoch: &Epoch,
        form: Form,
        hello: &Hello,
    ) -> Option<Self> {
        if hello.generation >= GENERATIONS_MAX {
            return None;
        }
        let chain = epoch.chain(slot, &salt).after(hello.generation);
        let current = cipher(form, &chain)?;
        Some(Self {
            salt,
            slot,
            key: epoch.id,
            epoch: epoch.low,
            form,
            chain,
            generation: hello.generation,
            current,
            previous: None,
            next: None,
            window: Window::from(hello.next),
            heard: now,
        })
    }

    /// A later hello: it was away from us for long, perhaps.
    pub(crate) fn on_hello(&mut self, now: Time, hello: &Hello) {
        self.heard = now;
        self.window.advance(hello.next);
        let ahead = hello.generation.saturating_sub(self.generation);
        if hello.generation >= GENERATIONS_MAX || ahead == 0 {
            return;
        }
        let chain = self.chain.clone().after(ahead);
        if let Some(new) = cipher(self.form, &chain) {
            self.take(now, chain, new, ahead);
        }
    }

    fn take(&mut self, now: Time, chain: Chain, new: Cipher, ahead: u32) {
        let old = std::mem::replace(&mut self.current, new);
        self.previous = (ahead == 1).then_some((old, now + OVERLAP));
        (self.chain, self.generation, self.next) = (chain, self.generation + ahead, None);
    }

    /// Opens a message that says it is this member's. Nothing changes unless its tag fits.
    pub(crate) fn open(
        &mut self,
        now: Time,
        head: &Head,
        (bytes, context): (&[u8], &[u8; 8]),
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let number = self.window.whole(head.number, head.form.number_bits());
        if !self.window.is_new(number) {
            return Err(Refusal::Replayed);
        }
        let (ahead, sealed) = bytes.split_at(head.form.head());
        let ahead_of_us = head.generation.wrapping_sub(self.generation as u8) & 3;
        let opened = match ahead_of_us {
            0 => self.current.open(number, (ahead, context), sealed, out),
            1 => self
                .next()
                .map_or(Err(Forged), |next| next.open(number, (ahead, context), sealed, out)),
            3 => match &self.previous {
                Some((old, until)) if now < *until => {
                    old.open(number, (ahead, context), sealed, out)
                }
                _ => Err(Forged),
            },
            _ => Err(Forged),
        };
        opened.map_err(|Forged| Refusal::Forged)?;
        if ahead_of_us == 1
            && let Some((chain, new)) = self.next.take()
        {
            self.take(now, chain, new, 1);
        }
        self.window.note(number);
        self.heard = now;
        Ok(())
    }

    fn next(&mut self) -> Option<&Cipher> {
        if self.next.is_none() && self.generation + 1 < GENERATIONS_MAX {
            let chain = self.chain.next();
            self.next = cipher(self.form, &chain).map(|cipher| (chain, cipher));
        }
        self.next.as_ref().map(|(_, cipher)| cipher)
    }
}
