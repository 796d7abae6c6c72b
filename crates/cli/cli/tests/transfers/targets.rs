//! Targets that `recv --to`, `--stdout` and `recv DIR` are told to write to, by chance: never exit 0, never a
//! receipt, unless the bytes are there.
//!
//! FANFARE_TARGETS=1000 tries so many, FANFARE_SEED=N begins with that seed.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::support::{Running, Stage};

/// Tried where nothing else is said, and at a time.
const SHORT: u64 = 40;
const AT_ONCE: usize = 4;
/// Bytes of what is sent: more than a small target takes, and enough to be in the middle of.
const LONG: usize = 6_000_000;
const SMALL: usize = 3_000_000;

/// Draws of one number (splitmix64).
struct SplitMix(u64);

impl SplitMix {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % below
    }
}

/// A file as a disk; detached with the test.
struct LoopDisk(String);

impl LoopDisk {
    /// `None`: this machine has no loop devices to give.
    fn over(file: &Path) -> Option<Self> {
        let losetup = Command::new("losetup").args(["-f", "--show"]).arg(file).output().ok()?;
        let path = String::from_utf8_lossy(&losetup.stdout).trim().to_owned();
        (losetup.status.success() && path.starts_with("/dev/loop")).then_some(Self(path))
    }

    fn detach(&self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).stderr(Stdio::null()).status();
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        self.detach();
    }
}

struct MountPoint(PathBuf);

