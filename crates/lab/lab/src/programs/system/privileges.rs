//! Checks, before anything is created, that the machine allows what the laboratory needs.

use crate::programs::error::{LabError, Refusal};
use std::{fs, path::Path};

/// linux/capability.h: networks and their namespaces; mounting their names.
const NEEDED: [(u32, &str); 2] = [(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN")];
/// The device of virtual Ethernet cables.
pub const TUN: &str = "/dev/net/tun";

/// Refuses when a right or the device is missing, and says which.
///
/// # Errors
/// [`Refusal::Permission`] with all that is missing.
pub fn check() -> Result<(), LabError> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut missing: Vec<&str> = lacking(&status);
    if !Path::new(TUN).exists() {
        missing.push(TUN);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let advice = if missing.contains(&TUN) && missing.len() == 1 {
        "Load the kernel module tun, or pass the device into this container"
    } else {
        "Run it as root (sudo), in a container with --privileged"
    };
    let text = format!(
        "laboratory ({}): missing here, and hosts are network namespaces with TAP devices. {advice}",
        missing.join(", ")
    );
    Err(LabError::new(Refusal::Permission, "lab.rights", text))
}

/// The capabilities that a process with this `/proc/self/status` does not have.
fn lacking(status: &str) -> Vec<&'static str> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    NEEDED.iter().filter(|(bit, _)| effective >> bit & 1 == 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(lacking("Name:\tx\nCapEff:\t000001ffffffffff\n"), Vec::<&str>::new());
        assert_eq!(lacking("CapEff:\t0000000000001000\n"), ["CAP_SYS_ADMIN"]);
        assert_eq!(lacking(""), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]);
    }
}
