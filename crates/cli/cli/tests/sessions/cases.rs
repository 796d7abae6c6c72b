//! Cases of their own: what people have met, and what is easily forgotten.

use std::{fs, path::PathBuf, time::Duration};

use super::{
    draw::{
        FromChoice, GroupChoice, HostPlan, JobKind, ReceiverPlan, SendWay, SenderPlan, SessionDraw,
    },
    oracle::ShareRule::{Everything, Nothing},
    play::{PlayedDraw, StartedProgram, content, files_below},
    program,
    world::LinkWorld,
};

fn group(last: u8, v6: bool) -> GroupChoice {
    GroupChoice { last, port: 6003, v6 }
}

fn host(links: &[u8]) -> HostPlan {
    HostPlan { links: links.to_vec(), deaf: false }
}

/// Sends a file by the group, slowly.
fn sender(host: usize, group: GroupChoice) -> SenderPlan {
    SenderPlan {
        host,
        interface: 0,
        names_interface: true,
        group,
        key: None,
        kind: JobKind::Directory,
        mirror: false,
        way: SendWay::Group,
        slow: true,
    }
}

fn receiver(host: usize, group: GroupChoice) -> ReceiverPlan {
    ReceiverPlan {
        host,
        interface: Some(0),
        group,
        key: None,
        kind: JobKind::Directory,
        source: None,
        from: None,
        group_alone: false,
        deletes: true,
        code: None,
    }
}

/// Plays it with real programs.
#[track_caller]
fn play(case: u64, hosts: &[HostPlan], senders: &[SenderPlan], receivers: &[ReceiverPlan]) {
    // Not a seed that is drawn.
    let seed = 1_000_000 + case;
    let draw = SessionDraw {
        seed,
        hosts: hosts.to_vec(),
        senders: senders.to_vec(),
        receivers: receivers.to_vec(),
        relay: None,
    };
    let some =
        (0..receivers.len()).any(|to| (0..senders.len()).any(|by| draw.rule(to, by) == Nothing));
    assert!(some || case >= 100, "nobody is a stranger: it shows nothing");
    let played = PlayedDraw::new(&draw, dir(seed), &program()).play();
    assert!(played.is_none(), "{}", played.unwrap_or_default());
}

fn dir(seed: u64) -> PathBuf {
    crate::support::place().join(format!("fanfare-sessions-{}-{seed}", std::process::id()))
}

/// The other room stands at the same port, hears multicast or not, and has what must not vanish.
fn two_rooms(case: u64, kind: JobKind, mirror: bool, v6: bool) {
    let mut hosts = [host(&[1]), host(&[1]), host(&[1]), host(&[1]), host(&[1])];
    (hosts[3].deaf, hosts[4].deaf) = (true, true);
    let by = SenderPlan { kind, mirror, ..sender(0, group(1, v6)) };
    let to = |host, room| ReceiverPlan { kind, ..receiver(host, group(room, v6)) };
    play(case, &hosts, &[by], &[to(1, 1), to(2, 2), to(3, 1), to(4, 2)]);
}

#[test]
fn the_files_of_one_room_do_not_come_to_the_other_at_the_same_port() {
    two_rooms(1, JobKind::Directory, false, false);
    two_rooms(2, JobKind::Directory, false, true);
}

#[test]
fn the_image_of_one_room_is_not_written_to_the_disks_of_the_other() {
    two_rooms(3, JobKind::Device, false, false);
    two_rooms(4, JobKind::Device, false, true);
}

#[test]
fn the_mirror_of_one_room_deletes_nothing_in_the_other() {
    two_rooms(5, JobKind::Directory, true, false);
    two_rooms(6, JobKind::Directory, true, true);
}

