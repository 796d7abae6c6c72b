//! Trouble that is no kill: a disk that is full for a while, one that becomes read-only, one that is
//! removed, and a clock that is set back.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Goes back by an hour once a file is there. Only the time of day: no other clock can be set.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int told = real(id, at);
    const char *set = getenv("FANFARE_CRASH_CLOCK");
    if (told == 0 && id == CLOCK_REALTIME && set && access(set, F_OK) == 0) at->tv_sec -= 3600;
    return told;
}
"#;

/// Ends a file system at once, without its journal (`EXT4_IOC_SHUTDOWN` with `NOLOGFLUSH`): what has not
/// reached the disk is gone, and all calls fail.
const SHUT_DOWN: &str = "import fcntl, os, struct, sys\n\
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// A file system in memory, of so many MiB; gone with this.
pub(crate) struct Small(PathBuf);

impl Small {
    /// Needs root.
    pub(crate) fn mount(at: PathBuf, mib: u64) -> Result<Self, String> {
        fs::create_dir_all(&at).map_err(|e| e.to_string())?;
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).status();
        match mounted {
            Ok(status) if status.success() => Ok(Self(at)),
            _ => Err("a small disk cannot be mounted: no root?".into()),
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
    }
}

/// An ext4 file system in a file, on a loop device. Like many, it becomes read-only at the first error.
pub(crate) struct Image {
    at: PathBuf,
    device: String,
}

impl Image {
    /// Needs root.
    pub(crate) fn mount(file: &Path, at: PathBuf, mib: u64) -> Result<Self, String> {
        fs::create_dir_all(&at).map_err(|e| e.to_string())?;
        let made = fs::File::create(file).and_then(|image| image.set_len(mib << 20));
        made.map_err(|e| format!("{}: {e}", file.display()))?;
        run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(file))?;
        let mut losetup = Command::new("losetup");
        let output = losetup.args(["--find", "--show"]).arg(file).output();
        let output = output.map_err(|e| format!("losetup: {e}"))?;
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if device.is_empty() {
            return Err("no loop device can be had: no root?".into());
        }
        let image = Self { at, device };
        image.attach().map(|()| image)
    }

    fn attach(&self) -> Result<(), String> {
        let options = ["-t", "ext4", "-o", "errors=remount-ro", &self.device];
        run(Command::new("mount").args(options).arg(&self.at))?;
        // Nothing of it is ever needed, and it is no part of what was sent.
        let _ = fs::remove_dir_all(self.at.join("lost+found"));
        Ok(())
    }

    /// The file system finds an error, and is read-only from now on.
    pub(crate) fn spoil(&self) -> io::Result<()> {
        let name = self.device.trim_start_matches("/dev/");
        fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "crash test")
    }

    /// The disk is gone from now on.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let mut python = Command::new("python3");
        run(python.args(["-c", SHUT_DOWN]).arg(&self.at)).map_err(io::Error::other)
    }

    /// It is checked, and can be written to again. Nobody may use it meanwhile.
    pub(crate) fn mend(&self) -> Result<(), String> {
        run(Command::new("umount").arg(&self.at))?;
        let mut check = Command::new("e2fsck");
        let checked = check.args(["-f", "-y", &self.device]).stdout(Stdio::null()).output();
        // 1: errors were found and mended.
        match checked.map(|output| output.status.code()) {
            Ok(Some(0 | 1)) => self.attach(),
            other => Err(format!("e2fsck ended with {other:?}")),
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).stderr(Stdio::null()).status();
        let _ = Command::new("losetup").args(["-d", &self.device]).stderr(Stdio::null()).status();
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let told = format!("{command:?}");
    let output = command.output().map_err(|e| format!("{told}: {e}"))?;
    let said = || format!("{told}: {}", String::from_utf8_lossy(&output.stderr).trim());
    output.status.success().then_some(()).ok_or_else(said)
}

/// Takes all the room that there is in a directory's file system.
pub(crate) fn fill(directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join("filler");
    let mut file = fs::File::create(&path)?;
    let block = vec![1; 64 << 10];
    loop {
        match io::Write::write_all(&mut file, &block) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(path),
            Err(error) => return Err(error),
        }
    }
}

/// The library that sets the clock back for who loads it, when `set` is there.
pub(crate) fn clock(dir: &Path) -> Result<(PathBuf, PathBuf), String> {
    let (source, library) = (dir.join("clock.c"), dir.join("clock.so"));
    fs::write(&source, CLOCK).map_err(|e| e.to_string())?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    match cc.status() {
        Ok(status) if status.success() => Ok((library, dir.join("set-back"))),
        _ => Err("the clock's library cannot be compiled: no cc?".into()),
    }
}
