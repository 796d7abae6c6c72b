//! Several sendings of one process: `send --streams`.

use std::net::UdpSocket;

use crate::support::{Ended, Running, Stage, assert_same};

/// A group for each of so many streams, and what keeps their ports for this test.
struct Groups {
    names: Vec<String>,
    _ports: Vec<UdpSocket>,
}

impl Groups {
    fn new(count: usize) -> Self {
        let ports: Vec<UdpSocket> =
            (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        let names = ports.iter().map(|socket| format!("239.255.42.8:{}", port(socket))).collect();
        Self { names, _ports: ports }
    }

    /// A receiver for each, called r0, r1 and so on.
    fn receivers(&self, stage: &Stage, more: &[&str]) -> Vec<Running> {
        let receiver =
            |(number, group): (usize, &String)| stage.recv_from(group, &format!("r{number}"), more);
        self.names.iter().enumerate().map(receiver).collect()
    }

    /// A file of streams, with `lines` above it and `more(n)` in each table.
    fn file(&self, stage: &Stage, lines: &str, more: impl Fn(usize) -> String) -> String {
        let table = |(number, group): (usize, &String)| {
            format!("[[stream]]\ngroup = \"{group}\"\n{}\n", more(number))
        };
        let tables: String = self.names.iter().enumerate().map(table).collect();
        let path = stage.text("streams.toml", &format!("{lines}\n{tables}"));
        path.to_str().unwrap().to_owned()
    }
}

fn send(file: &str, more: &[&str]) -> Running {
    let args = ["send", "--streams", file, "--interface", "127.0.0.1", "--json"];
    let args: Vec<_> = args.iter().chain(more).map(AsRef::as_ref).collect();
    Running::start(&args, None)
}

/// The last line of each stream.
fn results(sent: &Ended) -> Vec<(String, u64)> {
    let each = sent.all("result").into_iter().filter(|line| line.get("stream").is_some());
    let pair = |line: &serde_json::Value| {
        (line["stream"].as_str().unwrap().to_owned(), line["exit"].as_u64().unwrap())
    };
    each.map(pair).collect()
}

#[test]
fn ten_streams_of_one_process_come_each_to_its_own_receiver_within_one_bound_of_memory() {
    let (stage, groups) = (Stage::new(), Groups::new(10));
    let files: Vec<_> = (0..10).map(|n| stage.file(&format!("out/{n}.bin"), 600_000)).collect();
    let receivers = groups.receivers(&stage, &["--once", "--test-drop", "0.02"]);
    let file = groups.file(&stage, "expect = 1\nsegment = 1400", |n| {
        format!("paths = [{:?}]\nreceipts = {:?}", files[n], stage.path(&format!("{n}.jsonl")))
    });
    let sent = send(&file, &["--total-rate", "100M", "--memory", "5MiB"]).end().expect(0);
    let mut ended = results(&sent);
    ended.sort();
    let mut expected: Vec<_> = groups.names.iter().map(|name| (name.clone(), 0)).collect();
    expected.sort();
    assert_eq!(ended, expected);
    let result = sent.result();
    assert_eq!((&result["streams"], &result["complete"]), (&10.into(), &10.into()));
    let (bound, most) = (result["memory"].as_u64().unwrap(), result["memory_most"].as_u64());
    assert_eq!(bound, 5 << 20);
    // Each has read its file, whole.
    assert!((10 * (256 << 10)..=bound).contains(&most.unwrap()), "{result}");
    for (number, receiver) in receivers.into_iter().enumerate() {
        receiver.end().expect(0);
        assert_same(&files[number], &stage.path(&format!("r{number}/{number}.bin")));
        let receipts = std::fs::read_to_string(stage.path(&format!("{number}.jsonl"))).unwrap();
        assert_eq!(receipts.lines().count(), 1);
        assert!(receipts.contains(&format!("\"stream\":\"{}\"", groups.names[number])));
    }
}

#[test]
fn streams_have_one_rate_by_weight_and_who_ends_leaves_its_share() {
    let (stage, groups) = (Stage::new(), Groups::new(2));
    let files = [stage.file("out/large", 3_000_000), stage.file("out/small", 1_000_000)];
    let receivers = groups.receivers(&stage, &["--once"]);
    // With 3 : 1 both would end at the same time.
    let file = groups.file(&stage, "expect = 1\ntotal-rate = \"16M\"", |n| {
        format!("paths = [{:?}]\nweight = {}", files[n], [1, 3][n])
    });
    let sent = send(&file, &[]).end().expect(0);
    receivers.into_iter().for_each(|receiver| drop(receiver.end().expect(0)));
    let rates = |name: &str, among: &[u64]| {
        let of_it = |line: &&serde_json::Value| line["stream"] == name;
        let rates = sent.all("progress").into_iter().filter(of_it);
        rates.filter(|line| among.contains(&line["rate_bps"].as_u64().unwrap())).count()
    };
    let (large, small) = (&groups.names[0], &groups.names[1]);
    assert!(rates(small, &[12_000_000]) > 0, "{:#?}", sent.all("progress"));
    assert!(rates(large, &[4_000_000]) > 0, "a quarter beside the other");
    // Until the other has ended, a 64th of its share is kept for it.
    assert!(rates(large, &[16_000_000, 15_812_500]) > 0, "all of it afterwards");
    let seconds = |name: &str| {
        let is_its = |line: &&serde_json::Value| line["stream"] == name;
        sent.all("result").into_iter().find(is_its).unwrap()["seconds"].as_f64().unwrap()
    };
    // 4 MB at 16 Mbit/s are 2 s, and no share of the rate brings them sooner.
    assert!(seconds(large) >= 1.9, "{} s", seconds(large));
}

#[test]
fn the_exit_code_is_the_worst_and_the_other_streams_are_not_held_up() {
    let (stage, groups) = (Stage::new(), Groups::new(2));
    let file = stage.file("out/f", 100_000);
    let receiver = stage.recv_from(&groups.names[1], "r1", &["--once"]);
    let streams =
        groups.file(&stage, "wait = \"1s\"\nrate = \"20M\"", |_| format!("paths = [{file:?}]"));
    let sent = send(&streams, &[]).end().expect(6);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("r1/f"));
    let mut ended = results(&sent);
    ended.sort_by_key(|(_, exit)| *exit);
    assert_eq!(ended, [(groups.names[1].clone(), 0), (groups.names[0].clone(), 6)]);
    assert_eq!((&sent.result()["streams"], &sent.result()["complete"]), (&2.into(), &1.into()));
    let error = sent.error();
    assert!(
        error.starts_with(&format!(
            "error: stream ({}): receivers (0): no receiver",
            groups.names[0]
        ))
    );
}