#[test]
fn of_one_source_or_sender_alone_nothing_of_another_one_is_taken_by_whichever_way() {
    let mut hosts = [host(&[1]), host(&[1]), host(&[1]), host(&[1])];
    hosts[3].deaf = true;
    for (case, v6) in [(10, false), (11, true)] {
        let there = group(1, v6);
        let senders = [sender(0, there), sender(1, there)];
        let by_source = |host, one| ReceiverPlan { source: Some(one), ..receiver(host, there) };
        let by_name = |host, from| ReceiverPlan { from: Some(from), ..receiver(host, there) };
        let receivers = [
            by_source(2, 0),
            by_source(3, 1),
            by_name(2, FromChoice::Name(1)),
            by_name(3, FromChoice::Node(0)),
            by_name(3, FromChoice::Address(1)),
        ];
        play(case, &hosts, &senders, &receivers);
        // The one that is meant sends nothing at all, and the other one names the hosts.
        let other = SenderPlan { way: SendWay::Hosts(vec![2, 3]), ..sender(1, there) };
        let quiet = SenderPlan { slow: false, ..sender(0, group(2, v6)) };
        play(
            case + 10,
            &hosts,
            &[quiet, other],
            &[by_source(2, 0), by_name(3, FromChoice::Name(0))],
        );
    }
}

#[test]
fn what_another_interface_brings_is_not_taken_by_whichever_way() {
    // Whoever is in the middle has a foot in both links.
    let mut hosts = [host(&[2]), host(&[1, 2]), host(&[1, 2]), host(&[1])];
    hosts[2].deaf = true;
    for (case, v6) in [(30, false), (31, true)] {
        let there = group(1, v6);
        let at =
            |host, interface| ReceiverPlan { interface: Some(interface), ..receiver(host, there) };
        let receivers = [at(1, 0), at(1, 1), at(2, 0), at(2, 1), at(3, 0)];
        play(case, &hosts, &[sender(0, there)], &receivers);
        let named = SenderPlan { way: SendWay::Hosts(vec![1, 2]), ..sender(0, there) };
        play(case + 10, &hosts, &[named], &receivers);
    }
}

#[test]
fn two_receivers_of_two_groups_on_one_host_have_each_its_own_also_by_unicast() {
    for (case, deaf, v6) in
        [(50, false, false), (51, true, false), (52, false, true), (53, true, true)]
    {
        let mut hosts = [host(&[1]), host(&[1])];
        hosts[1].deaf = deaf;
        let receivers = [receiver(1, group(1, v6)), receiver(1, group(2, v6))];
        let to = |room| SenderPlan { way: SendWay::Hosts(vec![1]), ..sender(0, group(room, v6)) };
        play(case, &hosts, &[to(1), to(2)], &receivers);
        let by_group = |room| sender(0, group(room, v6));
        play(case + 10, &hosts, &[by_group(1), by_group(2)], &receivers);
    }
}

#[test]
fn two_receivers_of_one_group_on_one_host_have_both_everything_also_by_unicast() {
    for (case, deaf, v6) in [(100, false, false), (101, true, false), (102, true, true)] {
        let mut hosts = [host(&[1]), host(&[1])];
        hosts[1].deaf = deaf;
        let receivers = [receiver(1, group(1, v6)), receiver(1, group(1, v6))];
        let to = SenderPlan { way: SendWay::Hosts(vec![1]), ..sender(0, group(1, v6)) };
        play(case, &hosts, &[to], &receivers);
        play(case + 10, &hosts, &[sender(0, group(1, v6))], &receivers);
    }
}

/// The first block of TOML of a page.
fn documented_streams() -> String {
    let page = include_str!("../../../../../docs/how-to/push-a-model.md");
    let from = page.split("```toml\n").nth(1).expect("a block of TOML");
    from.split("```").next().unwrap().to_owned()
}

