//! Does the kernel throw away datagrams because of where their senders are?
//!
//! With `rp_filter` = 1 it takes a datagram only by the interface by which it would answer its
//! sender (RFC 3704, strict), multicast included.

use super::finding::Finding;

/// What was seen of the filter.
#[derive(Debug, Clone)]
pub(crate) struct ReversePathFacts {
    pub(crate) interface: String,
    /// The larger of the values for all and for this interface, which is what counts.
    pub(crate) filter: Option<u32>,
    /// `/proc/net/route`.
    pub(crate) routes: Option<String>,
    /// `IPReversePathFilter` of `/proc/net/netstat` before and after the exchange of probes.
    pub(crate) dropped: Option<(u64, u64)>,
}

/// A row of the routing table.
struct Route<'a> {
    interface: &'a str,
    destination: &'a str,
    mask: &'a str,
}

pub(crate) fn judge(facts: &ReversePathFacts) -> Finding {
    let ReversePathFacts { interface, filter, routes, dropped } = facts;
    let advice =
        format!("sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.{interface}.rp_filter=2");
    let Some(filter) = filter else {
        return Finding::skip(
            "rp_filter.unseen",
            "this system does not show its reverse-path filter",
        );
    };
    if let Some((before, after)) = dropped.filter(|(before, after)| after > before) {
        return Finding::warn(
            "rp_filter.drops",
            format!(
                "the reverse-path filter dropped {} datagrams during the test: they came in where \
                 the kernel would not answer their senders",
                after - before
            ),
            advice,
        );
    }
    let rows: Vec<Route<'_>> = routes.as_deref().map(read_routes).unwrap_or_default();
    if let (1, Some(other)) = (filter, shared_network(&rows, interface)) {
        return Finding::warn(
            "rp_filter.strict",
            format!(
                "rp_filter=1, and {interface} and {other} are in one network: what comes by the \
                 one is dropped when the route back leads by the other"
            ),
            advice,
        );
    }
    let text = match filter {
        1 => format!("rp_filter=1: senders are heard whose route leads back by {interface}"),
        2 => "rp_filter=2: any sender with a route is heard".to_owned(),
        _ => "rp_filter=0: any sender is heard".to_owned(),
    };
    Finding::ok("rp_filter.ok", text)
}

fn read_routes(table: &str) -> Vec<Route<'_>> {
    table.lines().skip(1).filter_map(read_route).collect()
}

fn read_route(line: &str) -> Option<Route<'_>> {
    let mut words = line.split_whitespace();
    let (interface, destination) = (words.next()?, words.next()?);
    Some(Route { interface, destination, mask: words.nth(5)? })
}

/// Another interface with a route to a network of this one.
fn shared_network<'a>(rows: &[Route<'a>], interface: &str) -> Option<&'a str> {
    let own = || rows.iter().filter(|row| row.interface == interface && row.mask != "00000000");
    let same = |row: &Route<'_>| {
        own().any(|mine| (mine.destination, mine.mask) == (row.destination, row.mask))
    };
    rows.iter().find(|row| row.interface != interface && same(row)).map(|row| row.interface)
}

/// A counter by name from a table of pairs of lines, such as `/proc/net/netstat` and
/// `/proc/net/snmp`: names behind `Group:`, values below them.
pub(crate) fn counter(table: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let at = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n";

    fn facts(filter: u32, routes: &str) -> ReversePathFacts {
        ReversePathFacts {
            interface: "eth0".to_owned(),
            filter: Some(filter),
            routes: Some(format!("{HEAD}{routes}")),
            dropped: Some((7, 7)),
        }
    }

    const TWO: &str = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n\
                       wlan0\t000200C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\n";

    #[test]
    fn a_strict_filter_with_two_interfaces_in_one_network_is_warned_of() {
        let finding = judge(&facts(1, TWO));
        assert_eq!(finding.code, "rp_filter.strict");
        assert!(finding.seen.contains("eth0 and wlan0 are in one network"));
        assert_eq!(
            finding.advice.unwrap(),
            "sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.eth0.rp_filter=2"
        );
        assert_eq!(judge(&facts(2, TWO)).code, "rp_filter.ok");
    }

    #[test]
    fn a_strict_filter_with_networks_of_their_own_is_fine() {
        let routes = TWO.replacen("wlan0\t000200C0", "wlan0\t000300C0", 1);
        assert_eq!(judge(&facts(1, &routes)).code, "rp_filter.ok");
    }

    #[test]
    fn datagrams_dropped_during_the_test_are_proof() {
        let finding = judge(&ReversePathFacts { dropped: Some((7, 9)), ..facts(1, "") });
        assert_eq!(finding.code, "rp_filter.drops");
        assert!(finding.seen.contains("dropped 2 datagrams"));
    }

    #[test]
    fn counters_are_found_by_group_and_name() {
        let table = "Tcp: A B\nTcp: 1 2\nUdp: In RcvbufErrors\nUdp: 3 4\n";
        assert_eq!(counter(table, "Udp", "RcvbufErrors"), Some(4));
        assert_eq!(counter(table, "Tcp", "B"), Some(2));
        assert_eq!(counter(table, "Ip", "B"), None);
        assert_eq!(counter(table, "Tcp", "C"), None);
    }
}