#[test]
fn an_interrupt_ends_all_streams_and_tells_their_receivers() {
    let (stage, groups) = (Stage::new(), Groups::new(3));
    let file = stage.file("out/f", 3_000_000);
    let mut receivers = groups.receivers(&stage, &["--once"]);
    let streams = groups.file(&stage, "expect = 1", |_| format!("paths = [{file:?}]"));
    let sending = send(&streams, &["--total-rate", "6M"]);
    // Who was sent nothing yet would wait for another sender.
    receivers.iter_mut().for_each(|receiver| receiver.wait_for_progress("bytes", 1));
    sending.interrupt();
    let sent = sending.end().expect(130);
    assert_eq!(results(&sent).iter().filter(|(_, exit)| *exit == 130).count(), 3);
    for receiver in receivers {
        let received = receiver.end();
        assert_eq!(received.all("gone")[0]["said"], true);
    }
}

#[test]
fn every_mistake_in_a_file_of_streams_is_told_with_its_line() {
    let stage = Stage::new();
    let f = stage.file("f", 10);
    let wrong = |name: &str, text: &str| {
        let path = stage.text(name, &text.replace('F', f.to_str().unwrap()));
        let ended = send(path.to_str().unwrap(), &[]).end().expect(2);
        let lines: Vec<String> = ended.stderr.lines().map(str::to_owned).collect();
        lines.join("\n").replace(path.to_str().unwrap(), name)
    };
    let (a, b) = ("[[stream]]\npaths = [\"F\"]\n", "[[stream]]\ngroup = \"239.255.42.8:7001\"\n");
    for (name, text, told) in [
        ("none.toml", "ttl = 1\n".to_owned(), "stream at none.toml:1: is not there. Write [["),
        ("table.toml", "stream = 3\n".to_owned(), "stream at table.toml:1: must be tables"),
        ("files.toml", format!("{a}{b}"), "stream at files.toml:3: has no files. Add paths"),
        ("weight.toml", format!("{a}weight = 0\n"), "weight (0) at weight.toml:3: not a number"),
        ("key.toml", format!("{a}wieght = 2\n"), "'wieght' at key.toml:3, did you mean 'weight'?"),
        ("json.toml", format!("{a}json = true\n"), "key (json) at json.toml:3: is for all streams"),
        ("rate.toml", format!("{a}rate = \"fast\"\n"), "rate (fast) at rate.toml:3: not a rate"),
        ("same.toml", format!("{a}{a}"), "group (239.255.42.1:6003) at same.toml:3: the stream at"),
        (
            "memory.toml",
            format!("memory = \"1MiB\"\n{a}{b}paths = [\"F\"]\n"),
            "memory (1.0 MiB): 2 streams hold 2.5 MiB together at least. Give --memory 3MiB",
        ),
        (
            "receipts.toml",
            format!("receipts = \"r\"\n{a}{b}paths = [\"F\"]\n"),
            "receipts (r) at receipts.toml:4: the stream at receipts.toml:2 has it, too",
        ),
        (
            "missing.toml",
            format!("{a}{b}paths = [\"missing.bin\"]\n"),
            "stream at missing.toml:3: file (missing.bin): there is no such file",
        ),
    ] {
        let said = wrong(name, &text);
        assert!(said.contains(told), "{name}: {said}");
    }
    let two = wrong("two.toml", &format!("ttl = 300\n{a}weight = 0\n{b}"));
    assert_eq!(two.lines().filter(|line| line.starts_with("error: ")).count(), 3, "{two}");
}

#[test]
fn what_is_for_streams_is_refused_without_them_and_files_beside_them() {
    let stage = Stage::new();
    let file = stage.file("f", 10);
    let alone = stage.send(&[file.as_os_str(), "--total-rate=1M".as_ref()]).expect(2);
    assert!(alone.error().contains(": is shared by streams"));
    let streams = stage.text("s.toml", &format!("[[stream]]\npaths = [{file:?}]\n"));
    let both = send(streams.to_str().unwrap(), &[file.to_str().unwrap()]).end().expect(2);
    assert!(both.error().contains("paths (on the command line): each stream has its own"));
}
