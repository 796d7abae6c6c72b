//! Checks that `tshark`, whose NORM dissector is independent, understands Fanfare's messages.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tool::{self, ToolError};

/// How often each kind of message was seen, and what the dissector complained about.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// Dissector's name of the message to count.
    pub kinds: BTreeMap<String, usize>,
    /// One line per packet that is malformed, not NORM, or has a warning or error.
    pub complaints: Vec<String>,
}

/// The dissector reads EXT_FTI in an older layout than RFC 5510's, in which the segment size was an
/// instance id: it says this about every NORM_INFO of NRL's own sender (`interop decode --nrl`).
const KNOWN_WRONG: &str = "FEC Encoding ID < 128, should be zero";

/// A receiver's status, and its count of messages. RFC 5740 4.3.2 leaves acknowledgements of types
/// 16 to 255 to applications, so the dissector has no name for them.
const APPLICATION_ACKS: [&str; 2] = ["Unknown Ack Type (0x0010)", "Unknown Ack Type (0x0011)"];

/// Kinds of message that a lossy transfer with acks must show. Not CMD(FLUSH): where receivers tell
/// that they are complete before it is due, none is sent.
pub const EXPECTED: &[&str] = &["INFO", "DATA", "CMD CC", "NACK", "ACK"];

impl Decoded {
    /// The expected kinds that never occurred.
    pub fn absent(&self) -> Vec<&'static str> {
        let seen = |kind: &str| self.kinds.keys().any(|name| name.starts_with(kind));
        EXPECTED.iter().copied().filter(|kind| !seen(kind)).collect()
    }
}

/// Decodes a capture in which all UDP is NORM: what is ours beside it is a REPORT there.
///
/// # Errors
/// When `tshark` is missing or can't read the file.
pub fn decode(capture: &Path) -> Result<Decoded, ToolError> {
    tool::require("tshark")?;
    let path = capture.display().to_string();
    let fields = ["frame.number", "_ws.col.Protocol", "_ws.col.Info", "_ws.malformed"];
    let mut arguments = vec!["-r", &path, "-d", "udp.port==1024-65535,norm", "-T", "fields"];
    for field in fields.iter().chain(&["_ws.expert.severity", "_ws.expert.message"]) {
        arguments.extend(["-e", field]);
    }
    let mut decoded = Decoded::default();
    for line in tool::output("tshark", &arguments)?.lines() {
        decoded.take(line);
    }
    Ok(decoded)
}

impl Decoded {
    fn take(&mut self, line: &str) {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (number, protocol, info) = (next(), next(), next());
        let (malformed, severity, message) = (next(), next(), next());
        *self.kinds.entry(info.trim().to_owned()).or_default() += 1;
        let warned = grave(severity) && message != KNOWN_WRONG;
        let unnamed =
            info.contains("Unknown") && !APPLICATION_ACKS.iter().any(|ours| info.contains(ours));
        if protocol != "NORM" || !malformed.is_empty() || unnamed || warned {
            self.complaints.push(format!("packet {number} ({protocol} {info}): {message}"));
        }
    }
}

/// Wireshark's severities: chat 0x200000, note 0x400000, warning 0x600000, error 0x800000.
fn grave(severities: &str) -> bool {
    severities.split(',').filter_map(|s| s.trim().parse::<u32>().ok()).any(|s| s >= 0x60_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_packet_is_a_complaint_and_a_good_one_is_not() {
        let mut decoded = Decoded::default();
        decoded.take("1\tNORM\tDATA\t\t\t");
        decoded.take("2\tNORM\tDATA\tMalformed\t8388608\tException");
        decoded.take("3\tUDP\t6003\t\t\t");
        assert_eq!(decoded.complaints.len(), 2);
        assert_eq!(decoded.kinds["DATA"], 2);
    }

    #[test]
    fn the_dissectors_known_mistake_is_no_complaint_unless_there_is_more() {
        let mut decoded = Decoded::default();
        decoded.take(&format!("1\tNORM\tINFO\t\t6291456\t{KNOWN_WRONG}"));
        assert!(decoded.complaints.is_empty());
        decoded.take(&format!("2\tNORM\tINFO\t\t6291456,8388608\t{KNOWN_WRONG},Short"));
        assert_eq!(decoded.complaints.len(), 1);
    }

    #[test]
    fn an_application_ack_needs_no_name_but_another_unknown_kind_does() {
        let mut decoded = Decoded::default();
        decoded.take("1\tNORM\tACK Unknown Ack Type (0x0010)\t\t\t");
        assert!(decoded.complaints.is_empty());
        decoded.take("2\tNORM\tUnknown\t\t\t");
        assert_eq!(decoded.complaints.len(), 1);
    }

    #[test]
    fn kinds_that_never_came_are_named() {
        let mut decoded = Decoded::default();
        decoded.take("1\tNORM\tACK ACK FLUSH\t\t\t");
        assert!(!decoded.absent().contains(&"ACK"));
        assert!(decoded.absent().contains(&"NACK"));
    }
}
