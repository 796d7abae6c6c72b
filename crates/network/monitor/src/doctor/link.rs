//! Is the link one that carries multicast well: Ethernet, Wi-Fi, a tunnel?

use super::finding::Finding;

/// What was seen of the interface.
#[derive(Debug, Clone)]
pub(crate) struct LinkFacts {
    pub(crate) interface: String,
    pub(crate) loopback: bool,
    /// It is a radio.
    pub(crate) wireless: bool,
    /// What the kernel calls it, such as `wlan`, `wireguard` or `vlan`.
    pub(crate) kind: Option<String>,
    /// It has frames with Ethernet's addresses.
    pub(crate) is_ethernet: bool,
}

pub(crate) fn judge(facts: &LinkFacts) -> Finding {
    let LinkFacts { interface, loopback, wireless, kind, is_ethernet } = facts;
    if *loopback {
        return Finding::ok("link.loopback", format!("{interface} is inside this machine"));
    }
    if *wireless || kind.as_deref() == Some("wlan") {
        return Finding::warn(
            "link.wifi",
            format!(
                "{interface} is Wi-Fi: access points send multicast at their lowest rate and never \
                 repeat it, and some send none from one client to another"
            ),
            "use a cable; or raise the multicast rate of the access point, and switch its client \
             isolation off",
        );
    }
    if !is_ethernet || kind.as_deref() == Some("wireguard") {
        return Finding::warn(
            "link.vpn",
            format!("{interface} is a tunnel (VPN): most tunnels carry no multicast"),
            "name another interface (--interface), or send to one receiver: fanfare send --unicast \
             --group ADDRESS:6003",
        );
    }
    let what = match kind.as_deref() {
        Some(kind @ ("vlan" | "bond" | "bridge")) => format!("a {kind}"),
        _ => "Ethernet".to_owned(),
    };
    Finding::ok("link.ok", format!("{interface} is {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(wireless: bool, kind: Option<&str>, is_ethernet: bool) -> &'static str {
        let (interface, kind) = ("eth0".to_owned(), kind.map(str::to_owned));
        judge(&LinkFacts { interface, loopback: false, wireless, kind, is_ethernet }).code
    }

    #[test]
    fn radios_and_tunnels_are_warned_of() {
        assert_eq!(code(false, None, true), "link.ok");
        assert_eq!(code(false, Some("vlan"), true), "link.ok");
        assert_eq!(code(true, None, true), "link.wifi");
        assert_eq!(code(false, Some("wlan"), true), "link.wifi");
        assert_eq!(code(false, Some("wireguard"), false), "link.vpn");
        assert_eq!(code(false, None, false), "link.vpn");
    }
}
