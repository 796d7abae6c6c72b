//! Chains of three partitions, as the scripts of FOG and Clonezilla run them: one command for each
//! partition, with nothing in its line that says which one it is. Whatever pauses there are, and
//! whichever machine is reset at any moment, an exit code of 0 means that the partition's own image is
//! there.
//!
//! Machines are network namespaces. `FANFARE_CHAINS=N` runs N draws of all there is, instead of a few.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{Stage, hosts::Hosts};

/// The partitions of a disk.
const PARTITIONS: [u8; 3] = [1, 2, 3];
/// The server, and two machines to be imaged.
const SERVER: u8 = 1;
const CLIENTS: [u8; 2] = [2, 3];
/// An image and its rate: about three seconds.
const IMAGE: usize = 1_500_000;
const RATE: &str = "4m";
/// A scenario that lasts longer hangs: three partitions, the longest pauses, and a silent receiver each.
const LIMIT: Duration = Duration::from_secs(500);
/// Time without news, beyond the longest pause, after which somebody switches everything off:
/// receivers may wait for images that no sender has any more, and a sender for receivers.
const PATIENCE: Duration = Duration::from_secs(20);
/// Scenarios at a time.
const AT_ONCE: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImagingScript {
    /// Server: multicasttask.class.php; clients: writeImage in funcs.sh.
    Fog,
    /// The same, and a client goes on after a partition that it has not got.
    FogCareless,
    /// scripts/sbin/ocs-functions, a port for each partition.
    Clonezilla,
}

/// Stage of the first client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientStage {
    /// Its receiver runs, and nothing has come.
    Waits(u8),
    /// A part of the image is there.
    Receives(u8),
    /// The partition is done.
    Pauses(u8),
}

#[derive(Debug, Clone, Copy)]
struct ChainScenario {
    script: ImagingScript,
    /// Seconds after each partition, for each client.
    pauses: [u64; 2],
    /// A machine that is reset then, and starts its script anew.
    reset: Option<(u8, ClientStage)>,
}

/// A scenario's machines.
struct MachineRoom {
    stage: Stage,
    hosts: Hosts,
    scenario: ChainScenario,
    running: Vec<(u8, Child)>,
    /// Number of times that each machine has been started.
    lives: [u8; 4],
}

impl MachineRoom {
    fn new(name: &str, scenario: ChainScenario) -> Self {
        let stage = Stage::new();
        for program in ["udp-sender", "udp-receiver"] {
            symlink(crate::PROGRAM, stage.path(program)).unwrap();
        }
        for n in PARTITIONS {
            stage.file(&format!("d1p{n}.img"), IMAGE);
        }
        let hosts = Hosts::new(name, 3);
        for n in [SERVER, CLIENTS[0], CLIENTS[1]] {
            hosts.on(n, "route add 224.0.0.0/4 dev eth0");
        }
        Self { stage, hosts, scenario, running: Vec::new(), lives: [0; 4] }
    }

    fn dir(&self) -> PathBuf {
        self.stage.path("")
    }

    /// Script of the server. Silent receivers are dropped sooner, so that the test does not last.
    fn server(&self) -> String {
        let dir = self.dir().display().to_string();
        let sender = format!("{dir}udp-sender --interface eth0 --max-bitrate {RATE} -R 5");
        let fog = |n: u8| {
            let wait = if n == 1 { 600 } else { 10 };
            format!(
                "{sender} --min-receivers 2 --max-wait {wait} --portbase 9000 --full-duplex --ttl 32 \
                 --nokbd --nopointopoint --file {dir}d1p{n}.img"
            )
        };
        match self.scenario.script {
            ImagingScript::Fog | ImagingScript::FogCareless => PARTITIONS.map(fog).join(";"),
            ImagingScript::Clonezilla => {
                let mut script = String::new();
                for n in PARTITIONS {
                    let port = 2230 + 2 * u16::from(n);
                    let wait = if n == 1 { 300 } else { 15 };
                    let _ = writeln!(
                        script,
                        "( for img in {dir}d1p{n}.img*; do cat $img; done ) | {sender} --full-duplex \
                         --min-clients 2 --max-wait {wait} --nokbd --mcast-all-addr 224.0.0.1 \
                         --portbase {port} --ttl 1"
                    );
                }
                script
            }
        }
    }

