//! Real programs on this machine's loopback interface: a controller and others who come and go.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use fanfare_node::disk::scratch::Scratch;

const PROGRAM: &str = env!("CARGO_BIN_EXE_fanfare");
/// A busy machine may take its time.
const PATIENCE: Duration = Duration::from_secs(60);

/// One machine: its groups are in a directory of its own.
struct Machine {
    dir: PathBuf,
    kept: Option<Child>,
}

impl Machine {
    fn new(scratch: &Scratch, name: &str) -> Self {
        Self { dir: scratch.path().join(name), kept: None }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("group").args(words).arg("--dir").arg(&self.dir);
        command
    }

    fn run(&self, words: &[&str]) -> (i32, String) {
        let output = self.command(words).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        let (code, text) = self.run(words);
        assert_eq!(code, 0, "{words:?}: {text}");
        text
    }

    fn keep(&mut self, name: &str) {
        let mut command = self.command(&["keep", name, "--interface", "lo"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.kept = Some(command.spawn().unwrap());
    }

    fn key(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.join(name).join("key")).ok()
    }

    /// The code that its `keep` ends with by itself.
    #[track_caller]
    fn ends(&mut self) -> Option<i32> {
        let mut child = self.kept.take().unwrap();
        wait(|| child.try_wait().unwrap().is_some(), "it ends");
        child.wait().unwrap().code()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut child) = self.kept.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[track_caller]
fn wait(mut condition: impl FnMut() -> bool, what: &str) {
    let until = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn machines_join_by_a_code_and_who_is_removed_or_leaves_has_no_key_any_more() {
    let scratch = Scratch::new();
    let mut base = Machine::new(&scratch, "base");
    let (mut ship, mut boat) = (Machine::new(&scratch, "ship"), Machine::new(&scratch, "boat"));
    let group = format!("239.255.42.9:{}", 20_000 + std::process::id() % 20_000);
    base.done(&["create", "fleet", "--group", &group, "--own-name", "base"]);
    assert_eq!(mode(&base.dir.join("fleet/key")), 0o600);
    let alone = base.key("fleet");
    base.keep("fleet");
    let code = base.done(&["invite", "fleet", "-q"]);
    let join = |machine: &Machine, code: &str, own: &str| {
        let words =
            ["join", code.trim(), "--name", "fleet", "--own-name", own, "--interface", "lo"];
        machine.done(&words);
    };
    join(&ship, &code, "ship");
    wait(|| base.key("fleet") != alone, "the controller has another key");
    wait(|| base.key("fleet") == ship.key("fleet"), "both have the same key");
    ship.keep("fleet");

    let code = base.done(&["invite", "fleet", "-q"]);
    join(&boat, &code, "boat");
    boat.keep("fleet");
    wait(|| ship.key("fleet") == boat.key("fleet"), "who was in has followed");
    let together = ship.key("fleet");
    let listed = boat.done(&["members", "fleet"]);
    assert!(["base", "ship", "boat"].iter().all(|name| listed.contains(name)), "{listed}");

    // Only the controller may remove.
    let (refused, text) = ship.run(&["remove", "fleet", "boat"]);
    assert_eq!(refused, 4, "{text}");
    base.done(&["remove", "fleet", "ship"]);
    assert_eq!(ship.ends(), Some(0));
    assert_eq!(ship.key("fleet"), None);
    wait(|| boat.key("fleet") == base.key("fleet"), "the others go on");
    assert_ne!(boat.key("fleet"), together);

    boat.done(&["leave", "fleet"]);
    assert_eq!(boat.ends(), Some(0));
    assert_eq!(boat.key("fleet"), None);
    let listed = base.done(&["members", "fleet"]);
    assert!(!listed.contains("boat"), "{listed}");
}

#[test]
fn wrong_codes_files_and_names_are_refused_with_exit_4_and_nothing_is_lost() {
    let scratch = Scratch::new();
    let base = Machine::new(&scratch, "base");
    base.done(&["create", "fleet", "--own-name", "base"]);
    let key = base.key("fleet");
    let refused = |words: &[&str]| {
        let (code, text) = base.run(words);
        assert_eq!(code, 4, "{words:?}: {text}");
        text
    };
    refused(&["create", "fleet"]);
    assert!(refused(&["join", "fanfare-join-1/239.255.42.9:6009/abc"]).contains("letter"));
    assert!(refused(&["invite", "other"]).contains("none of this name"));
    assert!(refused(&["remove", "fleet", "nobody"]).contains("no such member"));
    let member = base.dir.join("fleet/member");
    let whole = std::fs::read(&member).unwrap();
    std::fs::write(&member, &whole[..whole.len() / 2]).unwrap();
    assert!(refused(&["members", "fleet"]).contains("cannot be read"));
    std::fs::write(&member, &whole).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&member, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&["members", "fleet"]).contains("others may read"));
    std::fs::set_permissions(&member, std::fs::Permissions::from_mode(0o600)).unwrap();
    base.done(&["members", "fleet"]);
    assert_eq!(base.key("fleet"), key);
}

#[test]
fn without_its_controller_a_group_takes_nobody_in_and_members_keep_their_key() {
    let scratch = Scratch::new();
    let mut base = Machine::new(&scratch, "base");
    let (ship, boat) = (Machine::new(&scratch, "ship"), Machine::new(&scratch, "boat"));
    let group = format!("239.255.42.9:{}", 20_000 + std::process::id() % 20_000);
    let group = group.replace(".9:", ".10:");
    base.done(&["create", "fleet", "--group", &group, "--own-name", "base"]);
    base.keep("fleet");
    let codes = [0; 2].map(|_| base.done(&["invite", "fleet", "-q"]));
    let join = |code: &str, own: &'static str, wait: &'static str| {
        let code = code.trim().to_owned();
        let words = ["join", "--name", "fleet", "--own-name", own, "--interface", "lo"];
        let words =
            words.map(str::to_owned).into_iter().chain([code, "--wait".into(), wait.into()]);
        words.collect::<Vec<String>>()
    };
    let words = join(&codes[0], "ship", "30s");
    ship.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let key = ship.key("fleet");
    // It is gone.
    let mut kept = base.kept.take().unwrap();
    kept.kill().unwrap();
    kept.wait().unwrap();
    let words = join(&codes[1], "boat", "2s");
    let (code, text) = boat.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("nobody answered within 2 s. Run 'fanfare group keep'"), "{text}");
    assert_eq!(boat.key("fleet"), None);
    let (code, text) = ship.run(&["remove", "fleet", "base"]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("Do it where 'fanfare group members' shows the controller"), "{text}");
    assert_eq!(ship.key("fleet"), key, "nothing is lost");
}
