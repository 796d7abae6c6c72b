//! Batches of symbols: NORM_DATA messages that differ only in their numbers, each one more than the
//! one before. A sender's super-packet is usually one such batch, and needs to be parsed only once.

use crate::{Data, FecId};
use alloc::vec::Vec;

/// Bytes of a DATA header ahead of its payload id.
const BASE: usize = 16;

/// The datagrams of a batch after the first one.
#[derive(Debug, Clone, Copy)]
pub struct DataBatch<'a> {
    datagrams: &'a [u8],
    /// Bytes of each of them, and of each one's header.
    size: usize,
    header: usize,
}

impl<'a> DataBatch<'a> {
    /// Finds how many of the datagrams, of `size` bytes each, continue the first one, which was
    /// parsed as `head`. A number that overflows its field carries into the next field.
    #[must_use]
    pub fn behind(head: &Data<'_>, datagrams: &'a [u8], size: usize) -> Self {
        let id_len = head.payload_id.fec_id.payload_id_len();
        let mut each = datagrams.chunks_exact(size.max(1));
        let first = each.next().unwrap_or_default();
        let header = first.len().saturating_sub(head.payload.len()).max(BASE + id_len);
        let count = match Numbers::of(first, header, id_len) {
            Some(first) => (1..)
                .zip(each)
                .take_while(|(n, next)| {
                    Numbers::of(next, header, id_len).is_some_and(|next| next.follows(&first, *n))
                })
                .count(),
            None => 0,
        };
        let datagrams = datagrams.get(size..size * (count + 1)).unwrap_or_default();
        Self { datagrams, size: size.max(1), header }
    }

    /// The number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.datagrams.len() / self.size
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// Bytes of each datagram.
    #[must_use]
    pub fn datagram_size(&self) -> usize {
        self.size
    }

    /// Bytes of each symbol.
    #[must_use]
    pub fn symbol_size(&self) -> usize {
        self.size - self.header
    }

    /// Its first `count` symbols.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        let end = self.datagrams.len().min(count.saturating_mul(self.size));
        Self { datagrams: &self.datagrams[..end], ..self }
    }

    /// Its symbols.
    pub fn symbols(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let header = self.header;
        self.datagrams.chunks_exact(self.size).map(move |datagram| &datagram[header..])
    }
}

/// Continues a DATA message at the end of a buffer.
#[derive(Debug)]
pub struct DataBatchWriter {
    /// Where the DATA is, and how long its header.
    start: usize,
    header: usize,
    sequence: u16,
    id: u64,
    id_len: usize,
}

impl DataBatchWriter {
    /// Continues the DATA message at `start`, which ends with a symbol of `symbol_size` bytes;
    /// `None` if there is none.
    #[must_use]
    pub fn behind(out: &[u8], start: usize, symbol_size: usize, fec_id: FecId) -> Option<Self> {
        let datagram = out.get(start..)?;
        let header = datagram.len().checked_sub(symbol_size)?;
        let id_len = fec_id.payload_id_len();
        let Numbers { sequence, id, .. } = Numbers::of(datagram, header, id_len)?;
        Some(Self { start, header, sequence, id, id_len })
    }

    /// Appends the next one, with this symbol. The caller knows that its block has it.
    pub fn push(&mut self, symbol: &[u8], out: &mut Vec<u8>) {
        self.sequence = self.sequence.wrapping_add(1);
        self.id += 1;
        let at = out.len();
        out.extend_from_within(self.start..self.start + self.header);
        out[at + 2..at + 4].copy_from_slice(&self.sequence.to_be_bytes());
        let id = self.id.to_be_bytes();
        out[at + BASE..at + BASE + self.id_len].copy_from_slice(&id[8 - self.id_len..]);
        out.extend_from_slice(symbol);
    }
}

/// A header, split into the numbers that increase and the rest.
struct Numbers<'a> {
    sequence: u16,
    /// Payload id, read as one number.
    id: u64,
    /// Type, length, and all behind the sequence.
    same: ([u8; 2], [u8; 12], &'a [u8]),
}

