//! Does the routing table send the group where we send it?

use std::net::IpAddr;

use super::finding::Finding;

/// What was seen of the routes.
#[derive(Debug, Clone)]
pub(crate) struct RouteFacts {
    pub(crate) group: IpAddr,
    /// The interface in use; `None` when several would do and no route decides.
    pub(crate) chosen: Option<String>,
    /// Interfaces that can carry the group, loopback left out.
    pub(crate) usable: Vec<String>,
    /// Where the routing table sends the group.
    pub(crate) routed: Option<String>,
}

pub(crate) fn judge(facts: &RouteFacts) -> Finding {
    let RouteFacts { group, chosen, usable, routed } = facts;
    let Some(chosen) = chosen else {
        let first = usable.first().map_or("NAME", String::as_str);
        return Finding::bad(
            "route.ambiguous",
            format!("no route to {group} says which of {} to use", usable.join(", ")),
            format!("{}; or --interface {first} each time", command(*group, first)),
        );
    };
    match routed {
        Some(routed) if routed == chosen => {
            Finding::ok("route.ok", format!("{group} leaves by {chosen}"))
        }
        _ if chosen == "lo" => {
            Finding::ok("route.loopback", format!("{group} stays on lo, as asked"))
        }
        Some(routed) => Finding::warn(
            "route.elsewhere",
            format!(
                "the route to {group} leads to {routed}; Fanfare sends by {chosen}, \
                 other programs will not"
            ),
            command(*group, chosen),
        ),
        None => Finding::ok(
            "route.none",
            format!(
                "no route to {group}; Fanfare needs none with {chosen}, other programs may \
                 ({})",
                command(*group, chosen)
            ),
        ),
    }
}

/// The command that sends this group and its neighbours to an interface.
fn command(group: IpAddr, interface: &str) -> String {
    match group {
        IpAddr::V4(v4) if v4.octets()[0] == 239 => {
            format!("ip route replace 239.0.0.0/8 dev {interface}")
        }
        IpAddr::V4(_) => format!("ip route replace 224.0.0.0/4 dev {interface}"),
        // Linux keeps a multicast route for each interface in its local table; the first wins.
        IpAddr::V6(_) => {
            format!("ip -6 route replace multicast ff00::/8 dev {interface} table local metric 1")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(chosen: Option<&str>, routed: Option<&str>) -> RouteFacts {
        RouteFacts {
            group: "239.1.2.3".parse().unwrap(),
            chosen: chosen.map(str::to_owned),
            usable: vec!["eth0".into(), "eth1".into()],
            routed: routed.map(str::to_owned),
        }
    }

    #[test]
    fn several_interfaces_without_a_route_are_bad_and_the_command_is_given() {
        assert_eq!(
            judge(&facts(None, None)).to_string(),
            "bad   route       no route to 239.1.2.3 says which of eth0, eth1 to use; \
             do: ip route replace 239.0.0.0/8 dev eth0; or --interface eth0 each time"
        );
    }

    #[test]
    fn a_route_to_the_interface_in_use_is_fine() {
        let finding = judge(&facts(Some("eth0"), Some("eth0")));
        assert_eq!(finding.to_string(), "ok    route       239.1.2.3 leaves by eth0");
    }

    #[test]
    fn a_route_to_another_interface_misleads_other_programs() {
        let finding = judge(&facts(Some("eth1"), Some("eth0")));
        assert_eq!(finding.code, "route.elsewhere");
        assert_eq!(finding.advice.unwrap(), "ip route replace 239.0.0.0/8 dev eth1");
    }

    #[test]
    fn no_route_is_no_harm_when_the_interface_is_known() {
        assert_eq!(judge(&facts(Some("eth0"), None)).code, "route.none");
        assert_eq!(judge(&facts(Some("lo"), Some("eth0"))).code, "route.loopback");
    }

    #[test]
    fn the_command_covers_the_group_asked_for() {
        let other = RouteFacts { group: "224.5.6.7".parse().unwrap(), ..facts(None, None) };
        assert!(judge(&other).advice.unwrap().starts_with("ip route replace 224.0.0.0/4 dev eth0"));
        let six = RouteFacts { group: "ff15::1".parse().unwrap(), ..facts(None, None) };
        assert!(judge(&six).advice.unwrap().starts_with("ip -6 route replace multicast ff00::/8"));
    }
}
