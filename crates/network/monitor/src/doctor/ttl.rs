//! How far do datagrams go?

use super::finding::Finding;

/// Explains the TTL of the probes.
pub(crate) fn judge(ttl: u8) -> Finding {
    match ttl {
        0 => Finding::warn(
            "ttl.zero",
            "TTL 0: nothing leaves this machine",
            "--ttl 1 for this network, --ttl 8 for networks behind multicast routers",
        ),
        1 => Finding::ok(
            "ttl.link",
            "TTL 1: reaches this network only; \
             others need --ttl 8 and routers that forward multicast (PIM)",
        ),
        n => Finding::ok(
            "ttl.routed",
            format!("TTL {n}: passes {} routers, where they forward multicast (PIM)", n - 1),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ttl_is_explained() {
        assert_eq!(judge(0).code, "ttl.zero");
        assert!(judge(1).seen.contains("this network only"));
        assert!(judge(8).seen.contains("passes 7 routers"));
    }
}
