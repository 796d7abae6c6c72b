//! UFTP: `uftpd` and `uftp` from their package.

use super::{Launch, Peer, SEGMENT, Sign, Task, build};
use crate::{
    error::LabError,
    host::{Host, INTERFACE},
};
use std::{path::Path, process::Command, time::Duration};

const PUBLIC: &str = "239.255.42.2";
const PRIVATE: &str = "239.255.42.3";
/// With less it announces itself so often that receivers miss it.
const GRTT_MIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
struct Uftp {
    version: String,
}

pub(super) fn prepare() -> Result<Box<dyn Peer>, LabError> {
    build::present("uftp", "uftp")?;
    build::present("uftpd", "uftp")?;
    let version = build::package_version("uftp");
    let version = build::with_settings(&version, &[include_str!("uftp.rs")]);
    Ok(Box::new(Uftp { version }))
}

impl Peer for Uftp {
    fn version(&self) -> &str {
        &self.version
    }
    fn receive(&self, host: &Host, _: usize, task: &Task, directory: &Path) -> Launch {
        let mut command = host.command("uftpd");
        // In the foreground; whole files only; without asking for the sender's name, which takes
        // seconds where there is no DNS; results among the lines of its log.
        command.args(["-d", "-t", "-q", "-I", INTERFACE, "-M", PUBLIC, "-F", "@LOG", "-D"]);
        command.arg(directory);
        let file = directory.join(task.source.file_name().unwrap_or_default());
        Launch { command, ready: Sign::Line("RSA key"), done: Sign::Line("done file close"), file }
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = host.command("uftp");
        // Its kilobit has 1024 bits, and its limiter counts IP packets.
        let rate = (task.capacity / 1024).max(1).to_string();
        // Who is expected is known by address: it need not wait for others.
        let ids: Vec<String> =
            task.receivers.iter().map(|address| format!("0x{:08X}", address.to_bits())).collect();
        let grtt = task.expected_round_trip().max(GRTT_MIN).as_secs_f64();
        command.args(["-I", INTERFACE, "-M", PUBLIC, "-P", PRIVATE, "-R", &rate]);
        command.args(["-b", &SEGMENT.to_string(), "-r", &format!("{grtt:.3}")]);
        command.args(["-H", &ids.join(",")]).arg(&task.source);
        command
    }
}
