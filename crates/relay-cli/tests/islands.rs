//! Three islands without multicast between them, two relays, five receivers in each: real programs in
//! network namespaces, which only root may make. The long links lose 1 % of what goes over them.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

const RELAY: &str = env!("CARGO_BIN_EXE_fanfare-relay");
const GROUP: &str = "239.255.42.1:6003";
const BYTES: usize = 20_000_000;
const LOSS: f64 = 0.01;
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The program beside this one; the workspace's tests build it.
fn fanfare() -> PathBuf {
    let program = Path::new(RELAY).with_file_name("fanfare");
    assert!(program.exists(), "build it first: cargo build -p fanfare-cli");
    program
}

fn shell(line: &str) {
    let done = Command::new("sh").arg("-c").arg(line).status();
    assert!(done.is_ok_and(|status| status.success()), "{line}");
}

/// A router, and islands 1 to 3 behind it: `wan` leads to the router, `isl0` is the island's own network.
struct World {
    prefix: String,
    dir: PathBuf,
}

impl World {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("fr{}n{number}", std::process::id());
        let dir = std::env::temp_dir().join(&prefix);
        fs::create_dir_all(&dir).unwrap();
        let world = Self { prefix, dir };
        let router = world.name(0);
        shell(&format!("ip netns add {router}"));
        for island in 1..=3 {
            let name = world.name(island);
            shell(&format!(
                "ip netns add {name} && ip -n {name} link set lo up && \
                 ip -n {name} link add wan type veth peer name p{island} netns {router} && \
                 ip -n {name} link add isl0 type veth peer name isl1 && \
                 ip -n {name} addr add 10.78.{island}.2/24 dev wan && \
                 ip -n {name} addr add 10.79.{island}.1/24 dev isl0 && \
                 ip -n {name} link set wan up && ip -n {name} link set isl0 up && \
                 ip -n {name} link set isl1 up && \
                 ip -n {router} addr add 10.78.{island}.1/24 dev p{island} && \
                 ip -n {router} link set p{island} up && \
                 ip -n {name} route add default via 10.78.{island}.1"
            ));
        }
        let rules = world.dir.join("rules");
        let percent = (LOSS * 100.0) as u32;
        let text = format!(
            "table inet t {{\n chain f {{\n  type filter hook forward priority 0; policy accept;\n  \
             meta l4proto udp numgen random mod 100 < {percent} drop\n }}\n}}\n"
        );
        fs::write(&rules, text).unwrap();
        // Nobody joins datagrams on the way: each is lost by itself.
        for island in 1..=3 {
            let (name, router) = (world.name(island), world.name(0));
            shell(&format!(
                "ip netns exec {name} ethtool -K wan gso off gro off tso off 2>/dev/null || true"
            ));
            shell(&format!(
                "ip netns exec {router} ethtool -K p{island} gso off gro off 2>/dev/null || true"
            ));
        }
        shell(&format!("ip netns exec {router} sysctl -qw net.ipv4.ip_forward=1"));
        shell(&format!("ip netns exec {router} nft -f {}", rules.display()));
        world
    }

    fn name(&self, island: u8) -> String {
        format!("{}i{island}", self.prefix)
    }

    fn start(&self, island: u8, program: &Path, words: &str) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(island)]).arg(program);
        command.args(words.split_whitespace()).arg("--json");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines, seen: Vec::new() }
    }

    /// Five receivers that listen.
    fn receivers(&self, island: u8) -> Vec<Running> {
        let start = |number: u8| {
            let dir = self.dir.join(format!("{island}-{number}"));
            let words = format!(
                "recv {} --create-dirs --once --name {island}-{number} --group {GROUP} \
                 --interface isl0 --no-unicast --test-drop 0.01",
                dir.display()
            );
            let mut running = self.start(island, &fanfare(), &words);
            running.wait_for("start");
            running
        };
        (1..=5).map(start).collect()
    }

    fn relay(&self, island: u8, more: &str) -> Running {
        let words = format!("relay --join {GROUP}@isl0 {more}");
        let mut running = self.start(island, Path::new(RELAY), &words);
        running.wait_for("relaying");
        running
    }

    fn sender(&self, more: &str) -> (Running, PathBuf) {
        let file = self.dir.join("image");
        let mut content = vec![0; BYTES];
        let mut state = 7_u64;
        for byte in &mut content {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        fs::write(&file, content).unwrap();
        let words = format!(
            "send {} --group {GROUP} --interface isl0 --expect 15 --wait 60s --rate 60M {more}",
            file.display()
        );
        (self.start(1, &fanfare(), &words), file)
    }

    /// Bytes that came over an island's long link, and what was lost on it before.
    fn carried(&self, island: u8) -> f64 {
        let name = self.name(island);
        let read =
            Command::new("ip").args(["-n", &name, "-s", "-j", "link", "show", "wan"]).output();
        let told: Value = serde_json::from_slice(&read.unwrap().stdout).unwrap();
        told[0]["stats64"]["rx"]["bytes"].as_f64().unwrap() / (1.0 - LOSS)
    }

    fn check(&self, file: &Path, islands: std::ops::RangeInclusive<u8>) {
        let content = fs::read(file).unwrap();
        for island in islands {
            for number in 1..=5 {
                let got = fs::read(self.dir.join(format!("{island}-{number}/image"))).unwrap();
                assert!(got == content, "{island}-{number}");
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for island in 0..=3 {
            let _ = Command::new("ip").args(["netns", "del", &self.name(island)]).status();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Running {
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.lines.read_line(&mut line).unwrap() > 0).then(|| {
            let value: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(value.clone());
            value
        })
    }

    fn wait_for(&mut self, event: &str) -> Value {
        loop {
            let next = self.next().unwrap_or_else(|| panic!("no {event}: {:#?}", self.seen));
            if next["event"] == event {
                return next;
            }
        }
    }

    fn end(mut self) -> Vec<Value> {
        while self.next().is_some() {}
        self.child.wait().unwrap();
        std::mem::take(&mut self.seen)
    }

    /// As Ctrl-C; what it has counted.
    fn totals(self) -> Value {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let all = self.end();
        all.into_iter().rfind(|line| line["event"] == "relayed").unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All fifteen have everything, and the sender has a receipt of each.
fn assert_receipts(told: &[Value]) {
    let result = told.last().unwrap();
    let progress = told.iter().rfind(|line| line["event"] == "progress");
    assert_eq!(
        (&result["exit"], &result["complete"]),
        (&0.into(), &15.into()),
        "{result:#}\n{progress:?}"
    );
    let receipts = told.iter().filter(|line| line["event"] == "receipt").count();
    assert_eq!(receipts, 15);
}

#[test]
fn each_long_link_carries_the_file_about_once_and_every_receipt_comes_back() {
    let world = World::new();
    let relays = [2, 3].map(|island| world.relay(island, "--accept 10.78.1.2"));
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = [2, 3].map(|island| world.carried(island));
    let (sender, file) = world.sender("--to 10.78.2.2,10.78.3.2 --with-group");
    let told = sender.end();
    let after = [2, 3].map(|island| world.carried(island));
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    let totals = relays.map(Running::totals);
    for (at, relay) in totals.iter().enumerate() {
        let times = (after[at] - before[at]) / BYTES as f64;
        eprintln!("link {}: {times:.4} x file on the wire; {relay}", at + 2);
        // Headers of Ethernet, IP, UDP and NORM are 4.5 % of it.
        assert!(times < 1.05 / (1.0 - LOSS) * 1.045, "{times}");
    }
}

#[test]
fn relays_name_each_other_and_pass_on_what_one_of_them_hears_by_multicast() {
    let world = World::new();
    let relays = [
        world.relay(1, "--peer 10.78.2.2,10.78.3.2"),
        world.relay(2, "--peer 10.78.1.2"),
        world.relay(3, "--peer 10.78.1.2"),
    ];
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = [2, 3].map(|island| world.carried(island));
    let (sender, file) = world.sender("");
    let told = sender.end();
    let after = [2, 3].map(|island| world.carried(island));
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    for (at, relay) in relays.map(Running::totals).iter().enumerate() {
        let times = at.checked_sub(1).map(|at| (after[at] - before[at]) / BYTES as f64);
        eprintln!("relay {}: {times:?} x file on the wire; {relay}", at + 1);
        assert!(times.is_none_or(|times| times < 1.05 / (1.0 - LOSS) * 1.045), "{times:?}");
    }
}

#[test]
fn a_relay_that_is_killed_is_replaced_by_another_and_the_file_is_not_sent_anew() {
    let world = World::new();
    let first = world.relay(2, "--accept 10.78.1.2");
    let _other = world.relay(3, "--accept 10.78.1.2");
    let receivers: Vec<Running> = (1..=3).flat_map(|island| world.receivers(island)).collect();
    let before = world.carried(2);
    let (mut sender, file) = world.sender("--to 10.78.2.2,10.78.3.2 --with-group");
    while sender.wait_for("progress")["sent_bytes"].as_u64().unwrap() < BYTES as u64 * 3 / 10 {}
    // SIGKILL.
    drop(first);
    let second = world.relay(2, "--accept 10.78.1.2");
    let told = sender.end();
    let times = (world.carried(2) - before) / BYTES as f64;
    assert_receipts(&told);
    receivers.into_iter().for_each(|receiver| drop(receiver.end()));
    world.check(&file, 1..=3);
    eprintln!("link 2: {times:.4} x file on the wire; {}", second.totals());
    assert!(times < 1.05 / (1.0 - LOSS) * 1.045 + 0.2, "{times}");
}
