//! Options from a file: what it says, what is wrong with it, and reading it again while running.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::support::{Ended, Running, Stage, assert_same};

/// One mistake or two of every kind.
const WRONG: &str = r#"group = "10.0.0.1:6003"
rate = "10M"
ttl = 300
quiet = "yes"

[send]
min_rte = "1M"
rate = "10M"
slow = "tail"
min-rate = "20M"
min_rate = "2M"
wait = "-5s"
fec = "200:100"
carousel = -1
timeout = "5s"
cc = "nrom"

[recv]
count = "many"
timeout = ["5s"]
keep = true
overwrite = true
node-id = 0
loopback = 1
"#;

fn config(stage: &Stage, text: &str) -> PathBuf {
    stage.text("fanfare.toml", text)
}

/// Runs to the end without anything but these words.
fn run(words: &[&str]) -> Ended {
    Running::start(&words.iter().map(OsStr::new).collect::<Vec<_>>(), None).end()
}

fn check(path: &Path) -> Ended {
    run(&["config", "check", path.to_str().unwrap(), "--json"])
}

/// The mistakes of a file with this text, as people see them; the file is called F.
fn mistakes(text: &str) -> Vec<String> {
    let stage = Stage::new();
    let path = config(&stage, text);
    let ended = check(&path).expect(2);
    let told = ended.stderr.replace(path.to_str().unwrap(), "F");
    let events: Vec<&str> =
        ended.all("error").iter().map(|error| error["message"].as_str().unwrap()).collect();
    assert_eq!(events.join("\n").replace(path.to_str().unwrap(), "F"), told.trim_end());
    told.lines().map(str::to_owned).collect()
}

#[test]
fn a_slip_in_a_key_is_told_with_its_line_and_what_was_meant() {
    let told = mistakes("[send]\n\nmin_rte = \"1M\"\n");
    assert_eq!(told, ["error: unknown key 'min_rte' at F:3, did you mean 'min-rate'?"]);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_with_their_lines() {
    let told = mistakes(WRONG);
    let expected = [
        "error: group (10.0.0.1:6003) at F:1: 10.0.0.1 is not a multicast address (224.0.0.0/4 or \
         ff00::/8). For one receiver use --unicast.",
        "error: key (rate) at F:2: only send takes it. Put it below [send]",
        "error: ttl (300) at F:3: not from 0 to 255. Give 1 for the link",
        "error: quiet (yes) at F:4: must be true or false",
        "error: unknown key 'min_rte' at F:7, did you mean 'min-rate'?",
        "error: min-rate (20M) at F:10: nobody gets as much at a rate of 10.0 Mbit/s. Give a lower one",
        "error: key (min_rate) at F:11: means 'min-rate', as one above does. Leave one out",
        "error: wait (-5s) at F:12: not a time. Write it as 500ms, 30s, 2m, 1h or 7d",
        "error: fec (200:100) at F:13: k+parity = 300 > 255 for GF(2^8). Use --fec-id 2 or at most \
         255",
        "error: carousel (-1) at F:14: is not from 0 to 4294967295. Give such a number",
        "error: key (timeout) at F:15: is an option of recv. Put it below [recv]",
        "error: cc (nrom) at F:16: not known. Use one of: auto, norm, ecn, loss-tolerant, fixed, era",
        "error: count (many) at F:19: is no number. Give one",
        "error: timeout (array) at F:20: must be text or a number. Put text in quotes",
        "error: keep (beside overwrite) at F:21: the two exclude each other. Leave one out",
        "error: node id (0) at F:23: not a number from 1 to 4294967294. Give one, or none",
        "error: loopback (1) at F:24: must be true or false",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_lacks_only_a_wrong_option_is_not_told_too() {
    let told = mistakes("[send]\nslow = \"evict\"\nmin-rate = \"fast\"\n");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].starts_with("error: min-rate (fast) at F:3: not a rate."), "{told:#?}");
}

#[test]
fn broken_toml_is_told_with_every_line_that_is_broken() {
    let told = mistakes("[send]\nrate = \nwait = \"5s\"\nslow == 1\n");
    assert!(told.iter().any(|line| line.starts_with("error: TOML at F:2: ")), "{told:#?}");
    assert!(told.iter().any(|line| line.starts_with("error: TOML at F:4: ")), "{told:#?}");
}

#[test]
fn a_start_tells_the_same_mistakes_as_the_check() {
    let stage = Stage::new();
    let path = config(&stage, WRONG);
    let told = check(&path).expect(2).stderr;
    for command in ["send", "recv"] {
        let words = [OsStr::new("--config"), path.as_os_str()];
        assert_eq!(stage.start(command, &words).end().expect(2).stderr, told);
    }
}

#[test]
fn a_file_that_asks_for_json_has_its_mistakes_told_in_json() {
    let stage = Stage::new();
    let path = config(&stage, "json = true\nttl = 300\n");
    let ended = run(&["recv", "--config", path.to_str().unwrap()]).expect(2);
    assert_eq!(ended.all("error").len(), 1);
}

#[test]
fn a_file_that_cannot_be_relied_on_is_refused() {
    let stage = Stage::new();
    let open = config(&stage, "");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o646)).unwrap();
    let bytes = stage.path("bytes.toml");
    fs::write(&bytes, b"name = \"\xff\"\n").unwrap();
    fs::create_dir(stage.path("dir")).unwrap();
    for (path, why) in [
        (stage.path("none.toml"), "there is no such file. Name one that is there"),
        (stage.path("dir"), "is a directory. Name a file in it"),
        ("/dev/null".into(), "is not a file. Name a file"),
        (open, "others may write to it (mode 646). Take that from them: chmod o-w"),
        (bytes, "is not UTF-8. Save it as UTF-8"),
    ] {
        let ended = stage.start("recv", &[OsStr::new("--config"), path.as_os_str()]).end();
        assert_eq!(ended.expect(2).error(), format!("error: config ({}): {why}", path.display()));
    }
}