    /// Script of a client. Where a machine does not go on without an image, it ends.
    fn client(&self, n: u8, life: u8) -> String {
        let dir = self.dir().display().to_string();
        let pause = self.scenario.pauses[usize::from(n - CLIENTS[0])];
        let mut script = format!("cd {dir}\n");
        for p in PARTITIONS {
            let (disk, result) = (format!("disk{n}p{p}"), format!("result{n}"));
            let port = 2230 + 2 * u16::from(p);
            let _ = match self.scenario.script {
                ImagingScript::Fog | ImagingScript::FogCareless => writeln!(
                    script,
                    "rm -f pigz{n}; mkfifo pigz{n}; echo start {p} >>{result}\n\
                     {dir}udp-receiver --nokbd --portbase 9000 --ttl 32 --mcast-rdv-address 10.77.0.1 \
                     2>>log{n} >pigz{n} &\n\
                     cat <pigz{n} >{disk}; wait $!; code=$?"
                ),
                ImagingScript::Clonezilla => writeln!(
                    script,
                    "echo start {p} >>{result}\n\
                     {dir}udp-receiver --nokbd --mcast-all-addr 224.0.0.1 --portbase {port} --ttl 1 \
                     2>>log{n} | cat >{disk}; code=${{PIPESTATUS[0]}}"
                ),
            };
            let goes_on = self.scenario.script == ImagingScript::FogCareless;
            let otherwise = if goes_on { "true" } else { "exit 1" };
            // The disk as it was then: a later life writes over it.
            let _ = writeln!(
                script,
                "cp {disk} was{n}.{life}p{p}; echo end {p} $code >>{result}; sync {result}\n\
                 echo {life} {p} $code >>ends{n}\n[ $code = 0 ] || {otherwise}\nsleep {pause}"
            );
        }
        script
    }

    fn boot(&mut self, n: u8) {
        self.lives[usize::from(n)] += 1;
        let life = self.lives[usize::from(n)];
        let script = if n == SERVER { self.server() } else { self.client(n, life) };
        let mut machine = Command::new("ip");
        machine.args(["netns", "exec", &self.hosts.host(n), "bash", "-c", &script]);
        let log = fs::File::options().create(true).append(true).open(self.stage.path("server.log"));
        machine.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        self.running.push((n, machine.spawn().unwrap()));
    }

    /// Nothing of what ran there runs on.
    fn switch_off(&mut self, n: u8) {
        let host = self.hosts.host(n);
        let pids = Command::new("ip").args(["netns", "pids", &host]).output().unwrap();
        for pid in String::from_utf8_lossy(&pids.stdout).split_whitespace() {
            let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
        }
        for (_, child) in self.running.iter_mut().filter(|(machine, _)| *machine == n) {
            let _ = child.wait();
        }
        self.running.retain(|(machine, _)| *machine != n);
    }

    fn has(&self, moment: ClientStage) -> bool {
        let n = CLIENTS[0];
        let result = fs::read_to_string(self.stage.path(&format!("result{n}"))).unwrap_or_default();
        let size = |p: u8| {
            let disk = fs::metadata(self.stage.path(&format!("disk{n}p{p}")));
            disk.map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(0))
        };
        let has = |line: String| result.lines().any(|own| own.starts_with(&line));
        match moment {
            ClientStage::Waits(p) => has(format!("start {p}")) && size(p) == 0,
            ClientStage::Receives(p) => has(format!("start {p}")) && (1..IMAGE).contains(&size(p)),
            ClientStage::Pauses(p) => has(format!("end {p} ")),
        }
    }

    /// Everything that changes while something goes on.
    fn state(&self) -> String {
        let mut state = String::new();
        for n in CLIENTS {
            let result = fs::read_to_string(self.stage.path(&format!("result{n}")));
            state += &result.unwrap_or_default();
            for p in PARTITIONS {
                let disk = fs::metadata(self.stage.path(&format!("disk{n}p{p}")));
                let _ = write!(state, "{} ", disk.map_or(0, |meta| meta.len()));
            }
        }
        state
    }

    fn has_ended(&mut self, n: u8) -> bool {
        let mut of = self.running.iter_mut().filter(|(machine, _)| *machine == n);
        of.all(|(_, child)| child.try_wait().unwrap().is_some())
    }

    /// Runs it to its end, and says what went wrong.
    fn run(mut self) -> Vec<String> {
        let begun = Instant::now();
        let mut reset = self.scenario.reset;
        self.boot(SERVER);
        CLIENTS.into_iter().for_each(|n| self.boot(n));
        let pause = self.scenario.pauses.into_iter().max().unwrap_or(0);
        let patience = PATIENCE + Duration::from_secs(pause);
        let mut changed = (String::new(), Instant::now());
        loop {
            thread::sleep(Duration::from_millis(50));
            if let Some((n, moment)) = reset
                && self.has(moment)
            {
                reset = None;
                self.switch_off(n);
                self.boot(n);
            }
            let state = self.state();
            if state != changed.0 {
                changed = (state, Instant::now());
            }
            let have_ended =
                [SERVER, CLIENTS[0], CLIENTS[1]].into_iter().all(|n| self.has_ended(n));
            if have_ended || changed.1.elapsed() > patience {
                break;
            }
            if begun.elapsed() > LIMIT {
                break;
            }
        }
        let mut wrong = Vec::new();
        if begun.elapsed() > LIMIT {
            wrong.push("does not end".to_owned());
        }
        [SERVER, CLIENTS[0], CLIENTS[1]].into_iter().for_each(|n| self.switch_off(n));
        if let Some((_, moment)) = reset {
            // A client that was late for one image may have ended before.
            let may_miss = self.scenario.pauses[0] != self.scenario.pauses[1];
            match may_miss {
                true => eprintln!("{:?}: {moment:?} never came", self.scenario),
                false => wrong.push("the moment of the reset never came".to_owned()),
            }
        }
        for n in CLIENTS {
            wrong.extend(self.judge(n));
        }
        if !wrong.is_empty() {
            for log in ["server.log", "log2", "log3"] {
                let text = fs::read_to_string(self.stage.path(log)).unwrap_or_default();
                let said = text.lines().filter(|line| line.starts_with("error"));
                wrong.extend(said.map(|line| format!("  {log}: {line}")));
            }
        }
        wrong
    }

    /// Judges what a client has, and what it was told.
    fn judge(&self, n: u8) -> Vec<String> {
        let ends = fs::read_to_string(self.stage.path(&format!("ends{n}"))).unwrap_or_default();
        let mut wrong = Vec::new();
        let mut complete = 0;
        for line in ends.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [life, p, code] = words[..] else { continue };
            let was = fs::read(self.stage.path(&format!("was{n}.{life}p{p}"))).unwrap();
            let own = fs::read(self.stage.path(&format!("d1p{p}.img"))).unwrap();
            if code == "0" && was != own {
                let is = |p: &u8| fs::read(self.stage.path(&format!("d1p{p}.img"))).unwrap() == was;
                let other = PARTITIONS.iter().find(|p| is(p));
                wrong.push(format!(
                    "client {n}, life {life}: partition {p} ended with 0 and holds {} bytes, image \
                     {other:?}",
                    was.len()
                ));
            }
            complete += usize::from(code == "0");
        }
        // Nobody else's reset keeps its images from a client, unless the sender itself is gone.
        let is_undisturbed = match self.scenario.reset {
            None => self.scenario.pauses[0] == self.scenario.pauses[1],
            Some((machine, _)) => machine != SERVER && machine != n,
        };
        if is_undisturbed && complete != PARTITIONS.len() {
            wrong.push(format!("client {n} was not disturbed and has {complete} of 3: {ends:?}"));
        }
        wrong
    }
}