impl MountPoint {
    fn new(args: &[&str], at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let done = mount.args(args).arg(at).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetCase {
    NewFile,
    OldFile,
    Mistyped,
    MistypedByLink,
    MistypedByDots,
    Directory,
    NoFolder,
    Disk,
    DiskTooSmall,
    DiskMounted,
    DiskDetached,
    DiskBroken,
    BackingFile,
    FileTooSmall,
    ReadOnly,
    Full,
    PipeWithoutReader,
    PipeWithReader,
    PipeWhoseReaderLeaves,
    Output,
    OutputCut,
    Dir,
    DirMissing,
    DirIsFile,
    DirReadOnly,
    DirFull,
}

const KINDS: [TargetCase; 26] = [
    TargetCase::NewFile,
    TargetCase::OldFile,
    TargetCase::Mistyped,
    TargetCase::MistypedByLink,
    TargetCase::MistypedByDots,
    TargetCase::Directory,
    TargetCase::NoFolder,
    TargetCase::Disk,
    TargetCase::DiskTooSmall,
    TargetCase::DiskMounted,
    TargetCase::DiskDetached,
    TargetCase::DiskBroken,
    TargetCase::BackingFile,
    TargetCase::FileTooSmall,
    TargetCase::ReadOnly,
    TargetCase::Full,
    TargetCase::PipeWithoutReader,
    TargetCase::PipeWithReader,
    TargetCase::PipeWhoseReaderLeaves,
    TargetCase::Output,
    TargetCase::OutputCut,
    TargetCase::Dir,
    TargetCase::DirMissing,
    TargetCase::DirIsFile,
    TargetCase::DirReadOnly,
    TargetCase::DirFull,
];

/// One receiver and where it writes.
#[derive(Default)]
struct TargetScene {
    args: Vec<String>,
    /// Path at which the bytes are in the end, if they are anywhere.
    result: Option<PathBuf>,
    /// The receiver ends before anything is sent, with this code.
    at_once: Option<i32>,
    /// It may go well: the bytes are then there.
    may_pass: bool,
    /// A file whose bytes stay as they are, and what it held.
    untouched: Option<(PathBuf, Vec<u8>)>,
    /// Nothing may have this name afterwards.
    absent: Option<PathBuf>,
    disk: Option<LoopDisk>,
    mounted: Option<MountPoint>,
    /// Leaves after so many bytes; standard output where there is no pipe of its own.
    reader: Option<usize>,
    pipe: Option<PathBuf>,
    detaches: Option<Duration>,
}

fn to(path: &Path) -> Vec<String> {
    vec!["--to".to_owned(), path.to_str().unwrap().to_owned()]
}

fn disk(stage: &Stage, bytes: usize) -> Option<LoopDisk> {
    let path = stage.path("backing");
    File::create(&path).unwrap().set_len(bytes as u64).unwrap();
    LoopDisk::over(&path)
}

/// A target of this kind; `None` where this machine cannot have one.
fn scene(kind: TargetCase, stage: &Stage, chance: &mut SplitMix) -> Option<TargetScene> {
    let path = stage.path("target");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let name = format!("fanfare-no-{}", chance.draw(u64::MAX));
    let missing = Path::new("/dev").join(&name);
    let mut scene =
        TargetScene { result: Some(path.clone()), args: to(&path), ..TargetScene::default() };
    match kind {
        TargetCase::NewFile => scene.may_pass = true,
        TargetCase::OldFile => {
            stage.file("target", chance.draw(2 * LONG as u64) as usize);
            scene.may_pass = true;
        }
        TargetCase::Mistyped | TargetCase::MistypedByLink | TargetCase::MistypedByDots => {
            scene.args = match kind {
                TargetCase::Mistyped => to(&missing),
                TargetCase::MistypedByDots => {
                    to(&stage.path("../..").join("../../dev").join(&name))
                }
                _ => {
                    std::os::unix::fs::symlink(&missing, stage.path("second")).unwrap();
                    std::os::unix::fs::symlink("second", &path).unwrap();
                    to(&path)
                }
            };
            scene.at_once = Some(2);
            scene.absent = Some(missing);
        }
        TargetCase::Directory => {
            std::fs::create_dir(&path).unwrap();
            scene.at_once = Some(2);
        }
        TargetCase::NoFolder => {
            scene.args = to(&path.join("none/image"));
            scene.at_once = Some(5);
        }
        TargetCase::Disk
        | TargetCase::DiskTooSmall
        | TargetCase::DiskMounted
        | TargetCase::DiskDetached
        | TargetCase::DiskBroken => on_disk(kind, stage, chance, &mut scene)?,
        TargetCase::BackingFile => {
            scene.disk = Some(disk(stage, LONG)?);
            scene.untouched = Some((stage.path("backing"), vec![0; LONG]));
            scene.args = to(&stage.path("backing"));
            scene.at_once = Some(5);
        }
        TargetCase::FileTooSmall => {
            let size = format!("size={}k,mode=777", 4 + chance.draw(SMALL as u64 >> 10));
            let place = stage.path("tiny");
            scene.mounted = Some(MountPoint::new(&["-t", "tmpfs", "-o", &size, "tmpfs"], &place)?);
            let file = place.join("old");
            std::fs::write(&file, b"old").unwrap();
            scene.args = to(&file);
            scene.untouched = Some((file, b"old".to_vec()));
        }
        TargetCase::ReadOnly | TargetCase::DirReadOnly => {
            let place = stage.path("fixed");
            std::fs::create_dir_all(&place).unwrap();
            let options = ["-t", "tmpfs", "-o", "ro,size=1m", "tmpfs"];
            scene.mounted = Some(MountPoint::new(&options, &place)?);
            scene.at_once = Some(5);
            scene.args = match kind {
                TargetCase::ReadOnly => to(&place.join("image")),
                _ => vec![text(&place), "--once".to_owned()],
            };
        }
        TargetCase::Full => scene.args = to(Path::new("/dev/full")),
        TargetCase::PipeWithoutReader
        | TargetCase::PipeWithReader
        | TargetCase::PipeWhoseReaderLeaves => {
            let made = Command::new("mkfifo").arg(&path).status();
            assert!(made.unwrap().success());
            scene.result = Some(stage.path("taken"));
            match kind {
                TargetCase::PipeWithoutReader => scene.at_once = Some(5),
                TargetCase::PipeWithReader => {
                    (scene.may_pass, scene.reader) = (true, Some(usize::MAX))
                }
                _ => scene.reader = Some(chance.draw(LONG as u64) as usize),
            }
            scene.pipe = Some(path);
        }
        TargetCase::Output | TargetCase::OutputCut => {
            scene.args = vec!["--stdout".to_owned()];
            scene.result = Some(stage.path("taken"));
            scene.may_pass = kind == TargetCase::Output;
            let cut = chance.draw(LONG as u64) as usize;
            scene.reader = Some(if kind == TargetCase::Output { usize::MAX } else { cut });
        }
        TargetCase::Dir | TargetCase::DirMissing | TargetCase::DirIsFile | TargetCase::DirFull => {
            scene.args = vec![text(&path), "--once".to_owned()];
            scene.result = Some(path.join("sent"));
            match kind {
                TargetCase::Dir => {
                    std::fs::create_dir(&path).unwrap();
                    scene.may_pass = true;
                }
                TargetCase::DirMissing => scene.at_once = Some(2),
                TargetCase::DirIsFile => {
                    std::fs::write(&path, b"a file").unwrap();
                    scene.untouched = Some((path, b"a file".to_vec()));
                    scene.at_once = Some(2);
                }
                _ => {
                    let size = format!("size={}k", 64 + chance.draw(SMALL as u64 >> 10));
                    let options = ["-t", "tmpfs", "-o", &size, "tmpfs"];
                    scene.mounted = Some(MountPoint::new(&options, &path)?);
                }
            }
        }
    }
    Some(scene)
}

/// A disk as the target, in one of several states; `None` where this machine cannot have one.
fn on_disk(
    kind: TargetCase,
    stage: &Stage,
    chance: &mut SplitMix,
    scene: &mut TargetScene,
) -> Option<()> {
    match kind {
        TargetCase::Disk
        | TargetCase::DiskTooSmall
        | TargetCase::DiskMounted
        | TargetCase::DiskDetached => {
            let small = chance.draw(SMALL as u64 / 4096) as usize * 4096 + 4096;
            let bytes = if kind == TargetCase::DiskTooSmall { small } else { 2 * LONG };
            let disk = disk(stage, bytes)?;
            scene.args = to(Path::new(&disk.0));
            scene.result = Some(PathBuf::from(&disk.0));
            if kind == TargetCase::DiskTooSmall {
                scene.untouched = Some((stage.path("backing"), vec![0; bytes]));
            } else if kind == TargetCase::DiskMounted {
                let made = Command::new("mkfs.ext4").args(["-q", &disk.0]).status();
                made.is_ok_and(|status| status.success()).then_some(())?;
                scene.mounted = Some(MountPoint::new(&[&disk.0], &stage.path("mounted"))?);
                scene.at_once = Some(5);
            } else {
                scene.may_pass = true;
            }
            if kind == TargetCase::DiskDetached {
                scene.detaches = Some(Duration::from_millis(chance.draw(1500)));
                // It goes when whoever has it open closes it; what was written is in its file.
                scene.result = Some(stage.path("backing"));
            }
            scene.disk = Some(disk);
        }
        TargetCase::DiskBroken => {
            // A disk whose writes fail when they are synced: its file has no room.
            let size = format!("size={}k,mode=777", 64 + chance.draw(SMALL as u64 >> 10));
            let place = stage.path("tiny");
            scene.mounted = Some(MountPoint::new(&["-t", "tmpfs", "-o", &size, "tmpfs"], &place)?);
            let backing = place.join("backing");
            File::create(&backing).unwrap().set_len(2 * LONG as u64).unwrap();
            let disk = LoopDisk::over(&backing)?;
            scene.args = to(Path::new(&disk.0));
            scene.result = Some(PathBuf::from(&disk.0));
            scene.disk = Some(disk);
        }
        _ => return None,
    }
    Some(())
}

/// Reads up to so many bytes, and leaves.
fn read(from: impl std::io::Read, most: usize, into: &Path) {
    let mut from = from.take(most as u64);
    let mut file = File::create(into).unwrap();
    let _ = std::io::copy(&mut from, &mut file);
}

/// Looks for what is wrong with this target; empty: nothing.
fn attempt(seed: u64) -> Result<Option<TargetCase>, String> {
    let mut chance = SplitMix(seed);
    let kind = KINDS[chance.draw(KINDS.len() as u64) as usize];
    let stage = Stage::new();
    let Some(mut scene) = scene(kind, &stage, &mut chance) else { return Ok(None) };
    let sent = stage.file("source/sent", LONG);
    let net = ["--group", &stage.group, "--interface", "127.0.0.1"];
    let mut receiver = Command::new(crate::PROGRAM);
    receiver.arg("recv").args(&scene.args).args(net).args(["--name", "r", "--timeout", "100s"]);
    receiver.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let taken = stage.path("taken");
    let reader = scene.pipe.clone().zip(scene.reader).map(|(pipe, most)| {
        let taken = taken.clone();
        thread::spawn(move || read(File::open(pipe).unwrap(), most, &taken))
    });
    let mut receiver = receiver.spawn().unwrap();
    let output = receiver.stdout.take().unwrap();
    let is_output = scene.pipe.is_none();
    let most = scene.reader.filter(|_| is_output).unwrap_or(usize::MAX);
    let goes_to = if scene.reader.is_some() && is_output { taken } else { stage.path("lines") };
    let printed = thread::spawn(move || read(output, most, &goes_to));
    let mut errors = receiver.stderr.take().unwrap();
    let said = thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        text
    });
    let mut receipts = 0;
    let mut sender_code = None;
    if scene.at_once.is_none() {
        let mut args = vec![sent.to_str().unwrap(), "--expect", "1", "--wait", "60s"];
        if !kind_is_dir(kind) {
            args.push("--as-stream");
        }
        let detaches = scene.detaches.take().zip(scene.disk.as_ref().map(|disk| disk.0.clone()));
        if detaches.is_some() {
            args.extend(["--rate", "40M"]);
        }
        let sender: Running = stage.start("send", &args);
        if let Some((after, disk)) = detaches {
            thread::sleep(after);
            LoopDisk(disk).detach();
        }
        let ended = sender.end();
        receipts = ended.all("receipt").len();
        sender_code = ended.code;
    }
    let code = receiver.wait().unwrap().code();
    let text = said.join().unwrap();
    printed.join().unwrap();
    if let Some(reader) = reader {
        // Nobody may ever have opened the other end.
        let _ = scene.pipe.as_ref().map(|pipe| File::options().read(true).write(true).open(pipe));
        reader.join().unwrap();
    }
    let expected = std::fs::read(&sent).unwrap();
    let is_there = scene.result.as_ref().is_some_and(|path| {
        let mut held = vec![0; LONG];
        File::open(path).and_then(|mut file| file.read_exact(&mut held)).is_ok() && held == expected
    });
    let fail = |what: &str| {
        Err(format!(
            "seed {seed}, {kind:?}: {what}; receiver {code:?}, sender {sender_code:?}\n{text}"
        ))
    };
    let passed = code == Some(0) || sender_code == Some(0) || receipts > 0;
    if passed && !is_there {
        return fail("it says that all is there");
    }
    if passed && !scene.may_pass {
        return fail("it cannot have gone well");
    }
    if scene.may_pass && kind != TargetCase::DiskDetached && code != Some(0) {
        return fail("it has not gone well");
    }
    if code.is_none_or(|code| code == 101 || code > 130) {
        return fail("it crashed");
    }
    if scene.at_once.is_some_and(|at_once| code != Some(at_once)) {
        return fail("it ends with another code");
    }
    if scene.absent.is_some_and(|path| path.exists()) {
        return fail("it has made a file");
    }
    if scene.untouched.is_some_and(|(path, was)| std::fs::read(path).unwrap() != was) {
        return fail("it has written where nothing was to be written");
    }
    Ok(Some(kind))
}

fn kind_is_dir(kind: TargetCase) -> bool {
    matches!(
        kind,
        TargetCase::Dir
            | TargetCase::DirMissing
            | TargetCase::DirIsFile
            | TargetCase::DirReadOnly
            | TargetCase::DirFull
    )
}

#[test]
fn of_targets_by_chance_none_is_called_complete_without_the_bytes() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("FANFARE_TARGETS").unwrap_or(SHORT);
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let first = number("FANFARE_SEED").unwrap_or_else(now);
    eprintln!("seeds {first} to {}", first + count - 1);
    let (next, wrong, tried) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= count {
                        break;
                    }
                    match attempt(first + turn) {
                        Ok(kind) => tried.lock().unwrap().push(kind),
                        Err(why) => {
                            eprintln!("{why}");
                            wrong.lock().unwrap().push(why);
                        }
                    }
                }
            });
        }
    });
    let tried = tried.into_inner().unwrap();
    let left_out = tried.iter().filter(|kind| kind.is_none()).count();
    for kind in KINDS {
        let count = tried.iter().filter(|one| **one == Some(kind)).count();
        eprintln!("{kind:?}: {count}");
    }
    eprintln!("{left_out} not tried: they need root and loop devices");
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}