#[test]
fn the_example_in_the_packaging_is_right() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/fanfare.toml");
    check(Path::new(example)).expect(0);
}

/// A receiver that is listening, with nothing on its command line but the file and the group.
fn recv(stage: &Stage, path: &Path) -> Running {
    let mut running = stage.start("recv", &[OsStr::new("--config"), path.as_os_str()]);
    running.wait_for("start");
    running
}

#[test]
fn a_file_says_all_that_a_command_needs_and_a_table_more_than_what_is_above_it() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 100_000);
    let (dir, out) = (stage.path("in"), file.display().to_string());
    let text = format!(
        "name = \"above\"\nloopback = true\n[recv]\nname = \"below\"\ndir = {dir:?}\n\
         create_dirs = true\nonce = true\n[send]\npaths = [{out:?}]\nrate = 50_000_000\n\
         expect = \"below\"\nsync = false\n"
    );
    let path = config(&stage, &text);
    let receiver = recv(&stage, &path);
    let sent = stage.send(&[OsStr::new("--config"), path.as_os_str()]).expect(0);
    assert_eq!(sent.result()["outcomes"][0]["name"], "below");
    receiver.end().expect(0);
    assert_same(&file, &dir.join("data.bin"));
}

#[test]
fn the_command_line_wins_over_the_file_also_where_one_option_excludes_another() {
    let stage = Stage::new();
    let file = stage.file("out/f", 50_000);
    fs::create_dir_all(stage.path("in")).unwrap();
    fs::write(stage.path("in/f"), "another one").unwrap();
    let text = "group = \"239.255.42.99:9\"\n[recv]\ndir = \"nowhere\"\nkeep = true\nonce = true\n";
    let path = config(&stage, text);
    let dir = stage.path("in");
    let words = ["--config", path.to_str().unwrap(), "--overwrite", "--", dir.to_str().unwrap()];
    let words = [&["recv", "--group", &stage.group, "--interface=127.0.0.1", "--json"], &words[..]];
    let words = words.concat();
    let mut receiver = Running::start(&words.iter().map(OsStr::new).collect::<Vec<_>>(), None);
    assert_eq!(receiver.wait_for("start")["group"], stage.group.as_str());
    stage.send(&[file.as_os_str(), OsStr::new("--rate=50M")]).expect(0);
    receiver.end().expect(0);
    assert_same(&file, &stage.path("in/f"));
}

/// A sender of a file that takes long at this rate, and its receiver.
fn sending(stage: &Stage, options: &str) -> (PathBuf, Running, Running) {
    let receiver = stage.recv("in", &["--once"]);
    let file = stage.file("out/data.bin", 3_000_000);
    let path = config(stage, options);
    let words = [file.as_os_str(), OsStr::new("--config"), path.as_os_str()];
    let mut sender = stage.start("send", &words);
    sender.wait_for("progress");
    (path, sender, receiver)
}

#[test]
fn a_hangup_puts_a_new_rate_into_force_and_names_what_cannot_change() {
    let stage = Stage::new();
    let (path, mut sender, receiver) = sending(&stage, "[send]\nrate = \"500k\"\n");
    let text = "name = \"x\"\n[send]\nrate = \"50M\"\nslow = \"tail\"\nmin_rate = \"10k\"\n";
    fs::write(&path, text).unwrap();
    sender.hang_up();
    let reloaded = sender.wait_for("reloaded");
    assert_eq!(reloaded["ok"], true);
    assert_eq!(reloaded["changed"], serde_json::json!(["min-rate", "rate", "slow"]));
    assert_eq!(reloaded["restart"], serde_json::json!(["name"]));
    while sender.wait_for("progress")["rate_bps"] != 50_000_000 {}
    let sent = sender.end().expect(0);
    let warned = sent.all("warning");
    let warned = warned.iter().find(|warning| warning["code"] == "config.restart").unwrap();
    assert!(warned["message"].as_str().unwrap().contains(": name: cannot change"), "{warned}");
    receiver.end().expect(0);
}