/// Runs these, some at a time; fails with all that went wrong.
fn run_all(scenarios: &[ChainScenario]) {
    let mut wrong = Vec::new();
    let mut number = 0;
    for some in scenarios.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for scenario in some {
                number += 1;
                let name = format!("c{number}");
                threads.push((
                    scenario,
                    scope.spawn(move || MachineRoom::new(&name, *scenario).run()),
                ));
            }
            for (scenario, thread) in threads {
                let found = thread.join().unwrap();
                eprintln!("{scenario:?}: {}", if found.is_empty() { "right" } else { "WRONG" });
                if !found.is_empty() {
                    wrong.push(format!("{scenario:?}:\n{}", found.join("\n")));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), scenarios.len(), wrong.join("\n"));
}

/// Everything that there is, in an order of its own.
fn all() -> Vec<ChainScenario> {
    let mut moments = Vec::new();
    for p in PARTITIONS {
        moments.extend([ClientStage::Waits(p), ClientStage::Receives(p), ClientStage::Pauses(p)]);
    }
    let mut all = Vec::new();
    for script in [ImagingScript::Fog, ImagingScript::FogCareless, ImagingScript::Clonezilla] {
        for pauses in [[0, 0], [4, 4], [12, 12], [60, 60], [0, 12], [12, 0], [60, 0]] {
            all.push(ChainScenario { script, pauses, reset: None });
            for (machine, moment) in [SERVER, CLIENTS[0]]
                .into_iter()
                .flat_map(|m| moments.iter().map(move |at| (m, *at)))
            {
                all.push(ChainScenario { script, pauses, reset: Some((machine, moment)) });
            }
        }
    }
    // Spread, so that any number of them has something of everything: 181 is a prime that does not
    // divide how many there are.
    let count = all.len();
    (0..count).map(|n| all[n * 181 % count]).collect()
}

#[test]
fn each_partition_of_a_chain_holds_its_own_image_or_its_receiver_says_that_it_does_not() {
    if let Some(count) = std::env::var("FANFARE_CHAINS").ok().and_then(|text| text.parse().ok()) {
        return run_all(&all().into_iter().take(count).collect::<Vec<_>>());
    }
    let (client, server) = (CLIENTS[0], SERVER);
    let scenario = |script, pauses, reset| ChainScenario { script, pauses, reset };
    run_all(&[
        // Longer than FOG's --max-wait for the second partition.
        scenario(ImagingScript::Fog, [12, 12], None),
        scenario(ImagingScript::Fog, [0, 0], Some((client, ClientStage::Receives(1)))),
        scenario(ImagingScript::Fog, [3, 0], Some((client, ClientStage::Pauses(1)))),
        scenario(ImagingScript::FogCareless, [0, 0], Some((client, ClientStage::Receives(2)))),
        scenario(ImagingScript::Fog, [0, 0], Some((server, ClientStage::Receives(2)))),
        scenario(ImagingScript::Clonezilla, [3, 3], Some((client, ClientStage::Pauses(1)))),
    ]);
}
