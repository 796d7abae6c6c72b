//! Recovering a block's missing source symbols from parity.

use crate::receiver::{block::ReceiveBlock, format::Format};
use crate::{
    peer_repair::Combination,
    storage::{ObjectKey, Storage, StorageError},
};
use alloc::{vec, vec::Vec};
use fanfare_fec::{Code, Field, Matrix, coefficient};
use fanfare_wire::SourceBlockNumber;

/// Why a block was not recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// The driver's storage failed.
    Storage(StorageError),
    /// The code refused what we gave it.
    Code,
}

/// What followed from the sums of a block.
#[derive(Debug)]
pub(crate) struct Deduced {
    /// Source symbols that are in storage now, and their bytes.
    pub(crate) sources: Vec<u16>,
    pub(crate) bytes: u64,
    /// Which sums said something that the others do not.
    pub(crate) equations: Vec<bool>,
}

/// Decodes blocks; keeps the code it made last, since a sender's objects share one, and the memory
/// that a block is read into.
#[derive(Debug)]
pub(crate) struct Decoder {
    matrix: Matrix,
    code: Option<Code>,
    memory: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new(matrix: Matrix) -> Self {
        Self { matrix, code: None, memory: Vec::new() }
    }

    /// Writes all missing source symbols of `block` to storage; returns their number and bytes.
    pub(crate) fn recover(
        &mut self,
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        block: u32,
        state: &ReceiveBlock,
    ) -> Result<(u16, u64), DecodeError> {
        self.prepare(format);
        let code = self.code.as_ref().ok_or(DecodeError::Code)?;
        let number = SourceBlockNumber(block);
        let segment = usize::from(format.partition.segment_size);
        let sources = Sources::read(storage, key, format, (number, state), &mut self.memory)?;
        let missing: Vec<u16> = state.missing_sources().collect();
        let parity: Vec<(usize, &[u8])> = state
            .parity()
            .map(|(number, bytes)| (usize::from(number), &bytes[..bytes.len().min(segment)]))
            .collect();
        let mut recovered = vec![0; missing.len() * segment];
        let mut out: Vec<(usize, &mut [u8])> = missing
            .iter()
            .map(|&s| usize::from(s))
            .zip(recovered.chunks_exact_mut(segment))
            .collect();
        code.recover(usize::from(state.len()), &sources.symbols(segment), &parity, &mut out)
            .map_err(|_| DecodeError::Code)?;
        let bytes = write(storage, key, format, (number, &missing), &recovered)?;
        Ok((missing.len() as u16, bytes))
    }

    /// A sum's factors of the source symbols of a block of `len`. `None` for what cannot be.
    pub(crate) fn row(
        &mut self,
        format: &Format,
        len: u16,
        combination: &Combination,
    ) -> Option<Vec<u8>> {
        self.prepare(format);
        let factors = combination.factors();
        self.code.as_ref()?.row(usize::from(len), &factors)
    }

    /// The same of a parity symbol.
    pub(in crate::receiver) fn parity_row(
        &mut self,
        format: &Format,
        len: u16,
        number: u16,
    ) -> Option<Vec<u8>> {
        self.prepare(format);
        self.code.as_ref()?.row(usize::from(len), &[(usize::from(len) + usize::from(number), 1)])
    }

