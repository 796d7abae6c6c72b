//! What a lab has on this machine while it is up.

/// What a lab has on this machine while it is up.
pub(super) const FILES: &[(&str, &str)] = &[
    ("/run/fanfare-lab/", "sockets of the labs that are up"),
    ("/run/netns/ffl*", "their hosts: network namespaces"),
];
