//! The packets of a file delivery session (RFC 6726): symbols on layers, the table on the lowest, the
//! last word.

use std::io;

use fanfare_fec::fountain::Shape;
use fanfare_proto::{
    Time,
    congestion::layered::{Header, Symbols},
};
use fanfare_wire::Alc;

use super::{
    content::Content,
    delivery_table::{DeliveryTable, FILE},
};

/// What a session's layers carry.
#[derive(Debug)]
pub(super) struct DeliverySession {
    /// Its number on its layers (TSI).
    session: u32,
    content: Content,
    symbols: Symbols,
    table: DeliveryTable,
    /// Room for a symbol, used again and again.
    symbol: Vec<u8>,
}

impl DeliverySession {
    pub(super) fn new(
        session: u32,
        (shape, layers): (&Shape, usize),
        content: Content,
        table: DeliveryTable,
    ) -> Self {
        let symbols = Symbols::new(shape.blocks(), layers);
        Self { session, content, symbols, table, symbol: Vec::new() }
    }

    pub(super) fn number(&self) -> u32 {
        self.session
    }

    /// Appends a layer's next packet, and gives the bytes of its symbol.
    pub(super) fn append(&mut self, header: Header, out: &mut Vec<u8>) -> io::Result<usize> {
        let symbol = self.symbols.next(usize::from(header.layer));
        self.symbol.clear();
        self.content.append(symbol, &mut self.symbol)?;
        let packet = Alc {
            congestion: header.to_bytes(),
            session: self.session,
            object: FILE,
            closes_session: false,
            block: symbol.block,
            symbol: symbol.id,
            content: &self.symbol,
        };
        packet.encode(out);
        Ok(self.symbol.len())
    }

    /// The packets of the table, when it is time for them. They go to the lowest layer.
    pub(super) fn poll_table(&mut self, now: Time) -> Option<Vec<Vec<u8>>> {
        self.table.poll(now, self.session)
    }

