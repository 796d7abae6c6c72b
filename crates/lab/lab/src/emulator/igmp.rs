//! What hosts tell their routers about groups: IGMP versions 1 to 3 (RFC 1112, 2236, 3376), as far
//! as a network needs it that forwards groups only where they are wanted.

use crate::emulator::packet::{header_length, word};
use std::net::Ipv4Addr;

const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE_V2: u8 = 0x17;
const REPORT_V3: u8 = 0x22;
/// Bytes before the first record of version 3, and of a record before its sources.
const RECORDS_AT: usize = 8;
const RECORD: usize = 8;
/// Record types (RFC 3376 4.2.12).
const MODE_IS_INCLUDE: u8 = 1;
const MODE_IS_EXCLUDE: u8 = 2;
const TO_INCLUDE: u8 = 3;
const TO_EXCLUDE: u8 = 4;
const ALLOW: u8 = 5;
const BLOCK: u8 = 6;

/// Groups that a host joins (`true`) or leaves by an IP packet.
pub(crate) fn memberships(packet: &[u8]) -> Vec<(Ipv4Addr, bool)> {
    let Some(message) = packet.get(header_length(packet)..) else { return Vec::new() };
    let group = |at: usize| {
        let bytes: [u8; 4] = message.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(bytes)).filter(Ipv4Addr::is_multicast)
    };
    match message.first() {
        Some(&(REPORT_V1 | REPORT_V2)) => group(4).map(|group| (group, true)).into_iter().collect(),
        Some(&LEAVE_V2) => group(4).map(|group| (group, false)).into_iter().collect(),
        Some(&REPORT_V3) if message.len() >= RECORDS_AT => records(message),
        _ => Vec::new(),
    }
}

fn records(message: &[u8]) -> Vec<(Ipv4Addr, bool)> {
    let mut told = Vec::new();
    let mut rest = &message[RECORDS_AT..];
    for _ in 0..word(message, 6) {
        let Some((record, behind)) = rest.split_at_checked(RECORD) else { break };
        let sources = usize::from(word(record, 2));
        let group = Ipv4Addr::new(record[4], record[5], record[6], record[7]);
        let joined = match record[0] {
            MODE_IS_EXCLUDE | TO_EXCLUDE => Some(true),
            MODE_IS_INCLUDE | ALLOW => (sources > 0).then_some(true),
            TO_INCLUDE => Some(sources > 0),
            // Of the one source that it wanted, as ours are.
            BLOCK => Some(false),
            _ => None,
        };
        told.extend(joined.filter(|_| group.is_multicast()).map(|joined| (group, joined)));
        let skipped = 4 * (sources + usize::from(record[1]));
        let Some(next) = behind.get(skipped..) else { break };
        rest = next;
    }
    told
}

/// Whether a group's packets go everywhere: routers do not prune the link's own (RFC 4541 2.1.2).
pub(crate) fn is_flooded(group: Ipv4Addr) -> bool {
    !group.is_multicast() || group.octets()[..3] == [224, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: [u8; 4] = [239, 255, 42, 9];

    /// An IP header with the router alert that IGMP has, and a message behind it.
    fn packet(message: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 24];
        packet[0] = 0x46;
        packet.extend(message);
        packet
    }
    fn v3(records: &[(u8, &[[u8; 4]])]) -> Vec<u8> {
        let mut message = vec![REPORT_V3, 0, 0, 0, 0, 0, 0, records.len() as u8];
        for (kind, sources) in records {
            message.extend([*kind, 0, 0, sources.len() as u8]);
            message.extend(GROUP);
            sources.iter().for_each(|source| message.extend(source));
        }
        packet(&message)
    }
    fn told(packet: &[u8]) -> Vec<bool> {
        let all = memberships(packet);
        assert!(all.iter().all(|(group, _)| group.octets() == GROUP));
        all.into_iter().map(|(_, joined)| joined).collect()
    }

    #[test]
    fn all_versions_join_and_leave() {
        let short = |kind| packet(&[&[kind, 0, 0, 0][..], &GROUP].concat());
        assert_eq!(told(&short(REPORT_V2)), [true]);
        assert_eq!(told(&short(LEAVE_V2)), [false]);
        let source = [[10, 77, 0, 1]];
        assert_eq!(told(&v3(&[(TO_EXCLUDE, &[]), (TO_INCLUDE, &[])])), [true, false]);
        assert_eq!(told(&v3(&[(ALLOW, &source), (BLOCK, &source)])), [true, false]);
        assert_eq!(told(&v3(&[(MODE_IS_INCLUDE, &[])])), [] as [bool; 0]);
    }

    #[test]
    fn what_is_cut_short_says_what_it_says_so_far() {
        let whole = v3(&[(TO_EXCLUDE, &[[10, 77, 0, 1]]), (TO_INCLUDE, &[])]);
        for cut in 0..whole.len() {
            assert!(memberships(&whole[..cut.max(1)]).len() <= 1);
        }
        assert_eq!(memberships(&whole).len(), 2);
    }

    #[test]
    fn the_links_own_groups_go_everywhere() {
        assert!(is_flooded(Ipv4Addr::new(224, 0, 0, 22)) && is_flooded(Ipv4Addr::BROADCAST));
        assert!(!is_flooded(Ipv4Addr::from(GROUP)));
    }
}
