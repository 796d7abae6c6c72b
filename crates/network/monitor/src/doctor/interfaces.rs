//! Is there an interface that carries the group, and do our packets fit?

use std::net::IpAddr;

use fanfare_udp::{Interface, OpenError};

use super::finding::Finding;

/// Bytes of a segment by default, and the most that the header of its message adds; the node allows
/// for as much when it opens.
const SEGMENT: u32 = 1400;
const MESSAGE_HEADERS: u32 = 40;
/// Smallest packet that every IPv6 link takes (RFC 8200 5); below it nothing can be advised.
const SMALLEST_MTU: u32 = 576;
const JUMBO_MTU: u32 = 9000;

/// Judges the choice of an interface for `group`, of a machine with these `ports`. `named`: the user
/// made it.
pub(crate) fn judge_choice(
    group: IpAddr,
    chosen: Result<&Interface, &OpenError>,
    (named, ports): (bool, &[Interface]),
) -> Finding {
    match chosen {
        // It was taken since there is nothing else: others are not reached.
        Ok(interface) if interface.loopback && !named => {
            match ports.iter().find_map(|port| lacks(group, port)) {
                Some(Finding { code, seen, advice, .. }) => {
                    let advice = advice.unwrap_or_default();
                    Finding::bad(code, format!("{seen}: only {} is left", interface.name), advice)
                }
                None => Finding::bad(
                    "interfaces.only_loopback",
                    format!("{interface} is all that there is: nothing leaves this machine"),
                    "ip -brief link; ip link set dev NAME up",
                ),
            }
        }
        Ok(interface) if interface.loopback => Finding::warn(
            "interfaces.loopback",
            format!("{interface} reaches only this machine"),
            "name the one to the others: fanfare doctor --interface NAME \
             (ip -brief address lists them)",
        ),
        Ok(interface) if !interface.multicast => Finding::warn(
            "interfaces.no_multicast",
            format!("{interface} has no MULTICAST flag: it is used all the same"),
            format!(
                "if others hear nothing: ip link set dev {} multicast on, or fanfare send --to HOSTS",
                interface.name
            ),
        ),
        Ok(interface) => Finding::ok(
            "interfaces.ok",
            format!("{interface}: up, multicast, MTU {}", interface.mtu),
        ),
        Err(error) => judge_error(group, error),
    }
}

fn judge_error(group: IpAddr, error: &OpenError) -> Finding {
    let names = |usable: &[Interface]| {
        usable.iter().map(Interface::to_string).collect::<Vec<_>>().join(", ")
    };
    match error {
        OpenError::Ambiguous { usable, .. } => Finding::ok(
            "interfaces.several",
            format!("{} carry multicast: {}", usable.len(), names(usable)),
        ),
        OpenError::InterfaceDown { interface, .. } => is_down(interface),
        OpenError::NoAddress { interface, .. } => has_no_address(group, interface),
        other => Finding::bad(
            "interfaces.none",
            other.to_string(),
            "ip -brief link; ip link set dev NAME up",
        ),
    }
}

fn is_down(interface: &str) -> Finding {
    Finding::bad(
        "interfaces.down",
        format!("{interface} is down or has no carrier"),
        format!("ip link set dev {interface} up; and look at its cable"),
    )
}

fn has_no_flag(interface: &str) -> Finding {
    Finding::bad(
        "interfaces.no_multicast",
        format!("{interface} has no MULTICAST flag"),
        format!("ip link set dev {interface} multicast on"),
    )
}

fn has_no_address(group: IpAddr, interface: &str) -> Finding {
    Finding::bad(
        "interfaces.no_address",
        format!("{interface} has no address of the family of {group}"),
        format!(
            "ip address add {} dev {interface}, with a free address of your network",
            if group.is_ipv4() { "192.168.7.2/24" } else { "fd00:7::2/64" }
        ),
    )
}

/// Another group of IPv6 would do for a port that has no address of IPv4.
fn has_ipv6_alone(group: IpAddr, port: &Interface) -> Option<Finding> {
    let finding = has_no_address(group, &port.name);
    let six = group.is_ipv4() && port.addresses.iter().any(IpAddr::is_ipv6);
    six.then(|| Finding {
        advice: Some(
            "use a group of IPv6 on all machines: --group [ff15::42:1]:6003 (it is the default where a \
             machine has IPv6 alone)"
                .to_owned(),
        ),
        ..finding
    })
}

/// What keeps a port from carrying the group.
fn lacks(group: IpAddr, port: &Interface) -> Option<Finding> {
    match (port.up, port.address_towards(group), port.multicast) {
        (false, ..) => Some(is_down(&port.name)),
        (true, None, _) => {
            has_ipv6_alone(group, port).or_else(|| Some(has_no_address(group, &port.name)))
        }
        (true, Some(_), false) => Some(has_no_flag(&port.name)),
        (true, Some(_), true) => None,
    }
}

