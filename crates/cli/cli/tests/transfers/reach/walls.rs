//! Firewalls and routers that translate addresses, each against every way by which single hosts are reached:
//! `--to`, codes, relays, hosts that hear no multicast. Each works, or says in one line why it cannot, and
//! ends. A few are tried always; `FANFARE_WALLS=1` tries all.

use std::{
    ffi::OsStr,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use crate::support::{Ended, Running, Stage, assert_same, hosts::Hosts};

/// Nothing may take longer: what cannot work says so within seconds, also on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(40);
/// Time that a sender waits for who never comes.
const WAIT: &str = "4s";

/// Packets that are let in beside answers: none, or the ports of groups and codes.
const ANSWERS_IN: &str = "table inet i { chain c { type filter hook input priority 0; policy drop; iif lo accept; \
     ct state established,related accept; ip protocol icmp accept; meta l4proto ipv6-icmp accept; }; }";
const PORTS_IN: &str = "table inet i { chain c { type filter hook input priority 0; policy drop; iif lo accept; \
     ct state established,related accept; ip protocol icmp accept; meta l4proto ipv6-icmp accept; \
     udp dport { 6003, 6005 } accept; }; }";
/// Packets that are let out beside answers: those to these ports.
const PORTS_OUT: &str = "table inet o { chain c { type filter hook output priority 0; policy drop; oif lo accept; \
     ct state established,related accept; meta l4proto ipv6-icmp accept; udp dport { 6003, 6005 } accept; }; }";
const NO_ICMP: &str = "table inet n { \
     chain i { type filter hook input priority -1; policy accept; ip protocol icmp drop; }; \
     chain o { type filter hook output priority -1; policy accept; ip protocol icmp drop; }; }";
const FEW_PACKETS: &str = "table inet l { chain c { type filter hook input priority -1; policy accept; iif lo accept; \
     meta l4proto udp limit rate over 400/second burst 50 packets drop; }; }";
const REJECTS: &str = "table inet j { chain c { type filter hook input priority 0; policy accept; iif lo accept; \
     ct state established,related accept; meta l4proto udp reject with icmpx admin-prohibited; }; }";

/// Way by which receivers are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    To,
    ToIpv6,
    Code,
    /// With `--at`, where no multicast passes.
    CodeAt,
    /// `--to` a relay, with a receiver behind it.
    Relay,
    /// One of two receivers hears no multicast.
    Deaf,
}

/// Place of the wall, and who is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On hosts of one link: host 1 sends, 2 and 3 receive.
    Link,
    /// Host 1 is behind the router 2, and sends to 3.
    SenderBehind,
    /// Host 3 is behind the router 2, and receives from 1; the sender names the router, with this port.
    ReceiverBehind(u16),
    /// Hosts 1 and 3 are both behind the router 2, and the sender names the router's outer address.
    BothBehind,
}

/// A wall, and what cannot work through it, with what either side says then.
struct Wall {
    name: &'static str,
    place: Place,
    sender: &'static [&'static str],
    receiver: &'static [&'static str],
    /// The router's rule for what leaves, and for what comes from outside.
    out: &'static str,
    into: &'static str,
    says: &'static [(Way, &'static str)],
}

const LINK: Wall =
    Wall { name: "", place: Place::Link, sender: &[], receiver: &[], out: "", into: "", says: &[] };

/// Words of a sender whom no answer reaches, and what those say who look for it by its code.
const HOSTS_SHUT: &str = "Their firewalls must let in UDP port 6003";
const GROUP_SHUT: &str = "Firewalls of both sides must let in UDP port 6003";
const HEARD: &str =
    "is heard, and does not hear this machine: its firewall must let in UDP port 6005";
const NAME_IT: &str = "or a firewall here lets in answers alone, name it with --at HOST";
const AT_SHUT: &str = "must let in UDP port 6005";

const DNAT: &str = "ip daddr 10.77.0.2 udp dport { 6003, 6005 } dnat to 10.66.0.3;";
const DNAT_OTHER: &str = "ip daddr 10.77.0.2 udp dport 7003 dnat to 10.66.0.3:6003;";
const DNAT_SENDER: &str = "ip daddr 10.77.0.2 udp dport { 6003, 6005 } dnat to 10.66.0.1;";
const SENDER_BEHIND: Wall = Wall { place: Place::SenderBehind, ..LINK };
const RECEIVER_BEHIND: Wall = Wall { place: Place::ReceiverBehind(6003), into: DNAT, ..LINK };
const BOTH_BEHIND: Wall = Wall { place: Place::BothBehind, into: DNAT, ..LINK };

