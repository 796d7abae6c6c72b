//! Does another program of this machine use the port for another group?

use std::net::SocketAddr;

use super::finding::Finding;

/// `used`: groups and ports that programs of this machine are bound to.
pub(crate) fn judge(group: SocketAddr, used: &[SocketAddr]) -> Option<Finding> {
    let is_other = |one: &&SocketAddr| one.port() == group.port() && one.ip() != group.ip();
    let mut others: Vec<String> = used.iter().filter(is_other).map(SocketAddr::to_string).collect();
    others.sort();
    others.dedup();
    (!others.is_empty()).then(|| {
        Finding::warn(
            "port.shared",
            format!("programs here use the port for other groups, too: {}", others.join(", ")),
            "give each group a port of its own: programs that listen at the port alone hear all of them",
        )
    })
}

/// Addresses of groups in a table of `/proc/net/udp` or `udp6`.
pub(crate) fn groups_in(table: &str) -> Vec<SocketAddr> {
    let local = |line: &str| local_address(line.split_whitespace().nth(1)?);
    table.lines().skip(1).filter_map(local).filter(|local| local.ip().is_multicast()).collect()
}

/// `012AFFEF:1773`: words of 32 bits in the order of this machine, and the port.
fn local_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let four = <[u8; 4]>::try_from(&*bytes).map(Into::into);
    let ip = four.or_else(|_| <[u8; 16]>::try_from(&*bytes).map(Into::into)).ok()?;
    Some(SocketAddr::new(ip, port))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st\n\
         1: 012AFFEF:1773 00000000:0000 07\n 2: 022AFFEF:1773 00000000:0000 07\n\
         3: 00000000:1773 00000000:0000 07\n 4: 032AFFEF:1774 00000000:0000 07\n rubbish\n";
    const TABLE_6: &str = "  sl  local_address\n 1: 000015FF000000000000000042000000:1773 0:0 07\n";

    #[test]
    fn another_group_at_the_port_is_told_and_the_own_one_or_another_port_is_not() {
        let used = groups_in(TABLE);
        assert_eq!(used.len(), 3);
        let judged = |group: &str| judge(group.parse().unwrap(), &used).map(|finding| finding.seen);
        let own = judged("239.255.42.1:6003").unwrap();
        assert!(own.ends_with("too: 239.255.42.2:6003"), "{own}");
        assert!(
            judged("239.255.42.9:6003").unwrap().contains("239.255.42.1:6003, 239.255.42.2:6003")
        );
        assert_eq!(judged("239.255.42.3:6004"), None);
        assert_eq!(judged("239.255.42.1:7000"), None);
    }

    #[test]
    fn groups_of_ipv6_are_read_and_what_is_no_table_is_none() {
        assert_eq!(groups_in(TABLE_6), ["[ff15::42]:6003".parse().unwrap()]);
        for text in ["", "x", "head\n1: 12:34", "head\n1: zzzzzzzz:1773", "head\n1: 012AFFEF"] {
            assert!(groups_in(text).is_empty(), "{text}");
        }
    }
}