/// Ports that could not be used, where another one is.
pub(crate) fn judge_others(
    group: IpAddr,
    chosen: &Interface,
    ports: &[Interface],
) -> Option<Finding> {
    let others = ports.iter().filter(|port| port.name != chosen.name);
    let lacking: Vec<Finding> = others.filter_map(|port| lacks(group, port)).collect();
    let advice = lacking.first()?.advice.clone().unwrap_or_default();
    let seen: Vec<String> = lacking.into_iter().map(|finding| finding.seen).collect();
    let seen = format!("{}: not used, {} is", seen.join(", "), chosen.name);
    Some(Finding::warn("others.unused", seen, format!("if the others are there: {advice}")))
}

/// Ports that carry the group as well as the one that the routing table has chosen: the others may be behind
/// one of them, as where a VPN has the default route.
pub(crate) fn judge_hidden(
    group: IpAddr,
    chosen: &Interface,
    ports: &[Interface],
) -> Option<Finding> {
    let usable = |port: &&Interface| !port.loopback && lacks(group, port).is_none();
    let others = ports.iter().filter(|port| port.name != chosen.name).filter(usable);
    let others: Vec<&Interface> = others.collect();
    let first = others.first()?;
    let names: Vec<String> = others.iter().map(|port| port.to_string()).collect();
    Some(Finding::warn(
        "others.hidden",
        format!(
            "{} can carry the group, too: {} is used, since the routing table leads there",
            names.join(", "),
            chosen.name
        ),
        format!(
            "if the other machines are there, name it here and in send and recv: --interface {}",
            first.name
        ),
    ))
}

/// Judges whether the default segment fits into the packets of the interface.
pub(crate) fn judge_mtu(group: IpAddr, interface: &Interface) -> Finding {
    let Interface { name, mtu, .. } = interface;
    let ip_and_udp = if group.is_ipv4() { 28 } else { 48 };
    let needed = SEGMENT + MESSAGE_HEADERS + ip_and_udp;
    if *mtu < SMALLEST_MTU {
        return Finding::bad(
            "mtu.tiny",
            format!("{name} takes packets of {mtu} bytes only"),
            format!("ip link set dev {name} mtu 1500"),
        );
    }
    if *mtu < needed {
        // Even, as codes over 16-bit symbols want it.
        let segment = (mtu - ip_and_udp - MESSAGE_HEADERS) & !1;
        return Finding::warn(
            "mtu.small",
            format!(
                "{name} takes packets of {mtu} bytes, a segment of {SEGMENT} with its headers \
                 needs up to {needed}"
            ),
            format!("fanfare send --segment {segment}, on every sender of the group"),
        );
    }
    let jumbo = if *mtu >= JUMBO_MTU && !interface.loopback {
        format!(
            "; if every machine and switch takes {JUMBO_MTU}, --segment {} saves work",
            (JUMBO_MTU - ip_and_udp - MESSAGE_HEADERS) & !1
        )
    } else {
        String::new()
    };
    Finding::ok("mtu.ok", format!("{name} takes {mtu} bytes, a full segment needs {needed}{jumbo}"))
}

