//! What tests and interop runs need from the system, by Debian package name.

use crate::step::{self, Outcome};

/// (program or file that shows it is there, package).
const NEEDED: [(&str, &str); 6] = [
    ("/usr/include/normApi.h", "libnorm-dev"),
    ("g++", "g++"),
    ("ip", "iproute2"),
    ("nft", "nftables"),
    ("ethtool", "ethtool"),
    ("tshark", "tshark"),
];

/// What hosts on this machine need: `ip` and `tc`.
const FOR_NAMESPACES: [(&str, &str); 1] = [("ip", "iproute2")];

/// The same, with what drops on some roads.
const FOR_ROADS: [(&str, &str); 2] = [FOR_NAMESPACES[0], ("nft", "nftables")];

/// The same for the tests of the command; what is compared in the laboratory is left out there when it is
/// missing.
const FOR_TESTS: [(&str, &str); 16] = [
    ("cmake", "cmake"),
    ("curl", "curl"),
    ("ffmpeg", "ffmpeg"),
    ("iperf3", "iperf3"),
    ("microsocks", "microsocks"),
    ("nats-server", "nats-server"),
    ("nc", "netcat-openbsd"),
    ("nmap", "nmap"),
    ("openssl", "openssl"),
    ("python3", "python3"),
    ("/usr/lib/python3/dist-packages/socks.py", "python3-socks"),
    ("rsync", "rsync"),
    ("scp", "openssh-client"),
    ("sshd", "openssh-server"),
    ("wget", "wget"),
    ("/usr/include/zmq.h", "libzmq3-dev"),
];

fn present(what: &str) -> bool {
    if what.starts_with('/') {
        return std::path::Path::new(what).exists();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/sbin"])
        .any(|dir| std::path::Path::new(dir).join(what).exists())
}

fn missing(needed: &[(&str, &'static str)]) -> Vec<&'static str> {
    needed.iter().filter(|(what, _)| !present(what)).map(|(_, package)| *package).collect()
}

fn is_root() -> bool {
    step::output("id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}

/// Installs what is missing where that is possible: Debian, as root.
pub(crate) fn install() -> Outcome {
    let missing = missing(&[&NEEDED[..], &FOR_TESTS].concat());
    if missing.is_empty() {
        return Outcome::Passed;
    }
    if !is_root() || !present("apt-get") {
        return Outcome::Skipped(format!("tests and interop need: {}", missing.join(" ")));
    }
    let update = step::run("apt-get", &["update", "-qq"], &[]);
    if !matches!(update, Outcome::Passed) {
        return update;
    }
    let mut args = vec!["install", "-y", "-qq", "--no-install-recommends"];
    args.extend(missing);
    step::run("apt-get", &args, &[("DEBIAN_FRONTEND", "noninteractive")])
}

/// Why the interop runs cannot be had here, if so.
pub(crate) fn interop_impossible() -> Option<String> {
    let missing = missing(&NEEDED);
    if !missing.is_empty() {
        return Some(format!("missing packages: {}", missing.join(" ")));
    }
    namespaces_impossible()
}

/// Why no hosts can be made here, if so.
pub(crate) fn namespaces_impossible() -> Option<String> {
    hosts_impossible(&FOR_NAMESPACES)
}

/// Why no roads can be made here, if so.
pub(crate) fn roads_impossible() -> Option<String> {
    hosts_impossible(&FOR_ROADS)
}

fn hosts_impossible(needed: &[(&str, &'static str)]) -> Option<String> {
    let missing = missing(needed);
    if !missing.is_empty() {
        return Some(format!("missing packages: {}", missing.join(" ")));
    }
    (!is_root()).then(|| "network namespaces need root".to_owned())
}
