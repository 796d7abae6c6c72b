//! Real hosts: sockets and programs in network namespaces. They need root; elsewhere each test says
//! that it was not run, and why.

#![allow(clippy::print_stderr, clippy::print_stdout)]

use fanfare_lab::{Ending, Host, Lab, Run, Stop, check_rights, clear_leftovers};
use fanfare_sim::Scenario;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const PORT: u16 = 6079;
/// Nothing here takes longer, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

fn may_not() -> bool {
    let refused = check_rights().err();
    refused.iter().for_each(|why| eprintln!("not tested: {why}"));
    refused.is_some()
}

fn scenario(rest: &str) -> Scenario {
    let text = format!(
        "[scenario]\nname = \"test\"\nduration = \"60s\"\n\
         [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[node]]\nname = \"c\"\n{rest}"
    );
    let no_files = |file: &str| Err(format!("there is no {file}"));
    Scenario::parse_for_laboratory(&text, &no_files).unwrap_or_else(|list| panic!("{list:#?}"))
}

fn socket(host: &Host) -> UdpSocket {
    let own = host.address();
    let open = || -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        socket.join_multicast_v4(&Ipv4Addr::new(239, 255, 77, 9), &own)?;
        socket.set_multicast_loop_v4(false)?;
        socket.set_read_timeout(Some(LIMIT))?;
        Ok(socket)
    };
    host.enter(open).unwrap().unwrap()
}

fn heard(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 2000];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(length);
    (buffer, from)
}

#[test]
fn datagrams_for_a_group_and_for_one_host_arrive_there_after_the_delay() {
    if may_not() {
        return;
    }
    let links = "[[link]]\nfrom = \"*\"\nto = \"*\"\ndelay = \"30ms\"\n";
    let lab = Lab::up(&scenario(links), 1).unwrap();
    let [a, b, c] = [0, 1, 2].map(|n| socket(&lab.hosts()[n]));
    let begun = Instant::now();
    a.send_to(b"all", (Ipv4Addr::new(239, 255, 77, 9), PORT)).unwrap();
    let from = SocketAddr::from((lab.hosts()[0].address(), PORT));
    assert_eq!(heard(&b), (b"all".to_vec(), from));
    assert_eq!(heard(&c), (b"all".to_vec(), from));
    assert!(begun.elapsed() >= Duration::from_millis(30));
    a.send_to(b"one", (lab.hosts()[2].address(), PORT)).unwrap();
    assert_eq!(heard(&c), (b"one".to_vec(), from));
    let counted = lab.down().unwrap();
    let amounts = counted.nodes.iter().map(|n| (n.sent.packets, n.received.packets));
    assert_eq!(amounts.collect::<Vec<_>>(), [(2, 0), (0, 1), (0, 2)]);
    // "all" and "one" with 28 bytes of headers each.
    assert_eq!(counted.nodes[0].sent.bytes, 62);
    assert!(counted.is_balanced() && counted.links.len() == 2, "{counted:#?}");
}

#[test]
fn what_the_model_loses_or_drops_does_not_arrive_and_is_counted() {
    if may_not() {
        return;
    }
    let links = "[[link]]\nfrom = \"a\"\nto = \"b\"\nloss = 1\ndelay = \"1ms\"\n\
        [[link]]\nfrom = \"a\"\nto = \"c\"\nmtu = 100\ndelay = \"1ms\"\n";
    let lab = Lab::up(&scenario(links), 1).unwrap();
    let [a, c] = [0, 2].map(|n| socket(&lab.hosts()[n]));
    let address = |n: usize| (lab.hosts()[n].address(), PORT);
    // Unicast, too, is lost on a link that loses.
    a.send_to(b"lost", address(1)).unwrap();
    a.send_to(&[0; 200], address(2)).unwrap();
    a.send_to(b"last", address(2)).unwrap();
    assert_eq!(heard(&c).0, b"last");
    let counted = lab.down().unwrap();
    assert_eq!((counted.links[0].lost, counted.links[1].too_large), (1, 1), "{counted:#?}");
    assert!(counted.is_balanced());
}

#[test]
fn a_large_datagram_is_fragmented_and_comes_whole() {
    if may_not() {
        return;
    }
    let links = "[[link]]\nfrom = \"*\"\nto = \"*\"\ndelay = \"1ms\"\n";
    let lab = Lab::up(&scenario(links), 1).unwrap();
    let [a, b] = [0, 1].map(|n| socket(&lab.hosts()[n]));
    let sent: Vec<u8> = (0..1900_u32).map(|n| n as u8).collect();
    a.send_to(&sent, (lab.hosts()[1].address(), PORT)).unwrap();
    assert_eq!(heard(&b).0, sent);
    assert_eq!(lab.down().unwrap().nodes[0].sent.packets, 2);
}