    /// Writes the source symbols of `block` to storage that follow from parity and sums.
    pub(crate) fn deduce(
        &mut self,
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        block: u32,
        state: &ReceiveBlock,
    ) -> Result<Deduced, DecodeError> {
        let number = SourceBlockNumber(block);
        let missing: Vec<u16> = state.missing_sources().collect();
        let known = self.known(format, state.len(), state, &missing);
        let (known, equations) = known.ok_or(DecodeError::Code)?;
        let found: Vec<(usize, &[u8])> = known.determined().collect();
        let mut deduced = Deduced { sources: Vec::new(), bytes: 0, equations };
        if found.is_empty() {
            return Ok(deduced);
        }
        let segment = usize::from(format.partition.segment_size);
        let mut rows: Vec<(Vec<u8>, &[u8])> = Vec::new();
        for (number, bytes) in state.parity() {
            let row = self.parity_row(format, state.len(), number).ok_or(DecodeError::Code)?;
            rows.push((row, bytes));
        }
        let sums = state.equations().iter().zip(&deduced.equations).filter(|(_, new)| **new);
        rows.extend(sums.map(|(sum, _)| (sum.row.clone(), &*sum.bytes)));
        let sources = Sources::read(storage, key, format, (number, state), &mut self.memory)?;
        let code = self.code.as_ref().ok_or(DecodeError::Code)?;
        let mut symbols = sources.symbols(segment);
        // What a found symbol is of those rows it is of the sources in them, too.
        let mut factors: Vec<u8> = Vec::new();
        for &(source, _) in &symbols {
            factors.extend(found.iter().map(|(_, of)| {
                let rows = rows.iter().map(|(row, _)| row[source]).collect::<Vec<_>>();
                fanfare_fec::dot(of, &rows)
            }));
        }
        for (at, (_, bytes)) in rows.iter().enumerate() {
            factors.extend(found.iter().map(|(_, of)| of[at]));
            symbols.push((0, &bytes[..bytes.len().min(segment)]));
        }
        let symbols: Vec<&[u8]> = symbols.into_iter().map(|(_, bytes)| bytes).collect();
        let mut content = vec![0; found.len() * segment];
        let mut out: Vec<&mut [u8]> = content.chunks_exact_mut(segment).collect();
        code.combine(&factors, &symbols, &mut out);
        let found: Vec<u16> = found.iter().map(|&(unknown, _)| missing[unknown]).collect();
        deduced.bytes = write(storage, key, format, (number, &found), &content)?;
        deduced.sources = found;
        Ok(deduced)
    }

    /// Appends a sum of what is here of a block: source symbols and parity.
    pub(crate) fn combine(
        &mut self,
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        (block, state, seed): (u32, &ReceiveBlock, u8),
        out: &mut Vec<u8>,
    ) -> Option<()> {
        self.prepare(format);
        let code = self.code.as_ref().filter(|code| code.field() == Field::Gf8)?;
        let number = SourceBlockNumber(block);
        let segment = usize::from(format.partition.segment_size);
        let (_, longest) = format.partition.span(number, 0)?;
        let sources = Sources::read(storage, key, format, (number, state), &mut self.memory);
        let sources = sources.ok()?;
        let mut symbols = sources.symbols(segment);
        let parity = state.parity();
        symbols.extend(parity.map(|(number, bytes)| {
            let bytes = &bytes[..bytes.len().min(longest)];
            (usize::from(state.len()) + usize::from(number), bytes)
        }));
        let factors = symbols.iter().map(|&(symbol, _)| coefficient(seed, symbol as u16));
        let factors: Vec<u8> = factors.collect();
        let symbols: Vec<&[u8]> = symbols.into_iter().map(|(_, bytes)| bytes).collect();
        let start = out.len();
        out.resize(start + longest, 0);
        code.combine(&factors, &symbols, &mut [&mut out[start..]]);
        Some(())
    }

    /// Appends parity symbol `number` of a block that is whole, in the form of the sender's: as long
    /// as the block's longest source symbol, made even over GF(2^16).
    pub(crate) fn parity(
        &mut self,
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        block: u32,
        number: u16,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mut whole = ReceiveBlock::new(format.partition.block_len(SourceBlockNumber(block)));
        (0..whole.len()).for_each(|symbol| whole.set_source(symbol));
        self.prepare(format);
        let code = self.code.as_ref()?;
        let block = (SourceBlockNumber(block), &whole);
        let sources = Sources::read(storage, key, format, block, &mut self.memory).ok()?;
        let segment = usize::from(format.partition.segment_size);
        let unit = code.field().element_size();
        let start = out.len();
        out.resize(start + sources.bytes.len().min(segment).next_multiple_of(unit), 0);
        let symbols: Vec<&[u8]> = sources.bytes.chunks(segment).collect();
        code.encode(&symbols, usize::from(number), &mut [&mut out[start..]]);
        Some(())
    }

    /// Makes the code of an object, if it is another than the last.
    fn prepare(&mut self, format: &Format) {
        let (field, source, parity) = parameters(format);
        let fits =
            |code: &Code| (code.field(), code.source(), code.parity()) == (field, source, parity);
        if !self.code.as_ref().is_some_and(fits) {
            self.code = Code::new(field, self.matrix, source, parity).ok();
        }
    }
}

/// The code always has as many source rows as the longest block; shorter blocks use fewer of them.
fn parameters(format: &Format) -> (Field, usize, usize) {
    let fti = &format.fti;
    (format.field(), usize::from(fti.max_block_len), usize::from(fti.num_parity))
}

