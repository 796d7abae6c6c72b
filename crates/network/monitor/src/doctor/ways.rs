//! By which ways can files get from here to others: the group, unicast, a relay, a code?

use std::net::IpAddr;

use fanfare_udp::is_private_host;

use super::finding::Finding;
use super::peer::PeerReport;

/// What is known after everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WayFacts {
    /// A check was bad.
    pub(crate) is_bad: bool,
    /// Other doctors that were heard by the group, and by unicast alone.
    pub(crate) by_group: usize,
    pub(crate) by_unicast: usize,
    /// This machine's address on the interface.
    pub(crate) address: Option<IpAddr>,
    /// What drops datagrams to single hosts, in words.
    pub(crate) dropped: Option<String>,
    /// The relay's program is installed.
    pub(crate) has_relay: bool,
}

impl WayFacts {
    /// How many others were heard, and how.
    pub(crate) fn of_peers(peers: &[PeerReport]) -> (usize, usize) {
        let by_group = peers.iter().filter(|peer| peer.heard > 0).count();
        (by_group, peers.len() - by_group)
    }
}

/// A finding for each way.
pub(crate) fn judge(facts: &WayFacts) -> Vec<Finding> {
    vec![group(facts), unicast(facts), code(facts), relay(facts)]
}

fn hears(facts: &WayFacts) -> bool {
    facts.by_group > 0 || !facts.is_bad && facts.by_unicast == 0
}

fn group(facts: &WayFacts) -> Finding {
    match (facts.by_group, hears(facts)) {
        (0, true) => Finding::ok(
            "group.alone",
            "the group can be used from here, though no other machine has proved it",
        ),
        (0, false) => Finding::warn(
            "group.none",
            "the group cannot be used from here, for the reasons above",
            "fanfare send --to HOSTS, which needs no multicast",
        ),
        (1, _) => Finding::ok("group.ok", "the group can be used: another machine was heard by it"),
        (n, _) => {
            Finding::ok("group.ok", format!("the group can be used: {n} others were heard by it"))
        }
    }
}

fn unicast(facts: &WayFacts) -> Finding {
    match facts.address {
        _ if facts.dropped.is_some() => Finding::warn(
            "unicast.dropped",
            facts.dropped.clone().unwrap_or_default(),
            "let it out in that chain: udp dport 6003 accept",
        ),
        None => Finding::warn(
            "unicast.no_address",
            "it is not known whether single hosts can be sent to: no interface with an address of the \
             group's family was found",
            "name one with --interface, or give it an address: ip address add 10.0.0.2/24 dev NAME",
        ),
        Some(address) if is_private_host(address) => Finding::ok(
            "unicast.ok",
            format!("single hosts can be sent to (send --to HOST), and can send to {address}"),
        ),
        Some(address) => Finding::warn(
            "unicast.public",
            format!(
                "{address} is a public address: receivers take unicast from such a one when they know it"
            ),
            "start receivers with --source ADDRESS, or seal with --key on both sides, or use send --code",
        ),
    }
}

fn code(facts: &WayFacts) -> Finding {
    match (hears(facts), facts.address) {
        (true, _) => Finding::ok("code.ok", "a code finds this machine by multicast (send --code)"),
        (false, Some(address)) => Finding::ok(
            "code.at",
            format!("a code finds this machine by its address: fanfare recv CODE --at {address}"),
        ),
        (false, None) => Finding::warn(
            "code.none",
            "a code does not find this machine: it has no multicast and no address",
            "give the interface an address: ip address add 10.0.0.2/24 dev NAME",
        ),
    }
}

fn relay(facts: &WayFacts) -> Finding {
    match (facts.has_relay, hears(facts)) {
        (false, _) => Finding::ok(
            "relay.not_installed",
            "no relay can run here: this program was built without it",
        ),
        (true, true) => {
            Finding::ok("relay.ok", "a relay can run here, and serve this group (fanfare relay)")
        }
        (true, false) => Finding::warn(
            "relay.no_group",
            "a relay here would reach nobody by the group",
            "run fanfare relay on a machine that multicast reaches",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(facts: &WayFacts) -> Vec<&'static str> {
        judge(facts).iter().map(|finding| finding.code).collect()
    }
    fn facts() -> WayFacts {
        let address = Some(IpAddr::from([10, 0, 0, 2]));
        WayFacts {
            is_bad: false,
            by_group: 2,
            by_unicast: 0,
            address,
            dropped: None,
            has_relay: true,
        }
    }

    #[test]
    fn where_multicast_works_all_ways_are_open() {
        assert_eq!(codes(&facts()), ["group.ok", "unicast.ok", "code.ok", "relay.ok"]);
        let alone = WayFacts { by_group: 0, has_relay: false, ..facts() };
        let all = ["group.alone", "unicast.ok", "code.ok", "relay.not_installed"];
        assert_eq!(codes(&alone), all);
    }

    #[test]
    fn where_it_does_not_unicast_and_codes_by_address_are_left() {
        let deaf = WayFacts { by_group: 0, by_unicast: 1, ..facts() };
        assert_eq!(codes(&deaf), ["group.none", "unicast.ok", "code.at", "relay.no_group"]);
        let nothing = WayFacts { is_bad: true, by_group: 0, address: None, ..facts() };
        let all = ["group.none", "unicast.no_address", "code.none", "relay.no_group"];
        assert_eq!(codes(&nothing), all);
    }

    #[test]
    fn a_public_address_is_not_heard_by_unicast() {
        let dropped = WayFacts { dropped: Some("the chain x drops it".to_owned()), ..facts() };
        assert_eq!(judge(&dropped)[1].code, "unicast.dropped");
        let public = WayFacts { address: Some(IpAddr::from([8, 8, 8, 8])), ..facts() };
        assert_eq!(codes(&public)[1], "unicast.public");
    }
}
