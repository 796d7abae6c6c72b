//! What this node seals: its own keys and numbers.

use fanfare_wire::units::{Duration, Time};

use crate::{
    Salt,
    cipher::Cipher,
    hello::{Hello, HelloHead, Question},
    key::KeyId,
    member::GENERATIONS_MAX,
    packet::{Form, Head},
    schedule::{Chain, Epoch},
};

/// Half of what AES-GCM may seal with one key in QUIC (RFC 9001 6.6: 2^23): 47 s at 1 Gbit/s.
const PACKETS: u64 = 1 << 22;
/// And a generation lasts no longer than this, so that who takes a machine cannot open what is older.
const LASTS: Duration = Duration::from_secs(600);

/// The sealing half.
#[derive(Debug)]
pub(crate) struct Sealer {
    form: Form,
    epoch: Epoch,
    salt: Salt,
    slot: u16,
    chain: Chain,
    generation: u32,
    cipher: Option<Cipher>,
    /// Of the next message.
    number: u64,
    /// First of this generation.
    first: u64,
    since: Option<Time>,
    /// Of the next hello.
    hellos: u32,
}

fn cipher(form: Form, chain: &Chain) -> Option<Cipher> {
    let material = if form == Form::Long { chain.packet() } else { chain.short() };
    Cipher::new(form, &material)
}

impl Sealer {
    pub(crate) fn new(form: Form, epoch: Epoch, salt: Salt) -> Self {
        let slot = u16::from_be_bytes([salt[0], salt[1]]);
        let chain = epoch.chain(slot, &salt);
        let cipher = cipher(form, &chain);
        Self {
            form,
            epoch,
            salt,
            slot,
            chain,
            generation: 0,
            cipher,
            number: 0,
            first: 0,
            since: None,
            hellos: 0,
        }
    }

    pub(crate) fn slot(&self) -> u16 {
        self.slot
    }

    pub(crate) fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The key that it speaks with.
    pub(crate) fn key(&self) -> KeyId {
        self.epoch.id
    }

    /// Whether it has to begin anew with another salt.
    pub(crate) fn is_used_up(&self) -> bool {
        self.generation + 1 >= GENERATIONS_MAX || self.hellos == u32::MAX
    }

    /// Appends the sealed message to `out`. Nothing is appended where no key can be made.
    pub(crate) fn seal(&mut self, now: Time, context: &[u8; 8], plain: &[u8], out: &mut Vec<u8>) {
        let since = *self.since.get_or_insert(now);
        if self.number - self.first >= PACKETS || now.since(since) >= LASTS {
            self.turn(now);
        }
        let Some(cipher) = &self.cipher else { return };
        let start = out.len();
        let head = Head {
            form: self.form,
            generation: self.generation as u8 & 3,
            epoch: self.epoch.low,
            slot: self.slot,
            number: self.number as u32,
        };
        head.append(out);
        out.extend_from_slice(plain);
        cipher.seal(self.number, context, out, (start, start + self.form.head()));
        self.number += 1;
    }

    fn turn(&mut self, now: Time) {
        self.chain = self.chain.next();
        self.cipher = cipher(self.form, &self.chain);
        self.generation += 1;
        (self.first, self.since) = (self.number, Some(now));
    }

    /// The next hello.
    pub(crate) fn hello(
        &mut self,
        clock: Duration,
        context: &[u8; 8],
        (question, asks, answers): (Question, bool, Question),
    ) -> Vec<u8> {
        let number = self.hellos;
        self.hellos = self.hellos.saturating_add(1);
        let (next, generation) = (self.number, self.generation);
        let hello = Hello { clock, next, generation, asks, question, answers };
        let (slot, salt) = (self.slot, self.salt);
        let head = HelloHead { epoch: self.epoch.low, slot, key: self.epoch.id, salt, number };
        head.seal(&self.epoch, context, &hello)
    }
}