/// Writes source symbols of a block, a segment's length apart in `content`; returns their bytes.
fn write(
    storage: &mut dyn Storage,
    key: ObjectKey,
    format: &Format,
    (block, symbols): (SourceBlockNumber, &[u16]),
    content: &[u8],
) -> Result<u64, DecodeError> {
    let mut bytes = 0;
    let contents = content.chunks_exact(usize::from(format.partition.segment_size));
    for (&symbol, content) in symbols.iter().zip(contents) {
        let Some((offset, length)) = format.partition.span(block, symbol) else { continue };
        storage.write(key, offset, &content[..length]).map_err(DecodeError::Storage)?;
        bytes += length as u64;
    }
    Ok(bytes)
}

/// A block's source symbols, read back from storage: each run of neighbours with one call.
struct Sources<'m> {
    numbers: Vec<u16>,
    bytes: &'m [u8],
}

impl<'m> Sources<'m> {
    fn read(
        storage: &mut dyn Storage,
        key: ObjectKey,
        format: &Format,
        (block, state): (SourceBlockNumber, &ReceiveBlock),
        memory: &'m mut Vec<u8>,
    ) -> Result<Self, DecodeError> {
        let numbers: Vec<u16> = (0..state.len()).filter(|&s| state.has_source(s)).collect();
        let span = |symbol| format.partition.span(block, symbol).ok_or(DecodeError::Code);
        let most = numbers.len() * usize::from(format.partition.segment_size);
        if memory.len() < most {
            memory.resize(most, 0);
        }
        let mut filled = 0;
        for run in numbers.chunk_by(|a, b| a + 1 == *b) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            let ((start, _), (end, length)) = (span(first)?, span(last)?);
            let len = (end - start) as usize + length;
            let into = &mut memory[filled..filled + len];
            storage.read(key, start, into).map_err(DecodeError::Storage)?;
            filled += len;
        }
        Ok(Self { numbers, bytes: &memory[..filled] })
    }

    /// Only the very last symbol of an object may be short, so they lie one segment apart.
    fn symbols(&self, segment: usize) -> Vec<(usize, &[u8])> {
        self.numbers.iter().map(|&s| usize::from(s)).zip(self.bytes.chunks(segment)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ReceiverConfig, receiver::format::tests::small, storage::MemoryStorage};
    use fanfare_wire::{FecId, InstanceId, NodeId, ObjectFlags, ObjectTransportId};

    const KEY: ObjectKey =
        ObjectKey { sender: NodeId(1), instance: InstanceId(1), object: ObjectTransportId(0) };

    type Recovered = Result<(u16, u64), DecodeError>;

    /// Loses `lost` of the last block (35 bytes: 4 symbols, the last of 5) of a 75-byte object.
    fn recovered(lost: &[u16]) -> (Recovered, Vec<u8>, Vec<u8>) {
        let fti = small(75, 10);
        let config = ReceiverConfig::default();
        let format = Format::new(FecId::ReedSolomon8, fti, ObjectFlags(0), &config).unwrap();
        let object: Vec<u8> = (0..75).map(|n| n * 3 + 1).collect();
        let code = Code::new(Field::Gf8, Matrix::Nrl, 4, 2).unwrap();
        let source: Vec<&[u8]> = object[40..].chunks(10).collect();
        let (mut p, mut q) = ([0; 10], [0; 10]);
        code.encode(&source, 0, &mut [&mut p, &mut q]);
        let mut storage = MemoryStorage::new(1000);
        storage.open(KEY, format.kind, 75).unwrap();
        let mut state = ReceiveBlock::new(4);
        for symbol in (0..4).filter(|s| !lost.contains(s)) {
            let at = 40 + usize::from(symbol) * 10;
            storage.write(KEY, at as u64, source[usize::from(symbol)]).unwrap();
            state.set_source(symbol);
        }
        state.add_parity(0, &p);
        state.add_parity(1, &q);
        let result = Decoder::new(Matrix::Nrl).recover(&mut storage, KEY, &format, 1, &state);
        (result, storage.get(KEY).unwrap()[40..].to_vec(), object[40..].to_vec())
    }

    #[test]
    fn lost_symbols_come_back_with_the_short_tail_cut_to_its_length() {
        for (lost, bytes) in [(&[1, 3][..], 15), (&[0, 2], 20), (&[3], 5)] {
            let (result, got, sent) = recovered(lost);
            assert_eq!(result, Ok((lost.len() as u16, bytes)), "{lost:?}");
            assert_eq!(got, sent, "{lost:?}");
        }
    }

    #[test]
    fn too_little_parity_is_an_error_not_a_panic() {
        assert_eq!(recovered(&[0, 1, 2]).0, Err(DecodeError::Code));
    }
}
