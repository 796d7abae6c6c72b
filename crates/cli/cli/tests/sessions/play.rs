//! Plays one draw with real programs, and compares what is everywhere with what the rules say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    draw::{FromChoice, JobKind, ReceiverPlan, SendWay, SessionDraw},
    oracle::ShareRule,
    world::LinkWorld,
};

/// Nothing takes longer, even on a machine that runs a tenth as fast as it might.
const LIMIT: Duration = Duration::from_secs(90);
/// A receiver ends within this, once its sender has.
const ENDS: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(20);
/// Time for a stranger to write what it was not to have.
const AFTER: Duration = Duration::from_millis(300);
/// At 8 Mbit/s this takes 2.5 s: who is deaf is found within one.
const SLOW_BYTES: usize = 2_500_000;
const QUICK_BYTES: usize = 200_000;
/// Each block of what is sent says whose it is.
const BLOCK: usize = 64;
const OWN: &[u8] = b"this was here before and is nobody else's\n";

/// A draw that is being played.
pub(super) struct PlayedDraw<'a> {
    draw: &'a SessionDraw,
    dir: PathBuf,
    program: PathBuf,
    world: LinkWorld,
    told: Vec<String>,
    faults: Vec<String>,
}

/// A process that is gone with this.
pub(super) struct StartedProgram(pub(super) Child);

impl StartedProgram {
    /// Its exit code, once it has ended.
    pub(super) fn ends_within(&mut self, time: Duration) -> Option<i32> {
        let end = Instant::now() + time;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.code().unwrap_or(-1));
            }
            if Instant::now() >= end {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }

    pub(super) fn interrupt(&mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        if self.0.try_wait().unwrap().is_none() {
            let _ = Command::new("kill").args(["-INT", &id]).status();
        }
        self.ends_within(ENDS)
    }

    /// Waits until it has opened a UDP socket at this port.
    pub(super) fn listens(&mut self, port: u16) -> bool {
        let end = Instant::now() + ENDS;
        while Instant::now() < end && self.0.try_wait().unwrap().is_none() {
            if has_port(self.0.id(), port) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }
}

impl Drop for StartedProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_port(process: u32, port: u16) -> bool {
    let ending = format!(":{port:04X}");
    let mut sockets = BTreeSet::new();
    for table in ["udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.get(1).is_some_and(|local| local.ends_with(&ending)) {
                sockets.extend(words.get(9).map(|inode| format!("socket:[{inode}]")));
            }
        }
    }
    let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    open.flatten()
        .filter_map(|one| fs::read_link(one.path()).ok())
        .any(|link| sockets.contains(link.to_string_lossy().as_ref()))
}

/// Sixteen bytes that say that a sender's bytes follow.
fn tag(sender: usize) -> [u8; 16] {
    let mut tag = *b"<<sender 00>>===";
    tag[9] += (sender / 10) as u8;
    tag[10] += (sender % 10) as u8;
    tag
}

/// Content that does not repeat, and of which each part says whose it is.
pub(super) fn content(seed: u64, sender: usize, bytes: usize) -> Vec<u8> {
    let name = format!("{seed} {sender}");
    let mut all = vec![0; bytes];
    blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut all);
    all.chunks_exact_mut(BLOCK).for_each(|block| block[..16].copy_from_slice(&tag(sender)));
    all
}

/// The senders of which there is something in these bytes.
fn senders_in(bytes: &[u8]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at..];
        if let Some(digits) = rest.get(9..11)
            && rest.starts_with(b"<<sender ")
            && digits.iter().all(u8::is_ascii_digit)
        {
            found.insert(usize::from(digits[0] - b'0') * 10 + usize::from(digits[1] - b'0'));
        }
        rest = &rest[1..];
    }
    found
}

