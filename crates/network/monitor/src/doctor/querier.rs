//! Will switches go on sending us the group?
//!
//! A switch with IGMP or MLD snooping sends a group only where members reported themselves, and
//! forgets them after 2 x 125 s + 10 s (RFC 3376 8.4) unless a querier asks them to report again.
//! Without one a transfer starts well and stalls after 260 s.

use std::net::IpAddr;
use std::time::Duration;

use super::finding::Finding;

/// Queries are 125 s apart by default (RFC 3376 8.2).
const QUERY_INTERVAL: Duration = Duration::from_secs(125);

/// What was seen.
#[derive(Debug, Clone)]
pub(crate) struct QuerierFacts {
    pub(crate) loopback: bool,
    /// The bridge that the interface is, or is a port of.
    pub(crate) bridge: Option<Bridge>,
    pub(crate) listened: Listened,
}

/// A Linux bridge's settings under `/sys/class/net/NAME/bridge`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bridge {
    pub(crate) name: String,
    pub(crate) snooping: bool,
    pub(crate) querier: bool,
}

/// What came of listening for queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listened {
    /// Not allowed, or not for this family.
    Impossible(Not),
    /// No query in this time.
    Silence(Duration),
    /// Queries came from there.
    Querier(IpAddr),
}

/// Why there was no listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Not {
    /// A raw socket needs root.
    Allowed,
    /// Only IGMP is listened for.
    Ipv4,
    /// This system keeps queries to itself.
    Here,
}

pub(crate) fn judge(facts: &QuerierFacts) -> Finding {
    if facts.loopback {
        return Finding::ok("querier.loopback", "no switch is between programs on one machine");
    }
    if let Listened::Querier(address) = &facts.listened {
        let who =
            if address.is_unspecified() { "a switch".to_owned() } else { address.to_string() };
        return Finding::ok(
            "querier.ok",
            format!("{who} asks for members, so snooping keeps them"),
        );
    }
    match &facts.bridge {
        Some(Bridge { name, snooping: true, querier: true }) => Finding::ok(
            "querier.ok",
            format!("the bridge {name} snoops and asks for members itself"),
        ),
        Some(Bridge { name, snooping: true, querier: false }) => Finding::warn(
            "querier.bridge",
            format!(
                "the bridge {name} snoops and no querier was heard: Linux then floods the group, \
                 but snooping switches behind it forget members after 260 s and the transfer stalls"
            ),
            format!("ip link set dev {name} type bridge mcast_querier 1"),
        ),
        _ => judge_silence(facts),
    }
}

fn judge_silence(facts: &QuerierFacts) -> Finding {
    const SIGN: &str = "a snooping switch without a querier lets a transfer stall after 260 s";
    match &facts.listened {
        Listened::Silence(time) if *time > QUERY_INTERVAL => Finding::warn(
            "querier.silent",
            format!("no query came in {} s: {SIGN}", time.as_secs()),
            "switch on the IGMP querier of the switch or router, or switch its snooping off",
        ),
        Listened::Silence(time) => Finding::ok(
            "querier.unknown",
            format!(
                "no query came in {} s, they are 125 s apart ({SIGN}; \
                 to be sure: fanfare doctor --peer-wait 130s)",
                time.as_secs()
            ),
        ),
        Listened::Impossible(Not::Ipv4) => {
            Finding::skip("querier.unseen", format!("MLD queries are not listened for ({SIGN})"))
        }
        Listened::Impossible(Not::Here) => {
            let text = format!("this system keeps IGMP queries from programs ({SIGN})");
            Finding::skip("querier.unseen", text)
        }
        _ => Finding::skip(
            "querier.unseen",
            format!(
                "not looked at: root alone hears queries (sudo fanfare doctor --peer-wait 130s; {SIGN})"
            ),
        ),
    }
}

/// Whether an IPv4 packet from a raw socket is an IGMP query (type 0x11), and its source.
pub(crate) fn query_source(packet: &[u8]) -> Option<IpAddr> {
    const PROTOCOL_IGMP: u8 = 2;
    const QUERY: u8 = 0x11;
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let is_query = *packet.get(9)? == PROTOCOL_IGMP && *packet.get(header)? == QUERY;
    let source: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
    is_query.then(|| IpAddr::from(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(bridge: Option<(bool, bool)>, listened: Listened) -> QuerierFacts {
        let bridge =
            bridge.map(|(snooping, querier)| Bridge { name: "br0".to_owned(), snooping, querier });
        QuerierFacts { loopback: false, bridge, listened }
    }

    const SHORT: Listened = Listened::Silence(Duration::from_secs(5));

    #[test]
    fn a_snooping_bridge_without_querier_is_warned_of_with_the_command() {
        let finding = judge(&facts(Some((true, false)), SHORT));
        assert_eq!(finding.code, "querier.bridge");
        assert!(finding.seen.contains("after 260 s"));
        assert_eq!(finding.advice.unwrap(), "ip link set dev br0 type bridge mcast_querier 1");
    }

    #[test]
    fn a_querier_of_its_own_or_of_another_is_fine() {
        assert_eq!(judge(&facts(Some((true, true)), SHORT)).code, "querier.ok");
        let heard = Listened::Querier("10.0.0.254".parse().unwrap());
        assert_eq!(
            judge(&facts(Some((true, false)), heard)).to_string(),
            "ok    querier     10.0.0.254 asks for members, so snooping keeps them"
        );
    }

    #[test]
    fn silence_proves_something_only_when_it_lasts() {
        assert_eq!(judge(&facts(None, SHORT)).code, "querier.unknown");
        let long = Listened::Silence(Duration::from_secs(130));
        assert_eq!(judge(&facts(None, long)).code, "querier.silent");
        assert_eq!(judge(&facts(Some((false, false)), SHORT)).code, "querier.unknown");
    }

    #[test]
    fn without_root_it_says_what_to_look_for() {
        let finding = judge(&facts(None, Listened::Impossible(Not::Allowed)));
        assert_eq!(finding.code, "querier.unseen");
        assert!(finding.seen.contains("root alone") && finding.seen.contains("260 s"));
    }

    #[test]
    fn queries_are_told_from_reports_and_from_rubbish() {
        let mut packet = [0_u8; 32];
        packet[0] = 0x46;
        packet[9] = 2;
        packet[12..16].copy_from_slice(&[10, 0, 0, 254]);
        packet[24] = 0x11;
        assert_eq!(query_source(&packet), Some("10.0.0.254".parse().unwrap()));
        packet[24] = 0x22;
        assert_eq!(query_source(&packet), None);
        for length in 0..24 {
            assert_eq!(query_source(&packet[..length]), None);
        }
    }
}
