//! Are we in a container whose network ends at the host?

use std::net::IpAddr;

use super::finding::Finding;

/// CAP_NET_ADMIN, linux/capability.h.
const NET_ADMIN: u32 = 12;
/// As systemd and the engines themselves write their names.
pub(crate) const DOCKER: &str = "docker";
pub(crate) const PODMAN: &str = "podman";

/// What tells a container.
#[derive(Debug, Clone)]
pub(crate) struct ContainerFacts {
    /// What runs the container, by the mark that it left in the file system.
    pub(crate) engine: Option<String>,
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
    let engine = facts.engine.as_deref();
    if engine == Some(DOCKER) && facts.veth && in_docker_range(facts.address) {
        return Finding::warn(
            "container.bridge",
            format!(
                "{} looks like Docker's default bridge{rights}; as far as is known it carries \
                 multicast between containers of this host only",
                facts.interface
            ),
            host_network(DOCKER),
        );
    }
    if let Some(engine) = engine
        && facts.others == 0
    {
        return Finding::warn(
            "container.no_network",
            format!("a container ({engine}) with nothing but lo{rights}"),
            host_network(engine),
        );
    }
    match (engine, facts.veth) {
        (Some(engine), _) => {
            Finding::ok("container.ok", format!("in a container ({engine}){rights}"))
        }
        (None, true) => Finding::ok(
            "container.veth",
            format!(
                "{} is one end of a virtual cable: what lies behind it decides{rights}",
                facts.interface
            ),
        ),
        (None, false) => Finding::ok("container.none", "not in a container"),
    }
}

/// How the container gets the network of its host.
fn host_network(engine: &str) -> String {
    match engine {
        DOCKER => "docker run --network host …".to_owned(),
        PODMAN => "podman run --network host …".to_owned(),
        other => format!("give the container ({other}) the network of its host"),
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

    fn facts(address: &str, engine: Option<&str>, veth: bool) -> ContainerFacts {
        ContainerFacts {
            engine: engine.map(str::to_owned),
            status: Some("Name:\tx\nCapEff:\t00000000a80425fb\n".to_owned()),
            interface: "eth0".to_owned(),
            address: Some(address.parse().unwrap()),
            veth,
            others: 1,
        }
    }

    #[test]
    fn dockers_default_bridge_is_recognised_and_the_way_out_given() {
        let finding = judge(&facts("172.17.0.2", Some(DOCKER), true));
        assert_eq!(finding.code, "container.bridge");
        assert!(finding.seen.contains("without NET_ADMIN"));
        assert_eq!(finding.advice.unwrap(), "docker run --network host …");
        assert_eq!(judge(&facts("172.17.0.2", None, false)).code, "container.none");
    }

    #[test]
    fn docker_is_not_named_where_it_is_not() {
        for (engine, veth, others) in
            [(None, true, 1), (None, true, 0), (Some("lxc"), true, 0), (Some(PODMAN), true, 0)]
        {
            let there = ContainerFacts { others, ..facts("172.17.0.2", engine, veth) };
            let line = judge(&there).to_string().to_lowercase();
            assert!(!line.contains("docker"), "{line}");
        }
    }

    #[test]
    fn other_containers_and_virtual_cables_are_named() {
        assert_eq!(judge(&facts("10.0.0.2", Some(DOCKER), false)).code, "container.ok");
        assert_eq!(judge(&facts("10.0.0.2", None, true)).code, "container.veth");
        let lonely = ContainerFacts { others: 0, ..facts("127.0.0.1", Some(DOCKER), false) };
        assert_eq!(judge(&lonely).code, "container.no_network");
    }

    #[test]
    fn the_right_to_change_the_network_is_bit_12() {
        assert_eq!(may_admin("CapEff:\t0000000000001000\n"), Some(true));
        assert_eq!(may_admin("CapEff:\t0000000000000fff\n"), Some(false));
        assert_eq!(may_admin("nothing"), None);
    }
}
