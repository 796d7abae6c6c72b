//! What NRL's `norp` says beside NORM: who asks for which connection, and how that ended. In UDP,
//! big-endian:
//!
//! ```text
//! type (1) | mark (1) | session (2) | NORM node (4)                                  END, ACK_END
//! ... | NORM source port (2) | NORM destination port (2) | seconds (4) | microseconds (4) | content
//! ```
//! A request's content is the client's SOCKS5 request, a reply's that of SOCKS5. norp's mark is 0, and it
//! reads none. Ours is 1: the other end knows by it that directions end by themselves here.

/// Longest content: a request of SOCKS5 with a name.
pub const CONTENT_MAX: usize = 262;
/// Of END and ACK_END only so much is sent.
const SHORT: usize = 8;
/// Header of all others.
const LONG: usize = 20;
/// Of messages of ours.
const MARK: u8 = 1;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Asks for a connection.
    Request = 1,
    /// The request was heard.
    RequestAck = 2,
    /// How it ended.
    Reply = 3,
    /// The reply was heard.
    ReplyAck = 4,
    /// The one who asked ends the session.
    OriginatorEnd = 5,
    /// The other one does.
    CorrespondentEnd = 6,
    /// The end was heard.
    EndAck = 7,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Request,
            2 => Self::RequestAck,
            3 => Self::Reply,
            4 => Self::ReplyAck,
            5 => Self::OriginatorEnd,
            6 => Self::CorrespondentEnd,
            7 => Self::EndAck,
            _ => return None,
        })
    }

    const fn is_short(self) -> bool {
        matches!(self, Self::OriginatorEnd | Self::CorrespondentEnd | Self::EndAck)
    }

    const fn has_content(self) -> bool {
        matches!(self, Self::Request | Self::Reply)
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// It is of ours, not of NRL's norp.
    pub ours: bool,
    /// Which session of the one who asked.
    pub session: u16,
    /// NORM node of the sender; of an ACK_END none, or the one that has ended.
    pub node: u32,
    /// The port that the sender's NORM comes from, and the one that it listens at.
    pub ports: (u16, u16),
    /// When it was sent, microseconds; in acknowledgements what is acknowledged.
    pub stamp: u64,
    /// Of requests and replies.
    pub content: Vec<u8>,
}

impl Message {
    /// An end, or the acknowledgement of one.
    #[must_use]
    pub const fn short(kind: Kind, session: u16, node: u32) -> Self {
        Self { kind, ours: true, session, node, ports: (0, 0), stamp: 0, content: Vec::new() }
    }

    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind as u8, if self.ours { MARK } else { 0 }];
        bytes.extend_from_slice(&self.session.to_be_bytes());
        bytes.extend_from_slice(&self.node.to_be_bytes());
        if self.kind.is_short() {
            return bytes;
        }
        bytes.extend_from_slice(&self.ports.0.to_be_bytes());
        bytes.extend_from_slice(&self.ports.1.to_be_bytes());
        // The seconds wrap with 32 bits.
        bytes.extend_from_slice(&((self.stamp / 1_000_000) as u32).to_be_bytes());
        bytes.extend_from_slice(&((self.stamp % 1_000_000) as u32).to_be_bytes());
        bytes.extend_from_slice(&self.content);
        bytes
    }

    /// What came; nothing when it is none, or too short or too long for its type.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<SHORT>()?;
        let (kind, ours) = (Kind::of(head[0])?, head[1] == MARK);
        let session = u16::from_be_bytes([head[2], head[3]]);
        let node = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
        if kind.is_short() {
            let short = Self { ours, ..Self::short(kind, session, node) };
            return (bytes.len() <= LONG).then_some(short);
        }
        let (more, content) = rest.split_first_chunk::<{ LONG - SHORT }>()?;
        let port = |at: usize| u16::from_be_bytes([more[at], more[at + 1]]);
        let word = |at: usize| {
            u64::from(u32::from_be_bytes([more[at], more[at + 1], more[at + 2], more[at + 3]]))
        };
        let fits = if kind.has_content() {
            (1..=CONTENT_MAX).contains(&content.len())
        } else {
            content.is_empty()
        };
        fits.then(|| Self {
            kind,
            ours,
            session,
            node,
            ports: (port(0), port(2)),
            stamp: word(4) * 1_000_000 + word(8),
            content: content.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        let at = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(at).collect()
    }

    fn long(kind: Kind, content: &str) -> Message {
        let (ports, stamp) = ((40_000, 7002), 1_700_000_000_250_000);
        let (session, content) = (0x0102, hex(content));
        Message { kind, ours: false, session, node: 0x0a00_0001, ports, stamp, content }
    }

    fn short(kind: Kind, node: u32) -> Message {
        Message { ours: false, ..Message::short(kind, 0x0102, node) }
    }

    #[test]
    fn the_seven_messages_have_the_bytes_of_norp() {
        let head = "00 0102 0a000001";
        let middle = "9c40 1b5a 6553f100 0003d090";
        let request = "05 01 00 01 0a5a0001 0050";
        let reply = "05 00 00 01 0a580002 c350";
        for (message, bytes) in [
            (long(Kind::Request, request), format!("01 {head} {middle} {request}")),
            (long(Kind::RequestAck, ""), format!("02 {head} {middle}")),
            (long(Kind::Reply, reply), format!("03 {head} {middle} {reply}")),
            (long(Kind::ReplyAck, ""), format!("04 {head} {middle}")),
            (short(Kind::OriginatorEnd, 0x0a00_0001), format!("05 {head}")),
            (short(Kind::CorrespondentEnd, 0x0a00_0001), format!("06 {head}")),
            (short(Kind::EndAck, 0), "07 00 0102 00000000".to_owned()),
        ] {
            assert_eq!(message.to_bytes(), hex(&bytes), "{:?}", message.kind);
            assert_eq!(Message::parse(&hex(&bytes)), Some(message));
        }
    }

    #[test]
    fn only_ours_have_a_mark_and_norp_reads_the_rest_as_it_is() {
        let norps = long(Kind::RequestAck, "");
        let ours = Message { ours: true, ..norps.clone() };
        let (mut one, other) = (ours.to_bytes(), norps.to_bytes());
        assert_eq!(Message::parse(&one), Some(ours));
        one[1] = 0;
        assert_eq!(one, other);
    }

    #[test]
    fn a_message_of_a_length_that_its_type_does_not_have_is_none() {
        let request = long(Kind::Request, "05").to_bytes();
        for cut in 0..request.len() {
            assert_eq!(Message::parse(&request[..cut]), None, "{cut}");
        }
        let mut endless = request;
        endless.resize(20 + CONTENT_MAX + 1, 0);
        assert_eq!(Message::parse(&endless), None);
        assert_eq!(Message::parse(&long(Kind::RequestAck, "05").to_bytes()), None);
        assert_eq!(Message::parse(&hex("05 00 0102 0a0000")), None);
        assert_eq!(Message::parse(&hex("08 00 0102 0a000001")), None);
        assert_eq!(Message::parse(&hex("00 00 0102 0a000001")), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_dropped(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(message) = Message::parse(&bytes) {
                prop_assert!(message.content.len() <= CONTENT_MAX);
                prop_assert_eq!(Message::parse(&message.to_bytes()).unwrap().kind, message.kind);
            }
        }
    }
}