impl<'a> Numbers<'a> {
    #[inline]
    fn of(datagram: &'a [u8], header: usize, id_len: usize) -> Option<Self> {
        let (base, rest) = datagram.get(..header)?.split_first_chunk::<BASE>()?;
        let (id, extensions) = rest.split_at_checked(id_len)?;
        let [kind, words, high, low, same @ ..] = *base;
        let id = match *id {
            [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
            _ => u64::from_be_bytes(id.try_into().ok()?),
        };
        let sequence = u16::from_be_bytes([high, low]);
        Some(Self { sequence, id, same: ([kind, words], same, extensions) })
    }

    #[inline]
    fn follows(&self, first: &Self, by: u64) -> bool {
        self.sequence == first.sequence.wrapping_add(by as u16)
            && first.id.checked_add(by) == Some(self.id)
            && self.same == first.same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EncodingSymbolId, FecPayloadId, FieldSize, GroupSize, InstanceId, Message, NodeId,
        ObjectFlags, ObjectTransportId, QuantizedRtt, Sequence, SourceBlockNumber, ext::Extensions,
        fec::RawPayloadId, header::SenderFields,
    };

    const PAYLOAD: usize = 5;

    fn data(fec_id: FecId, sequence: u16, symbol: u16, flags: u8) -> Vec<u8> {
        let id = FecPayloadId {
            block: SourceBlockNumber(3),
            block_len: 200,
            symbol: EncodingSymbolId(symbol),
        };
        let sender = SenderFields {
            sequence: Sequence(sequence),
            source_id: NodeId(1),
            instance_id: InstanceId(2),
            grtt: QuantizedRtt(9),
            backoff: 4,
            gsize: GroupSize(1),
        };
        let message = Data {
            sender,
            flags: ObjectFlags(flags),
            object_transport_id: ObjectTransportId(7),
            payload_id: RawPayloadId::pack(fec_id, FieldSize::M16, id),
            extensions: Extensions::default(),
            payload: &[],
        };
        let mut out = Vec::new();
        message.encode_header(None, &mut out);
        out.extend_from_slice(&[symbol as u8; PAYLOAD]);
        out
    }

    /// How many of these (sequence, symbol, flags) follow the first.
    fn row(fec_id: FecId, messages: &[(u16, u16, u8)]) -> usize {
        let each = messages.iter().map(|&(seq, symbol, flags)| data(fec_id, seq, symbol, flags));
        let datagrams: Vec<u8> = each.flatten().collect();
        let size = datagrams.len() / messages.len();
        let Ok(Message::Data(head)) = Message::parse(&datagrams[..size]) else { panic!("a DATA") };
        let row = DataBatch::behind(&head, &datagrams, size);
        let symbols: Vec<&[u8]> = row.symbols().collect();
        let sent = messages[1..].iter().map(|&(_, symbol, _)| [symbol as u8; PAYLOAD]);
        assert!(symbols.iter().zip(sent).all(|(symbol, sent)| **symbol == sent));
        assert_eq!(symbols.len(), row.len());
        row.len()
    }

    #[test]
    fn numbers_that_count_on_make_a_row_whatever_the_form_of_the_payload_id() {
        for fec_id in [FecId::ReedSolomonM, FecId::ReedSolomon8, FecId::SmallBlockSystematic] {
            assert_eq!(row(fec_id, &[(65_534, 8, 0), (65_535, 9, 0), (0, 10, 0)]), 2);
        }
    }

    #[test]
    fn what_is_written_behind_a_data_reads_as_if_each_had_been_encoded() {
        for fec_id in [FecId::ReedSolomonM, FecId::ReedSolomon8, FecId::SmallBlockSystematic] {
            let mut out = b"before".to_vec();
            let start = out.len();
            out.extend(data(fec_id, 65_535, 8, ObjectFlags::FILE));
            let mut writer = DataBatchWriter::behind(&out, start, PAYLOAD, fec_id).expect("a DATA");
            (9..11_u8).for_each(|symbol| writer.push(&[symbol; PAYLOAD], &mut out));
            let each = [(65_535, 8), (0, 9), (1, 10)];
            let each = each.map(|(seq, symbol)| data(fec_id, seq, symbol, ObjectFlags::FILE));
            assert_eq!(out[start..], each.concat());
        }
    }

    #[test]
    fn a_hole_or_another_kind_ends_it() {
        let id = FecId::ReedSolomon8;
        assert_eq!(row(id, &[(1, 8, 0), (2, 9, 0), (4, 11, 0), (5, 12, 0)]), 1);
        assert_eq!(row(id, &[(1, 8, 0), (2, 10, 0)]), 0);
        assert_eq!(row(id, &[(1, 8, 0), (2, 9, ObjectFlags::REPAIR)]), 0);
        assert_eq!(row(id, &[(1, 8, 0)]), 0);
    }

    #[test]
    fn a_shorter_datagram_at_the_end_is_not_of_it() {
        let mut datagrams = data(FecId::ReedSolomon8, 1, 0, 0);
        let size = datagrams.len();
        datagrams.extend(data(FecId::ReedSolomon8, 2, 1, 0));
        datagrams.extend(&data(FecId::ReedSolomon8, 3, 2, 0)[..size - 1]);
        let Ok(Message::Data(head)) = Message::parse(&datagrams[..size]) else { panic!("a DATA") };
        let row = DataBatch::behind(&head, &datagrams, size);
        assert_eq!((row.len(), row.first(0).is_empty(), row.symbol_size()), (1, true, PAYLOAD));
    }
}