/// The first few are tried always.
const FEW: usize = 5;
const WALLS: [Wall; 30] = [
    Wall {
        name: "sender and receivers let in answers and the ports, and let out the ports",
        sender: &[PORTS_IN, PORTS_OUT],
        receiver: &[PORTS_IN, PORTS_OUT],
        ..LINK
    },
    Wall {
        name: "receivers let in answers alone",
        receiver: &[ANSWERS_IN],
        says: &[
            (Way::To, HOSTS_SHUT),
            (Way::ToIpv6, HOSTS_SHUT),
            (Way::Code, NAME_IT),
            (Way::Relay, GROUP_SHUT),
            (Way::Deaf, GROUP_SHUT),
        ],
        ..LINK
    },
    Wall {
        name: "the sender lets in answers alone",
        sender: &[ANSWERS_IN],
        says: &[(Way::Code, HEARD), (Way::CodeAt, AT_SHUT), (Way::Deaf, GROUP_SHUT)],
        ..LINK
    },
    Wall {
        name: "a forwarded port behind a symmetric router, and a sender that lets in answers alone",
        sender: &[ANSWERS_IN],
        out: "masquerade fully-random",
        says: &[(Way::CodeAt, AT_SHUT)],
        ..RECEIVER_BEHIND
    },
    Wall { name: "hairpin", out: "masquerade", ..BOTH_BEHIND },
    Wall { name: "none", ..LINK },
    Wall { name: "receivers let in the ports", receiver: &[PORTS_IN], ..LINK },
    Wall { name: "the sender lets in the ports", sender: &[PORTS_IN], ..LINK },
    Wall {
        name: "the sender lets in answers alone, receivers the ports",
        sender: &[ANSWERS_IN],
        receiver: &[PORTS_IN],
        says: &[(Way::Code, HEARD), (Way::CodeAt, AT_SHUT), (Way::Deaf, GROUP_SHUT)],
        ..LINK
    },
    Wall {
        name: "the sender lets out the ports, receivers let them in",
        sender: &[PORTS_OUT],
        receiver: &[PORTS_IN],
        ..LINK
    },
    Wall {
        name: "the sender lets out the ports and lets in answers, receivers let in the ports",
        sender: &[PORTS_OUT, ANSWERS_IN],
        receiver: &[PORTS_IN],
        says: &[(Way::Code, HEARD), (Way::CodeAt, AT_SHUT), (Way::Deaf, GROUP_SHUT)],
        ..LINK
    },
    Wall { name: "receivers let out and in the ports", receiver: &[PORTS_OUT, PORTS_IN], ..LINK },
    Wall {
        name: "both let in answers alone",
        sender: &[ANSWERS_IN],
        receiver: &[ANSWERS_IN],
        says: &[
            (Way::To, HOSTS_SHUT),
            (Way::ToIpv6, HOSTS_SHUT),
            (Way::Code, NAME_IT),
            (Way::CodeAt, AT_SHUT),
            (Way::Relay, GROUP_SHUT),
            (Way::Deaf, GROUP_SHUT),
        ],
        ..LINK
    },
    Wall { name: "no ICMP", sender: &[PORTS_IN, NO_ICMP], receiver: &[PORTS_IN, NO_ICMP], ..LINK },
    Wall { name: "400 packets a second at receivers", receiver: &[FEW_PACKETS], ..LINK },
    Wall { name: "400 packets a second at the sender", sender: &[FEW_PACKETS], ..LINK },
    Wall {
        name: "receivers refuse what is no answer",
        receiver: &[REJECTS],
        says: &[
            (Way::To, HOSTS_SHUT),
            (Way::ToIpv6, HOSTS_SHUT),
            (Way::Code, NAME_IT),
            (Way::Relay, GROUP_SHUT),
            (Way::Deaf, GROUP_SHUT),
        ],
        ..LINK
    },
    Wall {
        name: "the sender refuses what is no answer",
        sender: &[REJECTS],
        says: &[(Way::Code, HEARD), (Way::CodeAt, AT_SHUT), (Way::Deaf, GROUP_SHUT)],
        ..LINK
    },
    Wall {
        name: "masquerade",
        out: "masquerade",
        says: &[(Way::CodeAt, AT_SHUT)],
        ..SENDER_BEHIND
    },
    Wall {
        name: "masquerade with random ports",
        out: "masquerade random",
        says: &[(Way::CodeAt, AT_SHUT)],
        ..SENDER_BEHIND
    },
    Wall {
        name: "masquerade with fully random ports (symmetric)",
        out: "masquerade fully-random",
        says: &[(Way::CodeAt, AT_SHUT)],
        ..SENDER_BEHIND
    },
    Wall {
        name: "one address of the router (snat)",
        out: "snat to 10.77.0.2",
        says: &[(Way::CodeAt, AT_SHUT)],
        ..SENDER_BEHIND
    },
    Wall {
        name: "a symmetric router, and receivers that let in the ports",
        out: "masquerade fully-random",
        receiver: &[PORTS_IN],
        says: &[(Way::CodeAt, AT_SHUT)],
        ..SENDER_BEHIND
    },
    Wall {
        name: "a symmetric router that forwards the ports to the sender, and receivers that let in answers",
        out: "masquerade fully-random",
        into: DNAT_SENDER,
        receiver: &[ANSWERS_IN],
        says: &[(Way::To, HOSTS_SHUT), (Way::Relay, GROUP_SHUT)],
        ..SENDER_BEHIND
    },
    Wall { name: "a forwarded port", out: "masquerade", ..RECEIVER_BEHIND },
    Wall {
        name: "a forwarded port behind a symmetric router",
        out: "masquerade fully-random",
        ..RECEIVER_BEHIND
    },
    Wall {
        name: "another port that is forwarded, and a sender that lets in answers and the ports",
        place: Place::ReceiverBehind(7003),
        sender: &[PORTS_IN],
        out: "masquerade fully-random",
        into: DNAT_OTHER,
        ..LINK
    },
    Wall {
        name: "a router that forwards nothing",
        out: "masquerade",
        into: "",
        says: &[(Way::To, HOSTS_SHUT), (Way::Relay, GROUP_SHUT)],
        ..RECEIVER_BEHIND
    },
    Wall {
        name: "a symmetric router that forwards nothing, and a sender that lets in the ports",
        out: "masquerade fully-random",
        into: "",
        sender: &[PORTS_IN],
        says: &[(Way::To, HOSTS_SHUT), (Way::Relay, GROUP_SHUT)],
        ..RECEIVER_BEHIND
    },
    Wall { name: "hairpin with random ports", out: "masquerade fully-random", ..BOTH_BEHIND },
];

