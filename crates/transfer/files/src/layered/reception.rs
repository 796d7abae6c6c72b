//! From symbols to a file: kept on disk as they come, decoded block by block.

use std::collections::BTreeMap;

use fanfare_fec::fountain::{BlockDecoder, Shape};
use fanfare_proto::{
    ObjectKey, ObjectKind, Storage, StorageError,
    congestion::layered::{ObjectAssembly, Placement, Symbol},
};

/// An object that comes by layers.
#[derive(Debug)]
pub(super) struct Reception {
    key: ObjectKey,
    shape: Shape,
    assembly: ObjectAssembly,
    /// Symbols for which there is no room in the file: beyond a block's length. A few of each block.
    extras: BTreeMap<(u8, u32), Vec<u8>>,
    /// Symbols of another length, or of blocks that there are not.
    foreign: u64,
}

impl Reception {
    /// Takes the room for all of it.
    pub(super) fn open(
        storage: &mut dyn Storage,
        key: ObjectKey,
        shape: Shape,
    ) -> Result<Self, StorageError> {
        storage.open(key, ObjectKind::File, shape.object())?;
        let assembly = ObjectAssembly::new(shape);
        Ok(Self { key, shape, assembly, extras: BTreeMap::new(), foreign: 0 })
    }

    /// Bytes that are here.
    pub(super) fn bytes(&self) -> u64 {
        self.assembly.bytes()
    }
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }
    /// Symbols beyond those that the object has, as a share of them.
    pub(super) fn overhead(&self) -> f64 {
        self.assembly.overhead()
    }

    /// A symbol has come. True when that makes the object whole.
    pub(super) fn on_symbol(
        &mut self,
        storage: &mut dyn Storage,
        symbol: Symbol,
        content: &[u8],
    ) -> Result<bool, StorageError> {
        if content.len() != usize::from(self.shape.symbol()) {
            self.foreign += 1;
            return Ok(false);
        }
        match self.assembly.on_symbol(symbol) {
            Placement::Duplicate => {}
            Placement::OutOfRange => self.foreign += 1,
            Placement::Kept(place) => self.keep(storage, symbol.block, place, content)?,
            Placement::Decodable(place) => {
                self.keep(storage, symbol.block, place, content)?;
                self.decode(storage, symbol.block)?;
                return Ok(self.assembly.is_whole());
            }
        }
        Ok(false)
    }

    /// Where a place of a block is in the file, when it is wholly within the block.
    fn offset(&self, block: u8, place: u32) -> Option<u64> {
        let (range, size) = (self.shape.bytes(block), u64::from(self.shape.symbol()));
        let start = range.start + u64::from(place) * size;
        (start + size <= range.end).then_some(start)
    }

    fn keep(
        &mut self,
        storage: &mut dyn Storage,
        block: u8,
        place: u32,
        content: &[u8],
    ) -> Result<(), StorageError> {
        match self.offset(block, place) {
            Some(offset) => storage.write(self.key, offset, content),
            None => {
                self.extras.insert((block, place), content.to_vec());
                Ok(())
            }
        }
    }

    /// Puts a block into its place, when its symbols are enough.
    fn decode(&mut self, storage: &mut dyn Storage, block: u8) -> Result<(), StorageError> {
        let size = usize::from(self.shape.symbol());
        let mut symbols = Vec::with_capacity(self.assembly.ids(block).len());
        for (place, id) in (0..).zip(self.assembly.ids(block)) {
            let mut content = vec![0; size];
            match (self.offset(block, place), self.extras.get(&(block, place))) {
                (Some(offset), _) => storage.read(self.key, offset, &mut content)?,
                (None, Some(extra)) => content.copy_from_slice(extra),
                (None, None) => return Err(StorageError::Failed),
            }
            symbols.push((*id, content));
        }
        let Some(bytes) = BlockDecoder::new(&self.shape, block).decode(symbols) else {
            return Ok(());
        };
        storage.write(self.key, self.shape.bytes(block).start, &bytes)?;
        self.assembly.on_decoded(block);
        self.extras.retain(|(of, _), _| *of != block);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fanfare_fec::fountain::BlockEncoder;
    use fanfare_proto::{InstanceId, NodeId, ObjectTransportId};

    use super::*;

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(7), instance: InstanceId(1), object: ObjectTransportId(0) };

    /// Memory in the place of a file.
    #[derive(Debug, Default)]
    struct Memory(Vec<u8>);

    impl Storage for Memory {
        fn open(&mut self, _: ObjectKey, _: ObjectKind, size: u64) -> Result<(), StorageError> {
            self.0 = vec![0; size as usize];
            Ok(())
        }
        fn write(&mut self, _: ObjectKey, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
            let start = offset as usize;
            let room = self.0.get_mut(start..start + bytes.len()).ok_or(StorageError::Failed)?;
            room.copy_from_slice(bytes);
            Ok(())
        }
        fn read(&mut self, _: ObjectKey, at: u64, into: &mut [u8]) -> Result<(), StorageError> {
            into.copy_from_slice(&self.0[at as usize..at as usize + into.len()]);
            Ok(())
        }
        fn close(&mut self, _: ObjectKey, _: bool) {}
    }

    #[test]
    fn blocks_are_decoded_where_their_symbols_were_kept() {
        // Two blocks, as a longer object would have, the last symbol short.
        let content: Vec<u8> = (0..3003_u32).map(|n| (n.wrapping_mul(97) >> 3) as u8).collect();
        let mut told = Shape::new(content.len() as u64, 16).unwrap().encode();
        told[8] = 2;
        let shape = Shape::decode(&told).unwrap();
        let mut storage = Memory::default();
        let mut reception = Reception::open(&mut storage, KEY, shape).unwrap();
        let encoders = [0, 1].map(|block| {
            let range = shape.bytes(block);
            let bytes = content[range.start as usize..range.end as usize].to_vec();
            BlockEncoder::new(&shape, block, bytes)
        });
        let mut whole = false;
        // Repair symbols alone, backwards, until both are there.
        for id in (20_000..20_110).rev() {
            for block in [0, 1] {
                let symbol = Symbol { block, id };
                let bytes = encoders[usize::from(block)].repair(id);
                whole |= reception.on_symbol(&mut storage, symbol, &bytes).unwrap();
            }
        }
        assert!(whole && storage.0 == content);
        assert!(reception.overhead() < 0.03, "{}", reception.overhead());
        assert_eq!((reception.bytes(), reception.extras.len()), (3003, 0));
    }

    #[test]
    fn a_symbol_of_another_length_is_not_taken() {
        let mut storage = Memory::default();
        let shape = Shape::new(100, 16).unwrap();
        let mut reception = Reception::open(&mut storage, KEY, shape).unwrap();
        let symbol = Symbol { block: 0, id: 0 };
        assert_eq!(reception.on_symbol(&mut storage, symbol, &[0; 15]), Ok(false));
        let far = Symbol { block: 9, id: 0 };
        assert_eq!(reception.on_symbol(&mut storage, far, &[0; 16]), Ok(false));
        assert_eq!((reception.foreign, reception.bytes()), (2, 0));
    }
}
