//! Who a sender is: its salt, where its numbers and generations are, and its clock.
//!
//! A recorded hello must not bring an old session back. It counts when its clock is near ours, or when it
//! answers a question that we have just asked: so machines without a clock can take part, too, unless
//! they are not to speak.

use std::time::Duration;

use crate::{
    Salt,
    cipher::Cipher,
    key::KeyId,
    packet::{Form, HELLO_MARK},
    schedule::Epoch,
};

/// Bytes ahead of what is sealed.
pub(crate) const HEAD: usize = 28;
const INSIDE: usize = 37;
/// All of it.
pub(crate) const LEN: usize = HEAD + INSIDE + 16;

/// Drawn at each start, to tell a new answer from a recorded one.
pub(crate) type Question = [u8; 8];

/// What a hello says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The sender's clock, since 1970.
    pub(crate) clock: Duration,
    /// The number of its next message.
    pub(crate) next: u64,
    pub(crate) generation: u32,
    /// It wants to be told who others are.
    pub(crate) asks: bool,
    pub(crate) question: Question,
    /// What it answers; zeros for nothing.
    pub(crate) answers: Question,
}

/// What stands ahead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HelloHead {
    pub(crate) epoch: u8,
    pub(crate) slot: u16,
    pub(crate) key: KeyId,
    pub(crate) salt: Salt,
    pub(crate) number: u32,
}

impl HelloHead {
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let [mark, epoch, s1, s0, k3, k2, k1, k0, rest @ ..] = datagram else { return None };
        let (salt, rest) = rest.split_first_chunk()?;
        let (number, sealed) = rest.split_first_chunk()?;
        (*mark == HELLO_MARK && sealed.len() == INSIDE + 16).then_some(Self {
            epoch: *epoch,
            slot: u16::from_be_bytes([*s1, *s0]),
            key: KeyId([*k3, *k2, *k1, *k0]),
            salt: *salt,
            number: u32::from_be_bytes(*number),
        })
    }

    fn cipher(&self, epoch: &Epoch) -> Option<Cipher> {
        Cipher::new(Form::Long, &epoch.hello(&self.salt))
    }

    /// The datagram.
    pub(crate) fn seal(&self, epoch: &Epoch, context: &[u8; 8], hello: &Hello) -> Vec<u8> {
        let mut out = vec![HELLO_MARK, self.epoch];
        out.extend(self.slot.to_be_bytes());
        out.extend(self.key.0);
        out.extend(self.salt);
        out.extend(self.number.to_be_bytes());
        out.extend((hello.clock.as_micros() as u64).to_be_bytes());
        out.extend(hello.next.to_be_bytes());
        out.extend(hello.generation.to_be_bytes());
        out.push(u8::from(hello.asks));
        out.extend(hello.question);
        out.extend(hello.answers);
        if let Some(cipher) = self.cipher(epoch) {
            cipher.seal(u64::from(self.number), context, &mut out, (0, HEAD));
        }
        out
    }

    /// What is in it; `None` when it was not made with this key.
    pub(crate) fn open(&self, epoch: &Epoch, context: &[u8; 8], datagram: &[u8]) -> Option<Hello> {
        let (head, sealed) = datagram.split_at_checked(HEAD)?;
        let mut inside = Vec::with_capacity(sealed.len());
        let cipher = self.cipher(epoch)?;
        cipher.open(u64::from(self.number), (head, context), sealed, &mut inside).ok()?;
        let (clock, rest) = inside.split_first_chunk()?;
        let (next, rest) = rest.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (asks, rest) = rest.split_first()?;
        let (question, rest) = rest.split_first_chunk()?;
        Some(Hello {
            clock: Duration::from_micros(u64::from_be_bytes(*clock)),
            next: u64::from_be_bytes(*next),
            generation: u32::from_be_bytes(*generation),
            asks: asks & 1 == 1,
            question: *question,
            answers: *rest.first_chunk()?,
        })
    }
}