#[test]
fn the_streams_of_the_documentation_come_to_their_own_groups_alone() {
    let seed = 1_000_200;
    let dir = dir(seed);
    let text = documented_streams();
    assert!(text.contains("239.255.42.1:6003") && text.contains("239.255.42.2:6003"));
    let ones = text.replace("\"64\"", "\"1\"").replace("\"16\"", "\"1\"");
    let contents = [content(seed, 0, 2_500_000), content(seed, 1, 2_500_000)];
    for (name, bytes) in ["llama-70b", "dataset"].iter().zip(&contents) {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("data"), bytes).unwrap();
    }
    fs::write(dir.join("streams.toml"), ones).unwrap();
    let hosts = [host(&[1]), host(&[1]), host(&[1])];
    let world = LinkWorld::new("streams", &hosts);
    let program = program();
    let start = |at: usize, name: &str, line: String| {
        let line = format!("cd {} && exec {} {line}", dir.display(), program.display());
        let all = ["sh".to_owned(), "-c".into(), line];
        StartedProgram(world.start(at, &all, &dir.join(name), None))
    };
    let mut receivers = [1, 2].map(|room| {
        let line =
            format!("recv in{room} --create-dirs --name r{room} --group 239.255.42.{room}:6003");
        let mut one = start(room, &format!("r{room}"), line);
        assert!(one.listens(6003));
        one
    });
    // Long enough for calls by broadcast.
    let mut sender = start(0, "s", "send --streams streams.toml --total-rate 16M".into());
    let code = sender.ends_within(Duration::from_secs(90));
    for one in &mut receivers {
        one.interrupt();
    }
    let said = fs::read_to_string(dir.join("s.err")).unwrap_or_default();
    assert_eq!(code, Some(0), "{said}");
    for (room, name) in [(1, "llama-70b"), (2, "dataset")] {
        let mut files = files_below(&dir.join(format!("in{room}")));
        files.retain(|name, _| name != crate::support::LEDGER);
        let names: Vec<&String> = files.keys().collect();
        assert_eq!(names, [&format!("{name}/data")], "room {room}: {said}");
        assert!(files[&format!("{name}/data")] == contents[room - 1]);
    }
    let _ = fs::remove_dir_all(&dir);
}

#[test]
fn the_rules_say_who_is_a_stranger() {
    let draw = SessionDraw {
        seed: 0,
        hosts: vec![host(&[1]), host(&[1]), host(&[1, 2])],
        senders: vec![sender(0, group(1, false)), sender(1, group(2, false))],
        receivers: vec![
            receiver(1, group(1, false)),
            receiver(2, group(2, false)),
            ReceiverPlan { interface: Some(1), ..receiver(2, group(1, false)) },
            ReceiverPlan { source: Some(1), ..receiver(2, group(1, false)) },
            ReceiverPlan { key: Some(0), ..receiver(2, group(1, false)) },
        ],
        relay: None,
    };
    let rules = |sender| (0..5).map(|one| draw.rule(one, sender)).collect::<Vec<_>>();
    assert_eq!(rules(0), [Everything, Nothing, Nothing, Nothing, Nothing]);
    assert_eq!(rules(1), [Nothing, Everything, Nothing, Nothing, Nothing]);
}

#[test]
fn draws_have_strangers_and_members_by_every_way_and_of_every_kind() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..1000 {
        let draw = SessionDraw::new(seed);
        for (number, by) in draw.senders.iter().enumerate() {
            let way = match by.way {
                SendWay::Group => 0,
                SendWay::GroupAlone => 1,
                SendWay::Hosts(_) => 2,
                SendWay::HostsAndGroup(_) => 3,
                SendWay::Code => 4,
            };
            for to in 0..draw.receivers.len() {
                *seen.entry((way, draw.rule(to, number))).or_insert(0) += 1;
                *seen.entry((10 + by.kind as usize, draw.rule(to, number))).or_insert(0) += 1;
            }
        }
    }
    for way in [0, 1, 2, 3, 4, 10, 11, 12, 13] {
        for rule in [Nothing, Everything] {
            let count = seen.get(&(way, rule)).copied().unwrap_or(0);
            assert!(count >= 20, "{way} {rule:?}: {count} of {seen:?}");
        }
    }
}