impl Wall {
    fn receivers(&self) -> &'static [u8] {
        if self.place == Place::Link { &[2, 3] } else { &[3] }
    }

    /// Hosts that are named by who sends to them.
    fn named(&self, way: Way) -> String {
        match (self.place, way) {
            (Place::Link, Way::ToIpv6) => "fd77::2,fd77::3".to_owned(),
            (Place::Link, Way::Relay) | (Place::SenderBehind, _) => "10.77.0.3".to_owned(),
            (Place::Link, _) => "10.77.0.2,10.77.0.3".to_owned(),
            (Place::ReceiverBehind(port), _) => format!("10.77.0.2:{port}"),
            (Place::BothBehind, _) => "10.77.0.2".to_owned(),
        }
    }

    /// Address at which receivers find the sender.
    fn sender_at(&self) -> &'static str {
        match self.place {
            Place::Link | Place::ReceiverBehind(_) => "10.77.0.1",
            Place::SenderBehind => "10.77.0.2",
            Place::BothBehind => "10.66.0.1",
        }
    }

    fn ways(&self) -> &'static [Way] {
        match self.place {
            Place::Link => &[Way::To, Way::ToIpv6, Way::Code, Way::CodeAt, Way::Relay, Way::Deaf],
            _ => &[Way::To, Way::CodeAt, Way::Relay],
        }
    }

    fn build(&self, way: Way) -> Hosts {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let hosts = Hosts::new(&format!("w{}n", NEXT.fetch_add(1, Ordering::Relaxed)), 3);
        for n in 1..=3 {
            hosts.on(n, &format!("addr add fd77::{n}/64 dev eth0 nodad"));
        }
        if self.place != Place::Link {
            self.route(&hosts);
        }
        match way {
            Way::CodeAt | Way::Relay => (1..=3).for_each(|n| hosts.deafen(n)),
            Way::Deaf => hosts.deafen(2),
            Way::To | Way::ToIpv6 | Way::Code => {}
        }
        self.sender.iter().for_each(|rules| hosts.nft(1, rules));
        for n in self.receivers() {
            self.receiver.iter().for_each(|rules| hosts.nft(*n, rules));
        }
        hosts
    }

    /// Host 2 is a router between two networks, which multicast does not pass.
    fn route(&self, hosts: &Hosts) {
        hosts.sysctl(2, "net.ipv4.ip_forward=1");
        hosts.sysctl(2, "net.ipv4.conf.all.send_redirects=0");
        hosts.sysctl(2, "net.ipv4.conf.eth0.send_redirects=0");
        hosts.on(2, "addr add 10.66.0.254/24 dev eth0");
        let inside: &[u8] = match self.place {
            Place::SenderBehind => &[1],
            Place::ReceiverBehind(_) => &[3],
            Place::Link | Place::BothBehind => &[1, 3],
        };
        for n in inside {
            hosts.on(*n, "addr flush dev eth0");
            hosts.on(*n, &format!("addr add 10.66.0.{n}/24 dev eth0"));
            hosts.on(*n, "route add default via 10.66.0.254");
        }
        (1..=3).for_each(|n| hosts.deafen(n));
        let Self { out, into, .. } = self;
        let rules = format!(
            "table ip n {{ \
             chain p {{ type nat hook postrouting priority 100; ip saddr 10.66.0.0/24 {out}; }}; \
             chain d {{ type nat hook prerouting priority -100; {into} }}; \
             chain f {{ type filter hook forward priority 0; policy drop; ip saddr 10.66.0.0/24 accept; \
             ct state established,related accept; ct status dnat accept; }}; }}"
        );
        hosts.nft(2, &rules);
    }
}

