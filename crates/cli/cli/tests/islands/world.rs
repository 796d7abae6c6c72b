//! Three islands behind a router, in network namespaces, and real programs on them.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");
pub(crate) const GROUP: &str = "239.255.42.1:6003";

/// Bytes of the file, and receivers in each island. What `results/reach.md` shows was made with more.
pub(crate) fn bytes() -> usize {
    from_environment("FANFARE_ISLANDS_BYTES", 20_000_000)
}
pub(crate) fn receivers() -> usize {
    from_environment("FANFARE_ISLANDS_RECEIVERS", 5)
}

fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Of what goes over a long link so much is lost.
const LOSS: f64 = 0.01;
/// A file has crossed a long link about once when so much of it was carried there: what was wanted, and
/// the headers of Ethernet, IP, UDP and NORM, which are 4.5 %.
pub(crate) const ONCE: f64 = 1.05 / (1.0 - LOSS) * 1.045;
static NEXT: AtomicU32 = AtomicU32::new(0);

fn shell(line: &str) {
    let done = Command::new("sh").arg("-c").arg(line).status();
    assert!(done.is_ok_and(|status| status.success()), "{line}");
}

/// A router, and islands 1 to 3 behind it: `wan` leads to the router, `isl0` is the island's own network.
pub(crate) struct World {
    prefix: String,
    pub(crate) dir: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn name(&self, island: u8) -> String {
        format!("{}i{island}", self.prefix)
    }

    pub(crate) fn start(&self, island: u8, words: &str) -> Running {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(island)]).arg(PROGRAM);
        command.args(words.split_whitespace()).arg("--json");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines, seen: Vec::new() }
    }

    /// `fanfare` with files for its standard input and output.
    pub(crate) fn start_between(
        &self,
        island: u8,
        words: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Silent {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(island)]).arg(PROGRAM);
        command.args(words.split_whitespace());
        let input = input.map_or(Stdio::null(), |path| fs::File::open(path).unwrap().into());
        let output = output.map_or(Stdio::null(), |path| fs::File::create(path).unwrap().into());
        let child = command.stdin(input).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
        Silent(child)
    }

    /// Receivers that listen.
    pub(crate) fn receivers(&self, island: u8) -> Vec<Running> {
        let start = |number: usize| {
            let dir = self.dir.join(format!("{island}-{number}"));
            let words = format!(
                "recv {} --create-dirs --once --name {island}-{number} --group {GROUP} \
                 --interface isl0 --no-unicast --test-drop 0.01",
                dir.display()
            );
            let mut running = self.start(island, &words);
            running.wait_for("start");
            running
        };
        (1..=receivers()).map(start).collect()
    }

    pub(crate) fn relay(&self, island: u8, more: &str) -> Running {
        self.relay_of(GROUP, island, more)
    }

    /// A relay of another group.
    pub(crate) fn relay_of(&self, group: &str, island: u8, more: &str) -> Running {
        let words = format!("relay --join {group}@isl0 {more}");
        let mut running = self.start(island, &words);
        running.wait_for("relaying");
        running
    }

    /// Relays of a group in all islands; those of 2 and 3 know that of 1, and it knows them.
    pub(crate) fn relays_of(&self, group: &str) -> [Running; 3] {
        [
            self.relay_of(group, 1, "--peer 10.78.2.2,10.78.3.2"),
            self.relay_of(group, 2, "--peer 10.78.1.2"),
            self.relay_of(group, 3, "--peer 10.78.1.2"),
        ]
    }

    /// A second machine in an island, number 4 to the outside: its relay is another one than that of the
    /// island's first machine.
    pub(crate) fn second_machine(&self, island: u8) {
        let (first, second, router) = (self.name(island), self.name(4), self.name(0));
        shell(&format!(
            "ip netns add {second} && ip -n {second} link set lo up && \
             ip -n {second} link add wan type veth peer name p4 netns {router} && \
             ip -n {first} link set isl1 netns {second} && \
             ip -n {second} link set isl1 name isl0 && \
             ip -n {second} addr add 10.78.4.2/24 dev wan && \
             ip -n {second} addr add 10.79.{island}.2/24 dev isl0 && \
             ip -n {second} link set wan up && ip -n {second} link set isl0 up && \
             ip -n {router} addr add 10.78.4.1/24 dev p4 && \
             ip -n {router} link set p4 up && \
             ip -n {second} route add default via 10.78.4.1"
        ));
    }

    pub(crate) fn sender(&self, more: &str) -> (Running, PathBuf) {
        let file = self.dir.join("image");
        let mut content = vec![0; bytes()];
        let mut state = 7_u64;
        for byte in &mut content {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        fs::write(&file, content).unwrap();
        let words = format!(
            "send {} --group {GROUP} --interface isl0 --expect {} --wait 60s --rate 60M {more}",
            file.display(),
            3 * receivers()
        );
        (self.start(1, &words), file)
    }

    /// Bytes that came over an island's long link, and what was lost on it before.
    pub(crate) fn carried(&self, island: u8) -> f64 {
        let name = self.name(island);
        let read =
            Command::new("ip").args(["-n", &name, "-s", "-j", "link", "show", "wan"]).output();
        let told: Value = serde_json::from_slice(&read.unwrap().stdout).unwrap();
        told[0]["stats64"]["rx"]["bytes"].as_f64().unwrap() / (1.0 - LOSS)
    }

    pub(crate) fn check(&self, file: &Path, islands: std::ops::RangeInclusive<u8>) {
        let content = fs::read(file).unwrap();
        for island in islands {
            for number in 1..=receivers() {
                let got = fs::read(self.dir.join(format!("{island}-{number}/image"))).unwrap();
                assert!(got == content, "{island}-{number}");
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for island in 0..=4 {
            // There is a fourth one in few worlds.
            let _ = Command::new("ip").args(["netns", "del", &self.name(island)]).output();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    pub(crate) seen: Vec<Value>,
}

impl Running {
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.lines.read_line(&mut line).unwrap() > 0).then(|| {
            let value: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(value.clone());
            value
        })
    }

    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        loop {
            let next = self.next().unwrap_or_else(|| panic!("no {event}: {:#?}", self.seen));
            if next["event"] == event {
                return next;
            }
        }
    }

    pub(crate) fn end(mut self) -> Vec<Value> {
        while self.next().is_some() {}
        self.child.wait().unwrap();
        std::mem::take(&mut self.seen)
    }

    /// As Ctrl-C; what it has counted.
    pub(crate) fn totals(self) -> Value {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let all = self.end();
        all.into_iter().rfind(|line| line["event"] == "relayed").unwrap()
    }
}

/// A program that speaks no JSON.
pub(crate) struct Silent(Child);

impl Silent {
    /// It ends so.
    pub(crate) fn expect(mut self, code: i32) {
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(code), "{said}");
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
