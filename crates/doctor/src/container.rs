//! Are we in a container whose network ends at the host?

use std::net::IpAddr;

use super::finding::Finding;

/// CAP_NET_ADMIN, linux/capability.h.
const NET_ADMIN: u32 = 12;

/// What tells a container.
#[derive(Debug, Clone)]
pub(crate) struct ContainerFacts {
    /// Docker or Podman left its mark in the file system.
    pub(crate) marked: bool,
    /// `/proc/self/status`.
    pub(crate) status: Option<String>,
    pub(crate) interface: String,
    pub(crate) address: Option<IpAddr>,
    /// The interface is one end of a pair whose other end is in another namespace.
    pub(crate) veth: bool,
    /// Interfaces besides loopback.
    pub(crate) others: usize,
}

pub(crate) fn judge(facts: &ContainerFacts) -> Finding {
    let admin = facts.status.as_deref().and_then(may_admin);
    let rights = match admin {
        Some(false) => ", without NET_ADMIN: network settings are changed on the host",
        _ => "",
    };
    if facts.veth && in_docker_range(facts.address) {
        return Finding::warn(
            "container.bridge",
            format!(
                "{} looks like Docker's default bridge{rights}; as far as is known it carries \
                 multicast between containers of this host only",
                facts.interface
            ),
            "docker run --network host …",
        );
    }
    if facts.marked && facts.others == 0 {
        return Finding::warn(
            "container.no_network",
            format!("a container with nothing but lo{rights}"),
            "docker run --network host …",
        );
    }
    match (facts.marked, facts.veth) {
        (true, _) => Finding::ok("container.ok", format!("in a container{rights}")),
        (false, true) => Finding::ok(
            "container.veth",
            format!(
                "{} is one end of a virtual cable: what lies behind it decides{rights}",
                facts.interface
            ),
        ),
        (false, false) => Finding::ok("container.none", "not in a container"),
    }
}

/// 172.17.0.0/16 is the default bridge; the networks after it are Docker's too, by default.
fn in_docker_range(address: Option<IpAddr>) -> bool {
    matches!(address, Some(IpAddr::V4(v4)) if v4.octets()[..2] == [172, 17])
}

fn may_admin(status: &str) -> Option<bool> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let bits = u64::from_str_radix(line.trim(), 16).ok()?;
    Some(bits >> NET_ADMIN & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(address: &str, marked: bool, veth: bool) -> ContainerFacts {
        ContainerFacts {
            marked,
            status: Some("Name:\tx\nCapEff:\t00000000a80425fb\n".to_owned()),
            interface: "eth0".to_owned(),
            address: Some(address.parse().unwrap()),
            veth,
            others: 1,
        }
    }

    #[test]
    fn dockers_default_bridge_is_recognised_and_the_way_out_given() {
        let finding = judge(&facts("172.17.0.2", true, true));
        assert_eq!(finding.code, "container.bridge");
        assert!(finding.seen.contains("without NET_ADMIN"));
        assert_eq!(finding.advice.unwrap(), "docker run --network host …");
        assert_eq!(judge(&facts("172.17.0.2", false, false)).code, "container.none");
    }

    #[test]
    fn other_containers_and_virtual_cables_are_named() {
        assert_eq!(judge(&facts("10.0.0.2", true, false)).code, "container.ok");
        assert_eq!(judge(&facts("10.0.0.2", false, true)).code, "container.veth");
        let lonely = ContainerFacts { others: 0, ..facts("127.0.0.1", true, false) };
        assert_eq!(judge(&lonely).code, "container.no_network");
    }

    #[test]
    fn the_right_to_change_the_network_is_bit_12() {
        assert_eq!(may_admin("CapEff:\t0000000000001000\n"), Some(true));
        assert_eq!(may_admin("CapEff:\t0000000000000fff\n"), Some(false));
        assert_eq!(may_admin("nothing"), None);
    }
}
