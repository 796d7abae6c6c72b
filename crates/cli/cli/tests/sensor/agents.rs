//! Debian's snmpd, with files of its own, on a free port of loopback.

use std::{
    fs,
    net::UdpSocket,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::{PROGRAM, hosts::is_installed};

struct Daemon {
    child: Child,
    folder: PathBuf,
    address: String,
}

impl Daemon {
    fn start(name: &str, view: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("fanfare-snmpd-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let file = folder.join("snmpd.conf");
        fs::write(&file, format!("{view}\nrocommunity looker 127.0.0.1 -V seen\n")).unwrap();
        let mut command = Command::new("snmpd");
        command.args(["-f", "-Lo", "-C", "-c"]).arg(&file).arg(format!("udp:{free}"));
        command.env("SNMP_PERSISTENT_DIR", &folder).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), folder, address: free.to_string() }
    }

    /// What a sensor tells once the agent has answered twice: then there are rates.
    fn told(&self, community: &str, args: &[&str]) -> Vec<Value> {
        let mut command = Command::new(PROGRAM);
        command.args(["sensor", "--without-packets", "--json", "--every", "300ms"]);
        command.args(["--snmp", &self.address, "--snmp-every", "500ms"]);
        command.args(["--snmp-community", community]).args(args);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let said = String::from_utf8(done.stdout).unwrap();
        let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event"] == "sensor").collect()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn interfaces_of_debians_agent_are_read_and_those_it_hides_are_said_to_be_hidden() {
    if !is_installed("snmpd") {
        return;
    }
    let daemon = Daemon::start("all", "view seen included .1.3.6.1.2.1");
    let told = daemon.told("looker", &["--for", "10s"]);
    let agents: Vec<&Value> = told.iter().map(|line| &line["agents"][&daemon.address]).collect();
    let last = agents.last().unwrap();
    let loopback = &last["interfaces"]["lo"];
    assert!(loopback["in_bytes"].is_u64() && loopback["up"] == true, "{last}");
    // The questions themselves go over it.
    let rates = agents.iter().filter_map(|agent| agent["interfaces"]["lo"]["in_bps"].as_u64());
    assert!(rates.max() > Some(0), "{last}");
    assert!(last["uptime"].as_f64() > Some(0.0), "{last}");
    drop(daemon);
    let hiding = Daemon::start("none", "view seen included .1.3.6.1.2.1.1");
    let told = hiding.told("looker", &["--for", "3s"]);
    let last = &told.last().unwrap()["agents"][&hiding.address];
    assert!(last["missing"].as_str().is_some_and(|why| why.contains("no interfaces")), "{last}");
    let told = hiding.told("wrong", &["--for", "4s"]);
    let missing = told.last().unwrap()["missing"].to_string();
    assert!(missing.contains("does not answer") && missing.contains("community"), "{missing}");
}
