//! Trouble that is no kill: a disk that is full for a while, and a clock that is set back.

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