/// One way through one wall.
struct Trial<'a> {
    wall: &'a Wall,
    way: Way,
    stage: Stage,
    hosts: Hosts,
    file: PathBuf,
}

impl<'a> Trial<'a> {
    fn new(wall: &'a Wall, way: Way) -> Self {
        let stage = Stage::new();
        let file = stage.file("model", 400_000);
        Self { wall, way, stage, hosts: wall.build(way), file }
    }

    fn dir(&self, n: u8) -> String {
        self.stage.path(&format!("r{n}")).to_str().unwrap().to_owned()
    }

    fn start(&self, n: u8, args: &[&str]) -> Running {
        self.hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
    }

    fn receivers(&self, more: &[&str]) -> Vec<(u8, Running)> {
        let start = |n: u8| {
            let (dir, name) = (self.dir(n), format!("r{n}"));
            let args = ["recv", &dir, "--create-dirs", "--once", "--name", &name];
            let mut running = self.start(n, &[&args[..], more].concat());
            running.wait_for("start");
            (n, running)
        };
        self.wall.receivers().iter().copied().map(start).collect()
    }

    fn send(&self, more: &[&str]) -> Running {
        self.start(1, &[&["send", self.file.to_str().unwrap(), "--wait", WAIT], more].concat())
    }

    /// The sender, and the receivers that it is to reach.
    fn begin(&self) -> (Running, Vec<(u8, Running)>) {
        let group = ["--group", "[ff15::4242]:6003"];
        let to = self.wall.named(self.way);
        match self.way {
            Way::To => {
                let receivers = self.receivers(&[]);
                (self.send(&["--to", &to]), receivers)
            }
            Way::ToIpv6 => {
                let receivers = self.receivers(&group);
                (self.send(&[&["--to", &to][..], &group].concat()), receivers)
            }
            Way::Deaf => {
                let receivers = self.receivers(&[]);
                (self.send(&["--expect", "2"]), receivers)
            }
            Way::Code => self.by_code(&[]),
            Way::CodeAt => self.by_code(&["--at", self.wall.sender_at()]),
            Way::Relay => panic!("it has a relay"),
        }
    }

