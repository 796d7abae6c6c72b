//! Does the kernel count us as a member of the group?

use std::net::IpAddr;

use super::finding::Finding;

/// What was seen after joining.
#[derive(Debug, Clone)]
pub(crate) struct MembershipFacts {
    pub(crate) group: IpAddr,
    pub(crate) interface: String,
    /// `/proc/net/igmp`, or `/proc/net/igmp6`; `None` when unreadable.
    pub(crate) table: Option<String>,
}

pub(crate) fn judge(facts: &MembershipFacts) -> Finding {
    let MembershipFacts { group, interface, table } = facts;
    let protocol = if group.is_ipv4() { "IGMP" } else { "MLD" };
    let Some(table) = table else {
        return Finding::skip(
            "membership.unseen",
            "this system does not show memberships in /proc/net",
        );
    };
    let member = match group {
        IpAddr::V4(v4) => has_v4(table, interface, u32::from_ne_bytes(v4.octets())),
        IpAddr::V6(v6) => has_v6(table, interface, &hex(&v6.octets())),
    };
    if !member {
        return Finding::bad(
            "membership.missing",
            format!("{interface} did not become a member of {group} though the join succeeded"),
            format!("ip maddress show dev {interface}; sysctl net.ipv4.igmp_max_memberships"),
        );
    }
    let version = version(table, interface).filter(|_| group.is_ipv4());
    match version {
        Some(old @ ("V1" | "V2")) => Finding::ok(
            "membership.ok",
            format!(
                "{interface} is a member of {group}; a querier of IGMP{} was heard, so there is \
                 no source-specific multicast",
                old.to_lowercase()
            ),
        ),
        version => {
            let version = version.map(str::to_lowercase).unwrap_or_default();
            Finding::ok(
                "membership.ok",
                format!("{interface} is a member of {group}, which {protocol}{version} reports"),
            )
        }
    }
}

/// Below a line for the interface, lines with the group as the hexadecimal of its number in memory.
fn has_v4(table: &str, interface: &str, group: u32) -> bool {
    let wanted = format!("{group:08X}");
    let mut here = false;
    for line in table.lines().skip(1) {
        if !line.starts_with(char::is_whitespace) {
            here = line.split_whitespace().nth(1) == Some(interface);
        } else if here && line.split_whitespace().next() == Some(&wanted) {
            return true;
        }
    }
    false
}

fn has_v6(table: &str, interface: &str, group: &str) -> bool {
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some(interface) && words.next() == Some(group)
    })
}

/// The IGMP version that the interface speaks, by the queriers heard.
fn version<'a>(table: &'a str, interface: &str) -> Option<&'a str> {
    let line = table.lines().find(|line| line.split_whitespace().nth(1) == Some(interface))?;
    line.split_whitespace().last()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
        1\tlo        :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n\
        2\teth0      :     2      V2\n\t\t\t\t012AFFEF     1 0:00000000\t\t0\n\
        \t\t\t\t010000E0     1 0:00000000\t\t0\n";

    fn facts(group: &str, interface: &str, table: Option<&str>) -> MembershipFacts {
        MembershipFacts {
            group: group.parse().unwrap(),
            interface: interface.to_owned(),
            table: table.map(str::to_owned),
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn a_membership_is_found_on_its_own_interface_only() {
        let finding = judge(&facts("239.255.42.1", "eth0", Some(TABLE)));
        assert_eq!(finding.code, "membership.ok");
        assert!(finding.seen.contains("IGMPv2"), "{}", finding.seen);
        let missing = judge(&facts("239.255.42.1", "lo", Some(TABLE)));
        assert_eq!(missing.code, "membership.missing");
        assert_eq!(judge(&facts("239.255.42.9", "eth0", Some(TABLE))).code, "membership.missing");
    }

    #[test]
    fn ipv6_memberships_are_read_too() {
        let table = "4    eth0            ff150000000000000000000000000001     1 00000004 0\n";
        assert_eq!(judge(&facts("ff15::1", "eth0", Some(table))).code, "membership.ok");
        assert_eq!(judge(&facts("ff15::2", "eth0", Some(table))).code, "membership.missing");
    }

    #[test]
    fn a_system_that_shows_nothing_is_not_accused() {
        assert_eq!(judge(&facts("239.255.42.1", "eth0", None)).code, "membership.unseen");
    }
}
