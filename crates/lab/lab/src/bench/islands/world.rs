//! Islands behind a router: `wan` leads there, `isl0` is an island's own network.

use std::fs;

use crate::{
    error::{LabError, Refusal},
    process::{Ending, Process},
    system::{namespace::Namespace, tool},
};

/// The islands. The first one has the sender.
pub(super) const ISLANDS: [&str; 3] = ["1", "2", "3"];
/// Another machine in island 2, whose relay stands by.
pub(super) const SECOND: usize = 3;
const SECOND_OF: usize = 1;
/// Of what goes over a long link so much is lost, percent.
pub(super) const LOSS: u32 = 1;
/// Each datagram that passes the router is lost by itself.
const FILTER: &str = "add table inet fanfare; \
    add chain inet fanfare f { type filter hook forward priority 0; }; \
    add rule inet fanfare f meta l4proto udp numgen random mod 100 <";

/// Machines that have a road of their own, and the router between.
#[derive(Debug)]
pub(super) struct World {
    machines: Vec<Namespace>,
    // After the machines, whose cables end in it.
    _router: Namespace,
}

/// The address that a machine has on its long link.
pub(super) fn address(machine: usize) -> String {
    format!("10.78.{}.2", machine + 1)
}

impl World {
    /// With a second machine in island 2, or without.
    pub(super) fn up(second: bool) -> Result<Self, LabError> {
        let stem = Namespace::stem();
        let router = Namespace::add(&stem, "r")?;
        router.batch("link set lo up\n")?;
        let forward = || fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        let failed = |error| LabError::system("islands (forwarding)", &error);
        router.enter(forward)?.map_err(failed)?;
        let mut machines = Vec::new();
        for number in 0..ISLANDS.len() + usize::from(second) {
            let machine = Namespace::add(&stem, &format!("m{number}"))?;
            connect(&router, &machine, number)?;
            if number < ISLANDS.len() {
                machine.batch("link add isl0 type veth peer name isl1\n")?;
            } else {
                let end = format!("link set isl1 netns {} name isl0\n", machine.name());
                let there: &Namespace = &machines[SECOND_OF];
                there.batch(&end)?;
            }
            machines.push(machine);
        }
        for (number, machine) in machines.iter().enumerate() {
            let island = if number == SECOND { SECOND_OF } else { number };
            let other_end = second && island == SECOND_OF;
            let own = 1 + usize::from(number == SECOND);
            let mut lines =
                format!("addr add 10.79.{}.{own}/24 dev isl0\nlink set isl0 up\n", island + 1);
            lines.push_str(if other_end { "" } else { "link set isl1 up\n" });
            machine.batch(&lines)?;
        }
        let mut filter = router.command("nft");
        filter.arg(format!("{FILTER} {LOSS} drop"));
        finish(filter, "nft")?;
        Ok(Self { machines, _router: router })
    }

    pub(super) fn machine(&self, number: usize) -> &Namespace {
        &self.machines[number]
    }

    /// Bytes that came over a machine's long link, and what was lost on it before.
    pub(super) fn carried(&self, number: usize) -> Result<f64, LabError> {
        let words = ["-n", self.machines[number].name(), "-s", "-j", "link", "show", "wan"];
        let told: serde_json::Value =
            serde_json::from_str(&tool::ip(&words, "")?).unwrap_or_default();
        let bytes = told[0]["stats64"]["rx"]["bytes"].as_f64();
        let text = "ip -s -j (no counter): install iproute2 5 or newer";
        let missing = || LabError::new(Refusal::System, "lab.counters", text);
        Ok(bytes.ok_or_else(missing)? / (1.0 - f64::from(LOSS) / 100.0))
    }
}

/// A road from a machine to the router. Nobody joins datagrams on the way: each is lost by itself.
fn connect(router: &Namespace, machine: &Namespace, number: usize) -> Result<(), LabError> {
    let (island, inside) = (number + 1, machine.name());
    router.batch(&format!(
        "link add p{island} type veth peer name wan netns {inside}\n\
         link set p{island} gso_max_segs 1\n\
         addr add 10.78.{island}.1/24 dev p{island}\nlink set p{island} up\n"
    ))?;
    machine.batch(&format!(
        "link set lo up\nlink set wan gso_max_segs 1\n\
         addr add 10.78.{island}.2/24 dev wan\nlink set wan up\n\
         route add default via 10.78.{island}.1\n"
    ))?;
    Ok(())
}

/// Runs a program to its end.
fn finish(command: std::process::Command, name: &str) -> Result<(), LabError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => tool::missing(name, name),
        _ => LabError::system(name, &error),
    };
    let null = std::process::Stdio::null;
    let mut process = Process::start(command, null(), null()).map_err(failed)?;
    loop {
        if let Some(end) = process.end() {
            crate::wait::for_any(&[end], std::time::Duration::from_secs(10));
        }
        match process.try_end().map_err(failed)? {
            None => {}
            Some(Ending::Code(0)) => return Ok(()),
            Some(ending) => {
                let text = format!("{name} ({ending:?}): it failed. Run it by hand");
                return Err(LabError::new(Refusal::System, "lab.filter", text));
            }
        }
    }
}
