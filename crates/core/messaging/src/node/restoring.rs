//! Restores what was kept in an earlier life: others' messages, and this node's own of that life.

use super::GroupNode;
use crate::{
    age::told,
    description::{ContentHash, Description},
    topic::Topic,
};
use alloc::vec::Vec;
use fanfare_proto::{
    Duration, FecConfig, FecId, FieldSize, InstanceId, Matrix, ObjectKey, Retransmission, Storage,
    Time,
};
use fanfare_wire::{
    Info, Message, ObjectFlags,
    ext::{Extensions, Fti},
    header::SenderFields,
};

/// Symbols of a block over GF(2^8) (RFC 5510 8.1).
const FIELD_8_MAX: u16 = 255;

impl GroupNode {
    /// What of a whole message, besides its bytes, [`Self::restore`] needs: the NORM_INFO of its
    /// publisher, as that would send it now. `None` for objects that are no messages.
    pub fn info_message(&mut self, key: ObjectKey, storage: &mut dyn Storage) -> Option<Vec<u8>> {
        let cached = self.cache.get(key).filter(|cached| cached.description.is_some())?;
        let (mut out, content) = (Vec::new(), cached.info.as_ref()?);
        let age = cached.age().at(self.now);
        let receiver = &mut self.session.receiver();
        receiver
            .retransmit(key, Retransmission::Info { content, age }, storage, &mut out)
            .then_some(out)
    }

    /// A message of another publisher whose passage was written in an earlier run of the process, `age`
    /// ago. Its `size` bytes are in storage, which is asked to open it. To be called before
    /// anything is received; for each publisher in the order of its objects. False when it is of no use any more.
    pub fn restore(
        &mut self,
        now: Time,
        info_message: &[u8],
        (size, age): (u64, Duration),
        storage: &mut dyn Storage,
    ) -> bool {
        self.advance(now);
        let Ok(message @ Message::Info(_)) = Message::parse(info_message) else { return false };
        let Message::Info(info) = &message else { return false };
        let (sender, instance) = (info.sender.source_id, info.sender.instance_id);
        let key = ObjectKey { sender, instance, object: info.object_transport_id };
        self.told = Some((key, told(&info.extensions, 0) + age));
        let is_message = Description::decode(info.payload).is_some();
        if !is_message || !self.session.receiver().accept(self.now, &message, storage) {
            return false;
        }
        self.take_events(storage);
        self.session.receiver().have(key, 0, size, storage);
        self.take_events(storage);
        self.cache.was_heard(key, age);
        self.cache.get(key).is_some()
    }

    /// A message that this node published in an earlier life, `age` ago: `key` is its object of that life, `info` its
    /// description. Nobody can ask that life for it any more, so it is kept as another publisher's. Its `size` bytes are in
    /// storage, which is asked to open it. Otherwise as [`Self::restore`].
    ///
    /// A life is never continued: a disk that was copied or set back would give old numbers to new messages, and
    /// whoever has the old ones would acknowledge the new.
    pub fn restore_own(
        &mut self,
        now: Time,
        key: ObjectKey,
        info: &[u8],
        size: u64,
        age: Duration,
        storage: &mut dyn Storage,
    ) -> bool {
        // What this life publishes has its numbers for itself.
        if key.incarnation() == self.own_incarnation() {
            return false;
        }
        let passage = self.passage(key, info, size);
        let restored = self.restore(now, &passage, (size, age), storage);
        if let Some(message) = Description::decode(info).filter(|_| restored) {
            self.publisher.on_earlier(key, &message);
        }
        restored
    }

    /// These messages of earlier lives are of no use any more. Only what is kept here is concerned: the cache may be a
    /// copy, and whoever published them may be there, and give them.
    pub(super) fn drop_earlier(&mut self, keys: &[ObjectKey]) {
        for key in keys {
            if let Some(gone) = self.cache.remove(*key) {
                self.on_gone(Vec::from([(*key, gone.index)]));
            }
        }
    }

    /// A NORM_INFO as that life of this node would have sent it, in the code that this one has.
    fn passage(&self, key: ObjectKey, info: &[u8], size: u64) -> Vec<u8> {
        let FecConfig { id, field, matrix, source, parity, .. } = self.fec;
        let field = if id == FecId::ReedSolomonM { field } else { FieldSize::M8 };
        let (limit, even) = match field {
            FieldSize::M8 => (FIELD_8_MAX, u16::MAX),
            FieldSize::M16 => (u16::MAX, !1),
        };
        let source = source.clamp(1, limit);
        let parity = parity.min(limit - source);
        // RFC 5510 5.2.2 counts all symbols of a block there, NRL's code the parity alone.
        let all = id == FecId::ReedSolomon8 && matrix == Matrix::Rfc5510;
        let fti = Fti {
            object_size: size,
            field,
            segment_size: u16::try_from(self.segment_size).unwrap_or(u16::MAX) & even,
            max_block_len: source,
            num_parity: if all { source.saturating_add(parity) } else { parity },
        };
        let (source_id, instance_id) = key.incarnation();
        let message = Info {
            sender: SenderFields { source_id, instance_id, ..self.fields },
            flags: ObjectFlags(ObjectFlags::INFO),
            fec_id: id,
            object_transport_id: key.object,
            extensions: Extensions::default(),
            payload: info,
        };
        let mut out = Vec::new();
        message.encode(Some(&fti), &mut out);
        out
    }

    /// Numbers messages on these topics from these numbers on: whoever reads them by topic sees no number twice.
    pub fn resume(&mut self, numbers: impl Iterator<Item = (Topic, u64)>) {
        self.publisher.resume(numbers);
    }

    /// Which instance of this node's sender this is.
    #[must_use]
    pub fn instance(&self) -> InstanceId {
        self.fields.instance_id
    }

    /// A message of this node's own that can still be repaired.
    #[must_use]
    pub fn own(&self, key: ObjectKey) -> Option<&Description> {
        self.publisher.get(key).map(|own| &own.message)
    }

    /// The hash that another's message says that its bytes have.
    #[must_use]
    pub fn hash(&self, key: ObjectKey) -> Option<ContentHash> {
        self.cache.get(key)?.description.as_ref()?.options.hash
    }
}