/// A directory that is gone when the test ends.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fanfare-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}
impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn programs_run_at_their_times_and_are_judged_by_what_the_file_expects() {
    if may_not() {
        return;
    }
    let rest = r#"
[[link]]
from = "*"
to = "*"
delay = "1ms"
[[program]]
node = "a"
command = ["sh", "-c", "echo $FANFARE_NODE {address:b}; exit 3"]
expect = 3
[[program]]
node = "a"
command = "exit 1"
[[program]]
node = "b"
command = "cat /proc/net/dev; sleep 100"
background = true
[[program]]
node = "c"
command = ["sleep", "100"]
stop = "300ms"
[[program]]
node = "c"
command = ["/no/such/program"]
start = "200ms"
"#;
    let directory = Directory::new("programs");
    let (scenario, stop) = (scenario(rest), Stop::new().unwrap());
    let lab = Lab::up(&scenario, 1).unwrap();
    let run = Run {
        lab: &lab,
        scenario: &scenario,
        out: &directory.0,
        fanfare: Path::new("fanfare"),
        stop: &stop,
    };
    let mut told = 0;
    let conclusion = run.run(&mut |_| told += 1).unwrap();
    let ended: Vec<_> = conclusion.programs.iter().map(|p| (p.ending, p.ok)).collect();
    let term = Some(Ending::Signal(15));
    assert_eq!(ended[..2], [(Some(Ending::Code(3)), true), (Some(Ending::Code(1)), false)]);
    assert_eq!(ended[2..4], [(term, true), (term, true)]);
    // `ip` itself says that there is no such program.
    assert!(matches!(ended[4], (Some(Ending::Code(code)), false) if code > 0), "{ended:?}");
    assert_eq!(told, 5);
    let printed = std::fs::read_to_string(&conclusion.programs[0].stdout).unwrap();
    assert_eq!(printed, "a 10.77.0.2\n");
    let network = std::fs::read_to_string(&conclusion.programs[2].stdout).unwrap();
    assert!(network.contains("eth0"), "{network}");
    assert!(conclusion.programs[4].started >= Duration::from_millis(200));
}

#[test]
fn a_crashed_host_loses_its_programs_and_starts_them_again_when_it_is_back() {
    if may_not() {
        return;
    }
    let rest = r#"
[[node]]
name = "d"
crash = "2s"
restart = "2500ms"
[[link]]
from = "*"
to = "*"
[[program]]
node = "d"
command = "echo up >> {dir}/lives; sleep 100"
[[program]]
node = "a"
command = "until [ $(wc -l < {dir}/../d/lives) = 2 ]; do sleep 0.05; done"
stop = "100s"
"#;
    let directory = Directory::new("crash");
    let (scenario, stop) = (scenario(rest), Stop::new().unwrap());
    let lab = Lab::up(&scenario, 1).unwrap();
    let fanfare = Path::new("fanfare");
    let run = Run { lab: &lab, scenario: &scenario, out: &directory.0, fanfare, stop: &stop };
    // The second program ends when the first has lived twice; that one is then told to end.
    let conclusion = run.run(&mut |report| {
        if report.node == "a" {
            stop.set();
        }
    });
    let programs = conclusion.unwrap().programs;
    assert_eq!((&*programs[1].node, programs[1].ending), ("a", Some(Ending::Code(0))));
    assert!(programs[0].started >= Duration::from_millis(2500), "{programs:#?}");
}

#[test]
fn what_a_dead_run_has_left_is_cleared_and_what_runs_in_it_ends() {
    if may_not() {
        return;
    }
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let name = format!("ffl{}x0h0", dead.id());
    let ip = |arguments: &[&str]| Command::new("ip").args(arguments).stderr(Stdio::null()).status();
    assert!(ip(&["netns", "add", &name]).unwrap().success());
    let mut left =
        Command::new("ip").args(["netns", "exec", &name, "sleep", "1000"]).spawn().unwrap();
    // It counts as running inside only once `ip` has entered.
    let inside = || {
        let pids = Command::new("ip").args(["netns", "pids", &name]).output().unwrap();
        !pids.stdout.is_empty()
    };
    let begun = Instant::now();
    while !inside() {
        assert!(begun.elapsed() < LIMIT, "ip does not enter the namespace");
    }
    // Another test's lab may clear it first.
    clear_leftovers().unwrap();
    assert!(!left.wait().unwrap().success());
    assert!(!ip(&["netns", "exec", &name, "true"]).unwrap().success());
}

#[test]
fn a_lab_that_is_dropped_leaves_nothing() {
    if may_not() {
        return;
    }
    let links = "[[link]]\nfrom = \"*\"\nto = \"*\"\n";
    let lab = Lab::up(&scenario(links), 1).unwrap();
    let names: Vec<String> = lab.hosts().iter().map(|host| host.namespace().to_owned()).collect();
    let list = || Command::new("ip").args(["netns", "list"]).output().unwrap().stdout;
    assert!(names.iter().all(|name| String::from_utf8_lossy(&list()).contains(name)));
    drop(lab);
    assert!(!names.iter().any(|name| String::from_utf8_lossy(&list()).contains(name)));
}
