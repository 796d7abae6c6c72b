//! What tells FLUTE receivers which file a session has: an instance of the file delivery table
//! (RFC 6726 3.4.2). Ours do without, they have the session's description.

use std::{fmt::Write, time::Duration};

use fanfare_fec::fountain::Shape;
use fanfare_proto::Time;
use fanfare_wire::{Alc, Fdt};

/// The file's TOI: 0 is the table's own (RFC 6726 3.1).
pub(super) const FILE: u32 = 1;
/// It takes this share of the lowest layer at most: who is in that alone gets so much less. 500 bytes of
/// 128 kbit/s go every three seconds.
const SHARE: f64 = 0.01;
/// There is one instance: what is sent does not change.
const INSTANCE: u32 = 1;
/// It is valid for so long after the session ends: a receiver's clock may be wrong.
const MARGIN: Duration = Duration::from_secs(3600);
/// Seconds from 1900, where NTP's time begins, to 1970 (RFC 5905 6).
const NTP_EPOCH: u64 = 2_208_988_800;

/// A session's table, and when it goes next.
#[derive(Debug)]
pub(super) struct DeliveryTable {
    xml: Vec<u8>,
    symbol: u16,
    pause: Duration,
    next: Time,
}

impl DeliveryTable {
    /// Of a file that goes as `shape` says until `ends`, which is a time since 1970; `base`: bit/s of the
    /// lowest layer, `headers`: bytes before each datagram. The first goes at once.
    pub(super) fn new(
        now: Time,
        (name, shape): (&str, &Shape),
        ends: Duration,
        (base, headers): (f64, usize),
    ) -> Self {
        // 32 bits, which begin anew in 2036: receivers take what is nearest (RFC 6726 3.3).
        let expires = ((ends + MARGIN).as_secs() + NTP_EPOCH) as u32;
        let xml = instance(name, shape, expires).into_bytes();
        // As long packets as those of symbols.
        let symbol = shape.symbol().saturating_sub((Fdt::HEADER - Alc::HEADER) as u16).max(1);
        let mut table = Self { xml, symbol, pause: Duration::ZERO, next: now };
        let bits = 8.0 * table.wire_bytes(headers) as f64;
        table.pause = Duration::from_secs_f64(bits / (SHARE * base.max(1.0)));
        table
    }

    /// Bytes of all its packets with what is before them.
    pub(super) fn wire_bytes(&self, headers: usize) -> usize {
        let packets = self.xml.len().div_ceil(usize::from(self.symbol));
        self.xml.len() + packets * (Fdt::HEADER + headers)
    }

    /// Its packets, when it is time for them.
    pub(super) fn poll(&mut self, now: Time, session: u32) -> Option<Vec<Vec<u8>>> {
        if now < self.next {
            return None;
        }
        self.next = now + self.pause;
        let (length, symbol) = (self.xml.len() as u64, self.symbol);
        let packet = |(number, content): (u16, &[u8])| {
            let mut bytes = Vec::new();
            Fdt { session, instance: INSTANCE, length, symbol, number, content }.encode(&mut bytes);
            bytes
        };
        Some((0..).zip(self.xml.chunks(usize::from(symbol))).map(packet).collect())
    }
}

/// An instance with one file, as XML.
fn instance(name: &str, shape: &Shape, expires: u32) -> String {
    let (length, symbol) = (shape.object(), shape.symbol());
    let [.., blocks, n0, n1, alignment] = shape.encode();
    let (location, scheme) = (location(name), base64([blocks, n0, n1, alignment]));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <FDT-Instance xmlns=\"urn:ietf:params:xml:ns:fdt\" Expires=\"{expires}\" Complete=\"true\">\
         <File TOI=\"{FILE}\" Content-Location=\"{location}\" Content-Length=\"{length}\" \
         Transfer-Length=\"{length}\" Content-Type=\"application/octet-stream\" \
         FEC-OTI-FEC-Encoding-ID=\"{id}\" FEC-OTI-Encoding-Symbol-Length=\"{symbol}\" \
         FEC-OTI-Scheme-Specific-Info=\"{scheme}\"/></FDT-Instance>\n",
        id = Alc::FEC_ID,
    )
}

/// A relative reference to a file (RFC 3986 4.2). What could be a scheme, or needs escaping in XML, is
/// escaped as all else that is not unreserved.
fn location(name: &str) -> String {
    name.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                // Into a string nothing fails.
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

/// Four bytes in base 64 (RFC 4648 4).
fn base64(bytes: [u8; 4]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = u64::from(u32::from_be_bytes(bytes)) << 4;
    let digit = |n: u32| char::from(ALPHABET[(bits >> (30 - 6 * n) & 63) as usize]);
    (0..6).map(digit).chain("==".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, base: f64) -> DeliveryTable {
        let shape = Shape::new(50_000_000, 1440).unwrap();
        let ends = Duration::from_secs(1_700_000_000);
        DeliveryTable::new(Time::ZERO, (name, &shape), ends, (base, 28))
    }

    #[test]
    fn an_instance_says_all_that_the_rfc_wants_of_a_raptorq_file() {
        let table = table("a b/ü&.iso", 128e3);
        let text = String::from_utf8(table.xml).unwrap();
        // 1.7e9 since 1970, and an hour.
        for attribute in [
            "xmlns=\"urn:ietf:params:xml:ns:fdt\"",
            "Expires=\"3908992400\"",
            "TOI=\"1\"",
            "Content-Location=\"a%20b/%C3%BC%26.iso\"",
            "Content-Length=\"50000000\"",
            "Transfer-Length=\"50000000\"",
            "FEC-OTI-FEC-Encoding-ID=\"6\"",
            "FEC-OTI-Encoding-Symbol-Length=\"1440\"",
            // Five blocks, one sub-block, alignment 8.
            "FEC-OTI-Scheme-Specific-Info=\"BQABCA==\"",
        ] {
            assert!(text.contains(attribute), "{attribute} in {text}");
        }
    }

    #[test]
    fn it_takes_a_hundredth_of_the_lowest_layer_and_the_first_goes_at_once() {
        let mut table = table("big.iso", 128e3);
        let bytes = table.wire_bytes(28);
        let (mut now, end) = (Time::ZERO, Time::ZERO + Duration::from_secs(600));
        let mut sent = 0;
        while now < end {
            let packets = table.poll(now, 7).unwrap_or_default();
            sent += packets.iter().map(|packet| packet.len() + 28).sum::<usize>();
            assert!(sent >= bytes);
            now = now + Duration::from_millis(250);
        }
        let share = 8.0 * sent as f64 / (600.0 * 128e3);
        assert!((0.0085..0.0105).contains(&share), "{share}, {bytes} bytes");
    }

    #[test]
    fn a_long_name_takes_several_packets_none_longer_than_a_symbols() {
        let mut table = table(&"ü".repeat(250), 128e3);
        let packets = table.poll(Time::ZERO, 7).unwrap();
        assert!(packets.len() == 2 && packets.iter().all(|packet| packet.len() <= 1472));
        let all: usize = packets.iter().map(|packet| packet.len() + 28).sum();
        assert_eq!(all, table.wire_bytes(28));
    }
}