    /// The last packet, for the lowest layer: whoever still listens is in that, whatever else it is in.
    pub(super) fn last(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        Alc::close([0; 16], self.session).encode(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        rc::Rc,
        sync::Arc,
        time::{Duration, UNIX_EPOCH},
    };

    use fanfare_proto::{
        Bitrate,
        congestion::layered::{
            Channel, LayeredSource, Outgoing, Scheme, SendPattern, SourceConfig,
        },
    };
    use flute::{
        core::UDPEndpoint,
        receiver::{
            Config, MultiReceiver, MultiReceiverListener, Receiver, ReceiverEndpoint,
            writer::ObjectWriterBufferBuilder,
        },
    };

    use super::*;

    const SESSION: u32 = 0x0102_0304;
    const NAME: &str = "maps/a b.iso";

    /// Bytes that no two places of the file have alike.
    fn file(bytes: u32) -> Vec<u8> {
        (0..bytes).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    /// All packets of a session by their channels, in the order in which they go.
    struct Sent {
        source: LayeredSource,
        session: DeliverySession,
        queue: Vec<(Channel, Vec<u8>)>,
    }

    impl Sent {
        fn new(file: &[u8], shape: Shape) -> Self {
            let symbol = shape.symbol();
            let scheme = Scheme::Equal { rate: Bitrate::mbps(1), count: 6 };
            let config = SourceConfig {
                scheme,
                send_pattern: SendPattern::Pairs,
                interval: Duration::from_secs(1),
                every: 1,
                packet: symbol + 60,
                object: shape.object(),
                group: "239.255.42.2:6003".parse().unwrap(),
                rtt: Duration::ZERO,
            };
            let source = LayeredSource::new(config, 1, Time::ZERO).unwrap();
            let content = Content::prepare(shape, Arc::new(file.to_vec())).unwrap();
            let ends = Duration::from_secs(1_700_000_060);
            let table = DeliveryTable::new(Time::ZERO, (NAME, &shape), ends, (1e6, 28));
            let session = DeliverySession::new(SESSION, (&shape, 6), content, table);
            Self { source, session, queue: Vec::new() }
        }
    }

    impl Iterator for Sent {
        type Item = (Channel, Vec<u8>);

        fn next(&mut self) -> Option<Self::Item> {
            while self.queue.is_empty() {
                let now = self.source.next_timeout();
                let (channel, outgoing) = self.source.poll_packet(now)?;
                if let Outgoing::Data(header) = outgoing {
                    let mut packet = Vec::new();
                    self.session.append(header, &mut packet).unwrap();
                    self.queue.push((channel, packet));
                } else {
                    let table = self.session.poll_table(now).unwrap_or_default();
                    self.queue.extend(table.into_iter().map(|packet| (Channel(1), packet)));
                }
            }
            Some(self.queue.remove(0))
        }
    }

    /// What a FLUTE receiver has that is in the first `level` layers, comes after `late` packets and
    /// loses one of `one_in`: the name and the bytes, and how many packets it took.
    fn received(
        sent: Sent,
        level: u8,
        late: usize,
        one_in: usize,
    ) -> (String, Option<usize>, Vec<u8>, usize) {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let objects = Rc::new(ObjectWriterBufferBuilder::new(false));
        let endpoint = UDPEndpoint::new(None, "239.255.42.2".to_owned(), 6003);
        // It keeps its blocks in memory, and all are open at a time.
        let config = Config { object_max_cache_size: Some(1 << 26), ..Config::default() };
        let tsi = u64::from(SESSION);
        let mut receiver = Receiver::new(&endpoint, tsi, objects.clone(), Some(config));
        let heard = sent.skip(late).filter(|(channel, _)| channel.0 <= level).enumerate();
        for (count, (_, packet)) in heard.take(100_000) {
            if count % one_in == one_in / 2 {
                continue;
            }
            receiver.push_data(&packet, now).unwrap();
            let objects = objects.objects.borrow();
            let whole = objects.iter().map(|object| object.borrow()).find(|object| object.complete);
            if let Some(object) = whole {
                let meta = &object.meta;
                let (name, length) = (meta.content_location.clone(), meta.content_length);
                return (name, length, object.data.clone(), count);
            }
        }
        panic!("no object after 100000 packets");
    }

    #[test]
    fn a_flute_receiver_has_the_file_whichever_layers_it_is_in_and_whatever_it_loses() {
        let file = file(300_001);
        for (level, late, one_in) in [(6, 0, 1000), (1, 0, 20), (3, 5000, 7)] {
            let shape = Shape::new(file.len() as u64, 600).unwrap();
            let sent = Sent::new(&file, shape);
            let (name, length, bytes, count) = received(sent, level, late, one_in);
            assert_eq!((&name[..], length), ("maps/a%20b.iso", Some(file.len())));
            assert!(bytes == file, "{level} layers: other bytes");
            // 501 symbols, what was lost, and the table.
            let needed = 502 * one_in / (one_in - 1);
            assert!(count < needed + 20, "{count} of {needed}");
        }
    }

    #[test]
    fn a_flute_receiver_has_a_file_of_several_blocks_from_several_layers_and_with_losses() {
        // 8400 symbols: a block has 8192 at most, so two of 4200.
        let file = file(3_360_000);
        let shape = Shape::new(file.len() as u64, 400).unwrap();
        assert_eq!(shape.blocks(), 2);
        // From the beginning on, and three layers late, when all that comes is repair symbols.
        for (level, late, one_in) in [(6, 0, 20), (3, 10_000, 7)] {
            let sent = Sent::new(&file, shape);
            let (name, length, bytes, count) = received(sent, level, late, one_in);
            assert_eq!((&name[..], length), ("maps/a%20b.iso", Some(file.len())));
            assert!(bytes == file, "{level} layers: other bytes");
            // One more or two a block, should chance want it, and a table every so often.
            let needed = 8404 * one_in / (one_in - 1);
            assert!(count < needed * 101 / 100, "{count} of {needed}");
        }
    }

    /// Counts sessions.
    #[derive(Debug, Default, Clone)]
    struct Watch {
        open: Rc<Cell<usize>>,
        closed: Rc<Cell<usize>>,
    }

    impl MultiReceiverListener for Watch {
        fn on_session_open(&self, _: &ReceiverEndpoint) {
            self.open.set(self.open.get() + 1);
        }
        fn on_session_closed(&self, of: &ReceiverEndpoint) {
            assert_eq!(of.tsi, u64::from(SESSION));
            self.closed.set(self.closed.get() + 1);
        }
    }

    #[test]
    fn the_last_packet_closes_a_flute_receivers_session_once_and_the_file_that_it_has_stays() {
        let file = file(100_000);
        let shape = Shape::new(file.len() as u64, 600).unwrap();
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let endpoint = UDPEndpoint::new(None, "239.255.42.2".to_owned(), 6003);
        // With enough packets, and with too few: what is not whole is given up.
        for (packets, whole) in [(300, true), (100, false)] {
            let objects = Rc::new(ObjectWriterBufferBuilder::new(false));
            let mut receiver = MultiReceiver::new(objects.clone(), None, false);
            let watch = Watch::default();
            receiver.add_listener(watch.clone());
            let mut sent = Sent::new(&file, shape);
            for (_, packet) in sent.by_ref().take(packets) {
                receiver.push(&endpoint, &packet, now).unwrap();
            }
            assert_eq!((watch.open.get(), watch.closed.get()), (1, 0));
            // It goes several times, as packets may be lost.
            for _ in 0..3 {
                receiver.push(&endpoint, &sent.session.last(), now).unwrap();
            }
            assert_eq!((watch.open.get(), watch.closed.get()), (1, 1), "{packets}");
            let objects = objects.objects.borrow();
            let object = objects.first().unwrap().borrow();
            assert_eq!((object.complete, object.data == file), (whole, whole), "{packets}");
        }
    }
}