#[test]
fn a_hangup_does_not_claim_another_rate_for_layers_that_were_announced() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 300_000);
    let path = config(&stage, "[send]\nlayers = \"auto\"\nrate = \"500k\"\n");
    let words = [file.as_os_str(), OsStr::new("--config"), path.as_os_str()];
    let mut sender = stage.start("send", &words);
    sender.wait_for("progress");
    let text = "[send]\nlayers = \"auto\"\nrate = \"50M\"\nverbose = 1\n";
    fs::write(&path, text).unwrap();
    sender.hang_up();
    let reloaded = sender.wait_for("reloaded");
    assert_eq!(reloaded["changed"], serde_json::json!(["verbose"]), "{reloaded}");
    assert_eq!(reloaded["restart"], serde_json::json!(["rate"]), "{reloaded}");
}

#[test]
fn a_hangup_with_a_bad_file_leaves_all_as_it_was_and_tells_every_mistake() {
    let stage = Stage::new();
    let (path, mut sender, receiver) = sending(&stage, "[send]\nrate = \"5M\"\n");
    fs::write(&path, "[send]\nrate = \"50M\"\nttl = 300\nwiat = \"5s\"\n").unwrap();
    sender.hang_up();
    let reloaded = sender.wait_for("reloaded");
    assert_eq!((&reloaded["ok"], &reloaded["changed"]), (&false.into(), &serde_json::json!([])));
    fs::remove_file(&path).unwrap();
    sender.hang_up();
    assert_eq!(sender.wait_for("reloaded")["ok"], false);
    assert_eq!(sender.wait_for("progress")["rate_bps"], 5_000_000);
    let sent = sender.end().expect(0);
    let codes: Vec<&serde_json::Value> = sent.all("warning").iter().map(|w| &w["code"]).collect();
    assert_eq!(codes, ["config.invalid", "config.invalid", "config.missing"]);
    receiver.end().expect(0);
}

#[test]
fn a_ceiling_for_the_rate_is_set_while_it_runs_and_another_controller_needs_another_start() {
    let stage = Stage::new();
    let file = stage.file("out/data.bin", 1000);
    let path = config(&stage, "[send]\nrate = \"auto\"\nexpect = \"nobody\"\n");
    let words = [file.as_os_str(), OsStr::new("--config"), path.as_os_str()];
    let mut sender = stage.start("send", &words);
    sender.wait_for("waiting");
    fs::write(&path, "[send]\nrate = \"5M\"\nexpect = \"nobody\"\ncc = \"norm\"\n").unwrap();
    sender.hang_up();
    let reloaded = sender.wait_for("reloaded");
    assert_eq!(reloaded["changed"], serde_json::json!(["rate"]));
    assert_eq!(reloaded["restart"], serde_json::json!(["cc"]));
    fs::write(&path, "[send]\nrate = \"6M\"\nexpect = \"nobody\"\n").unwrap();
    sender.hang_up();
    assert_eq!(sender.wait_for("reloaded")["changed"], serde_json::json!(["rate"]));
    sender.interrupt();
    sender.end().expect(130);
}

#[test]
fn a_hangup_changes_what_a_receiver_does_with_files_that_are_there() {
    let stage = Stage::new();
    let file = stage.file("out/f", 50_000);
    fs::create_dir_all(stage.path("in")).unwrap();
    fs::write(stage.path("in/f"), "another one").unwrap();
    let dir = stage.path("in");
    let path = config(&stage, &format!("[recv]\ndir = {dir:?}\n"));
    let mut receiver = recv(&stage, &path);
    fs::write(&path, format!("[recv]\ndir = {dir:?}\nrefuse = true\n")).unwrap();
    receiver.hang_up();
    assert_eq!(receiver.wait_for("reloaded")["changed"], serde_json::json!(["refuse"]));
    let sent = stage.send(&[file.as_os_str(), OsStr::new("--rate=50M")]).expect(3);
    assert_eq!(sent.all("reported")[0]["reason"], "conflict");
    fs::write(&path, format!("[recv]\ndir = {dir:?}\noverwrite = true\n")).unwrap();
    receiver.hang_up();
    let both = serde_json::json!(["overwrite", "refuse"]);
    assert_eq!(receiver.wait_for("reloaded")["changed"], both);
    stage.send(&[file.as_os_str(), OsStr::new("--rate=50M")]).expect(0);
    receiver.interrupt();
    receiver.end().expect(130);
    assert_same(&file, &stage.path("in/f"));
}

#[test]
fn without_a_file_a_hangup_ends_it_as_before() {
    let stage = Stage::new();
    let receiver = stage.recv("in", &[]);
    receiver.hang_up();
    receiver.end().expect(130);
}
