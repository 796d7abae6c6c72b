//! Do our packets leave the machine? That they come back to it says nothing of that: the kernel copies
//! them before the driver has them.

use super::finding::Finding;

/// What the interface's driver counts.
#[derive(Debug, Clone)]
pub(crate) struct WireFacts {
    pub(crate) interface: String,
    pub(crate) loopback: bool,
    /// Probes that were to go.
    pub(crate) probes: u32,
    /// Packets that had left before and after.
    pub(crate) sent: Option<(u64, u64)>,
}

pub(crate) fn judge(facts: &WireFacts) -> Finding {
    let WireFacts { interface, loopback, probes, sent } = facts;
    if *loopback {
        return Finding::ok("wire.loopback", "nothing has to leave this machine");
    }
    let Some((before, after)) = sent else {
        return Finding::skip("wire.unseen", "this system does not count what leaves");
    };
    let left = after.saturating_sub(*before);
    if left < u64::from(*probes) {
        return Finding::bad(
            "wire.none",
            format!("of {probes} probes only {left} packets left by {interface}"),
            format!("ip -statistics link show dev {interface}; look at its cable and its driver"),
        );
    }
    Finding::ok(
        "wire.ok",
        format!("{left} packets left by {interface}, {probes} probes among them"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(probes: u32, sent: Option<(u64, u64)>) -> &'static str {
        judge(&WireFacts { interface: "eth0".to_owned(), loopback: false, probes, sent }).code
    }

    #[test]
    fn probes_that_the_driver_has_not_sent_are_bad() {
        assert_eq!(code(25, Some((100, 125))), "wire.ok");
        assert_eq!(code(25, Some((100, 900))), "wire.ok");
        assert_eq!(code(25, Some((100, 124))), "wire.none");
        assert_eq!(code(25, Some((100, 100))), "wire.none");
        assert_eq!(code(25, None), "wire.unseen");
    }
}