    fn by_code(&self, at: &[&str]) -> (Running, Vec<(u8, Running)>) {
        let count = self.wall.receivers().len().to_string();
        let mut sender = self.send(&["--code", "--expect", &count, "--for", WAIT]);
        let code = sender.wait_for("code")["code"].as_str().unwrap().to_owned();
        let visit = |n: &u8| {
            let (dir, name) = (self.dir(*n), format!("r{n}"));
            let args = ["recv", &code, &dir, "--create-dirs", "--name", &name, "--timeout", WAIT];
            (*n, self.start(*n, &[&args[..], at].concat()))
        };
        (sender, self.wall.receivers().iter().map(visit).collect())
    }

    /// A relay at host 3, and a receiver there that hears nothing but that.
    fn relayed(&self) -> (Running, Vec<(u8, Running)>, Running) {
        let join = ["relay", "--join", "239.255.42.1:6003@eth0", "--open"];
        let mut relay = self.hosts.start_anywhere(3, &join);
        relay.wait_for("relaying");
        let (dir, name) = (self.dir(3), "r3");
        let args = ["recv", &dir, "--create-dirs", "--once", "--name", name, "--no-unicast"];
        let mut receiver = self.start(3, &args);
        receiver.wait_for("start");
        let to = self.wall.named(self.way);
        (self.send(&["--to", &to, "--with-group", "--expect", "1"]), vec![(3, receiver)], relay)
    }

    fn run(&self) {
        let begun = Instant::now();
        let (sender, receivers, _relay) = match self.way {
            Way::Relay => {
                let (sender, receivers, relay) = self.relayed();
                (sender, receivers, Some(relay))
            }
            _ => {
                let (sender, receivers) = self.begin();
                (sender, receivers, None)
            }
        };
        let ended = sender.end();
        let says = self.wall.says.iter().find(|(way, _)| *way == self.way).map(|(_, words)| *words);
        match says {
            None => self.assert_received(ended, receivers),
            Some(words) => self.assert_said(&ended, receivers, words),
        }
        assert!(begun.elapsed() < LONGEST, "{}: {:?}", self.what(), begun.elapsed());
    }

    fn what(&self) -> String {
        format!("{} by {:?}", self.wall.name, self.way)
    }

    fn assert_received(&self, ended: Ended, receivers: Vec<(u8, Running)>) {
        assert_eq!(ended.code, Some(0), "{}: {}", self.what(), ended.stderr);
        for (n, receiver) in receivers {
            let ended = receiver.end();
            assert_eq!(ended.code, Some(0), "{}: host {n}: {}", self.what(), ended.stderr);
            assert_same(&self.file, &self.stage.path(&format!("r{n}/model")));
        }
    }

    /// Somebody says so in one line, and nobody has success.
    fn assert_said(&self, ended: &Ended, receivers: Vec<(u8, Running)>, words: &str) {
        assert!(ended.code.is_some_and(|code| code > 0), "{}: {:?}", self.what(), ended.code);
        let mut said = ended.stderr.clone();
        for (_, receiver) in receivers {
            // Who has met nobody ends by itself; who waits for any sender is not to end.
            if matches!(self.way, Way::Code | Way::CodeAt) {
                let ended = receiver.end();
                assert!(
                    ended.code.is_some_and(|code| code > 0),
                    "{}: {:?}",
                    self.what(),
                    ended.code
                );
                said.push_str(&ended.stderr);
            }
        }
        let told = |line: &str| line.starts_with("error: ") && line.contains(words);
        assert!(said.lines().any(told), "{}: {words}\n{said}", self.what());
    }
}

/// As many at a time as a machine of CI has processors: most of the time they wait.
const AT_A_TIME: usize = 2;

fn try_all(walls: &[Wall]) {
    let trials = walls.iter().flat_map(|wall| wall.ways().iter().map(move |way| (wall, *way)));
    let trials = Mutex::new(trials);
    let work = || {
        while let Some((wall, way)) = { trials.lock().unwrap().next() } {
            let begun = Instant::now();
            Trial::new(wall, way).run();
            eprintln!("{} by {way:?}: {:.1} s", wall.name, begun.elapsed().as_secs_f64());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
}

#[test]
fn through_firewalls_and_routers_each_way_works_or_says_why_it_cannot() {
    try_all(&WALLS[..FEW]);
}

#[test]
fn through_every_wall_each_way_works_or_says_why_it_cannot() {
    if std::env::var_os("FANFARE_WALLS").is_some() {
        try_all(&WALLS[FEW..]);
    }
}