/// All files below a directory, by their names there.
pub(super) fn files_below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => left.push(path),
                false => {
                    let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                    found.insert(name, fs::read(&path).unwrap_or_default());
                }
            }
        }
    }
    found
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl<'a> PlayedDraw<'a> {
    pub(super) fn new(draw: &'a SessionDraw, dir: PathBuf, program: &Path) -> Self {
        fs::create_dir_all(&dir).unwrap();
        let world = LinkWorld::new(&format!("{}", draw.seed), &draw.hosts);
        let (told, faults) = (Vec::new(), Vec::new());
        let program = program.to_owned();
        Self { draw, dir, program, world, told, faults }
    }

    /// Returns what was wrong, and then all commands with what became of them.
    pub(super) fn play(mut self) -> Option<String> {
        self.prepare();
        let draw = self.draw;
        let _relay = self.start_relay();
        let count = draw.receivers.len();
        let mut receivers: Vec<Option<StartedProgram>> = (0..count).map(|_| None).collect();
        for (number, receiver) in receivers.iter_mut().enumerate() {
            if draw.receivers[number].code.is_none() {
                *receiver = Some(self.start_receiver(number, None));
            }
        }
        for (number, receiver) in receivers.iter_mut().enumerate() {
            let port = draw.receivers[number].group.port;
            if receiver.as_mut().is_some_and(|one| !one.listens(port)) {
                self.faults.push(format!("r{number} does not listen at port {port}"));
            }
        }
        let mut senders: Vec<StartedProgram> =
            (0..draw.senders.len()).map(|number| self.start_sender(number)).collect();
        for number in 0..senders.len() {
            if draw.senders[number].way == SendWay::Code {
                let code = self.code_of(number);
                for (to, receiver) in receivers.iter_mut().enumerate() {
                    let Some((of, mistyped)) = draw.receivers[to].code else { continue };
                    if of == number {
                        let other = mistyped.then(|| mistype(&code));
                        let code = other.as_deref().unwrap_or(&code);
                        *receiver = Some(self.start_receiver(to, Some(code)));
                    }
                }
            }
        }
        let mut codes = Vec::new();
        for (number, sender) in senders.iter_mut().enumerate() {
            let code = sender.ends_within(LIMIT);
            self.told.push(format!("s{number} exits {code:?}"));
            codes.push(code);
        }
        std::thread::sleep(AFTER);
        for (number, receiver) in receivers.iter_mut().enumerate() {
            let Some(receiver) = receiver else { continue };
            let plan = &draw.receivers[number];
            let whole =
                (0..codes.len()).any(|sender| draw.rule(number, sender) == ShareRule::Everything);
            let by_itself =
                matches!(plan.kind, JobKind::Device | JobKind::Pipe) || plan.code.is_some();
            let ended = if by_itself && whole { receiver.ends_within(ENDS) } else { None };
            let code = ended.or_else(|| receiver.interrupt());
            self.told.push(format!("r{number} exits {code:?}"));
            if by_itself && whole && ended != Some(0) {
                self.faults.push(format!("r{number} has joined, and exits with {ended:?}"));
            }
            if code.is_none() {
                self.faults.push(format!("r{number} does not end when it is interrupted"));
            }
            if code == Some(0) && plan.code.is_some_and(|(_, mistyped)| mistyped) {
                self.faults.push(format!("r{number} has a wrong code and exits with 0"));
            }
        }
        self.judge_senders(&codes);
        (0..count).for_each(|number| self.judge_receiver(number));
        self.conclude()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn prepare(&self) {
        let write = |name: String, bytes: &[u8]| {
            let path = self.path(&name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        for key in 0..2 {
            let path = self.path(&format!("k{key}"));
            let made = Command::new(&self.program).args(["key", "new"]).arg(path).output().unwrap();
            assert!(made.status.success(), "key new");
        }
        for (number, sender) in self.draw.senders.iter().enumerate() {
            let bytes = self.content(number);
            match sender.mirror && sender.kind == JobKind::Directory {
                true => write(format!("s{number}/tree/s{number}.bin"), &bytes),
                false => write(format!("s{number}/s{number}.bin"), &bytes),
            }
        }
        for (number, receiver) in self.draw.receivers.iter().enumerate() {
            match receiver.kind {
                JobKind::Directory => write(format!("r{number}/tree/own"), OWN),
                JobKind::Device => write(format!("r{number}/disk"), &own_disk()),
                JobKind::Pipe | JobKind::Messages => {
                    fs::create_dir_all(self.path(&format!("r{number}"))).unwrap();
                }
            }
        }
    }

    fn content(&self, sender: usize) -> Vec<u8> {
        let slow = self.draw.senders[sender].slow;
        content(self.draw.seed, sender, if slow { SLOW_BYTES } else { QUICK_BYTES })
    }

    fn start(
        &mut self,
        name: &str,
        host: usize,
        words: Vec<String>,
        input: Option<&Path>,
    ) -> StartedProgram {
        let deaf = if self.draw.hosts[host].deaf { " (deaf)" } else { "" };
        let from = input.map_or(String::new(), |path| format!(" <{}", path.display()));
        let dir = format!("{}/", self.dir.display());
        let line = format!("{}{from}", words[1..].join(" ")).replace(&dir, "");
        self.told.push(format!("{name} on h{host}{deaf}: {line}"));
        StartedProgram(self.world.start(host, &words, &self.path(name), input))
    }

    fn start_relay(&mut self) -> Option<StartedProgram> {
        let host = self.draw.relay?;
        let first = &self.draw.senders[0];
        if first.way == SendWay::Code {
            return None;
        }
        let group = first.group.text();
        let mut all = vec![self.program.display().to_string(), "relay".into(), "--json".into()];
        all.extend(words(&format!("--join {group}@eth0 --join {group}@eth1")));
        self.add_key(first.key, &mut all);
        let mut relay = self.start("relay", host, all, None);
        if !relay.listens(first.group.port) {
            self.faults.push("the relay does not listen".into());
        }
        Some(relay)
    }

    fn add_key(&self, key: Option<usize>, all: &mut Vec<String>) {
        if let Some(key) = key {
            all.extend(["--key".into(), self.path(&format!("k{key}")).display().to_string()]);
        }
    }

    fn start_receiver(&mut self, number: usize, code: Option<&str>) -> StartedProgram {
        let plan = &self.draw.receivers[number];
        let at = self.path(&format!("r{number}"));
        let (dir, group) = (at.display(), plan.group.text());
        let mut all = vec![self.program.display().to_string()];
        all.extend(words(&match (plan.kind, code) {
            (_, Some(code)) => {
                format!("recv {code} {dir} --create-dirs --json --name r{number} --timeout 20s")
            }
            (JobKind::Directory, _) => {
                let delete = if plan.deletes { "--allow-delete" } else { "" };
                format!("recv {dir} --json --name r{number} --group {group} {delete}")
            }
            (JobKind::Device, _) => {
                format!("recv --to {dir}/disk --json --name r{number} --group {group}")
            }
            (JobKind::Pipe, _) => format!("pipe recv --name r{number} --group {group}"),
            (JobKind::Messages, _) => format!("sub # --json --out {dir} --group {group}"),
        }));
        if code.is_none() {
            self.add_key(plan.key, &mut all);
            self.add_choice(plan, &mut all);
        }
        if let Some(at) = plan.interface {
            all.extend(words(&format!("--interface eth{at}")));
        }
        self.start(&format!("r{number}"), plan.host, all, None)
    }

    fn add_choice(&self, plan: &ReceiverPlan, all: &mut Vec<String>) {
        if plan.group_alone {
            all.push("--no-unicast".into());
        }
        if let Some(sender) = plan.source {
            all.extend(["--source".into(), self.draw.address_of(sender, plan.group.v6)]);
        }
        all.extend(match plan.from {
            None => vec![],
            Some(FromChoice::Name(one)) => vec!["--from".into(), format!("s{one}")],
            Some(FromChoice::Address(one)) => {
                vec!["--from".into(), self.draw.address_of(one, plan.group.v6)]
            }
            Some(FromChoice::Node(one)) => vec!["--from".into(), node(one).to_string()],
        });
    }

    fn start_sender(&mut self, number: usize) -> StartedProgram {
        let plan = &self.draw.senders[number];
        let files = self.path(&format!("s{number}"));
        let file = files.join(format!("s{number}.bin"));
        let (group, one) = (plan.group.text(), file.display().to_string());
        let whole = self.draw.whole(number);
        let names: Vec<String> = whole.iter().map(|receiver| format!("r{receiver}")).collect();
        let expect = match (names.is_empty(), plan.way == SendWay::Code) {
            (true, _) => "--expect 1 --wait 3s".to_owned(),
            (_, true) => format!("--expect {} --wait 20s", names.len()),
            _ => format!("--expect {} --wait 20s", names.join(",")),
        };
        let rate = if plan.slow { "--rate 8M" } else { "" };
        let net = format!("--json --group {group} --node-id {}", node(number));
        let tree = files.join("tree").display().to_string();
        let mut all = vec![self.program.display().to_string()];
        let text = match plan.kind {
            JobKind::Directory if plan.mirror => {
                format!("send {tree} --delete --name s{number} {expect} {rate}")
            }
            JobKind::Directory => format!("send {one} --name s{number} {expect} {rate}"),
            JobKind::Device => format!("send {one} --as-stream --name s{number} {expect} {rate}"),
            JobKind::Pipe => format!("pipe send {expect} {rate}"),
            JobKind::Messages => format!("pub room {one} --wait 5s {rate}"),
        };
        all.extend(words(&format!("{text} {net}")));
        self.add_key(plan.key, &mut all);
        if plan.names_interface {
            all.extend(words(&format!("--interface eth{}", plan.interface)));
        }
        let link = plan.link(&self.draw.hosts);
        let to = |hosts: &[usize]| {
            let all = hosts.iter().map(|host| super::draw::address(*host, link, plan.group.v6));
            all.collect::<Vec<_>>().join(",")
        };
        all.extend(words(&match &plan.way {
            SendWay::Group => String::new(),
            SendWay::GroupAlone => "--no-unicast".into(),
            SendWay::Hosts(hosts) => format!("--to {}", to(hosts)),
            SendWay::HostsAndGroup(hosts) => format!("--to {} --with-group", to(hosts)),
            SendWay::Code => "--code --for 8s".into(),
        }));
        let input = (plan.kind == JobKind::Pipe).then_some(file);
        self.start(&format!("s{number}"), plan.host, all, input.as_deref())
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name).with_extension("out")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn code_of(&mut self, sender: usize) -> String {
        let end = Instant::now() + ENDS;
        while Instant::now() < end {
            let events = self.events(&format!("s{sender}"));
            if let Some(code) = events.iter().find_map(|event| event["code"].as_str()) {
                return code.to_owned();
            }
            std::thread::sleep(LOOK);
        }
        self.faults.push(format!("s{sender} tells no code"));
        "7-otter-granite-river".into()
    }

    fn judge_senders(&mut self, codes: &[Option<i32>]) {
        for (number, code) in codes.iter().enumerate() {
            let draw = self.draw;
            let messages = draw.senders[number].kind == JobKind::Messages;
            let whole = !draw.whole(number).is_empty();
            let fault = match code {
                None => Some("does not end".to_owned()),
                Some(0) if !whole && !draw.some_perhaps(number) && !messages => {
                    Some("has only strangers and exits with 0".to_owned())
                }
                // Some did not have all of it; or the packets of another key were the graver thing.
                Some(0 | 3 | 4) if draw.is_refused(number) => None,
                // A publisher waits for every node that it hears of in its group.
                Some(3) if messages && draw.group_has_others(number) => None,
                Some(code) if *code != 0 && whole && draw.hosts_are_right(number) => {
                    Some(format!("exits with {code}, though all it expects have joined"))
                }
                _ => None,
            };
            self.faults.extend(fault.map(|text| format!("s{number} {text}")));
            for event in self.events(&format!("s{number}")) {
                if event["event"] != "receipt" {
                    continue;
                }
                let name = event["name"].as_str().unwrap_or_default().to_owned();
                let receiver = name.strip_prefix('r').and_then(|text| text.parse().ok());
                let joined = receiver.is_some_and(|receiver: usize| {
                    receiver < draw.receivers.len()
                        && draw.rule(receiver, number) > ShareRule::Nothing
                });
                if !joined {
                    self.faults.push(format!("s{number} has a receipt of the stranger '{name}'"));
                }
            }
        }
    }

    fn judge_receiver(&mut self, number: usize) {
        let draw = self.draw;
        let plan = &draw.receivers[number];
        let mut files = files_below(&self.path(&format!("r{number}")));
        if plan.kind == JobKind::Pipe {
            let shown = fs::read(self.path(&format!("r{number}.out"))).unwrap_or_default();
            files.insert("standard output".into(), shown);
        }
        let rule = |sender| draw.rule(number, sender);
        for (name, bytes) in &files {
            for sender in senders_in(bytes) {
                if rule(sender) == ShareRule::Nothing {
                    let text =
                        format!("r{number} did not join s{sender}, and has its bytes in {name}");
                    self.faults.push(text);
                }
            }
            for sender in 0..draw.senders.len() {
                if name.contains(&format!("s{sender}.")) && rule(sender) == ShareRule::Nothing {
                    let text = format!("r{number} did not join s{sender}, and has a file {name}");
                    self.faults.push(text);
                }
            }
        }
        let mirrors = |rules: &[ShareRule]| {
            let is_mirror =
                |sender: &usize| draw.senders[*sender].mirror && rules.contains(&rule(*sender));
            (0..draw.senders.len()).filter(is_mirror).count()
        };
        let all = mirrors(&[ShareRule::Everything, ShareRule::Perhaps]);
        if plan.kind == JobKind::Directory {
            let kept = files.get("tree/own").is_some_and(|bytes| bytes == OWN);
            let deletes = plan.deletes && plan.code.is_none();
            let may_go = deletes && all > 0;
            if !kept && !may_go {
                self.faults.push(format!("r{number} has lost a file of its own"));
            }
            if kept && deletes && mirrors(&[ShareRule::Everything]) > 0 {
                self.faults.push(format!("r{number} has joined, and keeps what is to be deleted"));
            }
        }
        let perhaps = (0..draw.senders.len()).any(|sender| rule(sender) > ShareRule::Nothing);
        if plan.kind == JobKind::Device && !perhaps && files.get("disk") != Some(&own_disk()) {
            self.faults.push(format!("r{number} has joined nothing, and its disk is written to"));
        }
        for sender in 0..draw.senders.len() {
            let by = &draw.senders[sender];
            // Of two mirrors the last one says what there is.
            let other = by.mirror && by.kind == JobKind::Directory && plan.deletes && all > 1;
            if rule(sender) != ShareRule::Everything || other {
                continue;
            }
            let whole = self.content(sender);
            let has = match plan.kind {
                JobKind::Directory if by.mirror => {
                    files.get(&format!("tree/s{sender}.bin")) == Some(&whole)
                }
                JobKind::Directory => files.get(&format!("s{sender}.bin")) == Some(&whole),
                JobKind::Device => {
                    files.get("disk").is_some_and(|disk| disk[..whole.len()] == whole)
                }
                JobKind::Pipe => files.get("standard output") == Some(&whole),
                JobKind::Messages => files.values().any(|bytes| *bytes == whole),
            };
            if !has {
                self.faults.push(format!("r{number} has joined s{sender}, and does not have it"));
            }
        }
    }

    fn conclude(self) -> Option<String> {
        let keep = std::env::var_os("FANFARE_SESSIONS_KEEP").is_some();
        let mut text = String::new();
        if !self.faults.is_empty() {
            text = format!("seed {}:\n  {}\n", self.draw.seed, self.faults.join("\n  "));
            for line in &self.told {
                text += &format!("    {line}\n");
            }
            let count = (self.draw.senders.len(), self.draw.receivers.len());
            let names =
                (0..count.0).map(|n| format!("s{n}")).chain((0..count.1).map(|n| format!("r{n}")));
            for name in names.chain(["relay".into()]) {
                let file = self.path(&name).with_extension("err");
                let said = fs::read_to_string(file).unwrap_or_default();
                for line in said.lines().filter(|line| !line.is_empty()).take(6) {
                    text += &format!("      {name} says: {line}\n");
                }
            }
        }
        if !keep {
            let _ = fs::remove_dir_all(&self.dir);
        }
        (!text.is_empty()).then_some(text)
    }
}

fn own_disk() -> Vec<u8> {
    b"own disk".repeat(SLOW_BYTES / 8)
}

/// The same code with another last word.
fn mistype(code: &str) -> String {
    let (head, last) = code.rsplit_once('-').unwrap();
    format!("{head}-{}", if last == "zebra" { "acorn" } else { "zebra" })
}

/// The node id of a sender.
fn node(sender: usize) -> usize {
    700 + sender
}
