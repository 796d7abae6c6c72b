//! Every command of README, tutorial and how-to pages is run as it stands, on machines of its own. What
//! cannot be run says why in the page's play (`plays/`), and its options at least are understood.

mod machine;
mod play;
mod typed;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    fs::File,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use machine::PageMachine;
use play::PlayLine;

use crate::{
    documents,
    support::{LIMIT, place},
};

/// Time that a command must go on for, if it is to go on.
const STAYS: Duration = Duration::from_secs(2);
/// Time between two looks at a condition.
const STEP: Duration = Duration::from_millis(100);

/// The pages whose commands are run, from the project's root.
fn pages() -> Vec<String> {
    let root = root();
    let mut pages = vec!["README.md".to_owned()];
    let mut folders = vec![root.join("docs/tutorial"), root.join("docs/how-to")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(&root).unwrap().display().to_string());
            }
        }
    }
    pages.sort();
    pages
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// The play of a page; a page without commands has none.
fn play_of(page: &str) -> Result<Vec<PlayLine>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/plays");
    let path = path.join(page).with_extension("play");
    match fs::read_to_string(&path) {
        Ok(text) => play::read(&text).map_err(|why| format!("{page}: play, {why}")),
        Err(_) => Ok(Vec::new()),
    }
}

/// Faults between a page and its play.
fn differences(page: &str, text: &str, play: &[PlayLine]) -> Vec<String> {
    let typed = match typed::commands(text) {
        Ok(typed) => typed,
        Err(why) => return vec![format!("{page}: {why}")],
    };
    let played: BTreeSet<&str> = play.iter().filter_map(PlayLine::typed).collect();
    let there: BTreeSet<&str> = typed.iter().map(|command| command.text.as_str()).collect();
    let missing = typed.iter().filter(|command| !played.contains(command.text.as_str()));
    let missing = missing.map(|command| {
        format!("{page}:{}: neither run nor left out with a reason: {}", command.line, command.text)
    });
    let gone = played.difference(&there).map(|command| format!("{page}: has no more: {command}"));
    missing.chain(gone).collect()
}

#[test]
fn every_command_of_every_page_is_run_or_says_why_not() {
    let (mut wrong, mut run, mut left) = (Vec::new(), 0, 0);
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        match play_of(&page) {
            Ok(play) => {
                wrong.extend(differences(&page, &text, &play));
                let typed = || play.iter().filter(|line| line.typed().is_some());
                run += typed().filter(|line| line.is_run()).count();
                left += typed().filter(|line| !line.is_run()).count();
                if typed().any(PlayLine::is_run) && !PLAYED.contains(&page.as_str()) {
                    wrong.push(format!("{page}: has a play, and no test that plays it"));
                }
            }
            Err(why) => wrong.push(why),
        }
    }
    println!("{run} commands are run, {left} are left out");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 2 * left, "{run} commands are run, and {left} are not");
}

#[test]
fn a_command_without_a_class_and_one_that_the_page_has_no_more_are_told() {
    let play = play::read("run s: fanfare send a\nrun s: fanfare id\n").unwrap();
    let page = "```sh\nfanfare send a\nfanfare send b\n```\n";
    let wrong = differences("x.md", page, &play);
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[0].starts_with("x.md:3:") && wrong[1].contains("fanfare id"), "{wrong:?}");
}