#[cfg(test)]
pub(super) fn made_up(name: &str, address: &str) -> Interface {
    Interface {
        name: name.to_owned(),
        index: 2,
        addresses: vec![address.parse().unwrap()],
        up: true,
        multicast: true,
        loopback: name == "lo",
        mtu: 1500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(239, 1, 2, 3));

    fn line(finding: &Finding) -> String {
        finding.to_string()
    }

    #[test]
    fn a_usable_interface_is_named_with_its_addresses() {
        let eth0 = made_up("eth0", "10.0.0.2");
        assert_eq!(
            line(&judge_choice(GROUP, Ok(&eth0), (false, &[]))),
            "ok    interfaces  eth0 (10.0.0.2): up, multicast, MTU 1500"
        );
    }

    #[test]
    fn loopback_reaches_only_this_machine() {
        let finding = judge_choice(GROUP, Ok(&made_up("lo", "127.0.0.1")), (true, &[]));
        assert_eq!(finding.code, "interfaces.loopback");
        assert_eq!(finding.seen, "lo (127.0.0.1) reaches only this machine");
    }

    #[test]
    fn where_only_loopback_is_left_it_is_bad_and_says_what_is_wrong_with_the_others() {
        let lo = made_up("lo", "127.0.0.1");
        let judged = |port: Interface| judge_choice(GROUP, Ok(&lo), (false, &[port]));
        let eth0 = made_up("eth0", "10.0.0.2");
        assert_eq!(
            line(&judged(Interface { up: false, ..eth0.clone() })),
            "bad   interfaces  eth0 is down or has no carrier: only lo is left; \
             do: ip link set dev eth0 up; and look at its cable"
        );
        let without_flag = judged(Interface { multicast: false, ..eth0.clone() });
        assert_eq!(without_flag.code, "interfaces.no_multicast");
        let v6_only = judged(made_up("eth0", "fe80::1"));
        assert_eq!(v6_only.code, "interfaces.no_address");
        let nothing = judge_choice(GROUP, Ok(&lo), (false, &[]));
        assert_eq!(nothing.code, "interfaces.only_loopback");
    }

    #[test]
    fn a_port_that_is_not_used_is_told_where_another_one_is() {
        let (eth0, eth1) = (made_up("eth0", "10.0.0.2"), made_up("eth1", "10.1.0.2"));
        assert_eq!(judge_others(GROUP, &eth0, &[eth0.clone(), eth1.clone()]), None);
        let down = [eth0.clone(), Interface { up: false, ..eth1 }];
        let finding = judge_others(GROUP, &eth0, &down).unwrap();
        assert_eq!(finding.seen, "eth1 is down or has no carrier: not used, eth0 is");
    }

    #[test]
    fn a_second_card_that_the_route_hides_is_told_and_one_that_cannot_carry_the_group_is_not() {
        let (tun0, eth1) = (made_up("tun0", "10.8.0.2"), made_up("eth1", "192.168.7.2"));
        let lo = made_up("lo", "127.0.0.1");
        let finding =
            judge_hidden(GROUP, &tun0, &[lo.clone(), tun0.clone(), eth1.clone()]).unwrap();
        assert!(finding.seen.starts_with("eth1 (192.168.7.2) can carry the group"), "{finding}");
        assert!(finding.advice.unwrap().ends_with("--interface eth1"));
        let down = Interface { up: false, ..eth1.clone() };
        assert_eq!(judge_hidden(GROUP, &tun0, &[lo.clone(), tun0.clone(), down]), None);
        let six = made_up("eth1", "fd00::2");
        assert_eq!(judge_hidden(GROUP, &tun0, &[lo, tun0.clone(), six.clone()]), None);
        let alone = lacks(GROUP, &six).unwrap();
        assert!(alone.advice.unwrap().contains("--group [ff15::42:1]:6003"));
    }

    #[test]
    fn what_is_wrong_with_an_interface_comes_with_the_command_that_mends_it() {
        let (interface, usable) = (|| "eth1".to_owned(), Vec::new);
        for (error, expected) in [
            (
                OpenError::InterfaceDown { interface: interface(), usable: usable() },
                "bad   interfaces  eth1 is down or has no carrier; \
                 do: ip link set dev eth1 up; and look at its cable",
            ),
            (
                OpenError::NoAddress { interface: interface(), group: GROUP, usable: usable() },
                "bad   interfaces  eth1 has no address of the family of 239.1.2.3; \
                 do: ip address add 192.168.7.2/24 dev eth1, with a free address of your network",
            ),
        ] {
            assert_eq!(line(&judge_choice(GROUP, Err(&error), (true, &[]))), expected);
        }
        let none = judge_choice(GROUP, Err(&OpenError::NoInterface { group: GROUP }), (false, &[]));
        assert_eq!(none.code, "interfaces.none");
    }

    #[test]
    fn a_default_segment_fits_ethernet_over_either_family() {
        let eth0 = made_up("eth0", "10.0.0.2");
        assert_eq!(judge_mtu(GROUP, &eth0).code, "mtu.ok");
        assert_eq!(judge_mtu("ff15::1".parse().unwrap(), &eth0).code, "mtu.ok");
    }

    #[test]
    fn a_segment_that_does_not_fit_is_warned_of_with_one_that_does() {
        let mtu = |mtu| judge_mtu(GROUP, &Interface { mtu, ..made_up("wg0", "10.0.0.2") });
        assert_eq!(
            line(&mtu(1420)),
            "warn  mtu         wg0 takes packets of 1420 bytes, a segment of 1400 with its headers \
             needs up to 1468; do: fanfare send --segment 1352, on every sender of the group"
        );
        assert_eq!(mtu(1468).code, "mtu.ok");
        assert_eq!(mtu(1467).code, "mtu.small");
        assert_eq!(mtu(300).code, "mtu.tiny");
        assert!(mtu(9000).seen.ends_with("--segment 8932 saves work"), "{}", mtu(9000).seen);
    }
}
