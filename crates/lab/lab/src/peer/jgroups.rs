//! JGroups: a program of ours over org.jgroups from Maven Central, with the stack of the paper.

use super::{Launch, Peer, SEGMENT, Task, Tools, build};
use crate::{error::LabError, host::Host};
use std::{path::Path, process::Command, time::Duration};

const SOURCE: &str = include_str!("../../peers/JGroupsPeer.java");
const VERSION: &str = "5.5.7.Final";
const URL: &str =
    "https://repo1.maven.org/maven2/org/jgroups/jgroups/5.5.7.Final/jgroups-5.5.7.Final.jar";
/// BLAKE3 of that file.
const HASH: &str = "02dfc46e4d40085052aac974b5503c2b74ccfd3a8df48ae751b756cb27739c89";
/// Percent of the capacity that its limiter is told. It counts content, of which 90 % are 97 % of the
/// line; repairs, which it does not count, go to each receiver on a path of its own and wait in the
/// queue. Measured at 1024 kbit/s and 70 to 100 %, from 60 to 90: the paper's 75 takes as long with
/// loss and a fifth longer without.
const SHARE: u64 = 90;
/// How often it asks again for what it lacks, in full packets' times: with 44, what the queue holds,
/// it is slower by a tenth; with 16 twice as much is sent twice.
const REPAIR_PACKETS: u64 = 28;
/// Shortest such interval: a processor's wait for its turn is no loss.
const REPAIR_MIN: Duration = Duration::from_millis(50);
/// The first member listens so long for others before it makes a group.
const FIRST_JOIN: Duration = Duration::from_secs(2);
/// The others ask so long for the group before they make one of their own, which nobody would join:
/// with 30 % loss, and the machine busy with starting them.
const LATER_JOIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct JGroups {
    class_path: String,
    version: String,
}

pub(super) fn prepare(tools: &Tools) -> Result<Box<dyn Peer>, LabError> {
    build::output("java", "default-jre-headless", &["-version"])?;
    let jar = tools.fetched(&format!("jgroups-{VERSION}.jar"), URL, HASH)?;
    let classes = tools.classes("JGroupsPeer.java", SOURCE, &jar)?;
    let class_path = format!("{}:{}", classes.display(), jar.display());
    let version = build::with_settings(VERSION, &[SOURCE, include_str!("jgroups.rs")]);
    Ok(Box::new(JGroups { class_path, version }))
}

impl JGroups {
    fn command(&self, host: &Host, verb: &str, task: &Task, join: Duration) -> Command {
        let mut command = host.command("java");
        // Two cores are shared by all hosts: compiler and collector threads would fight for them.
        command.args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]);
        command.args(["-Djava.net.preferIPv4Stack=true", "-cp", &self.class_path, "JGroupsPeer"]);
        command.arg(verb).args(["--address", &host.address().to_string()]);
        command.args(["--chunk", &SEGMENT.to_string()]);
        command.args(["--members", &(task.receivers.len() + 1).to_string()]);
        command.args(["--rate", &(task.capacity * SHARE / 100).to_string()]);
        command.args(["--join", &join.as_millis().to_string()]);
        let repair = REPAIR_MIN.max(task.time_of(REPAIR_PACKETS) + task.round_trip);
        command.args(["--repair", &repair.as_millis().to_string()]);
        command.args(["--timeout", &task.limit.as_secs().to_string()]);
        command
    }
}

impl Peer for JGroups {
    fn version(&self) -> &str {
        &self.version
    }
    fn starts_in_turn(&self) -> bool {
        true
    }
    fn receive(&self, host: &Host, number: usize, task: &Task, directory: &Path) -> Launch {
        let join = if number == 0 { FIRST_JOIN } else { LATER_JOIN };
        Launch::of_ours(self.command(host, "recv", task, join), directory)
    }
    fn send(&self, host: &Host, task: &Task) -> Command {
        let mut command = self.command(host, "send", task, LATER_JOIN);
        command.arg(&task.source);
        command
    }
}
