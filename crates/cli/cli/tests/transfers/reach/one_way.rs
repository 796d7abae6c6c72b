//! Single hosts that cannot answer, as behind a data diode.

use std::ffi::OsStr;

use crate::support::{Running, Stage, assert_same, hosts::Hosts};

fn start(hosts: &Hosts, n: u8, args: &[&str]) -> Running {
    hosts.start(n, &args.iter().map(OsStr::new).collect::<Vec<_>>())
}

/// A file to hosts 2 to 4 without an answer. Who has it in the end.
fn send(name: &str, recv: &[&str], more: &[&str], prepare: impl Fn(&Hosts)) -> Vec<bool> {
    let stage = Stage::new();
    let hosts = Hosts::new(name, 4);
    prepare(&hosts);
    let file = stage.file("update", 800_000);
    let running: Vec<Running> = (2..=4)
        .map(|n| {
            let dir = stage.path(&format!("r{n}"));
            let args =
                ["recv", dir.to_str().unwrap(), "--create-dirs", "--once", "--timeout", "8s"];
            let mut running = start(&hosts, n, &[&args[..], recv].concat());
            running.wait_for("start");
            running
        })
        .collect();
    let to = ["--one-way", "--to", "10.77.0.2,10.77.0.3,10.77.0.4", "--rate", "20M"];
    let path = file.to_str().unwrap();
    start(&hosts, 1, &[&["send", path, "--carousel", "1"], &to[..], more].concat()).end().expect(0);
    running.into_iter().for_each(|receiver| drop(receiver.end()));
    let has = |n: u8| {
        let got = stage.path(&format!("r{n}/update"));
        let has = got.exists();
        if has {
            assert_same(&file, &got);
        }
        has
    };
    (2..=4).map(has).collect()
}

/// Nothing comes back to the sender, not even an answer to a question for an address.
fn diode(hosts: &Hosts) {
    for n in 2..=4 {
        let there = hosts.address_of(n);
        hosts.on(1, &format!("neigh replace 10.77.0.{n} lladdr {there} dev eth0 nud permanent"));
    }
    hosts.nft(
        1,
        "table netdev d { chain c { type filter hook ingress device eth0 priority 0; policy drop; }; }",
    );
}

#[test]
fn silent_receivers_and_others_take_what_is_pushed_to_them_through_a_diode() {
    for recv in [&["--silent"][..], &[]] {
        assert_eq!(send("oa", recv, &[], diode), [true; 3], "{recv:?}");
    }
    assert_eq!(send("ob", &["--silent"], &[], |_| ()), [true; 3]);
}

#[test]
fn receivers_of_another_group_or_source_take_nothing_that_is_pushed() {
    let other = ["--silent", "--group", "239.255.42.2:6003"];
    assert_eq!(send("oc", &other, &[], |_| ()), [false; 3]);
    let source = ["--silent", "--source", "10.77.0.9"];
    assert_eq!(send("od", &source, &[], |_| ()), [false; 3]);
}
