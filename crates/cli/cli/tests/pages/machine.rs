//! A machine of its own for the commands of a page: its files, devices, network cards and processes are
//! seen by nobody else, and go with it. Only root may make one.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Script that makes a machine's files: those of this computer, with changes of its own above them.
const SET_UP: &str = r#"
set -e
hostname "$NAME"
mkdir -p "$BASE/upper" "$BASE/work" "$BASE/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$BASE/upper,workdir=$BASE/work" "$BASE/root"
cd "$BASE/root"
for seen in "$REPO" "$PROGRAMS"; do
  test -e "./$seen/." && test "$(ls -A "./$seen")" || mount --bind "$seen" "./$seen"
done
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs -o dev tmpfs dev
mkdir -p dev/shm dev/pts dev/net page root/.cargo/bin usr/local/bin etc/fanfare
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mknod dev/null c 1 3; mknod dev/zero c 1 5; mknod dev/full c 1 7; mknod dev/random c 1 8
mknod dev/urandom c 1 9; mknod dev/tty c 5 0; mknod dev/net/tun c 10 200; ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
chmod 666 dev/null dev/zero dev/full dev/random dev/urandom dev/tty dev/ptmx
cp "$BASE/../hosts" etc/hosts
rm -rf usr/local/bin/fanfare* usr/bin/fanfare* root/.config/fanfare root/.local root/.cache
for program in "$PROGRAMS"/fanfare "$PROGRAMS"/fanfare-*; do
  test -f "$program" && test -x "$program" || continue
  touch "usr/local/bin/${program##*/}"
  mount --bind "$program" "usr/local/bin/${program##*/}"
done
for stub in sudo cargo; do
  rm -f "usr/local/sbin/$stub"
  cp "$STUBS/$stub.sh" "usr/local/sbin/$stub"; chmod 755 "usr/local/sbin/$stub"
done
for folder in crates scenarios packaging results interop; do ln -sfn "$REPO/$folder" "page/$folder"; done
ip link set lo up
exec chroot . sh -c 'echo made; exec sleep infinity'
"#;

/// Home of the person at such a machine, who is root there.
const HOME: &str = "/root";

/// Whoever holds a machine together; when it ends, everything in it does.
pub(super) struct PageMachine {
    pub(super) name: String,
    holder: Child,
    process: u32,
    base: PathBuf,
    disks: Vec<String>,
}

impl PageMachine {
    /// A machine of this name with its files beneath `beneath`, where a file `hosts` is.
    pub(super) fn new(name: &str, beneath: &Path) -> Self {
        let repo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
        let programs = Path::new(crate::PROGRAM).parent().unwrap().canonicalize().unwrap();
        let stubs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/stubs");
        let base = beneath.join(name);
        std::fs::create_dir_all(&base).unwrap();
        let log = File::create(base.join("log")).unwrap();
        let mut holder = Command::new("unshare")
            .args(["--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c"])
            .args([SET_UP])
            .env("NAME", name)
            .env("BASE", &base)
            .env("REPO", repo)
            .env("PROGRAMS", programs)
            .env("STUBS", stubs)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let log = std::fs::read_to_string(base.join("log")).unwrap();
        assert_eq!(told.trim(), "made", "machines need root: {log}");
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let process = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        Self { name: name.to_owned(), holder, process, base, disks: Vec::new() }
    }

    /// A card on the bridge of this name in the machine `switch`.
    pub(super) fn plug(&self, switch: &Self, bridge: &str, card: &str, address: &str) {
        let (here, there) = (self.process.to_string(), switch.process.to_string());
        let port = format!("{}{card}", self.name);
        let port = &port[port.len().saturating_sub(15)..];
        let ip = |on: &str, words: &[&str]| {
            let done = Command::new("nsenter").args(["-t", on, "-n", "ip"]).args(words).status();
            assert!(done.is_ok_and(|status| status.success()), "{}: ip {words:?}", self.name);
        };
        let peer = ["peer", "name", card, "netns", &here];
        ip(&there, &[&["link", "add", port, "type", "veth"][..], &peer].concat());
        ip(&there, &["link", "set", port, "master", bridge, "up"]);
        ip(&here, &["addr", "add", address, "dev", card]);
        ip(&here, &["link", "set", card, "up"]);
    }

    /// Its way to everything that no other card is for.
    pub(super) fn route_by(&self, card: &str) {
        let done = self.command(&format!("ip route add default dev {card}")).status();
        assert!(done.is_ok_and(|status| status.success()), "{}: route by {card}", self.name);
    }

    /// A bridge for others to be plugged into.
    pub(super) fn bridge(&self, name: &str) {
        let made =
            format!("ip link add {name} type bridge mcast_snooping 0 && ip link set {name} up");
        let done = self.command(&made).status();
        assert!(done.is_ok_and(|status| status.success()), "{made}");
    }

    /// A block device of this length, as `truncate` takes it.
    pub(super) fn disk(&mut self, device: &str, length: &str) {
        let image = self.base.join(format!("disk{}", self.disks.len()));
        let output = Command::new("sh")
            .args(["-c", "truncate -s \"$1\" \"$2\" && losetup --show --find \"$2\""])
            .args(["sh", length])
            .arg(image)
            .output()
            .unwrap();
        let found = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let numbers = Command::new("stat").args(["-c", "%Hr %Lr", &found]).output().unwrap();
        let numbers = String::from_utf8(numbers.stdout).unwrap();
        self.disks.push(found);
        let done = self.command(&format!("mknod {device} b {numbers}")).status();
        assert!(done.is_ok_and(|status| status.success()), "{device}");
    }

    /// A shell in this machine that carries out `line`, in the directory /page.
    pub(super) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("nsenter");
        let process = self.process.to_string();
        command
            .args(["-t", &process, "-m", "-n", "-u", "-p", "-r", "-w"])
            .args(["env", "-i", "USER=root", "LANG=C.UTF-8", "TERM=dumb"])
            .arg(format!("HOME={HOME}"))
            // As it is for who has installed Rust.
            .arg(format!("PATH=/usr/local/sbin:{HOME}/.cargo/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
            .arg(format!("PROGRAMS={}", Path::new(crate::PROGRAM).parent().unwrap().display()))
            .args(["sh", "-c", &format!("cd /page || exit 99\n{line}")])
            .stdin(Stdio::null())
            .process_group(0);
        command
    }
}

impl Drop for PageMachine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        for disk in &self.disks {
            let _ = Command::new("losetup").args(["-d", disk]).status();
        }
    }
}