/// The options of commands that are not run, of all our programs.
#[test]
fn the_options_of_commands_that_are_not_run_are_understood() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for page in pages() {
        for line in play_of(&page).unwrap() {
            let (Some(typed), false) = (line.typed(), line.is_run()) else { continue };
            let ours = documents::commands(typed);
            let is_skipped = matches!(line, PlayLine::Skip { .. });
            assert!(
                !is_skipped || ours.is_empty(),
                "{page}: is ours, and not even parsed: {typed}"
            );
            for arguments in ours {
                let asked = documents::with_help(arguments);
                let output = Command::new(crate::PROGRAM).args(&asked).output().unwrap();
                if !output.status.success() {
                    let told = String::from_utf8_lossy(&output.stderr);
                    wrong.push(format!("{page}: {typed}: {told}"));
                }
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 5, "{tried} commands were found");
}

/// A command in the background.
struct Background {
    what: String,
    child: Child,
    log: PathBuf,
}

/// The machines of a play, and what runs on them.
struct Theatre {
    page: String,
    base: PathBuf,
    machines: BTreeMap<String, PageMachine>,
    started: Vec<Background>,
    staying: Vec<Background>,
    logs: usize,
    /// Text of a page for something that is made anew each time, and its value here.
    examples: Vec<Example>,
}

struct Example {
    text: String,
    here: String,
}

impl Theatre {
    fn new(page: &str) -> Self {
        let name = format!("fanfare-page-{}-{}", std::process::id(), page.replace(['/', '.'], "-"));
        let base = place().join(name);
        fs::create_dir_all(&base).unwrap();
        let (machines, page) = (BTreeMap::new(), page.to_owned());
        let (started, staying, examples) = (Vec::new(), Vec::new(), Vec::new());
        Self { page, base, machines, started, staying, logs: 0, examples }
    }

    fn play(&mut self, line: &PlayLine) {
        match line {
            PlayLine::Hosts { hosts, interfaces } => self.build(hosts, interfaces),
            PlayLine::Disk { hosts, device, length } => {
                for host in hosts {
                    self.machines.get_mut(host).unwrap().disk(device, length);
                }
            }
            PlayLine::Make { hosts, command } => self.run(hosts, command, 0),
            PlayLine::Run { hosts, command, code } => self.run(hosts, command, *code),
            PlayLine::Start { hosts, command } | PlayLine::With { hosts, command } => {
                let begun = self.begin(hosts, command);
                self.started.extend(begun);
            }
            PlayLine::Stay { hosts, command } => {
                let begun = self.begin(hosts, command);
                self.staying.extend(begun);
                self.look_after();
            }
            PlayLine::Until { hosts, command } => self.until(hosts, command),
            PlayLine::Instead { example, command } => self.instead(example, command),
            PlayLine::End => self.end(),
            PlayLine::Stop => self.stop(),
            PlayLine::Parse { .. } | PlayLine::Skip { .. } => {}
        }
    }

    fn build(&mut self, hosts: &[play::PlayHost], interfaces: &[String]) {
        let address = |at: usize, host: &play::PlayHost| {
            host.address.clone().unwrap_or_else(|| format!("10.0.3.{}", at + 1))
        };
        let known: Vec<String> = hosts
            .iter()
            .enumerate()
            .map(|(at, host)| format!("{} {}\n", address(at, host), host.name))
            .collect();
        fs::write(self.base.join("hosts"), format!("127.0.0.1 localhost\n{}", known.concat()))
            .unwrap();
        let switch = PageMachine::new("switch", &self.base);
        for interface in interfaces {
            switch.bridge(interface);
        }
        for (at, host) in hosts.iter().enumerate() {
            let machine = PageMachine::new(&host.name, &self.base);
            for (network, interface) in interfaces.iter().enumerate() {
                // The other networks of a host have the same last bytes: 10.…, 172.16.…, 172.17.…
                let first = address(at, host);
                let last: Vec<&str> = first.rsplitn(3, '.').collect();
                let other = format!("172.{}.{}.{}/16", 15 + network, last[1], last[0]);
                let address = if network == 0 { format!("{first}/8") } else { other };
                machine.plug(&switch, interface, interface, &address);
            }
            if let Some(first) = interfaces.first() {
                machine.route_by(first);
            }
            self.machines.insert(host.name.clone(), machine);
        }
        self.machines.insert("switch".into(), switch);
    }

    fn log(&mut self) -> (PathBuf, File) {
        self.logs += 1;
        let path = self.base.join(format!("said{}", self.logs));
        let file = File::create(&path).unwrap();
        (path, file)
    }

    /// Puts what was said in the place of an example, as soon as it was said.
    fn instead(&mut self, example: &str, command: &str) {
        let deadline = Instant::now() + LIMIT;
        loop {
            let told = Command::new("sh").args(["-c", command]).current_dir(&self.base).output();
            let here = String::from_utf8(told.unwrap().stdout).unwrap().trim().to_owned();
            if !here.is_empty() {
                self.examples.retain(|earlier| earlier.text != example);
                return self.examples.push(Example { text: example.to_owned(), here });
            }
            assert!(
                Instant::now() < deadline,
                "{}: {example}: {command}\n{}",
                self.page,
                self.said()
            );
            std::thread::sleep(STEP);
        }
    }

    fn begin(&mut self, hosts: &[String], command: &str) -> Vec<Background> {
        let command = self.examples.iter().fold(command.to_owned(), |command, example| {
            command.replace(&example.text, &example.here)
        });
        let begun = hosts.iter().map(|host| {
            let (log, file) = self.log();
            let machine = &self.machines[host];
            let errors = file.try_clone().unwrap();
            let child = machine.command(&command).stdout(file).stderr(errors).spawn().unwrap();
            Background { what: format!("{}: {command}", machine.name), child, log }
        });
        begun.collect()
    }

    fn run(&mut self, hosts: &[String], command: &str, code: i32) {
        for mut running in self.begin(hosts, command) {
            let ended = self.wait_for(&mut running, Instant::now() + LIMIT);
            if ended.code() != Some(code) {
                self.fail(&running, &format!("ended with {ended}, not with {code}"));
            }
        }
    }

    /// Waits for the end of a command; fails where it goes on beyond that.
    fn wait_for(&self, running: &mut Background, deadline: Instant) -> ExitStatus {
        loop {
            if let Some(ended) = running.child.try_wait().unwrap() {
                return ended;
            }
            if Instant::now() > deadline {
                kill(running, "KILL");
                self.fail(running, "does not end");
            }
            std::thread::sleep(STEP / 5);
        }
    }

    fn until(&mut self, hosts: &[String], condition: &str) {
        for host in hosts {
            let deadline = Instant::now() + LIMIT;
            loop {
                let output = self.machines[host].command(condition).output().unwrap();
                if output.status.success() {
                    break;
                }
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(
                    Instant::now() < deadline,
                    "{}: {condition}: {said}\n{}",
                    self.page,
                    self.said()
                );
                std::thread::sleep(STEP);
            }
        }
    }

    /// Fails where one of those that are to go on has ended.
    fn look_after(&mut self) {
        std::thread::sleep(STAYS);
        for mut running in std::mem::take(&mut self.staying) {
            if let Some(ended) = running.child.try_wait().unwrap() {
                self.fail(&running, &format!("ended with {ended}, and was to go on"));
            }
            self.staying.push(running);
        }
    }

    fn end(&mut self) {
        let deadline = Instant::now() + LIMIT;
        for mut running in std::mem::take(&mut self.started) {
            let ended = self.wait_for(&mut running, deadline);
            if !ended.success() {
                self.fail(&running, &format!("ended with {ended}"));
            }
        }
    }

    fn stop(&mut self) {
        let mut staying = std::mem::take(&mut self.staying);
        // All are looked at before the first is stopped, as some end with others.
        let early: Vec<_> = staying.iter_mut().map(|one| one.child.try_wait().unwrap()).collect();
        // Who asks a node ends badly with it, so the last goes first.
        for (mut running, early) in staying.into_iter().zip(early).rev() {
            kill(&running, "TERM");
            let deadline = Instant::now() + Duration::from_secs(20);
            let ended = loop {
                match running.child.try_wait().unwrap() {
                    Some(ended) => break Some(ended),
                    None if Instant::now() > deadline => break None,
                    None => std::thread::sleep(STEP / 5),
                }
            };
            // What it had started ends with it, and may still have a port.
            while is_there(&running) && Instant::now() < deadline {
                std::thread::sleep(STEP / 5);
            }
            // Ended by the signal, or of itself after it.
            let is_fine = ended.is_some_and(|ended| {
                ended.signal().is_some() || matches!(ended.code(), Some(0 | 3 | 6 | 130 | 143))
            });
            if early.is_some() || !is_fine {
                kill(&running, "KILL");
                self.fail(&running, &format!("was to go on until now: {early:?}, then {ended:?}"));
            }
        }
    }

    fn fail(&self, running: &Background, why: &str) -> ! {
        let told = fs::read_to_string(&running.log).unwrap_or_default();
        panic!("{}: {} {why}\n{told}\nbeside it:\n{}", self.page, running.what, self.said());
    }

    /// The last that those in the background have said.
    fn said(&self) -> String {
        let all = self.started.iter().chain(&self.staying).take(6);
        let said = all.map(|running| {
            let told = fs::read_to_string(&running.log).unwrap_or_default();
            let last: Vec<&str> = told.lines().rev().take(5).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            format!("{}\n  {}\n", running.what, last.join("\n  "))
        });
        said.collect()
    }
}

fn kill(running: &Background, signal: &str) {
    let group = format!("-{}", running.child.id());
    let _ = Command::new("kill").args([&format!("-{signal}"), "--", &group]).status();
}

/// True while a process of its group is there.
fn is_there(running: &Background) -> bool {
    let group = format!("-{}", running.child.id());
    let asked = Command::new("kill").args(["-0", "--", &group]).stderr(Stdio::null()).status();
    asked.is_ok_and(|answer| answer.success())
}

impl Drop for Theatre {
    fn drop(&mut self) {
        self.machines.clear();
        for mut running in self.started.drain(..).chain(self.staying.drain(..)) {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        let _ = fs::remove_dir_all(&self.base);
    }
}

fn play_page(page: &str) {
    if std::env::var_os("FANFARE_NO_MOUNTS").is_some() {
        return eprintln!("not tested: FANFARE_NO_MOUNTS is set");
    }
    let play = play_of(page).unwrap();
    assert!(play.iter().any(PlayLine::is_run), "{page}: nothing is run");
    let mut theatre = Theatre::new(page);
    for line in &play {
        theatre.play(line);
    }
    theatre.end();
    theatre.stop();
}

/// A test for each page that has something to run.
macro_rules! pages_to_play {
    ($($name:ident => $page:literal,)*) => {
        const PLAYED: &[&str] = &[$($page),*];
        $(#[test]
        fn $name() {
            play_page($page);
        })*
    };
}

pages_to_play! {
    commands_of_readme => "README.md",
    commands_of_the_tutorial => "docs/tutorial/thirty-machines.md",
    commands_of_bridge_networks => "docs/how-to/bridge-networks.md",
    commands_of_change_a_group => "docs/how-to/change-a-group.md",
    commands_of_image_a_classroom => "docs/how-to/image-a-classroom.md",
    commands_of_image_from_a_device => "docs/how-to/image-from-a-device.md",
    commands_of_limit_senders => "docs/how-to/limit-senders.md",
    commands_of_mirror_directories => "docs/how-to/mirror-directories.md",
    commands_of_monitor_a_group => "docs/how-to/monitor-a-group.md",
    commands_of_pipe_a_stream => "docs/how-to/pipe-a-stream.md",
    commands_of_switch_from_norm => "docs/how-to/programs/switch-from-norm.md",
    commands_of_publish_and_subscribe => "docs/how-to/publish-and-subscribe.md",
    commands_of_push_a_model => "docs/how-to/push-a-model.md",
    commands_of_prometheus => "docs/how-to/prometheus.md",
    commands_of_radio_network => "docs/how-to/radio-network.md",
    commands_of_join_islands => "docs/how-to/reach/join-islands.md",
    commands_of_serve_each_other => "docs/how-to/reach/serve-each-other.md",
    commands_of_transfer_by_code => "docs/how-to/reach/transfer-by-code.md",
    commands_of_reproduce_a_table => "docs/how-to/reproduce-a-table.md",
    commands_of_run_as_a_service => "docs/how-to/run-as-a-service.md",
    commands_of_seal_a_transfer => "docs/how-to/seal-a-transfer.md",
    commands_of_see_what_passes_by => "docs/how-to/see-what-passes-by.md",
    commands_of_send_without_multicast => "docs/how-to/send-without-multicast.md",
    commands_of_link_two_nodes => "docs/how-to/two-nodes/link-two-nodes.md",
    commands_of_gateway_for_a_network => "docs/how-to/two-nodes/gateway-for-a-network.md",
    commands_of_git_and_ssh => "docs/how-to/two-nodes/git-and-ssh.md",
    commands_of_proxy_over_radio => "docs/how-to/two-nodes/proxy-over-radio.md",
    commands_of_satellite_link => "docs/how-to/two-nodes/satellite-link.md",
    commands_of_speak_with_norp => "docs/how-to/two-nodes/speak-with-norp.md",
    commands_of_video_to_a_group => "docs/how-to/video/video-to-a-group.md",
    commands_of_watch_a_transfer => "docs/how-to/watch-a-transfer.md",
}
