//! Messages of a sender on their way into the cache, and made again of what is there.

use std::time::Duration;

use fanfare_wire::{
    Data, Info, ObjectFlags, ObjectTransportId, ext::Extensions, fec::RawPayloadId,
    header::SenderFields,
};

use crate::{
    cache::Cache,
    ledger::{Ledger, Repair},
};

impl Cache {
    /// Keeps a symbol; whether members may need it. What waited for its block goes to the ledger.
    pub(crate) fn take_data(
        &mut self,
        now: Duration,
        data: &Data<'_>,
        ledger: &mut Ledger,
    ) -> bool {
        let sender = &data.sender;
        let key = (sender.source_id.0, sender.instance_id.0, data.object_transport_id.0);
        let fec_id = data.payload_id.fec_id;
        let object = self.object(key, fec_id, data.flags);
        object.learn(data.extensions.fti(fec_id));
        let id = data.payload_id.unpack(object.field());
        let (block, symbol) = (id.block.0, id.symbol.0);
        let was_whole = object.is_whole(block);
        let wanted = object.blocks.get(&block).is_some_and(|state| {
            state.asked.contains_key(&symbol) || state.waiting.iter().any(|(_, one)| *one == symbol)
        });
        if was_whole && !wanted {
            return false;
        }
        if !self.insert(key, block, symbol, data.payload) {
            return false;
        }
        let Some(object) = self.get(key) else { return true };
        let is_whole = object.is_whole(block);
        let Some(state) = object.blocks.get_mut(&block) else { return true };
        state.waiting.retain(|(_, one)| *one != symbol);
        if is_whole {
            for (side, symbol) in std::mem::take(&mut state.waiting) {
                state.sent.insert((side, symbol), now);
                ledger.push(Repair { side, key, block, symbol });
            }
        }
        true
    }

    /// Keeps an INFO message; whether members may need it.
    pub(crate) fn take_info(&mut self, info: &Info<'_>, bytes: &[u8]) -> bool {
        let sender = &info.sender;
        let key = (sender.source_id.0, sender.instance_id.0, info.object_transport_id.0);
        let object = self.object(key, info.fec_id, info.flags);
        object.learn(info.extensions.fti(info.fec_id));
        let new = object.info.is_none() || object.info_asked.take().is_some();
        object.info = Some(bytes.to_vec());
        new
    }

    /// A symbol as a message of its sender's, if it can be had.
    pub(crate) fn again(&mut self, repair: &Repair, sender: SenderFields) -> Option<Vec<u8>> {
        let payload = self.symbol(repair.key, repair.block, repair.symbol)?;
        let object = self.get(repair.key)?;
        let name = object.name(repair.block, repair.symbol);
        let data = Data {
            sender,
            flags: ObjectFlags(object.flags.0 | ObjectFlags::REPAIR),
            object_transport_id: ObjectTransportId(repair.key.2),
            payload_id: RawPayloadId::pack(object.fec_id, object.field(), name),
            extensions: Extensions::default(),
            payload: &payload,
        };
        let mut bytes = Vec::new();
        data.encode_header(object.fti().as_ref(), &mut bytes);
        bytes.extend_from_slice(&payload);
        Some(bytes)
    }
}
