//! Does this machine hear what it sends to the group?

use super::finding::Finding;

/// What came of our own probes.
#[derive(Debug, Clone)]
pub(crate) struct LoopFacts {
    pub(crate) interface: String,
    pub(crate) heard: u32,
    pub(crate) sent: u32,
    /// What the system said when it refused to send.
    pub(crate) refused: Option<String>,
}

pub(crate) fn judge(facts: &LoopFacts) -> Finding {
    let LoopFacts { interface, heard, sent, refused } = facts;
    if let Some(why) = refused {
        return Finding::bad(
            "loop.refused",
            format!("the system refuses to send to the group by {interface}: {why}"),
            format!("ip -brief address show dev {interface}; look for rules that drop output"),
        );
    }
    match (heard, sent) {
        (0, _) => Finding::bad(
            "loop.silent",
            format!("none of {sent} probes sent by {interface} came back to this machine"),
            "look at the firewall above: nft list ruleset; iptables -S INPUT",
        ),
        (heard, sent) if heard < sent => Finding::warn(
            "loop.loss",
            format!("only {heard} of {sent} own probes came back to this machine"),
            "see what keeps the machine busy, and rules that limit rates",
        ),
        // The same probe twice: the group is joined on an interface that hears itself.
        (heard, sent) if heard > sent => Finding::warn(
            "loop.double",
            format!("{sent} own probes came back {heard} times: something returns them"),
            format!("look for a loop in the network of {interface} (spanning tree, bonded ports)"),
        ),
        _ => Finding::ok(
            "loop.ok",
            format!("{heard} of {sent} own probes came back to this machine"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(heard: u32, sent: u32) -> LoopFacts {
        LoopFacts { interface: "eth0".to_owned(), heard, sent, refused: None }
    }

    #[test]
    fn own_probes_come_back_once_each() {
        assert_eq!(
            judge(&facts(25, 25)).to_string(),
            "ok    loop        25 of 25 own probes came back to this machine"
        );
        assert_eq!(judge(&facts(24, 25)).code, "loop.loss");
        assert_eq!(judge(&facts(50, 25)).code, "loop.double");
    }

    #[test]
    fn none_or_a_refusal_is_bad() {
        assert_eq!(judge(&facts(0, 25)).code, "loop.silent");
        let refused = LoopFacts { refused: Some("Network is unreachable".into()), ..facts(0, 0) };
        assert_eq!(judge(&refused).code, "loop.refused");
        assert!(judge(&refused).seen.ends_with("Network is unreachable"));
    }
}
